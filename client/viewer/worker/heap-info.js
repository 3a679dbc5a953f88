/*
 * Describe a memory profile: its header, its sums, its damage and its limits. This runs in the
 * worker of memory profiles.
 */
import {Answers, errorOf} from "./heap-answers.js";

/**
 * Return the header of the recording of an Answers object. Before the header has come, texts are
 * empty and the rate is 0.
 */
function aboutOf({wasm, texts, info: at}) {
	if (!at) return {program: "", host: "", context: "", parameters: "", pid: null, wordBytes: 8, rate: 0, version: 0};
	const info = wasm.object("mprof_mem_info", at);
	const text = (name) => texts.terminated(info[name]);

	return {
		program: text("program"),
		host: text("host"),
		context: text("context"),
		parameters: text("parameters"),
		pid: info.pid < 0n ? null : Number(info.pid),
		wordBytes: info.word_bytes,
		rate: info.rate,
		version: info.version,
	};
}

/** Return the sums over all events of the recording of ANSWERS; README.md describes them. */
function sumsOf(answers) {
	const {sums, scale} = answers;
	const [, samples] = answers.counted(0);
	const start = answers.wasm.c.scan_start(answers.pass);

	return {
		allocs: answers.bySource(sums.allocs),
		samples: answers.bySource(sums.samples),
		promotes: Number(sums.promotes),
		collects: Number(sums.collects),
		liveBytes: Number(sums.live) * scale,
		liveObjects: Number(sums.live_objects),
		peakBytes: Number(sums.peak) * scale,
		peakObjects: Number(sums.peak_objects),
		peakUs: sums.peak ? Number(sums.peak_us - start) : 0,
		totalBytes: samples * scale,
		relativeError: errorOf(samples),
	};
}

/**
 * Return sentences for the user on the damage that the pass at the address PASS found. ALL is the
 * number of damaged places; the last sentence says if there are more than sentences.
 */
function damagesOf(wasm, pass, all) {
	const sentences = [];

	wasm.lend(256, (text) => {
		while (wasm.c.wasm_scan_damage(pass, sentences.length, text, 256)) sentences.push(wasm.cString(text));
	});
	if (all > sentences.length) sentences.push("further damage is not listed");
	return sentences;
}

const number = (n) => Number(n).toLocaleString("en");
/* Return N and the noun WHAT, with an "s" unless N is 1. */
const many = (n, what) => `${number(n)} ${what}${Number(n) === 1 ? "" : "s"}`;

/**
 * Return sentences for the user on what else the recording lacks. TOTALS is a struct
 * mprof_mem_totals, SUMS a struct mprof_profile_sums, and CHOSEN the number of the chosen
 * recording, or 0.
 */
function notesOf(totals, sums, {number: chosen}) {
	const said = [
		[
			chosen || totals.recordings < 2n ? 0n : totals.recordings,
			(n) => `${many(n, "recording")} are joined here; this is the last of them.`,
		],
		[
			totals.clock_steps,
			(n) => `The clock stepped back ${many(n, "time")}; later events have the latest time before the step.`,
		],
		[totals.truncated, (n) => `The writer cut ${many(n, "stack")}, which lack the place of the allocation.`],
		[totals.stackless, (n) => `The stack of ${many(n, "allocation")} is unknown, because earlier bytes were lost.`],
		[totals.unnamed, (n) => `Names and places beyond the limits are missing: ${number(n)}.`],
		[
			sums.left_out,
			(n) => `There are too many different stacks: the innermost frames of ${many(n, "sample")} are left out.`,
		],
		[sums.unknown, (n) => `Unknown objects were promoted or freed ${many(n, "time")}; these events are ignored.`],
		[
			sums.repeated,
			(n) => `Objects that lived already were allocated ${many(n, "time")}; these events are ignored.`,
		],
	];

	return said.filter(([n]) => n).map(([n, sentence]) => sentence(n));
}

/**
 * Return the answer of heap.load() about RECORDING (recording.js), whose pass is complete. NAMES is
 * that of heap-names.js.
 */
export function infoOf(recording, names) {
	const {wasm} = recording;
	const answers = new Answers(wasm, names, recording.all);
	const base = wasm.c.scan_decoder(recording.base) >>> 0;
	const totals = wasm.object("mprof_mem_totals", wasm.c.mprof_mem_totals(base) >>> 0);
	const start = wasm.c.scan_start(recording.base);
	const last = recording.lastUs;

	return {
		...aboutOf(answers),
		startUs: start,
		endUs: last > start ? last : start,
		bytes: Number(recording.bytes),
		recordings: Number(totals.recordings),
		damages: damagesOf(wasm, recording.base, Number(totals.damages)),
		notes: notesOf(totals, answers.sums, recording),
		sums: sumsOf(answers),
		memory: wasm.c.memory.buffer.byteLength,
	};
}
