/* Why a thread waits, in two forms: sentences for the panel, and threads to mark in the overlay. */
import {make} from "../page/make.js";
import {called, sentence} from "./panel.js";

const ALL_RESOLVED = "All threads that should have been resolved were. Select a thread to ask why that one waits.";
const CHAINS_MAX = 8; /* most chains that are drawn, because more would hide each other */

/**
 * Return the answer of engine.why() as nodes for the panel. GO and CLOCK are those of sentence() of
 * panel.js.
 */
export function answerNodes({answers, left_out: left, rest, should_resolve: marked, last}, go, clock) {
	const nodes = answers.flatMap((answer, i) => [
		make("h3", {
			textContent: `${answers.length > 1 ? `${i + 1}. ` : ""}${answer.stream ? `${answer.stream}: ` : ""}${answer.label ?? answer.asked}`,
		}),
		...answer.story.map((line) => sentence(line, go, clock)),
	]);

	if (marked && !answers.length) nodes.push(make("p", {textContent: ALL_RESOLVED}));
	if (!marked) nodes.push(...rest.map((line) => sentence(line, go, clock)));
	if (left)
		nodes.push(
			make("p", {className: "tl-quiet", textContent: `And ${left} more. Select one to ask why it waits.`}),
		);
	nodes.push(
		make("h3", {textContent: "At the end"}),
		...last.flatMap(({story}) => story.map((line) => sentence(line, go, clock))),
	);
	return nodes;
}

/**
 * Return the first and the last time {from, to}, ns, that the sentences of ANSWERS name; null if they
 * name none. ANSWERS are the member `answers` of engine.why().
 */
export function told(answers) {
	const times = answers
		.slice(0, CHAINS_MAX)
		.flatMap(({story}) => story.flat().flatMap(({time}) => (time === undefined ? [] : [time])));
	const pick = (better) => times.reduce((a, b) => (better(b, a) ? b : a));

	return times.length ? {from: pick((a, b) => a < b), to: pick((a, b) => a > b)} : null;
}

/**
 * Return a Promise of the chains of ANSWERS, which are the member `answers` of engine.why(), as one
 * list for overlay.js: [{row, from, to, link, thread, text}]. A thread waits for the thread of its
 * link {time, row}, and the list has that thread next. Times are in ns. RESOLVE(index) returns a
 * Promise of a thread. LATEST is the end of the trace, ns, for answers without an end.
 */
export async function chain(answers, resolve, latest) {
	const out = [];

	for (const answer of answers.slice(0, CHAINS_MAX)) {
		const first = await resolve(answer.index);
		let last = null;
		if (!first || first.row === null) continue;
		const until = answer.end_ns === undefined ? latest : BigInt(answer.end_ns);
		const end = answer.verdict === "resolved" ? first.end : until;
		for (const link of answer.chain?.length ? answer.chain : []) {
			const thread = await resolve(link.index);
			if (!thread || thread.row === null) continue;
			const time = BigInt(link.since_ns);
			const above = last ?? {
				row: first.row,
				from: first.start,
				to: end,
				link: null,
				thread: first.index,
				text: called(first),
			};
			above.link = {time, row: thread.row};
			if (!last) out.push(above);
			last = {row: thread.row, from: time, to: end, link: null, thread: thread.index, text: called(thread)};
			out.push(last);
		}
		if (!last)
			out.push({
				row: first.row,
				from: first.start,
				to: end,
				link: null,
				thread: first.index,
				text: called(first),
			});
	}
	return out;
}
