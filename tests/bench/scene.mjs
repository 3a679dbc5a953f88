/* The tour of scene-load.c in mprof.wasm under node: scene.mjs FILE prints one line of JSON.  MPROF_WASM names the module. */
import {readFileSync} from "node:fs";
import {open} from "../integration/wasm-open.mjs";

const wasm = await open();
const bytes = readFileSync(process.argv[2]);
const ns = () => {
	const {user, system} = process.cpuUsage();

	return (user + system) * 1000;
};
const began = ns();
const {trace} = wasm.load([bytes]);
const loaded = ns();
const stream = trace.items("streams", "mprof_model_stream")[0];
const span = stream.end - stream.start + 1n;
const rows = trace.get("rows");
const scene = wasm.c.mprof_scene_new(trace.model) >>> 0;
const indexed = ns();
const times = [];

wasm.c.mprof_scene_free(scene);

function visit(from, part, focus) {
	const window = {from, to: from + part, focus, width: 1600, height: 1000, letter: 7, flags: 7};
	const before = ns();

	trace.draw(window);
	times.push(ns() - before);
}

visit(stream.start, span, 0); // the trace makes a scene of its own for its first picture
times.pop();
for (let part = span; part > 1000n; part /= 3n)
	for (let i = 0; i < 3; i++) visit(stream.start + ((span - part) / 2n) * BigInt(i), part, (rows / 2) * i);
for (let part = span / 4n; part > 1000n && part >= span / 400n; part /= 10n)
	for (let i = 0; i < 10; i++) visit(stream.start + (span - part) / 2n + (part / 10n) * BigInt(i), part, rows / 3);
times.sort((a, b) => a - b);
console.log(
	JSON.stringify({
		events: Number(stream.events),
		load_ns: loaded - began,
		index_ns: indexed - loaded,
		pictures: times.length,
		median_ns: times[times.length >> 1],
		p99_ns: times[Math.floor(((times.length - 1) * 99) / 100)],
		memory: wasm.bytes.length,
	}),
);
