/*
 * Conditions on allocations ("only show allocations that …"). A condition is a clause {kind, how, a,
 * b}: KIND is a key of KINDS or HIDDEN, HOW is the operator, and A and B are the texts that the user
 * typed as its values. In the address a clause is `kind:how:a` or `kind:between:a~b`.
 */
import {readBytes, readSpan, readTime} from "./memory-text.js";

const TIMES = {most: "at or before", least: "at or after", between: "between"};
const AMOUNTS = {most: "at most", least: "at least", between: "between"};
const NAMES = {is: "equals", has: "contains"};
const HEAPS = {major: "major", minor: "minor", external: "external"};
const FUNCTIONS_MAX = 8; /* most clauses on functions, MPROF_MEM_CLAUSES_MAX */

/**
 * The kinds of clauses in the order of the list: TEXT, the operators HOWS, and FILL, the type of the
 * values (a key of FILLS, "name", or null: no value).
 */
export const KINDS = {
	allocated: {text: "allocated", hows: TIMES, fill: "time"},
	live: {text: "live", hows: {at: "at", ...TIMES, end: "at the end", peak: "at the peak"}, fill: "time"},
	collected: {text: "collected", hows: {...TIMES, never: "never"}, fill: "time"},
	size: {text: "whose size is", hows: AMOUNTS, fill: "bytes"},
	lifetime: {text: "whose lifetime is", hows: AMOUNTS, fill: "span"},
	inside: {text: "inside a call to a function whose name", hows: NAMES, fill: "name"},
	outside: {text: "not inside a call to a function whose name", hows: NAMES, fill: "name"},
	on: {text: "on the heap", hows: HEAPS, fill: null},
	off: {text: "not on the heap", hows: HEAPS, fill: null},
};

/** The kinds of clauses that hide functions. */
export const HIDDEN = {hide: {text: "whose name", hows: NAMES, fill: "name"}};

/* For each type of value: its parser, and a description for the message about a wrong value. */
const FILLS = {
	time: [readTime, "a time, such as 1.5 s since the start or 12:30:05 UTC"],
	span: [readSpan, "a time span, such as 200 ms or 1.5 s"],
	bytes: [readBytes, "an amount, such as 512 B, 4K or 1.5M"],
};
const FIXED = ["end", "peak", "never"]; /* operators without a value */

/** Return the number of values that a clause of KIND and HOW needs: 0, 1 or 2. */
export function blanks({kind, how}) {
	const {fill} = KINDS[kind] ?? HIDDEN[kind];

	return fill === null || FIXED.includes(how) ? 0 : how === "between" ? 2 : 1;
}

/** Return the text of CLAUSE for the address; null if a value is missing. */
export function clauseText(clause) {
	const {kind, how, a = "", b = ""} = clause;
	const n = blanks(clause);

	if ((n > 0 && a === "") || (n > 1 && b === "")) return null;
	return `${kind}:${how}${n > 0 ? `:${a}` : ""}${n > 1 ? `~${b}` : ""}`;
}

/** Return the clause of TEXT from the address; null if it is not valid. */
export function clauseOf(text) {
	const [, kind, how, rest] = /^([a-z]+):([a-z]+)(?::(.*))?$/s.exec(text) ?? [];
	const known = Object.hasOwn(KINDS, kind) ? KINDS[kind] : Object.hasOwn(HIDDEN, kind) ? HIDDEN[kind] : null;

	if (!known || !Object.hasOwn(known.hows, how)) return null;
	const clause = {kind, how, a: "", b: ""};
	const n = blanks(clause);
	if ((n === 0) !== (rest === undefined)) return null;
	[clause.a, clause.b] = n === 2 ? [rest.split("~")[0], rest.split("~").slice(1).join("~")] : [rest ?? "", ""];
	return clause;
}

/** Parse TEXT, a value of the type FILL. Return {value}, or {error: sentence}. */
function value(text, fill, startUs) {
	const [read, wanted] = FILLS[fill];
	const got = text.trim() === "" ? null : read(text, startUs);

	if (text.trim() === "") return {error: `Say ${wanted}.`};
	if (got !== null && Number.isFinite(got))
		return got < 0 ? {error: `“${text.slice(0, 40)}” is before the recording began.`} : {value: got};
	if (fill === "time" && startUs <= 0n && text.includes(":"))
		return {
			error: "The recording has no start time, so it has no times of day; give seconds since its start.",
		};
	return {error: `“${text.slice(0, 40)}” is not understood; give ${wanted}.`};
}

/* Return the range of values that CLAUSE allows: {range: {least, most}}, or {error: sentence}. */
function ranged(clause, fill, startUs) {
	const a = value(clause.a, fill, startUs);
	const b = clause.how === "between" ? value(clause.b, fill, startUs) : null;

	if (a.error || b?.error) return {error: a.error ?? b.error};
	if (b && a.value > b.value) return {error: "The first value is larger than the second; exchange them."};
	return {
		range: {least: {least: a.value}, most: {most: a.value}, at: {least: a.value, most: a.value}}[clause.how] ?? {
			least: a.value,
			most: b.value,
		},
	};
}

/**
 * Return the meaning of CLAUSE for a recording that began at START_US (since 1970): {range} |
 * {name, whole} | {fixed} | {heap}, or {error: sentence}.
 */
export function meaning(clause, startUs) {
	const {fill} = KINDS[clause.kind] ?? HIDDEN[clause.kind];

	if (fill === "name")
		return clause.a === ""
			? {error: "Give the name of a function, or a part of it."}
			: {name: clause.a, whole: clause.how === "is"};
	if (fill === null) return {heap: clause.how};
	return FIXED.includes(clause.how) ? {fixed: clause.how} : ranged(clause, fill, startUs);
}

/* Return the intersection of two ranges. */
function meet(a = {}, b) {
	const out = {...a};

	if (b.least !== undefined) out.least = Math.max(b.least, a.least ?? 0);
	if (b.most !== undefined) out.most = Math.min(b.most, a.most ?? Infinity);
	return out;
}

/* Combines the meanings of clauses into one filter for heap.js. */
class Gathering {
	constructor(peakUs) {
		this.filter = {clauses: []};
		this.heaps = new Set(Object.keys(HEAPS));
		this.peakUs = peakUs;
	}

	take(clause, meant) {
		const {filter} = this;
		const key = clause.kind === "size" ? "bytes" : clause.kind;

		if (meant.fixed === "peak") filter.live = meet(filter.live, {least: this.peakUs, most: this.peakUs});
		else if (meant.fixed) filter.never = true;
		else if (meant.range) filter[key] = meet(filter[key], meant.range);
		else if (meant.heap)
			this.heaps = new Set([...this.heaps].filter((it) => (it === meant.heap) === (clause.kind === "on")));
		else filter.clauses.push({name: meant.name, whole: meant.whole, outside: clause.kind === "outside"});
	}

	done() {
		const {filter, heaps} = this;

		if (heaps.size < 3) filter.heaps = [...heaps];
		return filter.clauses.length || Object.keys(filter).length > 1 ? filter : null;
	}
}

/**
 * Combine CLAUSES for a recording that began at START_US and has its peak at PEAK_US. Return
 * {filter, errors}. FILTER is for heap.js, null: all objects. ERRORS has a sentence or null for
 * each clause. A clause with an error is left out of FILTER.
 */
export function gather(clauses, startUs, peakUs) {
	const all = new Gathering(peakUs);
	const errors = clauses.map((clause) => {
		const meant = meaning(clause, startUs);

		if (meant.error) return meant.error;
		if (meant.name !== undefined && all.filter.clauses.length === FUNCTIONS_MAX)
			return `More than ${FUNCTIONS_MAX} conditions on functions cannot be combined; remove one.`;
		const before = all.heaps;
		all.take(clause, meant);
		if (all.heaps.size) return null;
		all.heaps = before;
		return "The conditions exclude every heap; remove this or another condition on heaps.";
	});

	return {filter: all.done(), errors};
}

/**
 * Return a copy of FILTER (null: all objects) to which the conditions MORE are added: {allocated,
 * live, collected, bytes, lifetime: {least, most}, never: true}, each optional.
 */
export function narrowed(filter, more) {
	const out = {clauses: [], ...filter};

	for (const [key, range] of Object.entries(more)) out[key] = key === "never" ? true : meet(out[key], range);
	return out;
}

/** Return the names of the functions that CLAUSES hide, in the form for heap.js. */
export function hiddenOf(clauses) {
	return clauses.map((clause) => meaning(clause, 0n)).filter((it) => !it.error);
}
