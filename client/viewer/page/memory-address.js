/*
 * Convert between the view of a memory profile and the part of the URL behind "#", such as
 * `#memtrace=12&at=218336&only=size:least:4K&path=main&path=handle`. parseMemory() leaves out
 * malformed parts.
 *
 * Members of a view; all but the first may be absent. Times are µs since the recording's start:
 * - memtrace: number of the recording; of a hub a text, HOST.ARCHIVE.CAPTURE.NUMBER; or memfile: name of a file;
 * - at: a moment; during: a range {from, to}; still: true selects, of the objects allocated in the
 *   range, those that live at its end;
 * - weight: "live" or "peak": objects that live at the end of the recording, or at its peak.
 *   Without weight, at and during, all allocated objects are selected;
 * - base: another such choice of the same recording, {at}, {during, still} or {weight}, which the
 *   shown one is compared with; or other: number of another recording to compare with;
 * - count: "objects" weights the graphs by sampled objects; around: name of the function whose
 *   callers and callees are shown;
 * - only: conditions as texts (memory/memory-clauses.js); hide: names of functions to leave out, in
 *   the same form;
 * - fold: names of functions whose callees the flame graph does not draw;
 * - path: names of the functions from the root of the flame graph to the one that fills the width;
 * - grow: "down" draws the flame graph from top to bottom; tree: "callers"; sites, recursion: true;
 *   see heap.profile();
 * - tab: one of TABS; sort: one of SORTS; clock: "wall" shows times of day; find: text of the
 *   search.
 */

export const TABS = ["flame", "sandwich", "functions", "leaks"];
export const SORTS = ["self", "total", "name"];

const NUMBER = /^[0-9]{1,15}$/;
const HUB_PROFILE = /^[a-z0-9][a-z0-9._-]{0,126}\.[0-9a-f]{8}[0-9a-f-]*\.[0-9]{1,15}\.[0-9]{1,15}$/;
const TEXT_MAX = 1024; /* most letters of a text */
const CLAUSES_MAX = 24; /* most conditions, and most functions to leave out */
const PATH_MAX = 512; /* most functions of a path */
const PATH_TEXT_MAX = 6000; /* most letters of a path in the URL; a longer path loses its end */
/* Members with one of several values. Another value is left out, and so is the usual one. */
const ONE_OF = {
	weight: ["live", "peak"],
	grow: ["down"],
	tree: ["callers"],
	count: ["objects"],
	tab: TABS.slice(1),
	sort: SORTS.slice(1),
	clock: ["wall"],
};
const FLAGS = ["still", "sites", "recursion"]; /* members that are true or absent */

/** Return TEXT as a number, or null if it is no decimal number. */
function number(text) {
	return NUMBER.test(text ?? "") ? Number(text) : null;
}

/** Return TEXT, "FROM-TO", as {from, to}; null if it is malformed or FROM is not before TO. */
function during(text) {
	const [from, to, more] = (text ?? "").split("-").map(number);

	return more === undefined && from !== null && to !== undefined && to !== null && from < to ? {from, to} : null;
}

/** Return BASE as text: "at:US", "during:FROM-TO", "still:FROM-TO", or a weight. */
function baseText({at, during: range, still, weight}) {
	if (range) return `${still ? "still" : "during"}:${range.from}-${range.to}`;
	return at !== undefined ? `at:${at}` : (weight ?? "all");
}

/** Return the choice that baseText() made TEXT of; null if it is malformed. */
function baseOf(text) {
	const [kind, rest, more] = (text ?? "").split(":");

	if (more !== undefined) return null;
	if (rest === undefined) return kind === "all" ? {} : ONE_OF.weight.includes(kind) ? {weight: kind} : null;
	if (kind === "at") return number(rest) === null ? null : {at: number(rest)};
	const range = kind === "during" || kind === "still" ? during(rest) : null;
	return range && {during: range, ...(kind === "still" ? {still: true} : {})};
}

/* Return PATH, names of functions, as texts for the URL: `3*f` stands for f, f, f. */
function packed(path) {
	const out = [];
	let room = PATH_TEXT_MAX;

	for (let i = 0, n; i < path.length && i < PATH_MAX; i += n) {
		const name = path[i].slice(0, TEXT_MAX);

		for (n = 1; path[i + n] === path[i];) n++;
		room -= name.length + 8;
		if (room < 0) break;
		out.push(n > 1 || /^\d+\*/.test(name) ? `${n}*${name}` : name);
	}
	return out;
}

/** Return the path that packed() made TEXTS of. */
function unpacked(texts) {
	const out = [];

	for (const text of texts) {
		const [, n, name] = /^(\d{1,4})\*(.*)$/s.exec(text) ?? [null, "1", text];

		for (let i = Number(n); i > 0 && out.length < PATH_MAX; i--) out.push(name.slice(0, TEXT_MAX));
	}
	return out;
}

/** Return true if VIEW names a memory profile. */
export function namesMemory(view) {
	return view.memtrace !== undefined || view.memfile !== undefined;
}

/**
 * Return the members of a view that QUERY (URLSearchParams) has; {} if it names no memory profile.
 */
export function parseMemory(query) {
	const view = {};

	if (number(query.get("memtrace")) !== null) view.memtrace = number(query.get("memtrace"));
	else if (HUB_PROFILE.test(query.get("memtrace") ?? "")) view.memtrace = query.get("memtrace");
	else if (query.get("memfile")) view.memfile = query.get("memfile").slice(0, TEXT_MAX);
	else return view;
	if (during(query.get("during"))) view.during = during(query.get("during"));
	else if (number(query.get("at")) !== null) view.at = number(query.get("at"));
	if (number(query.get("other")) !== null) view.other = number(query.get("other"));
	else if (baseOf(query.get("base"))) view.base = baseOf(query.get("base"));
	if (query.get("around")) view.around = query.get("around").slice(0, TEXT_MAX);
	for (const [key, values] of Object.entries(ONE_OF)) if (values.includes(query.get(key))) view[key] = query.get(key);
	for (const key of FLAGS) if (query.get(key) === "1") view[key] = true;
	for (const key of ["only", "hide", "fold"])
		if (query.has(key))
			view[key] = query
				.getAll(key)
				.slice(0, CLAUSES_MAX)
				.map((text) => text.slice(0, TEXT_MAX));
	if (query.has("path")) view.path = unpacked(query.getAll("path").slice(0, PATH_MAX));
	return view;
}

/**
 * Write the members of VIEW into QUERY (URLSearchParams). If VIEW names no memory profile, do
 * nothing.
 */
export function formatMemory(view, query) {
	if (!namesMemory(view)) return;
	for (const key of ["memtrace", "memfile", "at", "other", "around"])
		if (view[key] !== undefined && view[key] !== null) query.set(key, String(view[key]));
	if (view.during) query.set("during", `${view.during.from}-${view.during.to}`);
	if (view.base) query.set("base", baseText(view.base));
	for (const key of Object.keys(ONE_OF)) if (view[key]) query.set(key, view[key]);
	for (const key of FLAGS) if (view[key]) query.set(key, "1");
	for (const key of ["only", "hide", "fold"]) for (const text of view[key] ?? []) query.append(key, text);
	for (const text of packed(view.path ?? [])) query.append("path", text);
}
