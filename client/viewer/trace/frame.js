/* The frame around the picture: title, buttons, search, notes, the save menu and messages. */
import {repeat} from "./gestures.js";
import {Message, button, ended, make, picker} from "../page/make.js";
import {download, fileName, handOver, picturePng, pictureSvg} from "./save.js";

const BUTTONS = [
	["why", "Why?", "Why does it wait? (w)"],
	["diff", "Differences", "Differences between the two traces (d)"],
	["threads", "Threads", "The threads in view, as a list (t)"],
	["stats", "Numbers", "Numbers of the selected range, or of the range in view (s)"],
	["counters", "Tracks", "Choose tracks and counters (space shows or hides all counters)"],
	["trace", "About", "Contents, gaps and origin of this trace"],
	["help", "?", "Help: signs, keys and pointer (?)"],
];

export class Frame {
	/**
	 * COMPARISON is null without a second trace. SAYS, LIVE and TEXT are elements. hooks:
	 * act(action name), flipHeap(): show or hide the heap, take(file): open it, home(text) -> the
	 * link to all guests, an element or null, palette()
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
		this.pauseButton = make("button", {type: "button", hidden: true, onclick: () => this.pause()});
		this.buttons = new Map(
			BUTTONS.map(([name, text, says]) => [
				name,
				button(text, says, () => panels.flip(name), {"aria-pressed": "false"}),
			]),
		);
		/* The text on the button is its label, so the longer title is not needed as one. */
		for (const [name, element] of this.buttons) if (name !== "help") element.removeAttribute("aria-label");
		this.buttons.get("diff").hidden = !this.comparison;
		this.heapButton = button("Heap", "Show or hide the heap (h)", () => this.hooks.flipHeap(), {hidden: true});
		this.heapButton.removeAttribute("aria-label");
		this.message = new Message("tl-message");
		this.alert = make("div", {className: "tl-alert", role: "alert"});
		this.menu = this.saveMenu();
		this.element = this.layout();
		this.drops();
	}

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
					this.pauseButton,
					make(
						"div",
						{className: "tl-group", role: "group", "aria-label": "Zoom"},
						zoom("−", "Zoom out (-)", "farther"),
						zoom("+", "Zoom in (+)", "closer"),
						button("Fit", "Show the whole trace (f)", () => this.hooks.act("fit")),
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
			),
			this.remarks,
			this.alert,
			make(
				"div",
				{className: "tl-body"},
				make(
					"div",
					{className: "tl-left"},
					this.canvasView.element,
					this.comparison?.element,
					this.minimap.canvas,
					this.says,
					this.message.element,
				),
				this.panels.element,
			),
			this.live,
			this.text,
		);
	}

	// Messages.

	title(source) {
		this.heading.textContent = source.title;
		this.about.textContent = source.about;
		document.title = `${source.title} – mprofd`;
		this.pauseButton.hidden = !source.running;
		this.sayPause(false);
	}

	notes(list) {
		this.remarks.hidden = !list.length;
		this.remarks.textContent = list.length === 1 ? list[0] : `${list[0]} (and ${list.length - 1} more)`;
		this.remarks.title = list.slice(0, 10).join("\n");
	}

	/**
	 * Show the progress TEXT and SHARE, the part of 1 that is done. If TEXT is null, hide the
	 * progress.
	 */
	progress(text, share) {
		this.message.progress(text, share);
	}

	/**
	 * Show TEXT in place of the picture: why nothing is shown yet. The page tries again by itself.
	 */
	waits(text) {
		this.message.say(
			"status",
			make("p", {textContent: ended(text)}),
			make("p", {textContent: "Trying again…"}),
			make("p", {}, this.hooks.home("Back to the guests")),
		);
	}

	/** Show TEXT in place of the picture: why nothing can be shown, and what to do. */
	sorry(text) {
		this.message.say(
			"alert",
			make("p", {textContent: ended(text)}),
			make("p", {}, this.hooks.home("Back to the guests"), " ", this.picker("Open a file")),
		);
	}

	/** Show the error TEXT above the picture, which stays. */
	trouble(text) {
		this.troubled = text;
		this.alert.replaceChildren(
			make("span", {textContent: ended(text)}),
			button("✕", "Dismiss", () => this.alert.replaceChildren()),
		);
	}

	/** Remove the error TEXT. If another error is shown, do nothing. */
	recovered(text) {
		if (this.troubled === text) this.alert.replaceChildren();
	}

	/**
	 * Ask the user to choose the file NAME again. After a reload the page cannot open it by itself.
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

	picker(text) {
		return picker(text, "A trace file", "tl-link", (file) => this.hooks.take(file));
	}

	drops() {
		this.element.addEventListener("dragover", (event) => event.preventDefault());
		this.element.addEventListener("drop", (event) => {
			event.preventDefault();
			const [file] = event.dataTransfer.files;
			if (file) this.hooks.take(file);
		});
	}

	// Buttons.

	pressed(name) {
		for (const [key, element] of this.buttons) element.setAttribute("aria-pressed", String(key === name));
	}

	/**
	 * Show the heap's button if ANY is true. SHOWN is true if the heap is shown; the button is then
	 * pressed.
	 */
	heap(any, shown) {
		this.heapButton.hidden = !any;
		this.heapButton.setAttribute("aria-pressed", String(shown));
	}

	pause() {
		const {session} = this.state;

		if (!session?.live) return;
		session.pause(!session.paused);
		this.sayPause(session.paused);
	}

	/** Show that the followed run has ended. */
	ended() {
		this.pauseButton.hidden = true;
		this.about.textContent = this.about.textContent.replace(/running|suspended/, "ended");
		this.live.textContent = "The run has ended.";
	}

	sayPause(paused) {
		this.pauseButton.textContent = paused ? "Go on" : "Pause";
		this.pauseButton.title = paused ? "Follow the guest again" : "Stop following the guest; it runs on";
		this.pauseButton.classList.toggle("tl-live", !paused);
	}

	// Saving.

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
	 * Close the menu when the pointer is pressed outside of it. LEAVING is an AbortSignal that
	 * removes the listener.
	 */
	closesMenu(leaving) {
		document.addEventListener("pointerdown", ({target}) => this.menu.contains(target) || this.closeMenu(), {
			capture: true,
			signal: leaving,
		});
	}

	/** Close the menu. Return true if it was open. */
	closeMenu() {
		const {open} = this.menu;

		this.menu.open = false;
		return open;
	}

	get session() {
		const {session} = this.state;

		if (!session?.summary) throw new Error("There is nothing to save yet.");
		return session;
	}

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

	async savePicture(kind) {
		const {source} = this.session;
		const {canvasView, says, comparison} = this;
		const canvasViews = [canvasView, comparison?.canvasView].filter((it) => it?.shown);
		const blob =
			kind === "svg"
				? pictureSvg(canvasViews, this.hooks.palette(), `${source.title}: ${says.textContent}`)
				: await picturePng(
						canvasViews.flatMap(({ruler, picture, canvas, areas}) =>
							[
								[ruler],
								[areas.pinned.canvas],
								[areas.above.canvas],
								[picture, canvas],
								[areas.below.canvas],
							].filter(([it]) => !it.closest("[hidden]")),
						),
					);

		download(blob, fileName(source.name, kind));
	}

	async savePerfetto() {
		const {source, engine} = this.session;

		download(new Blob([await engine.chrome()], {type: "application/json"}), fileName(source.name, "json"));
	}

	async openPerfetto() {
		const {source, engine} = this.session;

		await handOver(async () => (await engine.chrome()).buffer, source.title);
	}
}
