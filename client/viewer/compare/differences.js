/*
 * The differences of two traces, as sentences and as marks. DIFF is the answer of engine.diff() (schema/answers/diff.json).
 * The trace above is the one that went wrong, called "bad" in DIFF. The trace below went well and
 * is called "good". The sentences say "above" and "below", because the user chose which run went
 * well.
 */
import {TextPlaces} from "../draw/text-places.js";
import {short} from "../page/make.js";
import {count, rough} from "../page/times.js";

export const NONE = 0xffffffff; /* entry of a match array: the thread has no counterpart */
export const SIDES = {bad: "above", good: "below"};

const TEXT_GAP = 8; /* distance from a mark's begin to its text, pixels */
const LONE_MAX = 1000; /* most marks of threads without a counterpart; a picture has fewer rows */
const OTHER = {bad: "good", good: "bad"};

/** Return the name of thread IT for a sentence. */
export function who(it) {
	return it
		? `${it.stream ? `${it.stream}: ` : ""}${it.thread} (${it.type}${it.label ? `, “${short(it.label, 60)}”` : ""})`
		: "the program itself";
}

/** Return what a thread did next, as a verb and its object. STEP is from DIFF; null: nothing. */
export function stepText(step) {
	if (!step) return "does nothing more";
	const other = who(step.other);
	const words = {
		label: `says “${short(step.label ?? "", 60)}”`,
		creates: `creates ${other}`,
		signals: `signals ${other}`,
		signalled: `is signalled by ${other}`,
		resolves: step.self ? "is resolved" : `resolves ${other}`,
		resolved: `is resolved by ${other}`,
		fails: step.self ? "fails" : `lets ${other} fail`,
		failed: `fails by ${other}`,
		reads: `reads ${other}`,
		read: `is read by ${other}`,
		becomes: `becomes ${other}`,
	};

	return words[step.step] ?? step.step;
}

/* The same where the trace can lack the end, or the failure, that is denied. */
const OUTCOMES_OF_TRACES = {
	"bad-waits": "Without a resolution in the trace above",
	"bad-fails": "Failed in the trace above only",
	"good-waits": "Without a resolution in the trace below",
	"good-fails": "Failed in the trace below only",
};
const OUTCOMES = {
	"bad-waits": ["Resolved below only", "bad"],
	"bad-fails": ["Failed above only", "bad"],
	"good-waits": ["Resolved above only", "good"],
	"good-fails": ["Failed below only", "good"],
};

function outcome(it) {
	const [says, side] = OUTCOMES[it.outcome];
	const rest = it.threads > 1 ? `, and ${count(it.threads - 1, "other")} for the same reason` : "";
	const root =
		it.root && it.root.index !== it[side]?.index ? `; ${SIDES[side]} it waits in the end on ${who(it.root)}` : "";

	return {
		kind: "outcome",
		text: `${it.coverage ? OUTCOMES_OF_TRACES[it.outcome] : says}: ${who(it[side] ?? it[OTHER[side]])}${rest}${root}.`,
		good: it.good,
		bad: it.bad,
	};
}

/** Return what a side of a parting did next. The trace can lack that. */
const next = (side) => (side.next ? stepText(side.next[0]) : "does nothing more in the trace");

function divergence({good, bad}, first) {
	const common = bad.common ? ` until it ${stepText(bad.common)}` : "";
	const time = ({next, common: last}) => {
		const step = next?.[0] ?? last;

		return step ? BigInt(step.time_ns) : null;
	};

	return {
		kind: "divergence",
		first,
		text: `${first ? "Here they part first: " : ""}${who(bad.thread)} does the same in both${common}; then above it ${next(bad)}, below it ${next(good)}.`,
		good: good.thread,
		bad: bad.thread,
		goodTime: time(good),
		badTime: time(bad),
	};
}

function unmatched({type, label, first_good: good, first_bad: bad, good: below, bad: above}) {
	return {
		kind: "unmatched",
		text: `Without a counterpart: ${type}${label ? ` “${short(label, 60)}”` : ""}, ${above ?? "none in the trace"} above and ${below ?? "none in the trace"} below.`,
		good,
		bad,
	};
}

function slower({good, bad, followers}) {
	const rest = followers ? `, and ${count(followers, "other")} that waited for it` : "";

	return {
		kind: "slower",
		text: `Slower above: ${who(bad)} takes ${rough(BigInt(bad.lasted_ns))}, below ${rough(BigInt(good.lasted_ns))}${rest}.`,
		good,
		bad,
	};
}

function counter({counter: name, stream, good, bad}, diff) {
	const called = short(stream ? `${stream}: ${name}` : name);

	return {
		kind: "counter",
		text:
			good && bad
				? `The counter ${called} has other values.`
				: diff[bad ? "good" : "bad"].coverage
					? `The counter ${called} is in the trace ${bad ? "above" : "below"} only.`
					: `The counter ${called} is ${bad ? "above" : "below"} only.`,
		good: null,
		bad: null,
	};
}

/**
 * Return all differences, the most important first: [{kind, text, good, bad, …}]. GOOD and BAD are
 * the threads to show in the two traces.
 */
export function differences(diff) {
	const {first_parting: first} = diff;

	return [
		...(first === null ? [] : [divergence(first, true)]),
		...diff.outcomes.map(outcome),
		...diff.other_partings.map((it) => divergence(it, false)),
		...diff.lone.map(unmatched),
		...diff.slower.map(slower),
		...diff.counters.map((it) => counter(it, diff)),
	];
}

/** Return a sentence on how similar the traces are, and whether they can lack something. */
export function summary({alike, counterparts, good, bad}) {
	const lasts = (run) => rough(BigInt(run.last_ns) - BigInt(run.first_ns));
	const took = `the trace above lasts ${lasts(bad)}, below ${lasts(good)}`;
	const summary = alike
		? "Nothing differs but times"
		: `${count(counterparts, "thread has", "threads have")} a counterpart, of ${bad.threads.toLocaleString("en")} above and ${good.threads.toLocaleString("en")} below`;
	const lacks = (run, place) =>
		run.coverage
			? ` A thread, a step or a counter of the trace ${place} would not be here${run.missing
					.flat()
					.map(({text}) => text)
					.join("")}.`
			: "";

	return `${summary}; ${took}.${lacks(bad, "above")}${lacks(good, "below")}`;
}

/** Return the number of differences that DIFF leaves out because its lists are limited. */
export function leftOut(diff) {
	return Object.values(diff.left_out).reduce((sum, n) => sum + n, 0);
}

/**
 * Return the marks of the differences in LIST for the picture of SIDE ("bad" or "good"). LIST is
 * from differences(). THREADS maps an index to a thread of engine.thread().
 */
export function marked(list, side, threads) {
	const out = [];

	for (const it of list) {
		const thread = threads.get(it[side]?.index);
		if (!thread || thread.row === null) continue;
		if (it.kind === "divergence" && it[`${side}Time`] !== null)
			out.push({
				kind: "divergence",
				row: thread.row,
				time: it[`${side}Time`],
				text: it.first ? "they part here" : "",
			});
		else if (it.kind === "outcome")
			out.push({
				kind: "outcome",
				row: thread.row,
				from: thread.start,
				to: thread.end,
				text: it.text.split(":")[0],
			});
	}
	return out;
}

/**
 * Return the threads of the picture SHOWN that have no counterpart in the array MATCH, each with
 * its times and its row.
 */
export function unmatchedLines({marks, window, rowAt}, match) {
	const out = [];
	const time = (x) =>
		window.from +
		BigInt(Math.round(Math.max(-1, Math.min(2, x / window.width)) * Number(window.to - window.from) || 0));

	for (const it of marks.list(["thread", "failed"])) {
		if (match[it.item] !== NONE) continue;
		out.push({kind: "unmatched", row: rowAt(it.y0), from: time(it.x0), to: time(it.x1), thread: it.item});
		if (out.length === LONE_MAX) break;
	}
	return out;
}

/**
 * Return MARKS as primitives for overlay.js. LABELS are places of the picture's labels, from
 * labelPlaces(). A text that would touch an earlier one is left out; the panel has all of them.
 */
export function drawn(marks, camera, yOf, labels = []) {
	const x = (time) => Math.max(-50, Math.min(camera.width + 50, camera.xOf(time)));
	const places = new TextPlaces(labels);

	return marks.map(({kind, row, time, from, to, text, thread}) => {
		const y = yOf(row);
		const [x0, x1] = kind === "divergence" ? [x(time), x(time)] : [x(from), x(to)];
		const left = Math.max(x0, 0) + TEXT_GAP;
		const seen = x1 >= 0 && x0 <= camera.width;
		const place = seen ? places.take(text ?? "", left, y, Math.min(x1, camera.width)) : {text, x: left};
		const out = {kind, x0, y0: y, x1, y1: y, text: place.text, textX: place.x};

		return kind === "divergence" ? out : {...out, thread};
	});
}
