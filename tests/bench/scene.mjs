/*
 * Measure the tour of scene-load.c in mprof.wasm under node: scene.mjs FILE prints one line of
 * JSON. MPROF_WASM names the module.
 */
import {openSync, readSync, statSync} from "node:fs";
import {setTimeout} from "node:timers/promises";
import {Trace} from "../../client/viewer/worker/trace.js";
import {open} from "../integration/wasm-open.mjs";

const PIECE = 1 << 20;
const wasm = await open();
const ns = () => {
	const {user, system} = process.cpuUsage();

	return (user + system) * 1000;
};

/* Load a file as the page's worker does. */
function load(name) {
	const trace = new Trace(wasm, {seed: 42n});
	const stream = trace.stream({}, "TWICE");
	const file = openSync(name);
	const piece = new Uint8Array(PIECE);

	trace.expect(stream, statSync(name).size);
	for (let n; (n = readSync(file, piece));) trace.feed(stream, piece.subarray(0, n));
	trace.end(stream);
	trace.finish();
	return trace;
}

wasm.c.wasm_warm_up();
await setTimeout(100);
const began = ns();
const trace = load(process.argv[2]);
const loaded = ns();
const stream = trace.items("streams", "mprof_model_stream")[0];
const span = stream.end - stream.start + 1n;
const rows = trace.get("rows");
const times = [];

/* The page asks for these, and draws counters in lanes of their own. */
const flags = ["LABELS", "ARROWS", "TRACKED", "DENSE", "SHADED"].reduce(
	(all, name) => all | wasm.numbers[`MPROF_WINDOW_${name}`],
	0,
);

function visit(from, part, focus) {
	const window = {from, to: from + part, focus, width: 1600, height: 1000, letter: 7, flags};
	const before = ns();

	trace.draw(window);
	times.push(ns() - before);
}

for (let part = span; part > 1000n; part /= 3n)
	for (let i = 0; i < 3; i++) visit(stream.start + ((span - part) / 2n) * BigInt(i), part, (rows / 2) * i);
for (let part = span / 4n; part > 1000n && part >= span / 400n; part /= 10n)
	for (let i = 0; i < 10; i++) visit(stream.start + (span - part) / 2n + (part / 10n) * BigInt(i), part, rows / 3);
times.sort((a, b) => a - b);
const memory = wasm.bytes.length;
const again = ns();
wasm.c.mprof_scene_free(wasm.c.mprof_scene_new(trace.model) >>> 0);
const indexed = ns();
console.log(
	JSON.stringify({
		events: Number(stream.events),
		load_ns: loaded - began,
		index_ns: indexed - again,
		pictures: times.length,
		median_ns: times[times.length >> 1],
		p99_ns: times[Math.floor(((times.length - 1) * 99) / 100)],
		memory,
	}),
);
