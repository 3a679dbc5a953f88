/* The threads in view as a list, for screen readers and for users who prefer text. */
import {make, short} from "../page/make.js";
import {called} from "./panel.js";
import {rough, span} from "../page/times.js";

const LISTED_MAX = 60;

/** Return the indices of the threads in MARKS, from the top, each once. */
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

function ends(thread) {
	if (thread.failure) return `failed: ${short(thread.failure)}`;
	if (thread.flags.includes("never_resolved")) return "should have been resolved and never was";
	return thread.flags.includes("resolved") ? "resolved" : "not resolved";
}

/** Return a line of text about THREAD. START is the time of the trace's begin. */
export function line(thread, start) {
	return `${short(called(thread), 80)}, from +${span(thread.start - start)}, ${rough(
		thread.end - thread.start,
	)}, ${ends(thread)}`;
}

/**
 * Return a node with a list of the threads INDICES, cut to LISTED_MAX. ENGINE describes each
 * thread, and GO(index) selects one.
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
