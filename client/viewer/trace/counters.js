/* The counters of a trace: their names, the ranges of their values, and which of them are drawn. */
import {make, short} from "../page/make.js";
import {Table, listOf} from "../page/table.js";
import {caption} from "../draw/tracks.js";
import {counterId} from "../page/track-address.js";
import {TrackLayout} from "./track-layout.js";

const DRAWN_AT_FIRST = 24; /* number of counters that are drawn before the user chooses */

export class Counters {
	/**
	 * COUNTERS is the member `counters` of the answer of engine.load(). TOGGLE(index, shown) is
	 * called after the user showed or hid a counter. LAYOUT, a TrackLayout, keeps the user's
	 * choice.
	 */
	constructor(counters, toggle, layout = new TrackLayout()) {
		this.counters = counters.map((it) => ({...it, id: counterId(it.stream, it.name)}));
		this.atFirst = new Set(counters.slice(0, DRAWN_AT_FIRST).map((it) => it.index));
		this.toggle = toggle;
		this.layout = layout;
		this.all = true; /* false: all are hidden, whatever the user chose for each */
		this.read();
	}

	/** Read from LAYOUT which counters are shown. Call it after LAYOUT changed. */
	read() {
		const isShown = ({id, index}) => this.layout.of(id).shown ?? this.atFirst.has(index);

		this.shown = new Set(this.counters.filter(isShown).map((it) => it.index));
	}

	/**
	 * Return a Counters object for COUNTERS of a new model of the same trace. A counter with the
	 * same stream and name is shown or hidden as before.
	 */
	carry(counters) {
		const next = new Counters(counters, this.toggle, this.layout);
		const were = new Map(this.counters.map((it) => [it.id, this.atFirst.has(it.index)]));

		next.all = this.all;
		for (const {id, index} of next.counters) if (were.has(id)) next.atFirst[were.get(id) ? "add" : "delete"](index);
		next.read();
		return next;
	}

	/**
	 * Return the caption of the counter INDEX: its name and the range of its values. If INDEX is
	 * null or unknown, return NAME.
	 */
	caption(index, name) {
		if (index === null) return name;
		const it = this.counters[index];

		return it && it.index === index ? caption(it) : name;
	}

	/** The counters that are drawn. Each is drawn in a lane, a track of its own. */
	get lanes() {
		return this.all ? this.counters.filter((it) => this.shown.has(it.index)) : [];
	}

	/** Show all chosen counters, or hide them. Return true if they are shown now. */
	flip() {
		this.all = !this.all;
		return this.all;
	}

	/**
	 * Show or hide the counter INDEX. LAYOUT keeps only a choice that differs from the first one.
	 */
	set(index, shown) {
		this.shown[shown ? "add" : "delete"](index);
		this.layout.set(this.counters.find((it) => it.index === index).id, {
			shown: shown === this.atFirst.has(index) ? undefined : shown,
		});
		this.toggle(index, shown);
	}

	/** Return a Counters object with the counters that OTHER, a Counters, lacks. */
	without(other) {
		const rest = new Counters([], this.toggle, this.layout);

		rest.counters = this.counters.filter(({id}) => !other.has(id));
		rest.atFirst = this.atFirst;
		rest.read();
		return rest;
	}

	/** Return true if there is a counter with the track ID. */
	has(id) {
		return this.counters.some((it) => it.id === id);
	}

	/** Hide the counter with the track ID. */
	hide(id) {
		this.set(this.counters.find((it) => it.id === id).index, false);
	}

	/** Return the check box that shows and hides the counter IT, with its name. */
	box(it) {
		const id = `tl-counter-${it.id}`;
		const box = make("input", {
			type: "checkbox",
			id,
			checked: this.shown.has(it.index),
			onchange: (event) => this.set(it.index, event.target.checked),
		});

		return make(
			"span",
			{},
			box,
			make("label", {for: id, textContent: short(it.name), title: it.name.slice(0, 1000)}),
		);
	}

	/**
	 * Return a Promise of the table of counters, as a node for the panel. SAVE(text) saves the
	 * table's text.
	 */
	async node(save) {
		const columns = [
			{key: "name", title: "counter", value: (it) => it.name, node: (it) => this.box(it)},
			{
				key: "min",
				title: "least",
				number: true,
				value: (it) => it.min,
				text: (it) => it.min.toLocaleString("en"),
			},
			{
				key: "max",
				title: "greatest",
				number: true,
				value: (it) => it.max,
				text: (it) => it.max.toLocaleString("en"),
			},
		];
		const table = new Table({
			caption: "Counters",
			columns,
			sort: {key: "name", descending: false},
			save,
			list: listOf(this.counters, columns),
		});

		if (!this.counters.length) return make("p", {className: "tl-quiet", textContent: "The trace has no counters."});
		await table.show();
		return table.element;
	}
}
