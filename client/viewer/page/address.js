/*
 * The view and its address: parse() and format(). An address is
 * `#domain=web&from=12&to=900&thread=0.17`. The view is after the `#`, so the server does not see
 * it, and a page that was opened from a file can have one, too. Malformed parts are left out.
 *
 * A view: {
 *   domain | capture | file: a trace, or memtrace | memfile: a memory profile (memory-address.js);
 *   with none of these: the host's page,
 *   run, stream: numbers, from, to: BigInt ns, row: the focused row,
 *   thread: {stream, id, index}: id is a BigInt; index may be that of another model,
 *   together: several traces on one time line, ["domain:NAME" | "capture:ID"],
 *   against: the trace to compare with, in the same form; align: {label} | {threads: [thread,
 *     thread]}: the place of both traces that is aligned,
 *   find: text, measure: {from, to}, panel: the open one of PANELS, heap: "off" if it is hidden,
 *   filter: {types: [name], label: text, unresolved: true, depends: thread}: the threads that are
 *   shown; each may be absent,
 *   rows: "all" if rows without a thread in view have height, too,
 *   counters: "off" if all are hidden, tracks: the states of changed tracks (track-address.js),
 * }
 */
import {formatMemory, parseMemory} from "./memory-address.js";
import {formatTracks, parseTracks} from "./track-address.js";

export const PANELS = ["why", "diff", "counters", "threads", "stats", "trace", "help"];

const TRACE = ["domain", "capture", "file", "together"];
const NAMING = [...TRACE, "run", "stream", "against", "memtrace", "memfile"];
const TIME = /^[0-9]{1,19}$/;
const NUMBER = /^[0-9]{1,15}$/;
const TEXT_MAX = 1024;
const TOGETHER_MAX = 16;
const MEMBER = /^(capture:[0-9]{1,15}|domain:.+)$/s;

function time(text) {
	const value = TIME.test(text ?? "") ? BigInt(text) : null;

	return value !== null && value < 1n << 63n ? value : null;
}

/** Return the two times in A and B as {from, to}, or null. */
function range(from, to) {
	const a = time(from);
	const b = time(to);

	return a !== null && b !== null && a < b ? {from: a, to: b} : null;
}

function thread(text) {
	const parts = /^([0-9]{1,5})\.(-?[0-9]{1,19})(?:\.([0-9]{1,9}))?$/.exec(text ?? "");

	if (!parts) return null;
	const named = {stream: Number(parts[1]), id: BigInt(parts[2])};
	return parts[3] === undefined ? named : {...named, index: Number(parts[3])};
}

const threadText = ({stream, id, index}) => `${stream}.${id}${index === undefined ? "" : `.${index}`}`;

const member = (text) => (MEMBER.test(text ?? "") && text.length <= TEXT_MAX ? text : null);

/**
 * Return the place at which two traces are aligned. TEXT is `label:TEXT`, or a thread of each
 * trace, separated by "~".
 */
function align(text) {
	if (text?.startsWith("label:") && text.length > 6) return {label: text.slice(6, TEXT_MAX)};
	const threads = (text ?? "").split("~").map(thread);

	return threads.length === 2 && threads.every(Boolean) ? {threads} : null;
}

const alignText = ({label, threads}) => (threads ? threads.map(threadText).join("~") : `label:${label}`);

const TYPE = /^[A-Za-z_]{1,32}$/;
const LABEL_MAX = 64;

/** Return the filter of threads in QUERY. */
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

function formatFilter({types, label, unresolved, depends}, query) {
	if (types) query.set("types", types.join("."));
	if (label) query.set("label", label);
	if (unresolved) query.set("state", "unresolved");
	if (depends) query.set("depends", threadText(depends));
}

/** Return the view of HASH, with or without its #. */
export function parse(hash) {
	const query = new URLSearchParams(hash.replace(/^#/, ""));
	const view = {};

	for (const key of ["domain", "file", "find"]) if (query.get(key)) view[key] = query.get(key).slice(0, TEXT_MAX);
	for (const key of ["capture", "run", "stream"])
		if (NUMBER.test(query.get(key) ?? "")) view[key] = Number(query.get(key));
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
	const filter = parseFilter(query);
	if (Object.keys(filter).length) view.filter = filter;
	const tracks = parseTracks(query.get("tracks") ?? "");
	if (tracks.length) view.tracks = tracks;
	const measured = range(...(query.get("measure") ?? "").split("-"));
	if (measured) view.measure = measured;
	if (PANELS.includes(query.get("panel"))) view.panel = query.get("panel");
	return Object.assign(view, parseMemory(query));
}

/** Return the address of VIEW with its #. "#" is the host's page. */
export function format(view) {
	const query = new URLSearchParams();

	for (const key of ["domain", "capture", "file", "run", "stream"])
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
	if (view.heap) query.set("heap", view.heap);
	if (view.counters) query.set("counters", view.counters);
	if (view.rows) query.set("rows", view.rows);
	formatFilter(view.filter ?? {}, query);
	if (view.tracks?.length) query.set("tracks", formatTracks(view.tracks));
	if (view.panel) query.set("panel", view.panel);
	formatMemory(view, query);
	return `#${query}`;
}

/** Return whether two views name the same trace or memory profile. */
export function sameTrace(a, b) {
	const text = (view, key) => JSON.stringify(view[key] ?? null);

	return NAMING.every((key) => text(a, key) === text(b, key));
}

/** Return whether a view names a trace. */
export function namesTrace(view) {
	return TRACE.some((key) => view[key] !== undefined);
}
