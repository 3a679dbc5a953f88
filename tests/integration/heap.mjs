/*
 * Test memory profiles in mprof.wasm, under node: heap.mjs SOURCE-ROOT MPROFCTL MEM-RECORDING
 * own|reference
 *
 * The worker of memory profiles must answer as `mprofctl mem` does for the same stream, and as
 * an independent reader and the reference viewer's rules do for the reference traces. Then test
 * what only a page does: pieces of any size, streams that grow, gzip, requests that overtake
 * each other.
 */
import {execFileSync, spawnSync} from "node:child_process";
import {existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync} from "node:fs";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {setImmediate} from "node:timers/promises";
import {gzipSync} from "node:zlib";
import {Heap} from "../../client/viewer/engine/heap.js";
import {Answers} from "../../client/viewer/worker/heap-answers.js";
import {infoOf} from "../../client/viewer/worker/heap-info.js";
import {Names} from "../../client/viewer/worker/heap-names.js";
import {Recording} from "../../client/viewer/worker/recording.js";
import {Wasm} from "../../client/viewer/worker/wasm.js";
import {Port, message} from "./wasm-port.mjs";

const [root, mprofctl, memRecording, part] = process.argv.slice(2);
const scratch = mkdtempSync(join(tmpdir(), "heap-"));
const traces = join(scratch, "memtrace");
const module = await WebAssembly.compile(readFileSync(process.env.MPROF_WASM));
const wasm = await Wasm.open(module);
const names = new Names();
const texts = [];
/* Traces of which the reference reads nothing, or only a beginning. */
const UNREAD = ["bad-badloc", "bad-clockback"];
const SEVERAL_DOMAINS = "multidom-v3"; // its oracles are in the order of the file
const CTL_FRAMES = 12; // mprofctl takes no further code of a leak's stack behind so many functions
let failures = 0;

function check(holds, what) {
	if (holds) return;
	failures++;
	console.log("FAILED", what);
}

const same = (a, b, what) =>
	check(JSON.stringify(a) === JSON.stringify(b), `${what}: ${JSON.stringify(a)} and not ${JSON.stringify(b)}`);
const near = (a, b) => Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b), 1);

function done(step) {
	while (!step(performance.now() + 1000));
}

/**
 * Return a recording of BYTES, fed in pieces of PIECE bytes. With GROWS it is a recording that
 * goes on, else a file.
 */
function recordingOf(bytes, {piece = bytes.length || 1, grows = false, recording} = {}) {
	const made = new Recording(wasm, {seed: 42n, recording});

	for (let at = 0; at < bytes.length; at += piece) {
		made.add(bytes.subarray(at, at + piece));
		done((time) => made.follow(time));
	}
	if (!grows) made.end();
	done((time) => made.follow(time));
	return made;
}

function answersOf(recording, filter = null, line = null) {
	const view = recording.of(filter, line);

	done((time) => view.step(time));
	return new Answers(wasm, names, view.at);
}

/** Return a line as heap.timeline() does. */
function lineOf(recording, filter, from, to, n) {
	return answersOf(recording, filter, [BigInt(from), BigInt(to - from), n]).line(from, to, n).bytes;
}

function ctl(...args) {
	const run = spawnSync(mprofctl, ["mem", ...args], {maxBuffer: 1 << 30});

	if (run.status !== 0 && run.status !== 3) throw new Error(`${args}: ${run.stderr}`);
	return {out: JSON.parse(run.stdout), said: run.stderr.toString()};
}

// ---- against mprofctl

function checkSums(recording, file, what) {
	const info = infoOf(recording);
	const {out, said} = ctl("identify", file, "--json");
	const {damages, ...rest} = out;

	same(Object.fromEntries(Object.keys(rest).map((key) => [key, info[key]])), rest, `${what}: the answer`);
	same(info.damages.length > 0, damages > 0, `${what}: damage`);
	for (const sentence of info.damages) check(said.includes(sentence), `${what}: damage ${sentence}`);
	check(info.damages.length > 0 === said.includes("skipped"), `${what}: damage is reported`);
	return info;
}

/** Return the name that has number I in a tree. */
function nameOf(i) {
	texts.push(...names.fresh());
	return texts[i];
}

/** Check that the numbers in TREE agree with each other. */
function checkTree(tree, all, what) {
	const none = 0xffffffff;
	const seen = new Uint8Array(tree.n);

	seen[0] = 1;
	check(near(tree.total[0], all), `${what}: the root is all`);
	for (let i = 0; i < tree.n; i++) {
		let below = tree.self[i];

		for (let child = tree.first[i], last = Infinity; child !== none; child = tree.next[child]) {
			check(tree.parent[child] === i && tree.depth[child] === tree.depth[i] + 1, `${what}: node ${child}`);
			check(tree.total[child] <= last * (1 + 1e-12), `${what}: the heaviest first`);
			last = tree.total[child];
			below += last;
			seen[child] = 1;
		}
		check(near(below, tree.total[i]), `${what}: ${i} is the sum of its children`);
		check(typeof nameOf(tree.name[i]) === "string", `${what}: a name`);
	}
	for (let i = 0; i < tree.n; i++) check(seen[i] || !tree.total[i], `${what}: node ${i} is found`);
}

/** Check that each of the ANSWERS, JSON texts, is as schema/answers/NAME.json says. */
function checkSchema(name, answers) {
	const {status, stderr} = spawnSync("python3", ["-B", join(root, "tests/integration/schemas.py"), name], {
		input: answers.join("\n"),
	});

	check(status === 0, `${name} is not as its schema says: ${stderr}`);
}

/** Check that CALLER of a page's answer with these FUNCTIONS is one of WANTED, those of mprofctl. */
function checkCaller({index, direct_bytes: direct, ...caller}, before, functions, wanted, what) {
	const {function: name, file} = functions[index];
	const told = JSON.stringify({function: name, file, ...caller});

	check(
		wanted.some((it) => JSON.stringify(it) === told),
		`${what}: ${told}`,
	);
	check(
		direct <= caller.samples_bytes &&
			(!before ||
				direct < before.direct_bytes ||
				(direct === before.direct_bytes && caller.samples_bytes <= before.samples_bytes)),
		`${what}: place of ${told}`,
	);
}

function checkFunctions(recording, file, weight, what) {
	const {callees, callers, relativeError, functions, ...head} = answersOf(recording).byFunctions({weight}, null);
	const {functions: wanted, ...all} = ctl(weight === "peak" ? "peak" : "hotspots", file, "--json").out;
	const told = functions.filter(({self}) => self > 0);

	checkSchema("hotspots", [JSON.stringify({...head, functions})]);
	same(head, all, `${what}: sums`);
	check(near(relativeError, head.samples ? 1 / Math.sqrt(head.samples) : 0), `${what}: the error`);
	checkTree(callees, head.samples_bytes, `${what}: callees`);
	checkTree(callers, head.samples_bytes, `${what}: callers`);
	same(told.length, wanted.length, `${what}: functions`);
	for (const [i, {callers: by, ...spot}] of told.entries()) {
		const {callers: wantedBy, ...want} = wanted[i] ?? {};

		same(spot, want, `${what}: function ${i}`);
		same(by.length, Math.min(wantedBy?.length, 20), `${what}: callers of function ${i}`);
		by.forEach((it, k) => checkCaller(it, by[k - 1], functions, wantedBy, `${what}: caller ${k} of function ${i}`));
	}
}

/** Check that STACK of the page begins as WANTED of mprofctl, which leaves out what is far from the allocation. */
function checkStack(stack, wanted, what) {
	same(wanted.length < CTL_FRAMES ? stack : stack.slice(0, wanted.length), wanted, `${what}: stack`);
}

function checkLeaks(recording, file, what) {
	const {holders, leaks, ...head} = answersOf(recording).leaks();
	const {holders: wantedHolders, leaks: wanted, ...all} = ctl("leaks", file, "--json").out;

	checkSchema("leaks", [JSON.stringify({...head, holders, leaks})]);
	same(head, all, `${what}: live objects`);
	same([holders.length, leaks.length], [wantedHolders.length, wanted.length], `${what}: leaks`);
	for (const [list, wants, kind] of [
		[holders, wantedHolders, "holder"],
		[leaks, wanted, "leak"],
	])
		for (const [i, {stack, ...it}] of list.entries()) {
			const {stack: wantedStack, ...want} = wants[i] ?? {stack: []};

			same(it, want, `${what}: ${kind} ${i}`);
			checkStack(stack, wantedStack, `${what}: ${kind} ${i}`);
		}
}

/**
 * Compare FILTER with the OPTIONS of mprofctl that mean the same: the selected allocations, and
 * their line.
 */
function checkFilter(recording, file, filter, options, what) {
	const N = 200;
	const {startUs, endUs} = infoOf(recording);
	const profile = answersOf(recording, filter).byFunctions({}, null);
	const line = lineOf(recording, filter, 0, Number(endUs - startUs), N);
	const {out} = ctl("timeline", file, "--json", `--points=${N}`, ...options);

	same([profile.objects, profile.samples], [out.objects, out.samples], `${what}: ${options}`);
	checkTree(profile.callees, profile.samples_bytes, `${what}: ${options}`);
	check(line.length === N && out.points.every(({bytes}, i) => near(bytes, line[i])), `${what}: line of ${options}`);
	/* Half of the line must be the same at the same times. */
	const half = lineOf(
		recording,
		filter,
		Number(endUs - startUs) - Math.floor(Number(endUs - startUs) / 2),
		Number(endUs - startUs),
		1,
	);
	check(near(half[0], line[N - 1]), `${what}: end of the line of ${options}`);
}

function checkFile(bytes, file, what) {
	const recording = recordingOf(bytes);
	const {peak_us: peakUs, endUs, startUs} = checkSums(recording, file, what);
	const length = Number(endUs - startUs);
	const some = Math.floor(length / 3);

	checkFunctions(recording, file, "all", what);
	checkFunctions(recording, file, "peak", what);
	checkLeaks(recording, file, what);
	for (const [filter, options] of [
		[null, []],
		[{}, []],
		[{live: {least: peakUs, most: peakUs}}, ["--live=peak"]],
		[{never: true}, ["--live=end"]],
		[{heaps: ["major", "external"]}, ["--heap=major,external"]],
		[{heaps: ["minor"], bytes: {least: 24}}, ["--heap=minor", "--size=24.."]],
		[{allocated: {most: some}, lifetime: {least: 10}}, [`--allocated=..${some}us`, "--lifetime=10us.."]],
		[{collected: {least: some, most: 2 * some}}, [`--collected=${some}us..${2 * some}us`]],
		[{clauses: [{name: "fun"}, {name: "List", outside: true}]}, ["--inside=fun", "--outside=List"]],
	])
		checkFilter(recording, file, filter, options, what);
	recording.close();
}

// ---- against the reference

/** Return the fields of the reader's report. */
function oracleOf(name) {
	const lines = readFileSync(join(traces, `${name}.oracle.txt`), "utf8").split("\n");

	return Object.fromEntries(lines.map((line) => line.split(/ (.*)/s)).reverse());
}

function checkOracle(recording, name) {
	const oracle = oracleOf(name);
	const info = infoOf(recording);
	const samples = (bytes) => Math.round((bytes * info.rate) / 8);

	same(
		[
			...Object.values(info.allocs),
			...Object.values(info.samples),
			info.promotes,
			info.collects,
			info.live_objects,
			samples(info.live_bytes),
		],
		[
			"events_alloc_minor",
			"events_alloc_major",
			"events_alloc_external",
			"samples_minor",
			"samples_major",
			"samples_external",
		]
			.concat(["events_promote", "events_collect", "live_end_objects", "live_end_samples"])
			.map((key) => Number(oracle[key])),
		`${name}: counts`,
	);
	if (name === SEVERAL_DOMAINS) return;
	same(
		[samples(info.peak_bytes), info.peak_objects, info.peak_us],
		["peak_samples", "peak_objects", "peak_time_us"].map((key) => Number(oracle[key])),
		`${name}: peak`,
	);
}

/** Convert a condition of the viewer's oracle to a filter. */
function filterOf(text, told) {
	const filter = {};
	const time = (n) => ({least: Number(n), most: Number(n)});
	const clause = (name, outside) => (filter.clauses = [...(filter.clauses ?? []), {name, outside}]);
	const ways = [
		[/^none$/, () => {}],
		[/^live at peak$/, () => (filter.live = time(told.peak_time_us))],
		[/^live at end of trace$/, () => (filter.never = true)],
		[/^live at (\d+) us$/, (n) => (filter.live = time(n))],
		[/^on the (\w+) heap$/, (heap) => (filter.heaps = [heap])],
		[/^not on the minor heap$/, () => (filter.heaps = ["major", "external"])],
		[/^not on the major heap$/, () => (filter.heaps = ["minor", "external"])],
		[/^size at most (\d+) B$/, (n) => (filter.bytes = {most: Number(n)})],
		[/^size at least (\d+) B$/, (n) => (filter.bytes = {least: Number(n)})],
		[/^size between (\d+) B and (\d+) B$/, (a, b) => (filter.bytes = {least: Number(a), most: Number(b)})],
		[/^lifetime at least (\d+) us$/, (n) => (filter.lifetime = {least: Number(n)})],
		[/^lifetime at most (\d+) us$/, (n) => (filter.lifetime = {most: Number(n)})],
		[/^allocated at or before (\d+) us$/, (n) => (filter.allocated = {most: Number(n)})],
		[/^collected at or after (\d+) us$/, (n) => (filter.collected = {least: Number(n)})],
		[/^inside (?:a function whose name contains )?"(.*)"$/, (name) => clause(name, false)],
		[/^not inside a function whose name contains "(.*)"$/, (name) => clause(name, true)],
	];

	for (const one of text.split(/ and (?=live|collected|inside|allocated)/)) {
		const [way, match] = ways.map(([pattern, way]) => [way, pattern.exec(one)]).find(([, match]) => match) ?? [];

		if (!way) throw new Error(`no filter for ${one} of ${text}`);
		way(...match.slice(1));
	}
	return filter;
}

function viewerOf(name) {
	const path = join(traces, `${name}.viewer.txt`);
	const told = {filter: [], function: [], timeline: []};

	if (!existsSync(path)) return null;
	for (const line of readFileSync(path, "utf8").split("\n").filter(Boolean)) {
		const [key, ...rest] = line.includes("\t") ? line.split("\t") : line.split(" ");

		if (told[key] instanceof Array) told[key].push(rest);
		else told[key] = Number(rest[0]);
	}
	return told;
}

/** Return the samples and allocations below each function, from a tree without recursion. */
function totalsOf({n, parent, self, allocs, name}) {
	const totals = new Map();

	for (let i = 0; i < n; i++)
		for (let at = i; self[i] && at !== 0xffffffff; at = parent[at]) {
			const [bytes, count] = totals.get(nameOf(name[at])) ?? [0, 0];

			totals.set(nameOf(name[at]), [bytes + self[i], count + allocs[i]]);
		}
	return totals;
}

function checkViewer(recording, name) {
	const told = viewerOf(name);
	const info = infoOf(recording);
	const samples = (bytes) => Math.round((bytes * info.rate) / 8);

	if (!told) return;
	const line = lineOf(recording, null, 0, Number(info.endUs - info.startUs), told.timeline.length || 1);
	same(samples(info.peak_bytes), told.peak_merged_samples, `${name}: merged peak`);
	if (name === SEVERAL_DOMAINS) return;
	for (const [i, [, , bytes]] of told.timeline.entries())
		check(Math.abs(line[i] - Number(bytes)) <= 1, `${name}: time line at ${i}`);
	for (const [text, objects, selected, , most] of told.filter) {
		if (text === "live at peak" && told.peak_time_us === told.end_us) continue; // Here the oracle has the viewer's fault of showing nothing.
		const answers = answersOf(recording, filterOf(text, told));
		const all = answers.byFunctions({}, null);

		same([`objects ${all.objects}`, `samples ${all.samples}`], [objects, selected], `${name}: ${text}`);
		same(
			`timeline_max_samples ${answers.byFunctions({weight: "peak"}, null).samples}`,
			most,
			`${name}: highest point of ${text}`,
		);
	}
	const totals = totalsOf(answersOf(recording).byFunctions({}, null).callees);
	for (const [name, selected, allocs] of told.function) {
		const [bytes, count] = totals.get(name) ?? [0, 0];

		same([`samples ${samples(bytes)}`, `allocs ${count}`], [selected, allocs], `${name}`);
	}
}

// ---- what only a page does

const withoutMemory = (info) =>
	JSON.stringify({...info, memory: 0}, (_, value) => (typeof value === "bigint" ? String(value) : value));

/** Return every answer about a recording as text, for comparing. */
function said(recording) {
	const info = infoOf(recording);
	const length = Number(info.endUs - info.startUs);
	const {callees, functions, objects} = answersOf(recording).byFunctions({weight: "peak"}, null);

	return JSON.stringify([
		withoutMemory(info),
		objects,
		[...callees.total],
		[...callees.name],
		functions,
		[...lineOf(recording, null, 0, length, 100)],
		answersOf(recording).leaks(),
	]);
}

function checkPieces(bytes, what) {
	const whole = recordingOf(bytes);
	const want = said(whole);

	for (const piece of [977, 65536]) {
		const recording = recordingOf(bytes, {piece});

		check(said(recording) === want, `${what}: in pieces of ${piece}`);
		recording.close();
	}
	/* A recording that grew, and ended. */
	const grown = recordingOf(bytes, {piece: 5000, grows: true});
	grown.end();
	done((time) => grown.follow(time));
	check(said(grown) === want, `${what}: a recording that grew`);
	grown.close();
	/* A recording that was complete, and then grew. */
	const half = recordingOf(bytes.subarray(0, bytes.length / 2));
	half.add(bytes.subarray(bytes.length / 2));
	half.end();
	done((time) => half.follow(time));
	check(said(half) === want, `${what}: a recording that went on`);
	half.close();
	whole.close();
}

/** Check that closing a recording frees its memory for the next. */
function checkMemory(bytes) {
	const sizes = [];

	for (let i = 0; i < 12; i++) {
		const recording = recordingOf(bytes);

		for (const filter of [null, {never: true}, {heaps: ["major"]}, {heaps: ["minor"]}])
			answersOf(recording, filter).byFunctions({}, null);
		answersOf(recording).leaks();
		recording.close();
		sizes.push(wasm.c.memory.buffer.byteLength);
	}
	same(sizes[11], sizes[1], "memory after many recordings");
}

/** Check that a stream that is cut anywhere, or has noise in it, still gets all its answers. */
function checkHostile(bytes, what) {
	let random = 1;
	const draw = (n) => (random = (random * 48271) % 0x7fffffff) % n;

	for (let i = 0; i < 60; i++) {
		const odd = new Uint8Array(bytes.subarray(0, draw(bytes.length)));

		for (let k = i % 3 ? draw(20) : 0; k > 0 && odd.length; k--) odd[draw(odd.length)] = draw(256);
		const recording = recordingOf(odd, {piece: 1 + draw(40000)});
		const {allocated_bytes: all} = infoOf(recording);
		const profile = answersOf(recording).byFunctions({sites: true, recursion: true}, null);

		checkTree(profile.callees, all, `${what} ${i}`);
		checkTree(profile.callers, all, `${what} ${i}`);
		check(lineOf(recording, {never: true}, 0, 1e6, 10).length === 10, `${what} ${i}: a line`);
		answersOf(recording).leaks();
		recording.close();
	}
}

async function checkLoading(heap, bytes) {
	const copy = (data) => new Uint8Array(data);
	const plainly = withoutMemory(await heap.load({bytes: copy(bytes)}));
	const steps = [];
	const ways = {
		blob: {blob: new Blob([bytes])},
		response: {response: new Response(bytes)},
		"gzip blob": {blob: new Blob([gzipSync(bytes)])},
		"gzip bytes": {bytes: copy(gzipSync(bytes))},
		"one that grows": {bytes: copy(bytes), growing: true},
	};

	for (const [name, source] of Object.entries(ways))
		check(
			withoutMemory(await heap.load(source, (step) => steps.push(step))) === plainly,
			`${name}: another recording`,
		);
	check(
		steps.some(({phase, bytes: n, total}) => phase === "building" && n === bytes.length && total === bytes.length),
		"no progress is told",
	);
	check(
		(await message(heap.load({bytes: Uint8Array.of(0xfd, 0x37, 0x7a, 0x58, 0x5a, 0)}))).includes("xz"),
		"xz is not named",
	);
	check((await message(heap.load({bytes: copy(gzipSync(bytes).subarray(0, 999))}))).includes("gzip"), "damaged gzip");
	check(
		(await message(heap.load({bytes: new Uint8Array(9999)}))).includes("no memory profile"),
		"something else is loaded",
	);
	check(
		(await message(heap.load({bytes: new Uint8Array(0)}))).includes("no memory profile"),
		"no recording is loaded",
	);
	check((await message(heap.profile())).includes("No memory profile"), "a recording that failed to load answers");
	const stop = new AbortController();
	const given = message(heap.load({response: new Response(bytes)}, () => stop.abort(), stop.signal));

	check((await given).includes("cancelled"), "loading goes on");
	/* The older one waits for bytes that do not come. */
	const endless = new Response(new ReadableStream({start: (it) => it.enqueue(copy(bytes))}));
	const [older, newer] = await Promise.all([
		message(heap.load({response: endless})),
		message(heap.load({bytes: copy(bytes)})),
	]);
	check(older !== "nothing" && newer === "nothing", `the newer of two loads wins: ${older}; ${newer}`);
}

async function checkQuestions(heap, bytes) {
	const filter = {clauses: [{name: "function_7"}]};
	const lives = (us) => heap.profile({filter: {live: {least: us, most: us}}});
	const info = await heap.load({bytes: new Uint8Array(bytes)});
	const length = Number(info.endUs - info.startUs);
	/* Ask separately for the answers that come at once and those that later requests overtake. */
	const overtaken = await Promise.all([
		lives(1),
		lives(2),
		heap.timeline(filter, 0, length, 9),
		lives(3),
		heap.timeline(null, 0, length, 9),
		lives(info.peak_us),
	]);

	same(
		overtaken.map((it) => it !== null).slice(1),
		[false, false, false, true, true],
		"the newest question of a kind wins",
	);
	/* The sum leaves out blocks that were freed in the same microsecond. */
	check(overtaken[5].objects > 0 && overtaken[5].objects <= info.peak_objects, "the live objects at the peak");
	check(overtaken[4].bytes[8] === info.live_bytes, "the line ends with the live objects");
	const [line, profile, leaks] = await Promise.all([
		heap.timeline(filter, 0, length, 50),
		heap.profile({filter, weight: "live"}),
		heap.leaks(),
	]);
	check(
		line.bytes.length === 50 && profile.objects < info.live_objects && Array.isArray(leaks.leaks),
		"three questions at a time",
	);
	check(near(line.bytes[49], profile.samples_bytes), "line and profile are of the same objects");
	const [hidden, shown] = [await heap.profile({hidden: [{name: "function_"}]}), await heap.profile({sites: true})];
	same(hidden.callees.n, 1, "all functions are hidden");
	const all = shown.samples_bytes;

	check(hidden.samples_bytes === all && near(hidden.callees.self[0], all), "a hidden function is counted");
	check(
		[...shown.callees.name].some((i) => /^src\/module_\d+\.ml:\d+:4-20$/.test(heap.names[i])),
		"places of allocation",
	);
	const clauses = Array.from({length: 9}, () => ({name: "x"}));
	const [odd, even] = await Promise.all([
		message(heap.profile({filter: {clauses}})),
		heap.timeline(null, 0, length, 3),
	]);
	check(odd.includes("eight") && even.bytes.length === 3, "a request that fails leaves the others");
}

async function checkGrowing(heap, bytes) {
	const want = withoutMemory(await heap.load({bytes: new Uint8Array(bytes)}));
	const empty = await heap.load({bytes: new Uint8Array(0), growing: true});
	const filter = {heaps: ["major"]};
	let info = null;

	same(
		[empty.rate, empty.program, empty.endUs === empty.startUs, empty.allocs.minor],
		[0, "", true, 0],
		"a recording of which nothing came",
	);
	check((await heap.profile()).callees.n === 1 && (await heap.leaks()).leaks.length === 0, "empty requests");
	for (let at = 0, answers = []; at < bytes.length; at += 70001) {
		const piece = bytes.slice(at, at + 70001);

		answers = [heap.profile({filter}), heap.timeline(null, 0, 1e6, 9)];
		info = await heap.feed(new Uint8Array(piece));
		same(info.bytes, Math.min(at + 70001, bytes.length), "the fed bytes");
		check((await Promise.all(answers)).every(Boolean), "requests during growth");
	}
	check(withoutMemory(info) === want, "the recording that grew differs");
	/* Feed several pieces at a time, after a recording that was a file. */
	await heap.load({bytes: new Uint8Array(bytes.slice(0, 100000))});
	const fed = await Promise.all([
		heap.feed(new Uint8Array(bytes.slice(100000, 200000))),
		heap.feed(new Uint8Array(bytes.slice(200000))),
	]);
	check(withoutMemory(fed[1]) === want, "the fed recording differs");
}

async function checkJoined(heap, bytes) {
	const half = bytes.subarray(0, bytes.length / 2);
	const joined = Buffer.concat([bytes, half]);
	const file = join(scratch, "joined.trace");
	const [first, last] = [
		await heap.load({bytes: new Uint8Array(joined), recording: 1}),
		await heap.load({bytes: new Uint8Array(joined)}),
	];

	writeFileSync(file, joined);
	same(first.allocs, ctl("identify", file, "--json", "--recording=1").out.allocs, "the first of two recordings");
	same(last.allocs, ctl("identify", file, "--json", "--recording=2").out.allocs, "the last of two recordings");
	check(
		last.recordings === 2 && last.notes.some((it) => it.includes("2 recordings")),
		"the two recordings are reported",
	);
	check(last.damages.length === 1, "the second one is cut");
}

async function checkHeap(bytes) {
	const heap = await Heap.open({worker: new Port("heap-worker.js"), wasm: module});

	check((await message(heap.profile())).includes("No memory profile"), "requests without a recording");
	check((await message(heap.feed(new Uint8Array(1)))).includes("No memory profile"), "feeding without a recording");
	await checkLoading(heap, bytes);
	await checkQuestions(heap, bytes);
	await checkGrowing(heap, bytes);
	await checkJoined(heap, bytes);
	const waiting = heap.leaks();

	/* Neither a request that waits nor a later one gets an answer or an error. */
	heap.close();
	check(
		(await Promise.race([message(waiting), message(heap.leaks()), setImmediate("silence")])) === "silence",
		"a closed heap answers",
	);
}

try {
	if (part === "own") {
		const file = join(scratch, "made.trace");

		execFileSync(memRecording, [file, "600000"]);
		const bytes = readFileSync(file);

		checkFile(bytes, file, "made");
		checkPieces(bytes, "made");
		checkMemory(bytes);
		checkHostile(bytes.subarray(0, 120000), "odd");
		await checkHeap(bytes);
	} else {
		execFileSync("python3", ["-B", join(root, "tests/traces/unpack.py"), scratch, "memtrace"]);
		/* With MPROF_BRIEF, each third of the traces, and the odd ones; mem-oracles.py reads others. */
		const whole = [...UNREAD, SEVERAL_DOMAINS, "leaky", "mirage-cut-header"];
		const all = readdirSync(traces)
			.filter((name) => name.endsWith(".trace"))
			.sort()
			.filter((name, at) => !process.env.MPROF_BRIEF || at % 3 === 0 || whole.includes(name.slice(0, -6)));

		for (const name of all.map((name) => name.slice(0, -6))) {
			const file = join(traces, `${name}.trace`);
			const bytes = readFileSync(file);
			const recording = recordingOf(bytes);

			if (!UNREAD.includes(name)) checkOracle(recording, name);
			checkViewer(recording, name);
			recording.close();
			checkFile(bytes, file, name);
		}
		for (const name of ["leaky", "mirage-cut-header", SEVERAL_DOMAINS]) {
			const bytes = readFileSync(join(traces, `${name}.trace`));

			checkPieces(bytes, name);
			checkHostile(bytes, name);
		}
	}
} finally {
	rmSync(scratch, {recursive: true});
}
if (failures) process.exitCode = 1;
