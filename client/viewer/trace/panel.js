/*
 * The panel beside the picture shows one content at a time, with a title and a button that closes
 * it. This module also makes the content about one thread.
 */
import {button, make, short} from "../page/make.js";
import {count, rough, span} from "../page/times.js";

const TWICE_MS = 400; /* longest time between the clicks of a double click, ms */

export class Panel {
	/**
	 * hooks: closed(): called after the panel was closed, sized(): called after the panel opened or
	 * closed, which changes how much of the picture it covers
	 */
	constructor(hooks) {
		this.hooks = hooks;
		this.title = make("h2", {id: "tl-panel-title"});
		this.body = make("div", {
			className: "tl-panel-body",
			tabIndex: 0,
			role: "region",
			"aria-labelledby": "tl-panel-title",
		});
		this.element = make(
			"aside",
			{className: "tl-panel", "aria-labelledby": "tl-panel-title", hidden: true},
			make(
				"header",
				{},
				this.title,
				button("✕", "Close (Esc)", () => this.close()),
			),
			this.body,
		);
		this.name = null;
	}

	/** Show NODES with TITLE. NAME is the name of the content (panels.js). */
	open(name, title, ...nodes) {
		this.name = name;
		this.title.textContent = short(title, 120);
		this.body.replaceChildren(...nodes);
		this.body.scrollTop = 0;
		/*
		 * The first click of a double click may open the panel under the pointer. The second click
		 * must go to the picture.
		 */
		if (this.element.hidden) this.letThrough();
		this.element.hidden = false;
		this.hooks.sized();
	}

	/** Show NODES in place of the present content of the same name, where the user reads and types. */
	renew(title, ...nodes) {
		const {body} = this;
		const {scrollTop} = body;
		const label = body.contains(document.activeElement) && document.activeElement.getAttribute("aria-label");
		const caret = label ? document.activeElement.selectionStart : null;

		this.title.textContent = short(title, 120);
		body.replaceChildren(...nodes);
		body.scrollTop = scrollTop;
		if (!label) return;
		const field = [...body.querySelectorAll("[aria-label]")].find((it) => it.getAttribute("aria-label") === label);
		field?.focus({preventScroll: true});
		if (field?.type === "search") field.setSelectionRange(caret, caret);
	}

	/** Let clicks through to the picture for TWICE_MS. */
	letThrough() {
		const {style} = this.element;

		style.pointerEvents = "none";
		setTimeout(() => (style.pointerEvents = ""), TWICE_MS);
	}

	/**
	 * Width of the right part of the picture that the panel covers, pixels; 0 if the panel is
	 * hidden, or below the picture in a narrow window.
	 */
	get covers() {
		const {element} = this;

		return !element.hidden && element.offsetHeight >= element.parentElement.clientHeight ? element.offsetWidth : 0;
	}

	close() {
		if (!this.name) return;
		this.name = null;
		this.element.hidden = true;
		this.hooks.sized();
		this.hooks.closed();
	}
}

/**
 * Return a paragraph of PARTS, the pieces {text, link?, time?} of a sentence. LINK is the index of
 * a thread; a click on the text calls GO.thread(link). TIME is in ns, and CLOCK writes it; a click on
 * it calls GO.time(time).
 */
export function sentence(parts, go, clock) {
	return make("p", {}, ...pieces(parts, go, clock));
}

/** Return TIME, ns, as a button that calls GO(time). CLOCK writes it. */
function moment(time, go, clock) {
	return make("button", {
		type: "button",
		className: "tl-link tl-time",
		textContent: clock.at(time),
		title: clock.everywhere(time),
		onclick: () => go(time),
	});
}

/** Return PARTS of a sentence as nodes and strings. */
function pieces(parts, go, clock) {
	return parts.map(({text, link, time}) =>
		time !== undefined
			? moment(time, go.time, clock)
			: link === undefined || link === null
				? text
				: make("button", {
						type: "button",
						className: "tl-link",
						textContent: short(text, 80),
						onclick: () => go.thread(link),
					}),
	);
}

/**
 * Return the name of THREAD for the user: its number, type and label, as in the sentences about it.
 */
export function called(thread) {
	const own = thread.story.flat().find(({link}) => link === thread.index);

	return `${thread.of ? `${thread.of}: ` : ""}${own ? own.text : `${thread.id} (${thread.type})`}`;
}

/** Return a table of numbers and times of THREAD. */
function facts(thread, clock) {
	const rows = [
		...(thread.of ? [["Of", thread.of]] : []),
		["Number", String(thread.id)],
		["Type", thread.type],
		["From", clock.at(thread.start)],
		["To", clock.at(thread.end)],
		["Lives", rough(thread.end - thread.start)],
		["Runs", `${span(thread.ran)}, ${count(thread.activations, "time")}`],
	];

	return make(
		"table",
		{className: "tl-table"},
		make(
			"tbody",
			{},
			...rows.map(([key, value]) =>
				make("tr", {}, make("th", {scope: "row", textContent: key}), make("td", {textContent: value})),
			),
		),
	);
}

const LABELS_SHOWN = 100; /* most labels of a thread that the panel shows */

/**
 * Return nodes that tell about THREAD, an answer of engine.thread(): its history as sentences, its
 * numbers, and its labels. CLOCK and GO are those of sentence().
 */
export function story(thread, clock, go) {
	const labels = thread.labels.slice(0, LABELS_SHOWN);

	return [
		...thread.story.map((parts) => sentence(parts, go, clock)),
		facts(thread, clock),
		labels.length ? make("h3", {textContent: "Labels"}) : null,
		make(
			"ol",
			{className: "tl-labels"},
			...labels.map((label) => make("li", {}, moment(label.time, go.time, clock), " ", short(label.text, 300))),
		),
		thread.labels.length > LABELS_SHOWN
			? make("p", {className: "tl-quiet", textContent: `and ${thread.labels.length - LABELS_SHOWN} more`})
			: null,
	].filter(Boolean);
}
