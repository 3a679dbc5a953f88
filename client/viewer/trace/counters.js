/* The counters: which there are, what they span, and which are drawn. */
import {make, short} from "../page/make.js";
import {caption} from "../draw/paint.js";

const SHOWN_MAX = 200; /* a trace may name a million: a filter finds the others */

const DRAWN_AT_FIRST = 24; /* MPROF_SCENE_COUNTERS */

export class Counters {
	/** COUNTERS as engine.load() gives them; toggle(index, shown) draws one or does not. */
	constructor(counters, toggle) {
		this.counters = counters;
		this.shown = new Set(counters.slice(0, DRAWN_AT_FIRST).map((it) => it.index));
		this.toggle = toggle;
		this.all = true;
	}

	/** The same choice over the counters of a model that took the place of the old one; they are known by name. */
	carry(counters) {
		const next = new Counters(counters, this.toggle);
		const were = new Map(this.counters.map((it) => [`${it.stream} ${it.name}`, this.shown.has(it.index)]));

		next.all = this.all;
		for (const it of counters) {
			const shown = were.get(`${it.stream} ${it.name}`);
			if (shown !== undefined) next.shown[shown ? "add" : "delete"](it.index);
		}
		return next;
	}

	/** [index, shown] of those that are not as a new model has them. */
	changes() {
		return this.counters
			.map((it) => [it.index, this.shown.has(it.index)])
			.filter(([index, shown]) => shown !== index < DRAWN_AT_FIRST);
	}

	/** What stands at a counter's line: its name and what its values span. */
	caption(index, name) {
		const it = this.counters[index];

		return it && it.index === index ? caption(it) : name;
	}

	/** Show or hide all; true where they are shown then. */
	flip() {
		this.all = !this.all;
		return this.all;
	}

	set(index, shown) {
		this.shown[shown ? "add" : "delete"](index);
		this.toggle(index, shown);
	}

	row(it) {
		const id = `tl-counter-${it.index}`;
		const box = make("input", {
			type: "checkbox",
			id,
			checked: this.shown.has(it.index),
			onchange: (event) => this.set(it.index, event.target.checked),
		});

		return make(
			"li",
			{},
			box,
			make("label", {for: id, textContent: short(it.name), title: it.name.slice(0, 1000)}),
			make("span", {className: "tl-quiet", textContent: ` ${it.min} to ${it.max}`}),
		);
	}

	/** A node for the panel. */
	node() {
		const list = make("ul", {className: "tl-counters"});
		const note = make("p", {className: "tl-quiet"});
		const fill = (text) => {
			const wanted = this.counters.filter((it) => it.name.toLowerCase().includes(text.toLowerCase()));

			list.replaceChildren(...wanted.slice(0, SHOWN_MAX).map((it) => this.row(it)));
			note.textContent =
				wanted.length > SHOWN_MAX
					? `${SHOWN_MAX} of ${wanted.length.toLocaleString("en")}; the filter finds the others.`
					: this.counters.length
						? ""
						: "The trace has no counters.";
		};
		const filter = make("input", {
			type: "search",
			placeholder: "Filter",
			"aria-label": "Filter counters by name",
			oninput: (event) => fill(event.target.value),
		});

		fill("");
		return make("div", {}, this.counters.length > 8 ? filter : null, list, note);
	}
}
