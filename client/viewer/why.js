/* Why a thread waits: the answers of the model as sentences, and their chain as what is drawn. */
import {make, short} from "./make.js";
import {span} from "./times.js";

const VERDICTS = {
	resolved: "It was resolved: nothing is to be explained.",
	"missed-signal": "Its condition was signalled while nobody waited for it, just before, and not since: it missed its wake-up.",
	"missed-resolution": "What it waits for was resolved already when it was looked at, and was still not read.",
	"not-woken": "What it waits for was resolved later, and whoever waits did not read it.",
	"signalled-since": "Its condition was signalled since, and that did not resolve it.",
	"never-signalled": "Its condition was not signalled since it began to wait, and no signal was lost just before.",
	"never-resolved": "What it waits for has no condition, and nothing resolved it.",
	circle: "The threads wait on each other in a circle.",
};

const name = (it) => short(it.label ? `${it.label} (${it.type} ${it.thread})` : `${it.type} ${it.thread}`, 70);

function link(it, go) {
	return make("button", {type: "button", className: "tl-link", textContent: name(it), onclick: () => go(it)});
}

/** One answer as nodes.  START of the trace; GO({thread, stream, label, index}) selects. */
function answerNodes(answer, start, go) {
	const since = (ns) => `+${span(BigInt(ns) - start)}`;
	const nodes = [
		make("h3", {}, link(answer, go)),
		make("p", {className: "tl-verdict", textContent: VERDICTS[answer.verdict] ?? answer.verdict}),
	];

	if (answer.chain?.length)
		nodes.push(
			make(
				"ol",
				{className: "tl-chain"},
				...answer.chain.map((it) => make("li", {}, "waits for ", link(it, go), ` since ${since(it.since_ns)}`)),
			),
		);
	if (answer.condition?.thread !== undefined)
		nodes.push(make("p", {}, "Its condition is ", link(answer.condition, go), "."));
	if (answer.missed?.time_ns)
		nodes.push(
			make(
				"p",
				{},
				`The signal that nobody waited for came at ${since(answer.missed.time_ns)}`,
				...(answer.missed.thread === undefined ? ["."] : [" from ", link(answer.missed, go), "."]),
			),
		);
	if (answer.last_signal?.time_ns)
		nodes.push(make("p", {textContent: `The last signal of it at all came at ${since(answer.last_signal.time_ns)}.`}));
	if (answer.like?.thread !== undefined)
		nodes.push(
			make(
				"p",
				{},
				"One like it was resolved: ",
				link(answer.like, go),
				answer.like.resolution?.thread === undefined ? "." : ", by ",
				...(answer.like.resolution?.thread === undefined ? [] : [link(answer.like.resolution, go), "."]),
			),
		);
	return nodes;
}

/** ANSWERS as `mprofctl why --json` gives them: a list, or an object with one. */
export function answersOf(answers) {
	return Array.isArray(answers) ? answers : (answers?.threads ?? answers?.answers ?? (answers?.verdict ? [answers] : []));
}

export function told(answers, start, go) {
	const list = answersOf(answers);

	if (!list.length)
		return [
			make("p", {
				textContent:
					"No thread that should have been resolved is left unresolved. Select a thread to ask why that one waits.",
			}),
		];
	return list.slice(0, 50).flatMap((answer) => answerNodes(answer, start, go));
}

/**
 * The chains as what overlay.js draws.  RESOLVE({thread, stream, index}) -> Promise of the thread as engine.thread() tells it, or null; END of
 * the trace.
 */
export async function chain(answers, resolve, end) {
	const out = [];

	for (const answer of answersOf(answers).slice(0, 8)) {
		const first = await resolve(answer);
		let last = null;
		if (!first || first.row === null)
			continue;
		for (const link of answer.chain?.length ? answer.chain : []) {
			const thread = await resolve(link);
			if (!thread || thread.row === null)
				continue;
			const time = BigInt(link.since_ns);
			const above = last ?? {row: first.row, from: first.start, to: end, link: null, thread: first.index};
			above.link = {time, row: thread.row};
			if (!last)
				out.push(above);
			last = {row: thread.row, from: time, to: end, link: null, thread: thread.index};
			out.push(last);
		}
		if (!last)
			out.push({row: first.row, from: first.start, to: end, link: null, thread: first.index});
	}
	return out;
}
