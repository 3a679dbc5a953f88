/* The panel beside the picture. It shows one content with a title and a close button. */
import {button, make, short} from "../page/make.js";
import {count, exact, rough, span} from "../page/times.js";

const TWICE_MS = 400; /* longest ms between the clicks of a double click */

export class Panel {
	/** hooks: closed(): the user closed the panel, sized(): the width of the picture changed */
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

	open(name, title, ...nodes) {
		this.name = name;
		this.title.textContent = short(title, 120);
		this.body.replaceChildren(...nodes);
		this.body.scrollTop = 0;
		/*
		 * The panel may open below the pointer between the clicks of a double click. The second
		 * click then belongs to the picture.
		 */
		if (this.element.hidden) this.letThrough();
		this.element.hidden = false;
		this.hooks.sized();
	}

	letThrough() {
		const {style} = this.element;

		style.pointerEvents = "none";
		setTimeout(() => (style.pointerEvents = ""), TWICE_MS);
	}

	/**
	 * Pixels of the right side of the picture that the panel covers; 0 if the panel is hidden or
	 * below the picture.
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
 * Return a paragraph of PARTS, pieces {text, link?, time?}. A link is the index of a thread, and
 * GO(index) is called when it is clicked. Times are shown since START, as on the ruler.
 */
export function sentence(parts, go, start) {
	return make("p", {}, ...pieces(parts, go, start));
}

function pieces(parts, go, start) {
	return parts.map(({text, link, time}) =>
		time !== undefined
			? make("span", {textContent: `+${span(time - start)}`, title: exact(time)})
			: link === undefined || link === null
				? text
				: make("button", {
						type: "button",
						className: "tl-link",
						textContent: short(text, 80),
						onclick: () => go(link),
					}),
	);
}

/** Return the name of THREAD as in its story: number, type and label. */
export function called(thread) {
	const own = thread.story.flat().find(({link}) => link === thread.index);

	return `${thread.of ? `${thread.of}: ` : ""}${own ? own.text : `${thread.id} (${thread.type})`}`;
}

function facts(thread, start) {
	const rows = [
		...(thread.of ? [["Of", thread.of]] : []),
		["Number", String(thread.id)],
		["Type", thread.type],
		["From", `+${span(thread.start - start)}`],
		["To", `+${span(thread.end - start)}`],
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

const LABELS_SHOWN = 100;

/**
 * Return the nodes of THREAD's story. START is the time of the trace's begin. GO(index) selects
 * another thread.
 */
export function story(thread, start, go) {
	const labels = thread.labels.slice(0, LABELS_SHOWN);

	return [
		...thread.story.map((parts) => sentence(parts, go, start)),
		facts(thread, start),
		labels.length ? make("h3", {textContent: "Labels"}) : null,
		make(
			"ol",
			{className: "tl-labels"},
			...labels.map((label) =>
				make(
					"li",
					{title: exact(label.time)},
					make("span", {className: "tl-quiet", textContent: `+${span(label.time - start)} `}),
					short(label.text, 300),
				),
			),
		),
		thread.labels.length > LABELS_SHOWN
			? make("p", {className: "tl-quiet", textContent: `and ${thread.labels.length - LABELS_SHOWN} more`})
			: null,
	].filter(Boolean);
}
