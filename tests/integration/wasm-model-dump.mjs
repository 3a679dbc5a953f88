#!/usr/bin/env node
/*
 * Print what model-dump prints, from mprof.wasm through client/viewer/worker/wasm.js:
 * wasm-model-dump.mjs [-r] FILE
 *
 * MPROF_WASM names the wasm. wasm.mjs compares the output with model-dump's, which
 * model-oracles.py compares with the original viewer.
 */
import {readFileSync} from "node:fs";
import {open} from "./wasm-open.mjs";

const raw = process.argv[2] === "-r";
const wasm = await open();
const {MPROF_NONE: NONE} = wasm.numbers;
const {trace} = wasm.load([readFileSync(process.argv[raw ? 3 : 2])], {simplify: !raw});
const [threads, labels, interactions, activations, strings, samples, scales] = [
	["threads", "mprof_thread"],
	["labels", "mprof_label"],
	["interactions", "mprof_interaction"],
	["activations", "mprof_activation"],
	["strings", "mprof_string"],
	["samples", "mprof_sample"],
	["scales", "mprof_scale"],
].map(([array, struct]) => trace.items(array, struct));
const [stream] = trace.items("streams", "mprof_model_stream");
const KINDS = ["resolve", "read", "try_read", "signal"];
const lines = [];

const time = (ns) => BigInt.asIntN(64, ns - stream.start);
const bytes = (at, n) => `[${wasm.bytes.subarray(at, at + n).join(",")}]`;
const string = (i) => (i === NONE ? "null" : bytes(trace.get("text") + strings[i].offset, strings[i].bytes));

function label(i) {
	const n = wasm.c.mprof_label_text(trace.model, i, 0, 0) >>> 0;

	return wasm.lend(n + 1, (at) => {
		wasm.c.mprof_label_text(trace.model, i, at, n + 1);
		return `[${time(labels[i].time)},${bytes(at, n)}]`;
	});
}

function chain(list, first, next, show) {
	const out = [];

	for (let i = first; i !== NONE; i = list[i][next]) out.push(show(list[i], i));
	return `[${out.join(",")}]`;
}

for (const it of threads)
	lines.push(
		`{"tid":${it.id},"type":"${wasm.types[it.type]}","flags":${it.flags},"start":${time(it.start)},"created":${time(it.created)},` +
			`"end":${time(it.end)},"failure":${string(it.failure)},"becomes":${it.becomes === NONE ? null : threads[it.becomes].id},` +
			`"creates":${chain(threads, it.first_child, "next_sibling", ({id}) => id)},` +
			`"labels":${chain(labels, it.first_label, "next", (_, i) => label(i))},` +
			`"interactions":${chain(interactions, it.first_interaction, "next", (one) => `[${time(one.time)},"${KINDS[one.kind]}",${threads[one.other].id}]`)},` +
			`"activations":${chain(activations, it.first_activation, "next", ({start, end}) => `[${time(start)},${time(end)}]`)},` +
			`"row":${it.row === NONE ? null : it.row}}`,
	);

const counters = trace
	.items("counters", "mprof_counter")
	.map(
		(it) =>
			`{"name":${string(it.name)},"relative":${it.relative},"min":${it.min},"max":${it.max},"scale_min":${scales[it.scale].min},` +
			`"scale_max":${scales[it.scale].max},"values":${chain(samples, it.first, "next", ({value}) => value)}}`,
	);
const collections = trace.items("collections", "mprof_collection").map((it) => `[${time(it.time)},${it.duration_ns}]`);
const expectations = trace
	.items("expectations", "mprof_expectation")
	.map((it) => `[${threads[it.thread].id},${threads[it.final].id}]`);
const notes = wasm.object("mprof_model_notes", trace.get("notes"));

lines.push(
	`{"rest":true,"rows":${trace.get("rows")},"end":${time(stream.end)},"events":${stream.events},"gc":[${collections}],"counters":[${counters}],` +
		`"expectations":[${expectations}],"notes":[${["recreated", "alias_cycles", "late", "backwards", "refused", "detached", "rows_not_first"].map((name) => notes[name])}]}`,
);
process.stdout.write(lines.join("\n") + "\n");
