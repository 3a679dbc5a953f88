/*
 * A selection of objects. These are
 * - all allocated objects;
 * - or the objects that live at the end of the profile, at its peak, or at a chosen moment;
 * - or the objects allocated in a chosen range, or those of them that live at the end of the range.
 */
import {narrowed} from "./memory-clauses.js";

export class Selection {
	/** VIEW: the members of a view (page/memory-address.js). */
	constructor(view = {}) {
		this.set(view);
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
	 * Return the members `weight` and `filter` of the argument of heap.profile(). FILTER is the
	 * filter that the user set, or null. PEAK_US is the time at which most bytes of all objects
	 * lived. With a filter the page counts the filtered objects that lived at PEAK_US, and not at
	 * the peak of the filtered objects. OBJECTS: the answer's trees must count the same objects as
	 * its bytes; only a filter counts objects that live.
	 */
	question(filter, peakUs, objects = false) {
		const {what} = this;

		if (objects || (what === "peak" && filter)) return {weight: "all", filter: this.lineFilter(filter, peakUs)};
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

	/**
	 * Return the selection as text; TIMETEXT(us) returns the time US as the axis shows it. WHAT is
	 * another kind of selection with the same times.
	 */
	text(timeText, what = this.what) {
		const {at, during} = this;

		if (what === "all") return "all allocated objects";
		if (what === "live") return "objects that live at the end";
		if (what === "peak") return "objects that lived at the peak";
		if (what === "at") return `objects that lived at ${timeText(at)}`;
		const range = `objects allocated from ${timeText(during.from)} to ${timeText(during.to)}`;
		return what === "during" ? range : `${range} that live then`;
	}
}
