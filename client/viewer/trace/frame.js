/*
 * The frame of the page around the picture: title, buttons, search box, remarks on missing data,
 * the menu "Save", and messages.
 */
import {CLOCKS} from "./clock.js";
import {palette} from "../draw/theme.js";
import {repeat} from "./gestures.js";
import {withKey} from "./keys.js";
import {Message, button, ended, make, picker} from "../page/make.js";
import {download, fileName, handOver, picturePng, pictureSvg} from "./save.js";

/* The buttons that open panels: [name of the panel, text, tooltip]. */
const BUTTONS = [
	["why", "Why?", withKey("Why does it wait?", "why")],
	["diff", "Differences", withKey("Differences between the two traces", "diff")],
	["threads", "Threads", withKey("The threads in view, as a list", "threads")],
	["stats", "Numbers", withKey("Numbers of the selected area, or of what is in view", "stats")],
	["notes", "Notes", withKey("Mark a moment or a range with words", "note")],
	["counters", "Tracks", withKey("Choose tracks and counters; show or hide all counters", "counters")],
	["trace", "About", "Contents, gaps and origin of this trace"],
	["help", "?", withKey("Help: signs, keys and pointer", "help")],
];

/* Texts of the button about following: state -> [text, tooltip]. */
const LIVE = {
	following: ["Following", "Stop following the guest; it runs on"],
	behind: ["Jump to live", "Show the newest events, and follow the guest"],
	lost: ["Not connected", "mprofd-http does not answer; the page goes on when it does. Press to try now"],
};

export class Frame {
	/**
	 * COMPARISON is null if the page shows one trace. SAYS, LIVE and TEXT are elements with text:
	 * the status line, and two that only screen readers read.
	 *
	 * hooks:
	 * - act(action): run the action of this name (actions.js);
	 * - flipHeap(): show or hide the heap;
	 * - take(file): open the File;
	 * - setClock(kind): write times by the clock of KIND (clock.js);
	 * - flipLive(): follow the run that goes on, or stop following it;
	 * - home(text): return the link to the page of all guests, another element, or null;
	 * - who: the element that says who one is, or null;
	 * - palette(): return the colours.
	 */
	constructor({state, canvasView, minimap, search, panels, comparison, says, live, text}, hooks) {
		Object.assign(this, {state, canvasView, minimap, search, panels, comparison, says, live, text, hooks});
		this.heading = make("h1", {textContent: "Trace"});
		this.about = make("span", {className: "tl-about"});
		this.remarks = make("button", {
			type: "button",
			className: "tl-remarks",
			hidden: true,
			onclick: () => panels.show("trace"),
		});
		this.liveButton = make("button", {type: "button", hidden: true, onclick: () => this.hooks.flipLive()});
		this.said = null; /* what the button says: a key of LIVE */
		this.buttons = new Map(
			BUTTONS.map(([name, text, says]) => [
				name,
				button(text, says, () => panels.flip(name), {"aria-pressed": "false"}),
			]),
		);
		/*
		 * Screen readers read the text on a button. The tooltip, which button() made the label,
		 * would be longer. The button "?" keeps its label.
		 */
		for (const [name, element] of this.buttons) if (name !== "help") element.removeAttribute("aria-label");
		this.buttons.get("diff").hidden = !this.comparison;
		this.heapButton = button("Heap", withKey("Show or hide the heap", "heap"), () => this.hooks.flipHeap(), {
			hidden: true,
		});
		this.heapButton.removeAttribute("aria-label");
		this.clock = make(
			"select",
			{
				className: "tl-clock",
				title: withKey("The clock by which times are written", "clock"),
				onchange: () => this.hooks.setClock(this.clock.value),
			},
			...Object.entries(CLOCKS).map(([value, textContent]) => make("option", {value, textContent})),
		);
		this.clock.setAttribute("aria-label", "Clock of the times");
		this.message = new Message("tl-message");
		this.alert = make("div", {className: "tl-alert", role: "alert"});
		this.menu = this.saveMenu();
		this.paper = make("div", {className: "tl-paper", "aria-hidden": "true"});
		this.element = this.layout();
		this.usable(false);
		this.drops();
	}

	/** Return the element of the page with all parts in it. */
	layout() {
		const zoom = (sign, says, action) => repeat(button(sign, says), () => this.hooks.act(action));

		return make(
			"main",
			{className: "tl"},
			make(
				"header",
				{className: "tl-bar"},
				this.hooks.home("‹ Guests"),
				make("div", {className: "tl-title"}, this.heading, this.about),
				make(
					"div",
					{className: "tl-tools"},
					this.liveButton,
					make(
						"div",
						{className: "tl-group", role: "group", "aria-label": "Zoom"},
						zoom("−", withKey("Zoom out", "farther", 1), "farther"),
						zoom("+", withKey("Zoom in", "closer", 1), "closer"),
						button("Fit", withKey("Show the whole trace", "fit"), () => this.hooks.act("fit")),
					),
					this.search.element,
					make(
						"div",
						{className: "tl-group", role: "group", "aria-label": "Panels"},
						...this.buttons.values(),
					),
					this.heapButton,
					this.menu,
				),
				this.hooks.who,
			),
			this.remarks,
			this.alert,
			this.paper,
			make(
				"div",
				{className: "tl-body"},
				make(
					"div",
					{className: "tl-left"},
					this.canvasView.element,
					this.comparison?.element,
					this.minimap.canvas,
					make("div", {className: "tl-foot"}, this.clock, this.says),
					this.message.element,
				),
				this.panels.element,
			),
			this.live,
			this.text,
		);
	}

	// Messages.

	/**
	 * Show the title of SOURCE (source.js). The button about following appears if the run of SOURCE
	 * goes on.
	 */
	title(source) {
		this.heading.textContent = source.title;
		this.about.textContent = source.about;
		document.title = `${source.title} – mprofd`;
		this.liveButton.hidden = !source.running;
		this.sayLive();
	}

	/**
	 * Show the first of LIST, sentences on missing data, and the number of the others. A click
	 * opens the panel "trace", which lists all.
	 */
	notes(list) {
		this.remarks.hidden = !list.length;
		this.remarks.textContent = list.length === 1 ? list[0] : `${list[0]} (and ${list.length - 1} more)`;
		this.remarks.title = list.slice(0, 10).join("\n");
	}

	/**
	 * Show TEXT, what is being loaded, in place of the picture. SHARE is the part that is done, 0
	 * to 1, or null if it is unknown. If TEXT is null, remove it.
	 */
	progress(text, share) {
		this.message.progress(text, share);
		if (text === null) this.usable(true);
	}

	/** Enable what needs a picture if ON is true; else disable it. */
	usable(on) {
		const free = new Set([this.liveButton, this.buttons.get("trace"), this.buttons.get("help")]);

		for (const it of [...this.element.querySelectorAll(".tl-tools :is(button, input)"), this.clock])
			if (!free.has(it)) it.disabled = !on;
		this.menu.hidden = !on;
	}

	/**
	 * Show TEXT in place of the picture: why there is no picture yet. The caller tries again later.
	 */
	waits(text) {
		this.message.waits(text, this.hooks.home("Back to the guests"));
	}

	/**
	 * Show TEXT in place of the picture: why the page cannot show the trace. Below it are a link to
	 * the page of all guests, and a button to choose a file.
	 */
	sorry(text) {
		this.usable(false);
		this.message.say(
			"alert",
			make("p", {textContent: ended(text)}),
			make("p", {}, this.hooks.home("Back to the guests"), " ", this.picker("Open a file")),
		);
	}

	/** Show the error TEXT above the picture. The picture stays. */
	trouble(text) {
		this.troubled = text;
		this.alert.replaceChildren(
			make("span", {textContent: ended(text)}),
			button("✕", "Dismiss", () => this.alert.replaceChildren()),
		);
	}

	/** Remove the error TEXT from the page, if it is the one that is shown. */
	recovered(text) {
		if (this.troubled === text) this.alert.replaceChildren();
	}

	/**
	 * Ask the user to choose the file NAME again. The URL of the page names it, and after a reload
	 * a page cannot open a file by its name.
	 */
	ask(name) {
		this.message.say(
			"status",
			make("p", {
				textContent: `This view is of the file ${name.slice(0, 120)}, which a page may not open by itself.`,
			}),
			make("p", {}, this.picker("Choose it"), ", or drop it here."),
		);
	}

	/** Return a link with TEXT that lets the user choose a trace file. */
	picker(text) {
		return picker(text, "A trace file", "tl-link", (file) => this.hooks.take(file));
	}

	/** Open the file that the user drops on the page, or the first of several. */
	drops() {
		this.element.addEventListener("dragover", (event) => event.preventDefault());
		this.element.addEventListener("drop", (event) => {
			event.preventDefault();
			const [file] = event.dataTransfer.files;
			if (file) this.hooks.take(file);
		});
	}

	/** Show KIND as the chosen clock. */
	showClock(kind) {
		this.clock.value = kind;
	}

	// Buttons.

	/** Show the button of the panel NAME as pressed, and the others as not pressed. null: none. */
	pressed(name) {
		for (const [key, element] of this.buttons) element.setAttribute("aria-pressed", String(key === name));
	}

	/**
	 * Show the button "Heap" if ANY is true: there is a memory profile. SHOWN is true if the heap
	 * is shown now; the button is then pressed.
	 */
	heap(any, shown) {
		this.heapButton.hidden = !any;
		this.heapButton.setAttribute("aria-pressed", String(shown));
	}

	/** Show that the run, which the page followed, has ended. */
	ended() {
		this.liveButton.hidden = true;
		this.about.textContent = this.about.textContent.replace(/running|suspended/, "ended");
		this.live.textContent = "The run has ended.";
	}

	/** True if the picture follows the run: new data come, and the window goes along with them. */
	get follows() {
		const {session} = this.state;
		const {camera} = this.canvasView;

		return Boolean(session) && !session.paused && !session.trouble && camera.to >= camera.end;
	}

	/** Let the button say whether the picture follows the run. */
	sayLive() {
		const state = this.state.session?.trouble ? "lost" : this.follows ? "following" : "behind";

		if (this.said === state) return;
		this.said = state;
		[this.liveButton.textContent, this.liveButton.title] = LIVE[state];
		this.liveButton.classList.toggle("tl-live", state === "following");
	}

	// Saving.

	/** Return the menu "Save". It closes when the focus leaves it. */
	saveMenu() {
		const item = (text, press) =>
			make("button", {
				type: "button",
				textContent: text,
				onclick: async () => {
					this.closeMenu();
					try {
						await press();
					} catch (error) {
						this.trouble(error.message);
					}
				},
			});

		return make(
			"details",
			{
				className: "tl-menu",
				onfocusout: ({relatedTarget}) =>
					relatedTarget && !this.menu.contains(relatedTarget) && this.closeMenu(),
			},
			make("summary", {textContent: "Save"}),
			make(
				"div",
				{},
				item("The trace (CTF)", () => this.saveTrace()),
				item("The picture (SVG)", () => this.savePicture("svg")),
				item("The picture (PNG)", () => this.savePicture("png")),
				item("For Perfetto (JSON)", () => this.savePerfetto()),
				item("Open in Perfetto", () => this.openPerfetto()),
			),
		);
	}

	/**
	 * Close the menu at a press of the pointer outside of it. The AbortSignal LEAVING removes the
	 * listener.
	 */
	closesMenu(leaving) {
		document.addEventListener("pointerdown", ({target}) => this.menu.contains(target) || this.closeMenu(), {
			capture: true,
			signal: leaving,
		});
	}

	/** Close the menu "Save". Return true if it was open. */
	closeMenu() {
		const {open} = this.menu;

		this.menu.open = false;
		return open;
	}

	/** The session of the loaded trace. Throw a sentence for the user if there is none. */
	get session() {
		const {session} = this.state;

		if (!session?.summary) throw new Error("There is nothing to save yet.");
		return session;
	}

	/** Save the trace as CTF: the file, or one file for each stream. */
	async saveTrace() {
		const {source} = this.session;

		if (source.file) return download(source.file, source.file.name);
		for (const stream of source.streams)
			download(
				await source.url(stream),
				fileName(
					stream.save
						? stream.save
						: source.streams.length > 1
							? `${source.name}-${stream.stream}`
							: source.name,
					"ctf",
				),
			);
	}

	/**
	 * Save the picture as a file. KIND is "svg" or "png". If two traces are compared, both are in
	 * it.
	 */
	async savePicture(kind) {
		const {source} = this.session;
		const {canvasViews} = this;
		const blob =
			kind === "svg"
				? new Blob([this.svg(this.hooks.palette())], {type: "image/svg+xml"})
				: await picturePng(
						canvasViews.flatMap(({ruler, picture, canvas, areas}) =>
							[
								[{canvas: ruler, y: 0}],
								areas.pinned.canvases(),
								areas.above.canvases(),
								[picture, canvas].map((it) => ({canvas: it, y: 0})),
								areas.below.canvases(),
							].filter((row) => row.length && !row[0].canvas.closest("[hidden]")),
						),
					);

		download(blob, fileName(source.name, kind));
	}

	/** The pictures on the screen. */
	get canvasViews() {
		return [this.canvasView, this.comparison?.canvasView].filter((it) => it?.shown);
	}

	/** Return the pictures on the screen as the text of an SVG with the COLOURS of a palette. */
	svg(colours) {
		return pictureSvg(this.canvasViews, colours, `${this.session.source.title}: ${this.says.textContent}`);
	}

	/**
	 * Print the picture, in light colours and as wide as the paper, and below it the panel that is open. The
	 * AbortSignal LEAVING removes the listeners.
	 */
	prints(leaving) {
		addEventListener("beforeprint", () => this.fillPaper(), {signal: leaving});
		addEventListener("afterprint", () => this.paper.replaceChildren(), {signal: leaving});
	}

	/** Put the picture on the paper, if there is one. */
	fillPaper() {
		if (!this.state.session || !this.canvasViews.length) return;
		const picture = new DOMParser().parseFromString(this.svg(palette(false)), "image/svg+xml").documentElement;

		for (const name of ["width", "height"]) picture.removeAttribute(name);
		this.paper.replaceChildren(
			make("h1", {textContent: this.heading.textContent}),
			make("p", {textContent: `${this.about.textContent}. ${this.says.textContent}`}),
			document.importNode(picture, true),
		);
	}

	/** Save the trace as JSON in the format of Chrome's trace events, which Perfetto reads. */
	async savePerfetto() {
		const {source, engine} = this.session;

		download(await this.chrome(engine, source.title), fileName(source.name, "json"));
	}

	/** Return the Blob of engine.chrome(), and tell the user what the document lacks. */
	async chrome(engine, title) {
		const {blob, refused} = await engine.chrome(title);

		if (refused)
			this.trouble(
				`Threads beyond the limit share one track in the file for Perfetto, and counters beyond it are left out; events of them: ${refused}.`,
			);
		return blob;
	}

	/** Open the trace in the Perfetto UI in another window (handOver() in save.js). */
	async openPerfetto() {
		const {source, engine} = this.session;

		await handOver(async () => (await this.chrome(engine, source.title)).arrayBuffer(), source.title);
	}
}
