/*
 * The head of a memory profile's page: name and facts of the recording, sentences about missing or
 * damaged data, buttons, and messages.
 */
import {shown} from "../page/guest-text.js";
import {Message, button, ended, make, picker} from "../page/make.js";
import {amount, exactSpan, give, share, span, wall} from "./memory-text.js";
import {bytes, count} from "../page/times.js";

const DAMAGES = 20; /* most sentences about damage */

export class Head {
	/**
	 * HOOKS: stop(), pin(), note(), pause(), take(file): open FILE; home(text): return the link to
	 * all guests, or null; who: the element that says who one is, or null. SAVES: the items of the menu, [text, press].
	 */
	constructor(hooks, saves) {
		this.hooks = hooks;
		this.heading = make("h1", {textContent: "Memory profile"});
		this.about = make("p", {className: "mem-about"});
		this.threads = make("a", {
			className: "button",
			hidden: true,
			textContent: "Its threads",
			title: "The time line of the guest's threads, around the chosen moment",
		});
		this.pauseButton = make("button", {type: "button", hidden: true, onclick: () => hooks.pause()});
		this.stopButton = button(
			"Stop recording",
			"End the recording, and read the guest's last samples",
			() => hooks.stop(),
			{hidden: true},
		);
		this.pinButton = button("Pin", "", () => hooks.pin(), {hidden: true});
		this.noteButton = button("Note", "Write a note on it", () => hooks.note(), {hidden: true});
		for (const it of [this.stopButton, this.pinButton, this.noteButton]) it.removeAttribute("aria-label");
		this.menu = this.saveMenu(saves);
		this.alert = make("div", {className: "alert", role: "alert"});
		this.remarks = make("ul", {className: "mem-remarks", hidden: true});
		this.line = make("p", {className: "mem-facts"});
		this.details = make("dl");
		this.more = make(
			"details",
			{className: "mem-more", hidden: true},
			make("summary", {textContent: "About this recording"}),
			this.details,
		);
		this.message = new Message("mem-message");
		this.element = make(
			"header",
			{className: "mem-head"},
			make(
				"div",
				{className: "mem-bar"},
				hooks.home("‹ Guests"),
				this.heading,
				this.about,
				this.threads,
				this.pauseButton,
				this.stopButton,
				this.pinButton,
				this.noteButton,
				this.menu,
				hooks.who,
			),
			this.alert,
			this.line,
			this.remarks,
			this.more,
			this.message.element,
		);
	}

	saveMenu(saves) {
		const item = ([text, press]) =>
			make("button", {
				type: "button",
				textContent: text,
				onclick: async () => {
					this.menu.open = false;
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
				className: "mem-menu",
				hidden: true,
				onkeydown: (event) => event.key === "Escape" && this.closeMenu(event),
			},
			make("summary", {textContent: "Save"}),
			make("div", {}, ...saves.map(item)),
		);
	}

	closeMenu(event) {
		if (this.menu.open) event.stopPropagation();
		this.menu.open = false;
		this.menu.querySelector("summary").focus();
	}

	/** Show the title of SOURCE (memory-source.js). */
	title(source) {
		this.heading.textContent = source.title;
		this.about.textContent = source.about;
		this.about.classList.toggle("mem-live", source.recording);
		document.title = `${source.title}: memory – mprofd`;
		this.menu.hidden = false;
		const may = Boolean(source.memtrace) && source.mayChange;
		for (const it of [this.pinButton, this.noteButton]) it.hidden = !may;
		this.stopButton.hidden = !source.recording || !may;
		this.pauseButton.hidden = !source.recording;
		if (!source.memtrace) return;
		this.pinButton.textContent = source.memtrace.pinned ? "Unpin" : "Pin";
		this.pinButton.title = source.memtrace.pinned
			? "Let quotas delete the recording again"
			: "Keep the recording in spite of quotas";
	}

	sayPause(paused) {
		this.pauseButton.textContent = paused ? "Go on" : "Pause";
		this.pauseButton.title = paused
			? "Show the new data and follow the recording"
			: "Stop the picture; the recording goes on";
	}

	/** Show the facts of INFO, the answer of heap.load(), and of SOURCE. */
	know(info, source) {
		const duration = Number(info.endUs - info.startUs);

		this.line.replaceChildren(
			this.fact(
				`${info.program ? shown(info.program.split("/").pop(), 60) : "a program"}${info.host ? ` on ${shown(info.host, 60)}` : ""}`,
				info.program,
			),
			this.fact(`${span(duration)}`, "from its start to its last event"),
			this.fact(
				`${amount(info.allocated_bytes)} allocated ${give(info.error)}`,
				`estimated from ${count(sumOf(info.samples), "sample")}`,
			),
			this.fact(`peak ${amount(info.peak_bytes)} at +${span(Number(info.peak_us))}`, ""),
			this.fact(`${amount(info.live_bytes)} live at the end`, count(Number(info.live_objects), "sampled object")),
		);
		this.details.replaceChildren(
			...this.pairs(info, source, duration)
				.filter(([, value]) => value !== "" && value !== null && value !== undefined)
				.flatMap(([name, value]) => [make("dt", {textContent: name}), make("dd", {textContent: value})]),
		);
		this.more.hidden = false;
		this.remark([
			...source.notes,
			...info.notes,
			...info.damages.slice(0, DAMAGES),
			...(info.damages.length > DAMAGES ? [`and ${count(info.damages.length - DAMAGES, "damage")} more.`] : []),
		]);
	}

	fact(textContent, title) {
		return make("span", {textContent, title: shown(title ?? "", 1000)});
	}

	pairs(info, source, duration) {
		return [
			["Program", shown(info.program ?? "", 1000)],
			["Host", shown(info.host ?? "")],
			["Context", shown(info.context ?? "", 1000)],
			["Parameters of the runtime", shown(info.parameters ?? "", 1000)],
			["Process", Number(info.pid) < 0 ? "" : String(info.pid)],
			[
				"Sampled",
				info.rate > 0
					? `one word in ${Math.round(1 / info.rate).toLocaleString("en")}: a sample stands for ${amount(info.sample_bytes)}`
					: "",
			],
			["Word", `${info.word_bytes} bytes`],
			["Began", info.startUs > 0n ? `${wall(info.startUs, 0, 6)} UTC` : "not said"],
			["Last event", info.startUs > 0n ? `${wall(info.startUs, duration, 6)} UTC` : ""],
			["Duration", exactSpan(duration)],
			["Format", `memtrace, version ${info.version}, ${bytes(info.bytes)}`],
			["Recordings in it", info.recordings > 1 ? String(info.recordings) : ""],
			[
				"Events",
				`${count(sumOf(info.allocs), "allocation")}, ${count(Number(info.promotes), "promotion")}, ${count(Number(info.collects), "collection")}; ${count(sumOf(info.samples), "sample")}`,
			],
			["Peak", `${amount(info.peak_bytes)}, ${share(info.peak_bytes, info.allocated_bytes)} of all allocations`],
			...source.facts,
		];
	}

	remark(sentences) {
		this.remarks.hidden = !sentences.length;
		this.remarks.replaceChildren(
			...sentences.map((it) => make("li", {textContent: shown(it, 500).replace(/([^.!?…)])$/, "$1.")})),
		);
	}

	// Sentences.

	trouble(text) {
		this.alert.replaceChildren(
			...(text
				? [
						ended(text),
						" ",
						make("button", {type: "button", textContent: "Dismiss", onclick: () => this.trouble("")}),
					]
				: []),
		);
	}

	/**
	 * Show TEXT and PART, the share that is done (null: unknown). If TEXT is null, hide the
	 * progress.
	 */
	progress(text, part) {
		this.message.progress(text, part);
	}

	/** Show TEXT in place of the profile: why there is none yet. The caller tries again later. */
	waits(text) {
		this.message.waits(text, this.hooks.home("Back to the guests"));
	}

	/**
	 * Show TEXT in place of the profile: why it cannot be shown, and what to do. HOW is the ARIA
	 * role.
	 */
	sorry(text, how = "alert") {
		this.message.say(
			how,
			make("p", {textContent: ended(text)}),
			make("p", {}, this.hooks.home("Back to the guests"), " ", this.picker()),
		);
	}

	picker() {
		return picker("Open a file", "A memory profile or trace", "mem-link", (file) => this.hooks.take(file));
	}
}

/** Return the sum of the numbers of BYSOURCE, an object. */
function sumOf(bySource) {
	return Object.values(bySource).reduce((a, b) => a + Number(b), 0);
}
