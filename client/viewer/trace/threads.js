/* The threads in view as text: for screen readers, and for users who prefer a list. */
import {make, short} from "../page/make.js";
import {called} from "./panel.js";
import {Table, listOf} from "../page/table.js";
import {count, rough} from "../page/times.js";

const LISTED_MAX = 200; /* most threads in the list of the panel */

/* Return the lines of the threads in MARKS, one for each thread. */
function linesOf(marks) {
	const lines = [];
	const seen = new Set();

	for (const it of marks.list(["thread", "failed"]))
		if (!seen.has(it.item)) {
			seen.add(it.item);
			lines.push(it);
		}
	return lines;
}

/* Return the indices of the threads of LINES, from the top of the picture to its bottom. */
const fromTop = (lines) => lines.sort((a, b) => a.y0 - b.y0 || a.x0 - b.x0).map((it) => it.item);

/**
 * Return the indices of the threads in MARKS (draw/marks.js), from the top of the picture to its
 * bottom, each once.
 */
export function inView(marks) {
	return fromTop(linesOf(marks));
}

/** Return inView() of the MOST threads with the longest lines, and the number of all: {indices, all}. */
export function longestInView(marks, most = LISTED_MAX) {
	const lines = linesOf(marks);
	const longest = [...lines].sort((a, b) => b.x1 - b.x0 - (a.x1 - a.x0)).slice(0, most);

	return {indices: fromTop(longest), all: lines.length};
}

/** Return a few words on how THREAD ended. */
function ends(thread) {
	if (thread.flags.includes("end_unseen")) return "no resolution in the trace, which lacks events";
	if (thread.failure) return `failed: ${short(thread.failure)}`;
	if (thread.flags.includes("never_resolved")) return "should have been resolved and never was";
	return thread.flags.includes("resolved") ? "resolved" : "not resolved";
}

/** Return a line of text about THREAD, an answer of engine.thread(). CLOCK writes times. */
export function line(thread, clock) {
	return `${short(called(thread), 80)}, from ${clock.at(thread.start)}, ${rough(
		thread.end - thread.start,
	)}, ${ends(thread)}`;
}

/** The table of the threads in view. Sorting and filter stay when other threads come into view. */
export class ThreadsTable {
	/**
	 * CLOCK writes times. GO(index) is called when the user clicks a thread. SAVE(text) saves the
	 * table's text.
	 */
	constructor(clock, go, save) {
		this.columns = [
			{
				key: "name",
				title: "thread",
				value: (it) => called(it),
				node: (it) =>
					make("button", {
						type: "button",
						className: "tl-link",
						textContent: short(called(it), 80),
						onclick: () => go(it.index),
					}),
			},
			{key: "type", title: "type", value: (it) => it.type},
			{
				key: "start",
				title: "from",
				unit: "ns",
				number: true,
				value: (it) => it.start,
				text: (it) => clock.at(it.start),
			},
			{
				key: "lives",
				title: "lives",
				unit: "ns",
				number: true,
				value: (it) => it.end - it.start,
				text: (it) => rough(it.end - it.start),
			},
			{key: "ran", title: "ran", unit: "ns", number: true, value: (it) => it.ran, text: (it) => rough(it.ran)},
			{key: "ended", title: "ended", value: ends},
		];
		this.says = make("p", {className: "tl-quiet"});
		this.table = new Table({
			caption: "Threads",
			columns: this.columns,
			sort: {key: null, descending: false},
			save,
			list: (query) => this.list(query),
		});
		this.nodes = [this.says, this.table.element];
	}

	/** Show the threads INDICES, which ENGINE describes, of ALL in view. Resolve when they are shown. */
	async show({indices, all}, engine) {
		const threads = await Promise.all(indices.map((index) => engine.thread(index)));

		this.list = listOf(threads.filter(Boolean), this.columns);
		this.says.textContent =
			all > indices.length
				? `The ${indices.length} longest of ${all.toLocaleString("en")} threads in view. Zoom in for the others.`
				: `${count(all, "thread")} in view, from the top.`;
		await this.table.show();
	}
}
