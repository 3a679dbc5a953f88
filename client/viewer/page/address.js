/*
 * Convert between a view, which says what a page shows, and the part of the URL behind "#", such as
 * `#domain=web&from=12&to=900&thread=0.17`. Browsers do not send this part to the server, and a
 * page that was opened from a file can have it, too. parse() leaves out malformed parts.
 *
 * A view is an object. Each member may be absent:
 * - domain, capture, file or together: the trace; memtrace or memfile: a memory profile
 *   (memory-address.js); without any of these the page shows the host;
 * - together: several traces on one time line, ["domain:NAME" or "capture:ID"];
 * - capture: a number; of a hub a text, HOST.ARCHIVE.NUMBER; so in `together` and `against`;
 * - host, cause, image: on the page of a hub, only these captures are listed;
 * - run, stream: numbers;
 * - from, to: the window of time, BigInt ns; row: the focused row;
 * - thread: {stream, id, index}: the selected thread; ID is a BigInt, INDEX a hint from an earlier
 *   model;
 * - against: the trace to compare with, in the form of `together`;
 * - align: what both compared traces are aligned at, {label} or {threads: [thread, thread]};
 * - find: text of the search; measure: the selected range {from, to}; area: the selected rows
 *   {first, last}; panel: the open one of PANELS;
 * - filter: {types: [name], label, unresolved: true, depends: thread}: the threads to show;
 * - time: "guest", "wall" or "utc": the clock by which times are written; absent: since the start;
 * - notes: [{from, to, text}]: the user's notes; of a moment FROM and TO are equal;
 * - rows: "all" gives height also to rows without a thread in view;
 * - heap, counters: "off" hides them; tracks: the states of changed tracks (track-address.js).
 */
import {formatMemory, parseMemory} from "./memory-address.js";
import {formatTracks, parseTracks} from "./track-address.js";

/* Names of the panels that a URL can open. */
export const PANELS = ["why", "diff", "counters", "threads", "stats", "notes", "trace", "help"];

/* Clocks by which a URL can have times written; see trace/clock.js. */
const TIMES = ["guest", "wall", "utc"];

/* Members that choose the captures that the page of a hub lists. */
export const LISTED = ["host", "cause", "image"];

/* Members that say that a view is of a trace. */
const TRACE = ["domain", "capture", "file", "together"];
/* Members in which two views of the same trace are equal. */
const NAMING = [...TRACE, "run", "stream", "against", "memtrace", "memfile"];
const TIME = /^[0-9]{1,19}$/;
const NUMBER = /^[0-9]{1,15}$/;
const HUB_ID = /^[a-z0-9][a-z0-9._-]{0,126}\.[0-9a-f]{8}[0-9a-f-]*\.[0-9]{1,15}$/; /* a capture of a hub */
const TEXT_MAX = 1024; /* most letters of a text */
export const NOTES_MAX = 50; /* most notes in a URL */
export const NOTE_LETTERS = 200; /* most letters of a note */
const TOGETHER_MAX = 16; /* most traces on one time line */
const MEMBER =
	/^(capture:[0-9]{1,15}|capture:[a-z0-9][a-z0-9._-]{10,180}|domain:.+)$/s; /* a trace in `together` or `against` */

/** Return the time TEXT as a BigInt in ns, or null if it is no number below 2^63. */
function time(text) {
	const value = TIME.test(text ?? "") ? BigInt(text) : null;

	return value !== null && value < 1n << 63n ? value : null;
}

/**
 * Return the times FROM and TO, as texts, as {from, to} in ns; null if one is malformed or FROM is
 * not before TO.
 */
function range(from, to) {
	const a = time(from);
	const b = time(to);

	return a !== null && b !== null && a < b ? {from: a, to: b} : null;
}

/** Return the thread in TEXT, "STREAM.ID" or "STREAM.ID.INDEX", or null. */
function thread(text) {
	const parts = /^([0-9]{1,5})\.(-?[0-9]{1,19})(?:\.([0-9]{1,9}))?$/.exec(text ?? "");

	if (!parts) return null;
	const named = {stream: Number(parts[1]), id: BigInt(parts[2])};
	return parts[3] === undefined ? named : {...named, index: Number(parts[3])};
}

const threadText = ({stream, id, index}) => `${stream}.${id}${index === undefined ? "" : `.${index}`}`;

/* Return TEXT if it names a trace in `together` or `against`, else null. */
const member = (text) => (MEMBER.test(text ?? "") && text.length <= TEXT_MAX ? text : null);

/**
 * Return what two traces are aligned at, {label} or {threads}, or null. TEXT is "label:TEXT", or a
 * thread of each trace with "~" between them.
 */
function align(text) {
	if (text?.startsWith("label:") && text.length > 6) return {label: text.slice(6, TEXT_MAX)};
	const threads = (text ?? "").split("~").map(thread);

	return threads.length === 2 && threads.every(Boolean) ? {threads} : null;
}

const alignText = ({label, threads}) => (threads ? threads.map(threadText).join("~") : `label:${label}`);

/** Return the note in TEXT, "FROM:WORDS" or "FROM-TO:WORDS", or null. */
function note(text) {
	const [, first, last, words] = /^([0-9]+)(?:-([0-9]+))?:(.+)$/s.exec(text) ?? [];
	const from = time(first);
	const to = last === undefined ? from : time(last);

	return from !== null && to !== null && from <= to ? {from, to, text: words.slice(0, NOTE_LETTERS)} : null;
}

const noteText = ({from, to, text}) => `${from}${from === to ? "" : `-${to}`}:${text}`;

const TYPE = /^[A-Za-z_]{1,32}$/;
const LABEL_MAX = 64; /* most letters of a filter's label, and most types in a filter */

/** Return the filter of threads in QUERY (URLSearchParams); {} if there is none. */
function parseFilter(query) {
	const filter = {};
	const types = (query.get("types") ?? "").split(".").filter((it) => TYPE.test(it));
	const label = (query.get("label") ?? "").slice(0, LABEL_MAX);
	const depends = thread(query.get("depends"));

	if (types.length) filter.types = types.slice(0, LABEL_MAX);
	if (label) filter.label = label;
	if (query.get("state") === "unresolved") filter.unresolved = true;
	if (depends) filter.depends = depends;
	return filter;
}

/** Write the filter of threads into QUERY (URLSearchParams). */
function formatFilter({types, label, unresolved, depends}, query) {
	if (types) query.set("types", types.join("."));
	if (label) query.set("label", label);
	if (unresolved) query.set("state", "unresolved");
	if (depends) query.set("depends", threadText(depends));
}

/** Return the view that HASH names. HASH is the part of the URL behind "#", with or without "#". */
export function parse(hash) {
	const query = new URLSearchParams(hash.replace(/^#/, ""));
	const view = {};

	for (const key of ["domain", "file", "find", ...LISTED])
		if (query.get(key)) view[key] = query.get(key).slice(0, TEXT_MAX);
	for (const key of ["capture", "run", "stream"])
		if (NUMBER.test(query.get(key) ?? "")) view[key] = Number(query.get(key));
	if (HUB_ID.test(query.get("capture") ?? "")) view.capture = query.get("capture");
	const window = range(query.get("from"), query.get("to"));
	if (window) Object.assign(view, window);
	if (/^[0-9]{1,9}(\.[0-9]{1,6})?$/.test(query.get("row") ?? "")) view.row = Number(query.get("row"));
	const together = query.getAll("together").filter(member).slice(0, TOGETHER_MAX);
	if (together.length) view.together = together;
	if (member(query.get("against"))) view.against = query.get("against");
	const aligned = align(query.get("align"));
	if (aligned) view.align = aligned;
	const selected = thread(query.get("thread"));
	if (selected) view.thread = selected;
	for (const key of ["heap", "counters"]) if (query.get(key) === "off") view[key] = "off";
	if (query.get("rows") === "all") view.rows = "all";
	const notes = query.getAll("note").map(note).filter(Boolean).slice(0, NOTES_MAX);
	if (notes.length) view.notes = notes;
	if (TIMES.includes(query.get("time"))) view.time = query.get("time");
	const filter = parseFilter(query);
	if (Object.keys(filter).length) view.filter = filter;
	const tracks = parseTracks(query.get("tracks") ?? "");
	if (tracks.length) view.tracks = tracks;
	const measured = range(...(query.get("measure") ?? "").split("-"));
	if (measured) view.measure = measured;
	const rows = /^([0-9]{1,9})-([0-9]{1,9})$/.exec(query.get("area") ?? "");
	if (rows && Number(rows[1]) <= Number(rows[2])) view.area = {first: Number(rows[1]), last: Number(rows[2])};
	if (PANELS.includes(query.get("panel"))) view.panel = query.get("panel");
	return Object.assign(view, parseMemory(query));
}

/** Return the part of the URL for VIEW, with "#". "#" alone is the page of the host. */
export function format(view) {
	const query = new URLSearchParams();

	for (const key of ["domain", "capture", "file", "run", "stream", ...LISTED])
		if (view[key] !== undefined && view[key] !== null) query.set(key, String(view[key]));
	for (const one of view.together ?? []) query.append("together", one);
	if (view.against) query.set("against", view.against);
	if (view.align) query.set("align", alignText(view.align));
	if (view.from !== undefined && view.to !== undefined) {
		query.set("from", String(view.from));
		query.set("to", String(view.to));
	}
	if (view.row !== undefined) query.set("row", String(Math.round(view.row * 1000) / 1000));
	if (view.thread) query.set("thread", threadText(view.thread));
	if (view.find) query.set("find", view.find);
	if (view.measure) query.set("measure", `${view.measure.from}-${view.measure.to}`);
	if (view.area) query.set("area", `${view.area.first}-${view.area.last}`);
	if (view.heap) query.set("heap", view.heap);
	if (view.counters) query.set("counters", view.counters);
	if (view.rows) query.set("rows", view.rows);
	for (const one of view.notes ?? []) query.append("note", noteText(one));
	if (view.time) query.set("time", view.time);
	formatFilter(view.filter ?? {}, query);
	if (view.tracks?.length) query.set("tracks", formatTracks(view.tracks));
	if (view.panel) query.set("panel", view.panel);
	formatMemory(view, query);
	return `#${query}`;
}

/** Return true if the views A and B name the same trace or memory profile. */
export function sameTrace(a, b) {
	const text = (view, key) => JSON.stringify(view[key] ?? null);

	return NAMING.every((key) => text(a, key) === text(b, key));
}

/** Return true if VIEW names a trace. */
export function namesTrace(view) {
	return TRACE.some((key) => view[key] !== undefined);
}
