/*
 * Measure the worker of memory profiles on FILE: heap.mjs FILE ROUNDS. Prints one line of JSON,
 * times in milliseconds of the processor. MPROF_WASM names the wasm.
 */
import {readFileSync} from "node:fs";
import {Answers} from "../../client/viewer/worker/heap-answers.js";
import {infoOf} from "../../client/viewer/worker/heap-info.js";
import {Names} from "../../client/viewer/worker/heap-names.js";
import {Recording} from "../../client/viewer/worker/recording.js";
import {Wasm} from "../../client/viewer/worker/wasm.js";

const [file, rounds] = process.argv.slice(2);
const wasm = await Wasm.open(await WebAssembly.compile(readFileSync(process.env.MPROF_WASM)));
const names = new Names();
const bytes = readFileSync(file);
const taken = {};
const told = {};

function timed(what, work) {
	const before = process.cpuUsage();
	const answer = work();
	const {user, system} = process.cpuUsage(before);

	(taken[what] ??= []).push((user + system) / 1000);
	return answer;
}

function done(step) {
	while (!step(performance.now() + 12));
}

function round() {
	const recording = new Recording(wasm, {seed: 42n});
	const about = timed("load", () => {
		recording.add(bytes);
		recording.end();
		done((time) => recording.follow(time));
		return infoOf(recording);
	});
	const length = Number(about.endUs - about.startUs);
	const ask = (filter) => {
		const view = recording.of(filter);

		done((time) => view.step(time));
		const answers = new Answers(wasm, names, view.at);
		return [answers.line(0, length, 1600), answers.byFunctions({}, null)];
	};

	Object.assign(told, {samples: timed("questions", () => ask(null))[1].samples, memory: about.memory});
	told.selected = timed("moment", () => ask({live: {least: about.peak_us, most: about.peak_us}}))[1].samples;
	told.through = timed("inside", () => ask({clauses: [{name: "_7"}]}))[1].samples;
	recording.close();
}

for (let i = 0; i < Number(rounds); i++) round();
for (const [what, times] of Object.entries(taken)) told[what] = times.sort((a, b) => a - b)[times.length >> 1];
console.log(JSON.stringify(told));
