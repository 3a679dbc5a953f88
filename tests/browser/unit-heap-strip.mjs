/*
 * The position of a memory profile on a trace's time line, the bounds of that position, and its
 * drawing, without a page.
 */
import assert from "node:assert/strict";
import {test} from "node:test";

import {Camera} from "../../client/viewer/trace/camera.js";
import {placed, received, sure, tells} from "../../client/viewer/strip/heap-strip-clock.js";
import {primitives, scaleOf, yOf} from "../../client/viewer/strip/heap-strip-paint.js";
import {Tracks} from "../../client/viewer/strip/heap-strip-source.js";
import {steps} from "../../client/viewer/strip/heap-strip-track.js";

const S = 1000000000n;
const CLOCK = {known: true, offsetNs: -100n * S, uncertaintyNs: 3000000n}; /* the guest's clock is 100 s ahead */
const HALF = CLOCK.uncertaintyNs / 2n;
const memtrace = (more = {}) => ({
	id: 7,
	began: "2026-11-21T13:00:00.000000000Z",
	began_mono: String(50n * S),
	ended: "2026-11-21T13:00:20.000000000Z",
	says: {program: "mirage"},
	...more,
});
const START = BigInt(Date.parse("2026-11-21T12:59:59.998Z")) * 1000n; /* 2 ms before the profile arrived */
const info = (lasts) => ({startUs: START, endUs: START + BigInt(lasts * 1e6)});

test("heap strip: a profile begins at the arrival of its first packet, by the trace's clock", () => {
	const place = placed(memtrace(), info(19), CLOCK);

	/* The position is the middle of the trace clock's known range. */
	assert.deepEqual(received(memtrace(), CLOCK), {from: 150n * S + HALF, to: 170n * S + HALF});
	assert.equal(place.base, 150n * S + HALF);
	assert.equal(place.earlierNs, 10n * S + HALF);
	assert.equal(place.laterNs, HALF);
	assert.equal(place.aheadNs, -2000000n);
	assert.equal(sure(place), "against the threads: here, up to 10 s earlier, or up to 1.5 ms later");
	assert.match(
		tells(memtrace(), place).join(" "),
		/memory profile 7 of mirage.*up to 10 s earlier, or up to 1.5 ms later.*2 ms behind this host's/,
	);
});

test("heap strip: a profile that ended lies before its end, and a misfit is reported", () => {
	/* 24 s of events arrived in 20 s: the events happened 4 s before the page would draw them. */
	const place = placed(memtrace(), info(24), CLOCK);

	assert.deepEqual([place.base, place.earlierNs], [146n * S + HALF, 6n * S + HALF]);
	assert.equal(placed(memtrace(), info(30), CLOCK).earlierNs, HALF, "sent as late as it can have been");
	const sent = placed(memtrace(), info(3600), CLOCK);
	assert.deepEqual([sent.base + 3600n * S, sent.earlierNs], [170n * S + HALF, null]);
	assert.match(tells(memtrace(), sent).join(" "), /do not match its arrival/);
	/*
	 * The profile began after the sink connected. A guest that connects by itself may have begun
	 * a little before the sink noticed.
	 */
	const asked = {origin: "asked", connected_mono: String(50n * S - 4000000n)};
	assert.equal(placed(memtrace(asked), info(19), CLOCK).earlierNs, 4000000n + HALF);
	assert.equal(placed(memtrace({...asked, origin: "listened"}), info(19), CLOCK).earlierNs, 1004000000n + HALF);
	assert.equal(placed(memtrace({...asked, connected_mono: "junk"}), info(19), CLOCK).earlierNs, 10n * S + HALF);
	assert.equal(placed(memtrace({ended: null}), info(3600), CLOCK).base, 150n * S + HALF);
	assert.equal(placed(memtrace(), info(1), {...CLOCK, known: false}), null);
	assert.equal(received(memtrace({began_mono: "x"}), CLOCK), null);
	assert.match(sure(placed(memtrace(), info(1), {...CLOCK, uncertaintyNs: null})), /later by an unknown time/);
	assert.equal(
		sure(placed(memtrace(), info(1), {...CLOCK, uncertaintyNs: 0n})),
		"against the threads: here or up to 10 s earlier",
	);
});

test("heap strip: a scale ends at a round number", () => {
	for (const [peak, end] of [
		[1, 1],
		[7, 8],
		[1023, 1024],
		[1025, 1536],
		[40e6, 40 * 1048576],
		[45 * 1048576, 50 * 1048576],
		[900 * 1048576, 1073741824],
	])
		assert.equal(scaleOf(peak), end);
	for (let peak = 1; peak < 1e15; peak *= 1.3) assert.ok(scaleOf(peak) >= peak && scaleOf(peak) < peak * 2.01);
	assert.equal(scaleOf(Infinity), Infinity, "it ends, whatever a guest says");
});

test("heap strip: a few of a thousand profiles are loaded at a time", () => {
	const tracks = new Tracks({}, {source: {}}, {changed() {}, failed() {}});
	const load = function () {
		this.state = "loading";
	};
	tracks.list = Array.from({length: 1000}, (_, id) => ({
		id,
		state: "waiting",
		load,
		forget() {},
		meets: (from, to) => from <= id && id <= to,
	}));
	const loading = () => tracks.list.filter((it) => it.state === "loading");

	for (let at = 0; at < 1000; at += 3) tracks.meeting(at, at + 2);
	assert.equal(loading().length, 4);
	loading().forEach((it) => (it.state = "failed"));
	assert.equal(tracks.meeting(990, 999).length, 10);
	assert.deepEqual(
		loading().map(({id}) => id),
		[996, 997, 998, 999],
	);
});

/*
 * A profile of 10 s with 100 bytes at first and 300 from the middle on, drawn from trace time 20
 * s on.
 */
function track(more = {}) {
	const base = 20n * S;

	return {
		id: 7,
		state: "ready",
		place: {earlierNs: S, laterNs: 0n},
		lasts: 10e6,
		holds: 12e6,
		steps: steps(
			Float64Array.from({length: 1000}, (_, i) => (i < 499 ? 100 : 300)),
			0,
			10e6,
		),
		time: (us) => base + BigInt(Math.round(us)) * 1000n,
		at: (time) => (time >= base && time <= base + 10n * S ? (time < base + 5n * S ? 100 : 300) : null),
		...more,
	};
}

test("heap strip: values step where they change, at the camera's pixels", () => {
	const camera = new Camera();

	camera.trace(0n, 40n * S, 1);
	camera.size(1000, 300);
	for (const [from, to] of [
		[15n, 35n],
		[24n, 26n],
		[20n, 25n],
	]) {
		camera.show(from * S, to * S);
		const list = primitives([track()], camera, 400, {pointer: null, range: null});
		const {points} = list.find(({kind}) => kind === "heap");
		const [low, high] = [yOf(100, 400), yOf(300, 400)];
		const x = camera.xOf(25n * S);
		assert.ok(to < 32n || points.at(-2) === camera.xOf(32n * S), "the last value holds until it ended");
		assert.ok(points.every((at, i) => (i % 2 ? at === low || at === high : at >= -2 && at <= 1002)));
		for (let i = 0; i < points.length; i += 2)
			assert.equal(points[i + 1], points[i] > x + 0.01 ? high : points[i] < x - 0.01 ? low : points[i + 1]);
	}
});

test("heap strip: the value and its uncertainty stand at the pointer, and unknown ones are left out", () => {
	const camera = new Camera();

	camera.trace(0n, 40n * S, 1);
	camera.size(1000, 300);
	camera.show(15n * S, 35n * S);
	const at = (time) => primitives([track()], camera, 400, {pointer: time, range: {from: 16n * S, to: 17n * S}});
	const list = at(26n * S);
	const dot = list.find(({kind}) => kind === "dot");
	assert.deepEqual([dot.value, dot.text, dot.x], [300, "300 bytes", camera.xOf(26n * S)]);
	const {x0, x1} = list.find(({kind}) => kind === "uncertain");
	assert.ok(Math.abs(x1 - x0 - 50) < 1e-6, "a second is 50 pixels here");
	assert.ok(list.some(({kind}) => kind === "range"));
	assert.ok(!at(18n * S).some(({kind}) => kind === "dot"));
	assert.ok(
		!primitives([track({state: "loading"})], camera, 1, {pointer: 26n * S, range: null}).some(
			({kind}) => kind === "heap" || kind === "dot",
		),
	);
});
