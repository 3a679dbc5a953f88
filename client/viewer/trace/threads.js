/* The threads in view as text: for screen readers, and for users who prefer a list. */
import {make, short} from "../page/make.js";
import {called} from "./panel.js";
import {rough, span} from "../page/times.js";

const LISTED_MAX = 60; /* most threads in the list of the panel */

/**
 * Return the indices of the threads in MARKS (draw/marks.js), from the top of the picture to its
 * bottom, each once.
 */
export function inView(marks) {
	const lines = [];
	const seen = new Set();

	for (const it of marks.list(["thread", "failed"]))
		if (!seen.has(it.item)) {
			seen.add(it.item);
			lines.push(it);
		}
	return lines.sort((a, b) => a.y0 - b.y0 || a.x0 - b.x0).map((it) => it.item);
}

/** Return a few words on how THREAD ended. */
function ends(thread) {
	if (thread.failure) return `failed: ${short(thread.failure)}`;
	if (thread.flags.includes("never_resolved")) return "should have been resolved and never was";
	return thread.flags.includes("resolved") ? "resolved" : "not resolved";
}

/**
 * Return a line of text about THREAD, an answer of engine.thread(). START is the first time of the
 * trace, ns.
 */
export function line(thread, start) {
	return `${short(called(thread), 80)}, from +${span(thread.start - start)}, ${rough(
		thread.end - thread.start,
	)}, ${ends(thread)}`;
}

/**
 * Return a Promise of a node with a list of the threads INDICES, at most LISTED_MAX. ENGINE
 * describes the threads. START is the first time of the trace, ns. GO(index) is called when the
 * user clicks a thread.
 */
export async function list(indices, engine, start, go) {
	const threads = await Promise.all(indices.slice(0, LISTED_MAX).map((index) => engine.thread(index)));
	const rows = threads.filter(Boolean).map((thread) =>
		make(
			"li",
			{},
			make("button", {
				type: "button",
				className: "tl-link",
				textContent: line(thread, start),
				onclick: () => go(thread.index),
			}),
		),
	);

	return make(
		"div",
		{},
		make("p", {
			className: "tl-quiet",
			textContent:
				indices.length > LISTED_MAX
					? `${LISTED_MAX} of ${indices.length.toLocaleString("en")} threads in view, from the top. Zoom in for the others.`
					: `${indices.length} threads in view, from the top.`,
		}),
		make("ol", {className: "tl-threads"}, ...rows),
	);
}
