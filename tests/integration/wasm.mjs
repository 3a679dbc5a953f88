/*
 * Compare mprof.wasm, under node, with the native programs: wasm.mjs SOURCE-ROOT MPROFCTL
 * MODEL-DUMP SCENE-DUMP own|reference|public
 *
 * For each trace the events, the model, the statistics, the sentences (about damage, and about
 * waits) and the pictures of fixed windows must be those of the same library in native code.
 * Other tests compare the native library with independent decoders. Then test what only a page
 * does: pieces of any size, several streams, a worker, gzip, cancelling, and loading repeatedly
 * in the same memory.
 */
import {execFileSync, spawnSync} from "node:child_process";
import {existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync} from "node:fs";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {isDeepStrictEqual} from "node:util";
import {gzipSync} from "node:zlib";
import {duration, event, trace as made} from "../browser/trace-make.mjs";
import {Engine} from "../../client/viewer/engine/engine.js";
import {open} from "./wasm-open.mjs";
import {Port, message} from "./wasm-port.mjs";

const [root, mprofctl, modelDump, sceneDump, part] = process.argv.slice(2);
const published = join(process.env.MPROF_REFERENCE ?? join(root, "../shared"), "traces/public"); // not in the tree
const scratch = mkdtempSync(join(tmpdir(), "wasm-"));
const wasm = await open();
const text = new TextDecoder();
let failures = 0;

function check(holds, what) {
	if (holds) return;
	failures++;
	console.log("FAILED", what);
}

function run(program, ...args) {
	const done = spawnSync(program, args, {maxBuffer: 1 << 30});

	return {out: done.stdout, said: text.decode(done.stderr)};
}

function read(path) {
	return path.endsWith(".xz") ? execFileSync("xz", ["-dc", path], {maxBuffer: 1 << 30}) : readFileSync(path);
}

function list(directory, pattern) {
	return existsSync(directory)
		? readdirSync(directory)
				.filter((name) => pattern.test(name))
				.sort()
				.map((name) => join(directory, name))
		: [];
}

/** Return the lines of `mprofctl dump`, from the decoder alone. */
function dumped(bytes) {
	const {c} = wasm,
		{numbers} = wasm,
		lines = [],
		parts = [];
	const put = (at, n) => parts.push(text.decode(wasm.bytes.subarray(at, at + n)));

	wasm.lend(bytes.length || 1, (input) =>
		wasm.lend(1024, (room) =>
			wasm.lend(wasm.size("mprof_event"), (event) => {
				const order = c.mprof_order_new(),
					decoder = c.mprof_decoder_new();

				wasm.bytes.set(bytes, input);
				c.mprof_order_scan(order, input, bytes.length);
				for (let i = 0; i < c.mprof_order_spans(order); i++) {
					const span = wasm.object("mprof_span", c.mprof_order_span(order, i));

					c.mprof_decoder_begin(decoder, span.offset, span.packet);
					c.mprof_decoder_feed(decoder, input + Number(span.offset), Number(span.bytes));
					c.mprof_decoder_finish(decoder);
					for (let status; (status = c.mprof_decoder_next(decoder, event)) !== numbers.MPROF_END;) {
						if (status !== numbers.MPROF_OK) continue;
						const raw = wasm.get("mprof_event", event, "raw"),
							string = wasm.get("mprof_raw_event", raw, "text");

						put(room, c.mprof_event_text(raw, room));
						if (string) {
							wasm.view.setUint32(room, string, true);
							wasm.view.setUint32(room + 4, wasm.get("mprof_raw_event", raw, "text_bytes"), true);
							while (wasm.view.getUint32(room + 4, true))
								put(room + 8, c.mprof_text_escape(room + 8, 1000, room, room + 4));
							parts.push('"');
						}
						lines.push(parts.splice(0).join(""));
					}
				}
				c.mprof_decoder_free(decoder);
				c.mprof_order_free(order);
			}),
		),
	);
	return lines.map((line) => line + "\n").join("");
}

/** Return the pictures of scene-dump's windows. */
function pictures(trace) {
	const stream = trace.items("streams", "mprof_model_stream")[0],
		span = stream.end - stream.start + 1n,
		out = [];

	for (let i = 0; i < 24; i++) {
		const from = stream.start + (span / 8n) * BigInt(i % 8),
			to = from + 1n + span / BigInt(i < 8 ? 1 : i < 16 ? 10 : 1000);
		let picture;

		try {
			picture = trace.draw({
				from,
				to,
				focus: (trace.get("rows") * (i % 3)) / 2,
				width: 1200,
				height: i % 2 ? 300 : 800,
				letter: 7,
				flags: 7,
			});
		} catch {
			continue; // with torn clocks some windows lie past the end of time; scene-dump leaves them out too
		}
		out.push(Buffer.from(Uint32Array.of(picture.n).buffer), Buffer.from(picture.marks));
		out.push(Buffer.from(Uint32Array.of(picture.text.length).buffer), Buffer.from(picture.text));
	}
	return Buffer.concat(out);
}

const plain = (_, value) => (typeof value === "bigint" ? Number(value) : value);

const sorted = (object) => Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));

/** Compare the statistics of a trace of one stream. A model does not keep which labels are marks. */
function checkStats(name, trace, file) {
	const theirs = JSON.parse(text.decode(run(mprofctl, "stats", "--json", file).out));
	const ours = JSON.parse(JSON.stringify(trace.stats(0n, 2n ** 63n), plain));

	counted.push(JSON.stringify(ours));
	if (BigInt(theirs.last_ns ?? 0) > 2n ** 63n - 1n) theirs.last_ns = String(2n ** 63n - 1n); // no model's time line is longer
	theirs.labels -= theirs.should_resolve.length ? 1 : 0;
	for (const list of [ours.busiest, ours.should_resolve]) {
		for (const item of list) {
			check((item.of ?? null) === null, "one stream has no name");
			delete item.index;
			delete item.of;
		}
	}
	// The number of bytes that a server cut comes beside the bytes: the page says it in a note.
	check(theirs.cut_bytes === 0, `${name}: a file has no cut`);
	ours.counters = sorted(ours.counters);
	theirs.counters = sorted(theirs.counters);
	// These differ: running time stops at a gap; with a clock that goes back the first event is not
	// the earliest; names that are no text are spelled differently.
	const {late} = trace.wasm.object("mprof_model_notes", trace.get("notes"));
	const other = [
		...(late ? ["busiest", "sleeping_ns", "sleeping_share", "first_ns"] : []),
		...(JSON.stringify(ours.counters).includes("\\") ? ["counters"] : []),
	];

	for (const [key, value] of Object.entries(theirs)) {
		if (other.includes(key)) continue;
		check(
			JSON.stringify(ours[key]) === JSON.stringify(value),
			`${name}: ${key} is ${JSON.stringify(ours[key])} and not ${JSON.stringify(value)}`,
		);
	}
}

const said = (story) => story.map((line) => line.map((piece) => piece.text).join("") + "\n").join("");

// The answers of the page, for their schemas.
const answered = [];
const threads = [];
const differing = [];
const counted = [];
const areas = [];

/** Return VALUE, an answer of the page, with times as strings, as its JSON has them. */
const written = (value) =>
	JSON.stringify(value, (key, it) => {
		if (typeof it === "bigint") return String(it);
		return it?.time === undefined ? it : {...it, time: undefined, time_ns: String(it.time)};
	});

/** Return VALUE, an answer of the page, as a JSON value without what mprofctl does not print: sentences, and indices of threads. */
const printed = (value) =>
	JSON.parse(JSON.stringify(value, (key, it) => (["index", "story", "rest"].includes(key) ? undefined : it)));

function checkWhy(name, trace, file) {
	const theirs = text.decode(run(mprofctl, "why", file).out),
		answer = trace.why(null),
		{answers, rest, should_resolve: marked} = answer;

	answered.push(written(answer));
	const own = JSON.parse(text.decode(run(mprofctl, "why", "--json", file).out));
	check(isDeepStrictEqual(printed(answer), own), `${name}: the page's answer is not that of mprofctl why --json`);
	for (const answer of answers) check(theirs.includes(said(answer.story)), `${name}: why says ${said(answer.story)}`);
	if (!marked) check(theirs.includes(said(rest)), `${name}: why says ${said(rest)}`);
	check((theirs.match(/^thread /gm) ?? []).length === answers.length, `${name}: ${answers.length} answers`);
}

/** Return JSON of mprofctl with the ids in quotes that JavaScript's numbers do not hold, as the page has them. */
const exact = (json) =>
	json.replace(/("thread": )(-?[0-9]+)/g, (all, key, id) =>
		Number.isSafeInteger(Number(id)) ? all : `${key}"${id}"`,
	);

/** Compare the first threads with `mprofctl threads`. The page begins some binds at their wake-up. */
function checkThreads(name, trace, file) {
	const theirs = JSON.parse(exact(text.decode(run(mprofctl, "threads", "--json", file).out))).threads,
		indices = Array.from({length: trace.get("n_threads")}, (_, i) => i).filter(
			(i) => trace.threadOrNull(i) !== null,
		);

	check(indices.length === theirs.length, `${name}: ${indices.length} threads and not ${theirs.length}`);
	for (const i of indices.slice(0, 200)) {
		const {id, start, end, created, ran, of, stream, ...ours} = trace.thread(i),
			native = theirs.find(
				(it) => BigInt(it.thread) === id && it.end_ns === ours.end_ns && it.type === ours.type,
			);

		threads.push(written(ours));
		check(of === null && stream === 0, `${name}: one stream has no name`);
		check(start <= end && created <= start && ran >= 0n, `${name}: the times of ${id}`);
		check(
			native &&
				Object.entries(native).every(
					([key, value]) => ["start_ns", "parent"].includes(key) || isDeepStrictEqual(ours[key], value),
				),
			`${name}: thread ${id} is ${JSON.stringify(ours, plain)} and not ${JSON.stringify(native)}`,
		);
	}
}

/**
 * Check the zeros of the ANSWER about an area that has a hole. If a ring only begins before the area, all that was done there is in the trace, and
 * what can be missing is threads that do nothing.
 */
function checkZeros(check1, {groups, totals, coverage}) {
	const behind = coverage?.hole === "begin" && coverage.from_ns === coverage.to_ns;
	const {running_ns: ran, running_longest_ns: longest, lost_packets: lost, ...ofThreads} = totals;
	const none = (it) => !Object.values(it).some((value) => value === 0n || value === 0);

	if (!coverage) return;
	check1(none(ofThreads), "no 0 of all threads where the trace has a hole");
	check1(behind || (ran !== 0n && longest !== 0n && lost !== 0), "no 0 where events can be missing");
	check1(
		behind || groups.every((it) => none({alive: it.alive_ns, ran: it.running_ns, waited: it.waiting_ns})),
		"no 0 of a group",
	);
}

/** Check the groups of threads of all of a trace, and of the second half of its time and rows. */
function checkArea(name, trace) {
	const {start, end, rows, totals} = trace.summary();
	const list = {key: "waiting_ns", descending: true, text: "", most: 20};
	const check1 = (holds, what) => check(holds, `${name}: area: ${what}`);
	const whole = {from: 0n, to: 2n ** 64n - 1n};

	for (const place of [
		whole,
		{from: start + (end - start) / 2n, to: end, firstRow: Math.floor(rows / 2), lastRow: rows},
	]) {
		const answer = trace.groups(place, list);
		const {groups, totals: sums, listed} = answer;
		const waits = answer.waits ?? [];
		const sum = (key) => groups.reduce((all, it) => all + BigInt(it[key] ?? 0), 0n);

		areas.push(written(answer));
		check1(
			Boolean(answer.coverage || sums.running_ns === null) === answer.missing.length > 0,
			"a sentence names the hole",
		);
		checkZeros(check1, answer);
		check1(listed === (sums.groups ?? 0) && groups.length === Math.min(listed, 20), "the listed groups");
		check1(
			groups.every((it, i) => !i || (groups[i - 1].waiting_ns ?? 0n) >= (it.waiting_ns ?? 0n)),
			"their order",
		);
		for (const key of ["threads", "alive_ns", "running_ns", "waiting_ns"])
			check1(listed > 20 || sum(key) === BigInt(sums[key] ?? 0), `the sum of ${key}`);
		check1(waits.reduce((all, it) => all + it.waits, 0) === (sums.waits ?? 0), "the sum of the waits");
		check1(
			waits.every(({least_ns: ns}, i) => !i || ns > waits[i - 1].least_ns) &&
				(waits.at(-1)?.least_ns ?? 0n) <= sums.waiting_longest_ns,
			"the lengths of the waits",
		);
		for (const group of groups.slice(0, 3)) {
			const threads = trace.groupThreads(place, group.group);

			areas.push(written({threads}));
			check1(threads.length === Math.min(group.threads, 200), "the threads of a group");
			check1(
				threads.length === 200 ||
					threads.reduce((all, it) => all + (it.waiting_ns ?? 0n), 0n) === (group.waiting_ns ?? 0n),
				"the time that they waited",
			);
		}
	}
	check1((trace.groups(whole, list).totals.threads ?? 0) === totals.threads, "all threads");
}

/**
 * Compare all that is made of a trace with the native programs: the model as drawn, and with RAW
 * also the binds as recorded.
 */
function checkTrace(path, raw = false) {
	checkBytes(path.split("/").slice(-2).join("/").replace(/\.xz$/, ""), read(path), raw);
}

/** Do the same with the BYTES of a trace NAME. */
function checkBytes(name, bytes, raw = false) {
	const file = join(scratch, "trace");
	const {trace} = wasm.load([bytes]);

	writeFileSync(file, bytes);
	const gaps = trace.get("n_gaps");
	const dump = run(mprofctl, "dump", file);

	if (!name.endsWith(".sexp")) check(dumped(bytes) === text.decode(dump.out), `${name}: events`);
	writeFileSync(file, bytes);
	for (const options of raw ? [[], ["-r"]] : [[]]) {
		const native = run(modelDump, ...options, file).out;

		check(
			native.length > 0 &&
				run(join(root, "tests/integration/wasm-model-dump.mjs"), ...options, file).out.equals(native),
			`${name}: model ${options}`,
		);
	}
	const [clock] = dump.said.match(/^mprofctl: note: .*: the clock went back .*\n/m) ?? [""];
	const sentences = trace
		.damages()
		.map((sentence) => `mprofctl: ${file}: ${sentence}\n`)
		.join("");
	const back = trace.stats(0n, 2n ** 63n).clock_back_ns;

	check(sentences + clock === dump.said, `${name}: ${sentences} and not ${dump.said}`);
	check(Boolean(back) === Boolean(clock), `${name}: the page says that the clock went back ${back} ns`);
	const {clock_back_at: at, clock_backs: times} = trace.summary().totals;

	check(!back || clock.includes(` at ${seconds(at)}; `), `${name}: when it went back`);
	check(
		!back || times === Number(/went back (\d+) times, /.exec(clock)?.[1] ?? 1),
		`${name}: the clock went back ${times} times: ${clock}`,
	);
	checkStats(name, trace, file);
	if (!gaps) checkWhy(name, trace, file);
	checkThreads(name, trace, file);
	checkArea(name, trace);
	check(pictures(trace).equals(run(sceneDump, file).out), `${name}: pictures`);
	trace.close();
}

/** Return the time NS as mprofctl writes it in a note. */
function seconds(ns) {
	return `${ns / 1000000000n}.${String(ns % 1000000000n).padStart(9, "0")}`;
}

/** Check that each of the ANSWERS, JSON texts, is as schema/answers/NAME.json says. */
function checkSchema(name, answers) {
	const done = spawnSync("python3", ["-B", join(root, "tests/integration/schemas.py"), name], {
		input: answers.join("\n"),
	});

	check(done.status === 0, `${name} is not as its schema says: ${text.decode(done.stderr)}`);
}

// ---- what only a page does

/** Return a canonical form of a model: every array, byte for byte. */
function model(trace) {
	const arrays = [
		["threads", "mprof_thread"],
		["interactions", "mprof_interaction"],
		["activations", "mprof_activation"],
		["labels", "mprof_label"],
		["samples", "mprof_sample"],
		["counters", "mprof_counter"],
		["gaps", "mprof_gap"],
		["strings", "mprof_string"],
	];

	return Buffer.concat(
		arrays.map(([array, struct]) => {
			const at = trace.get(array);

			return Buffer.from(wasm.bytes.slice(at, at + trace.get("n_" + array) * wasm.size(struct)));
		}),
	);
}

function modelOf(files, options) {
	const {trace} = wasm.load(files, options),
		bytes = model(trace);

	trace.close();
	return bytes;
}

function checkCuts(bytes) {
	const whole = modelOf([bytes]);

	for (const piece of [1, 29, 4097])
		check(modelOf([bytes], {piece}).equals(whole), `in pieces of ${piece} bytes: another model`);
	for (const kind of ["HELD", "SERVED"])
		check(modelOf([bytes], {kind, piece: 1000}).equals(whole), `${kind}: another model`);
}

/**
 * Check that kind TWICE refuses a trace that goes back in time, and makes the same model of one
 * that does not.
 */
function checkTwice(wrapped, straight) {
	let refused = null;

	try {
		modelOf([wrapped], {kind: "TWICE", piece: 1000});
	} catch (error) {
		refused = error.constructor.name;
	}
	check(refused === "OutOfOrder", `a wrapped ring as it comes: ${refused}`);
	check(
		modelOf([straight], {kind: "TWICE", piece: 1000}).equals(modelOf([straight])),
		"a straight one as it comes: another model",
	);
}

/** Check that no share of sleeping time is given for several streams, nor where the times go back. */
function checkShare(bytes) {
	const shareOf = (files) => {
		const {trace} = wasm.load(files),
			{start, end} = trace.summary(),
			share = trace.stats(start, end).sleeping_share;

		trace.close();
		return share;
	};
	const second = 1000000000n;
	const twice = Array.from({length: 40}, (_, i) => ((3n * second + (BigInt(i) * second) / 4n) % (4n * second)) + 1n);
	const back = made([twice.flatMap((time, i) => [event(time, "switch", i + 1), event(time + 1000n, "switch", -1)])]);

	const {trace: quiet} = wasm.load([
		made([[event(1n, "switch", 1), event(2n, "switch", -1), event(9n * second, "switch", 1)]]),
	]);
	const none = quiet.stats(2n * second, 4n * second);

	quiet.close();
	check(none.events === 0 && none.sleeping_share === 1, "a range without events is slept through");
	check(
		none.first_ns === String(2n * second) && none.last_ns === String(4n * second),
		"the part that the trace covers",
	);
	check(shareOf([bytes]) > 0, "the share of one stream");
	check(shareOf([bytes, bytes]) === null, "no share of two streams");
	check(shareOf([back]) === null, "no share where the times go back");
}

/** Check what is said of a clock that goes back twice, and that an event published 5 ms late is none: counters have a rate. */
function checkClock() {
	const second = 10n ** 9n;
	const rising = (times) => made([times.map((time) => event(time, "increase", 1, 5, "rx"))]);
	const late = Array.from({length: 60}, (_, i) => second + BigInt(i) * 1000000n - (i === 30 ? 5000000n : 0n));
	const steps = Array.from(
		{length: 60},
		(_, i) => 500n * second + BigInt(i) - [0n, 20n, 120n][Math.trunc(i / 20)] * second,
	);

	checkBytes("a late event", rising(late));
	checkBytes("two steps", rising(steps));
	const rateOf = (times) => {
		const {trace} = wasm.load([rising(times)]),
			{rate_per_s: rate} = trace.stats(0n, 2n ** 63n).counters.rx;

		trace.close();
		return rate;
	};

	check(rateOf(late) > 0, "a late event: the counter has a rate");
	check(rateOf(steps) === null, "two steps: the counter has no rate");
}

/** Check that memory is reused: it stops growing after the first few traces. */
function checkMemory(bytes) {
	const {memory} = wasm.c;
	let after = 0;

	for (let i = 0; i < 200; i++) {
		const {trace} = wasm.load([bytes]),
			{start, end, rows} = trace.summary();

		trace.draw({from: start, to: end, focus: rows / 2, width: 800, height: 600, letter: 7});
		trace.find("a");
		trace.why(null);
		trace.thread(3);
		trace.stats(start, end);
		trace.close();
		after = i === 4 ? memory.buffer.byteLength : after;
	}
	check(
		memory.buffer.byteLength === after,
		`memory grew from ${after} to ${memory.buffer.byteLength} bytes in 200 loads`,
	);
}

/** Check that streams of one guest are merged, and that streams of two guests stand side by side. */
function checkStreams(bytes) {
	const apart = wasm.load([bytes, bytes]).trace,
		together = wasm.load([bytes, bytes], {guest: 7}).trace;
	const one = wasm.load([bytes]).trace;

	check(apart.get("n_threads") === 2 * one.get("n_threads"), "two guests: other threads");
	check(apart.get("rows") === 2 * one.get("rows"), "two guests: other rows");
	check(together.summary().totals.events === 2 * one.summary().totals.events, "one guest: events are missing");
	check(
		together.wasm.object("mprof_model_notes", together.get("notes")).late === 0n,
		"one guest: events out of order",
	);
	const numbers = (trace) => {
		const answer = trace.stats(0n, 2n ** 63n);

		counted.push(JSON.stringify(answer, plain));
		return answer;
	};
	const [two, single] = [apart, one].map(numbers),
		names = Object.keys(single.counters);

	check(names.length > 0 && single.busiest.length > 0, "a trace with counters and threads that ran");
	check(
		isDeepStrictEqual(
			Object.keys(two.counters).sort(),
			names.flatMap((name) => [`s0: ${name}`, `s1: ${name}`]).sort(),
		),
		"two guests: a counter has its stream's name before its own",
	);
	check(
		two.busiest.every(({of}) => of === "s0" || of === "s1") && single.busiest.every(({of}) => of === null),
		"two guests: the stream of a thread",
	);
	for (const trace of [apart, together, one]) trace.close();
}

/** Compare two traces in one memory with `mprofctl diff`: the differences and their order. */
function checkDiff(good, bad) {
	const files = [good, bad].map((bytes, i) => {
		const file = join(scratch, `run${i}`);

		writeFileSync(file, bytes);
		return file;
	});
	const theirs = JSON.parse(text.decode(run(mprofctl, "diff", "--json", ...files).out)),
		traces = [good, bad].map((bytes) => wasm.load([bytes]).trace);
	const ours = traces[1].diff(traces[0]);

	check(theirs.outcomes.length > 0 && theirs.partings > 0, "runs that do not differ are compared");
	const {good_match: match, bad_match: back, ...answer} = ours;

	differing.push(JSON.stringify(answer));
	check(
		match.length === traces[0].get("n_threads") &&
			match.filter((i) => i !== wasm.numbers.MPROF_NONE).length >= ours.counterparts &&
			match.every((i, k) => i === wasm.numbers.MPROF_NONE || back[i] === k),
		"diff: counterparts",
	);
	check(ours.other_partings.length + 1 + ours.left_out.partings === ours.partings, "diff: all partings");
	/* The files are not named, and what only a page has is left out. */
	const plainly = JSON.parse(
		JSON.stringify(answer, (key, it) => (["index", "missing", "other_partings"].includes(key) ? undefined : it)),
	);

	delete plainly.left_out.partings;
	for (const side of ["good", "bad"]) plainly[side].trace = theirs[side].trace;
	check(isDeepStrictEqual(plainly, theirs), "the page's answer is not that of mprofctl diff --json");
	for (const trace of traces) trace.close();
}

function checkAlike(bytes) {
	const traces = [bytes, bytes].map((one) => wasm.load([one]).trace),
		diff = traces[0].diff(traces[1]);

	check(
		diff.alike !== false && diff.counterparts === traces[0].summary().totals.threads && !diff.partings,
		"a trace differs from itself",
	);
	for (const trace of traces) trace.close();
}

async function checkEngine(bytes, wrapped) {
	const engine = await Engine.open({worker: new Port(), wasm: readFileSync(process.env.MPROF_WASM)});
	const copy = (data) => new Uint8Array(data);

	check((await message(engine.density(0n, 1n, 4))).includes("No trace"), "density without a trace");
	const plainly = await engine.load([{bytes: copy(bytes)}]),
		steps = [];
	const ways = {
		blob: {blob: new Blob([bytes])},
		response: {response: new Response(bytes)},
		"gzip blob": {blob: new Blob([gzipSync(bytes)])},
		"gzip bytes": {bytes: copy(gzipSync(bytes))},
	};

	for (const [name, source] of Object.entries(ways)) {
		const summary = await engine.load([source], (step) => steps.push(step));

		check(
			JSON.stringify(summary.totals, plain) === JSON.stringify(plainly.totals, plain),
			`${name}: another trace`,
		);
	}
	check(
		steps.some(({phase, bytes: n}) => phase === "building" && n === bytes.length),
		"no progress is told",
	);
	check((await engine.load([{blob: new Blob([wrapped])}])).totals.damages === 0, "a wrapped ring as a file");
	check(
		(await message(engine.load([{bytes: Uint8Array.of(0xfd, 0x37, 0x7a, 0x58, 0x5a, 0)}]))).includes("xz"),
		"xz is not named",
	);
	const broken = await message(engine.load([{bytes: copy(gzipSync(bytes).subarray(0, 999))}]));

	check(broken.includes("gzip"), `damaged gzip: ${broken}`);
	const stop = new AbortController(),
		given = message(engine.load([{response: new Response(bytes)}], () => stop.abort(), stop.signal));

	check((await given).includes("cancelled"), "loading goes on");
	await engine.load([{bytes: copy(bytes)}]);
	const window = {from: plainly.start, to: plainly.end, focus: 3, width: 800, height: 600, letter: 7};
	const frames = await Promise.all([1, 2, 3, 4].map(() => engine.frame(window)));

	check(
		frames[1] === null && frames[2] === null && frames[0].n > 10 && frames[3].n === frames[0].n,
		"the newest picture does not overtake",
	);
	check(Math.abs(frames[3].rowAt(frames[3].rowY(5)) - 5) < 0.1, "rows and heights do not belong to each other");
	const thread = await engine.thread(3);

	check(
		typeof thread.start === "bigint" &&
			thread.story.length >= 3 &&
			thread.story.flat().some(({link}) => Number.isInteger(link)),
		"a thread's story",
	);
	check((await engine.thread(1e9)) === null, "a thread that is not there");
	check((await engine.density(plainly.start, plainly.end, 7)).length === 7, "density");
	check((await engine.find("")).threads.length === 0, "an empty search");
	check((await message(engine.diff())).includes("two traces"), "one trace is compared");
	await engine.compare([{bytes: copy(wrapped)}]);
	check(
		(await engine.diff()).lone.length > 9 && (await engine.compared.thread(3)).start !== thread.start,
		"the trace beside",
	);
	check((await engine.compared.frame(window)).n > 0, "the picture beside");
	await checkRetired(engine, wrapped, plainly);
}

/** Return a trace with all that an export draws, with times from AT on: gaps, counters, durations, collections, and texts that JSON escapes. */
function everything(at) {
	const threads = Array.from({length: 300}, (_, i) => BigInt(i + 1));
	const times = (i) => at + i * 1000n;
	const odd = Buffer.from('"\\\xff\u00e9\n\0', "latin1");

	return made(
		[0, 150].map((first) =>
			threads
				.slice(first, first + 150)
				.flatMap((id) => [
					event(times(id), "creates", 0, id, {u8: Number(id % 9n)}),
					event(times(id) + 1n, "label", id, id % 7n ? `thread ${id}` : odd),
					event(times(id) + 2n, "switch", id),
					event(times(id) + 3n, "counter", id, id * -77n, id % 2n ? "rx" : "tx é"),
					event(times(id) + 4n, "gc", 900n + id),
					duration(times(id) + 5n, id, 1500n * (id % 3n), "work"),
					event(times(id) + 6n, "read", id, id - 1n),
					event(times(id) + 7n, id % 5n ? "fulfills" : "fails", id, id - 1n, ...(id % 5n ? [] : ["failed"])),
					event(times(id) + 8n, "switch", -1),
				]),
		),
		[3, 9],
	);
}

/** Check that the page exports the trace FILE, which it gets as SOURCES, byte for byte as `mprofctl export --to chrome`. */
async function checkChrome(engine, what, file, sources) {
	const theirs = run(mprofctl, "export", "--to", "chrome", "-o", "-", file).out;

	await engine.load(sources);
	const [one, two] = (await Promise.all([engine.chrome(file), engine.chrome(file)])).map(({blob}) => blob);

	check(one.type === "application/json", `${what}: the type of the document`);
	for (const document of [one, two])
		check(
			theirs.length > 0 && theirs.equals(Buffer.from(await document.arrayBuffer())),
			`${what}: the page's export is not that of mprofctl`,
		);
	return theirs;
}

/** Check the export of Chrome's trace events: as every source, of several streams, with another clock, and again and again. */
async function checkExports(paths) {
	const engine = await Engine.open({worker: new Port(), wasm: readFileSync(process.env.MPROF_WASM)});
	const file = join(scratch, 'export "é"');
	const several = join(scratch, "several");
	const [whole, later, plainly] = [everything(1000000n), everything(1000500n), made([[]])];
	const streams = (bytes) => Object.entries(bytes).map(([name, one]) => ({name, blob: new Blob([one])}));

	for (const path of paths) {
		writeFileSync(file, read(path));
		await checkChrome(engine, path, file, [{blob: new Blob([read(path)])}]);
	}
	writeFileSync(file, whole);
	const json = JSON.parse(text.decode(await checkChrome(engine, "a Blob", file, [{blob: new Blob([whole])}])));

	for (const category of ["counter", "gc", "duration", "gap", "read", "label", "fails"])
		check(
			json.traceEvents.some((it) => it.args?.event === category || (category === "counter" && it.ph === "C")),
			`the made trace has no ${category}`,
		);
	await checkChrome(engine, "gzip", file, [{blob: new Blob([gzipSync(whole)])}]);
	await checkChrome(engine, "bytes", file, [{bytes: new Uint8Array(whole)}]);
	await checkChrome(engine, "a response", file, [{response: new Response(whole)}]);
	await checkChrome(engine, "an offset", file, [{bytes: new Uint8Array(everything(0n)), offsetNs: 1000000n}]);
	writeFileSync(file, plainly);
	await checkChrome(engine, "no events", file, [{blob: new Blob([plainly])}]);
	mkdirSync(several);
	for (const [name, bytes] of Object.entries({a: whole, b: later})) writeFileSync(join(several, name), bytes);
	await checkChrome(engine, "two streams", several, streams({a: whole, b: later}));
	await checkChrome(
		engine,
		"two streams of a guest",
		several,
		streams({a: whole, b: later}).map((it) => ({...it, guest: 0})),
	);
	await checkExportLimits(engine, whole);
	engine.close();
	await checkExportMemory(whole);
}

/** Check what an export says that goes beyond a limit, and times at the ends of the line. */
async function checkExportLimits(engine, whole) {
	const load = async (...sources) => {
		await engine.load(sources);
		return engine.chrome("trace");
	};
	const ts = async (time, offsetNs) => {
		const {blob} = await load({bytes: new Uint8Array(made([[event(time, "counter", 1n, 1n, "c")]])), offsetNs});

		return /"ph":"C".*?"ts":([0-9.]+)/.exec(await blob.text())[1];
	};
	const name = (i) => ({name: `s${i}`, blob: new Blob([made([[]])])});

	check(
		(await ts((1n << 64n) - 1000n, 5000n)) === "9223372036854775.807",
		"a time goes around at the end of the line",
	);
	check((await ts(1000n, -5000n)) === "0.000", "a time lies before the line");
	check(
		(await message(load(...Array.from({length: 257}, (_, i) => name(i))))).includes("257 streams"),
		"257 streams are exported",
	);
	const twice = gzipSync(gzipSync(whole));
	const blob = await (await load({blob: new Blob([twice])})).blob.text();
	const response = await (await load({response: new Response(twice)})).blob.text();

	check(blob === response, "kept bytes are unpacked twice");
	const counters = Array.from({length: 50}, (_, packet) =>
		Array.from({length: 1400}, (_, i) => event(BigInt(packet * 1400 + i), "counter", 1n, 1n, `${packet} ${i}`)),
	);

	check(
		(await load({bytes: new Uint8Array(made(counters))})).refused > 4000,
		"nobody tells that counters are left out",
	);
	const {trace} = wasm.load([whole]);

	trace.keep(0, async function* () {
		yield whole;
	});
	check((await message(trace.chrome("trace", 5000))).includes("mprofctl export"), "a document has no limit");
	check((await trace.chrome("trace")).blob.size > 5000, "an export after one that was too large");
	trace.close();
}

/** Check that an export leaves nothing in the memory of the wasm, and writes its document in pieces. */
async function checkExportMemory(bytes) {
	const {memory} = wasm.c;
	const {trace} = wasm.load([bytes]);
	let after = 0;

	trace.keep(0, async function* () {
		yield bytes;
	});
	for (let i = 0; i < 100; i++) {
		await trace.chrome("trace");
		after = i === 4 ? memory.buffer.byteLength : after;
	}
	trace.close();
	check(
		memory.buffer.byteLength === after,
		`memory grew from ${after} to ${memory.buffer.byteLength} in 100 exports`,
	);
}

/** Check that a replaced engine answers what waits, its successor what comes later, and a closed one nothing. */
async function checkRetired(engine, bytes, {start, end}) {
	const next = await Engine.open({worker: new Port(), wasm: readFileSync(process.env.MPROF_WASM)});

	await next.load([{bytes: new Uint8Array(bytes)}]);
	const waits = engine.density(start, end, 7);
	engine.retire(next);
	check((await waits).length === 7, "what waited for a replaced engine");
	check((await engine.thread(3)) !== null, "what follows from its answer");
	/* It ends once nothing waits. The index of a thread is of one model. */
	while ((await engine.thread(3)) !== null) await new Promise((resolve) => setTimeout(resolve, 100));
	check((await engine.find("")).threads.length === 0, "its successor answers");
	next.close();
	check(
		(await Promise.race([
			message(next.thread(1)),
			new Promise((resolve) => setImmediate(() => resolve("silence"))),
		])) === "silence",
		"a closed engine is silent",
	);
}

/* With MPROF_BRIEF, each third of the traces, and the damaged ones. Tests of mprofctl read all of them. */
const some = (paths) =>
	process.env.MPROF_BRIEF ? paths.filter((path, at) => at % 3 === 0 || /killed|truncated/.test(path)) : paths;

try {
	if (part === "own") {
		const traces = list(join(root, "tests/traces"), /\.ctf\.xz$/),
			[wrapped, small] = ["wrapped", "small"].map((name) => read(join(root, `tests/traces/${name}.ctf.xz`)));

		for (const path of some(traces)) checkTrace(path, true);
		checkCuts(read(join(root, "tests/traces/countwrap.ctf.xz")));
		checkTwice(wrapped, small);
		checkStreams(wrapped);
		checkAlike(wrapped);
		checkShare(read(join(root, "tests/traces/small.ctf.xz")));
		checkClock();
		checkMemory(read(join(root, "tests/traces/oddsize.ctf.xz")));
		await checkEngine(small, wrapped);
		await checkExports(some(traces));
	} else if (part === "reference") {
		execFileSync("python3", ["-B", join(root, "tests/traces/unpack.py"), scratch, "live", "live-slow"]);
		const snapshots = ["live", "live-slow"].flatMap((name) => list(join(scratch, name), /^snap.*\.ctf$/));

		check(snapshots.length === 32, `${snapshots.length} snapshots`);
		for (const path of some(snapshots)) checkTrace(path);
	} else if (!existsSync(published)) {
		console.log(`SKIP: there are no published traces at ${published}`);
		process.exitCode = 77;
	} else {
		for (const path of some(list(published, /\.(ctf|ctf\.xz|sexp\.xz)$/))) checkTrace(path);
		checkDiff(...["good", "bad"].map((run) => read(join(published, `arp-${run}.ctf`))));
	}
	checkSchema("why", answered);
	checkSchema("stats", counted);
	checkSchema("area", areas);
	checkSchema("diff", differing);
	checkSchema("threads", [`{"threads": [${threads.join(", ")}]}`]);
} finally {
	rmSync(scratch, {recursive: true});
}
if (failures) process.exitCode = 1;
