/*
 * The selection: the objects that the page counts. These are
 * - all allocated objects;
 * - or the objects that live at the end of the profile, at its peak, or at a chosen moment;
 * - or the objects allocated in a chosen range, or those of them that live at the end of the range.
 * The user selects on the chart, with the list "Count" below the chart, or by the page's address.
 */
import {make} from "../page/make.js";
import {narrowed} from "./memory-clauses.js";
import {amount, give, share} from "./memory-text.js";
import {count} from "../page/times.js";

export class Choice {
	/**
	 * HOOKS: changed(): called after a change; timeText(us): return the time US as the axis shows
	 * it.
	 */
	constructor(hooks) {
		this.hooks = hooks;
		this.set({});
		this.select = make("select", {id: "mem-what", onchange: () => this.pick(this.select.value)});
		this.says = make("p", {className: "mem-says", role: "status", "aria-live": "polite"});
		this.whole = make("button", {
			type: "button",
			textContent: "Everything",
			title: "Choose no moment and no range (Escape on the chart)",
			hidden: true,
			onclick: () => this.choose(null),
		});
		this.element = make(
			"div",
			{className: "mem-bar"},
			make("label", {for: "mem-what", textContent: "Count"}),
			this.select,
			this.whole,
			this.says,
		);
		this.build();
	}

	/** Set the selection from the members of a view (page/memory-address.js). */
	set({at = null, during = null, still = false, weight = "all"}) {
		this.at = during ? null : at;
		this.during = during;
		this.what = during ? (still ? "still" : "during") : at !== null ? "at" : weight;
	}

	/** Return the selection as members of a view (page/memory-address.js). */
	get view() {
		const {what, at, during} = this;

		return {
			...(what === "at" ? {at} : {}),
			...(what === "during" || what === "still" ? {during} : {}),
			...(what === "still" ? {still: true} : {}),
			...(what === "live" || what === "peak" ? {weight: what} : {}),
		};
	}

	/** Return the selected moment {at} or range {from, to}, which the chart marks, or null. */
	get marked() {
		return this.what === "at"
			? {at: this.at}
			: this.what === "during" || this.what === "still"
				? this.during
				: null;
	}

	/**
	 * Set the selection to the moment {at} or range {from, to} that the user selected in the chart;
	 * null: no moment and no range.
	 */
	choose(chosen) {
		const still = this.what === "still";

		if (!chosen) this.set({});
		else if (chosen.at !== undefined) this.set({at: chosen.at});
		else this.set({during: chosen, still});
		this.build();
		this.hooks.changed();
	}

	pick(what) {
		this.what = what;
		this.build();
		this.hooks.changed();
	}

	build() {
		const {timeText} = this.hooks;
		const options = [
			["all", "all allocated objects"],
			["live", "objects that live at the end"],
			["peak", "objects that lived at the peak"],
		];

		if (this.at !== null) options.push(["at", `objects that lived at ${timeText(this.at)}`]);
		if (this.during) {
			const range = `from ${timeText(this.during.from)} to ${timeText(this.during.to)}`;
			options.push(
				["during", `objects allocated ${range}`],
				["still", `objects allocated ${range} that live then`],
			);
		}
		this.select.replaceChildren(...options.map(([value, textContent]) => make("option", {value, textContent})));
		this.select.value = this.what;
		this.whole.hidden = this.what === "all";
	}

	/**
	 * Return the members `weight` and `filter` of the argument of heap.profile(). FILTER is the
	 * filter that the user set, or null. PEAK_US is the time at which most bytes of all objects
	 * lived. With a filter the page counts the filtered objects that lived at PEAK_US, and not at
	 * the peak of the filtered objects.
	 */
	question(filter, peakUs) {
		const {what} = this;

		if (what === "peak" && filter) return {weight: "all", filter: this.lineFilter(filter, peakUs)};
		return {weight: what === "live" || what === "peak" ? what : "all", filter: this.timed(filter)};
	}

	timed(filter) {
		const {what, at, during} = this;

		if (what === "at") return narrowed(filter, {live: {least: at, most: at}});
		if (what === "during") return narrowed(filter, {allocated: {least: during.from, most: during.to}});
		return what === "still"
			? narrowed(filter, {
					allocated: {least: during.from, most: during.to},
					live: {least: during.to, most: during.to},
				})
			: filter;
	}

	/**
	 * Return the filter for the second line of the chart, which shows the selected objects. Return
	 * null if all objects are selected; then there is no second line.
	 */
	lineFilter(filter, peakUs) {
		if (this.what === "live") return narrowed(filter, {never: true});
		return this.what === "peak" ? narrowed(filter, {live: {least: peakUs, most: peakUs}}) : this.timed(filter);
	}

	/** Show the sums of PROFILE, and their share of WHOLE, all bytes allocated in the recording. */
	tell({bytes, objects, samples, relativeError}, whole) {
		this.says.textContent = samples
			? `${amount(bytes)} ${give(relativeError)} in ${count(objects, "sampled object")}, ${share(bytes, whole)} of all allocations`
			: "No sampled object fits the choice.";
	}
}
