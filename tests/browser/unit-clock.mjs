/* The clocks by which the page writes times, without a page. */
import assert from "node:assert/strict";
import test from "node:test";

process.env.TZ = "Europe/Berlin";
const {Camera} = await import("../../client/viewer/trace/camera.js");
const {Clock} = await import("../../client/viewer/trace/clock.js");
const {format, parse} = await import("../../client/viewer/page/address.js");

const SECOND = 1000000000n;
const START = 8000n * SECOND;
/* Dom0's wall time of the trace's first event in ns. */
const WALL = BigInt(Date.parse("2026-11-23T02:12:44.250Z")) * 1000000n;

/** Return a Clock of KIND for a trace of LENGTH ns that begins at START, when dom0's clock is AT. */
function clock(kind, {length = 10n * SECOND, at = WALL, uncertaintyNs = 0n} = {}) {
	const camera = new Camera();
	const it = new Clock(camera);

	camera.trace(START, START + length, 1);
	camera.show(START, START + length);
	it.kind = kind;
	if (at !== null) it.wall = {known: true, offsetNs: at - START, uncertaintyNs};
	return it;
}

test("a time is written by each clock, exactly", () => {
	const time = START + 1250001n;

	assert.equal(clock("relative").at(time), "+1.250001 ms");
	assert.equal(clock("guest").at(time), "8000.001250001 s");
	assert.equal(clock("wall").at(time), "03:12:44.251250001");
	assert.equal(clock("utc").at(time), "02:12:44.251250001");
	assert.equal(clock("wall").at(START), "03:12:44.250");
	assert.equal(clock("wall").at(START + (3n * SECOND) / 4n), "03:12:45");
});

test("a tip names the time by all clocks that are known", () => {
	assert.equal(
		clock("relative").everywhere(START + 5n),
		"+5 ns (2026-11-23 03:12:44.250000005 UTC+01:00, 8000.000000005 s)",
	);
	assert.equal(
		clock("wall").everywhere(START + 5n),
		"2026-11-23 03:12:44.250000005 UTC+01:00 (+5 ns, 8000.000000005 s)",
	);
	assert.equal(clock("utc").everywhere(START), "2026-11-23 02:12:44.250 UTC (+0 ns, 8000.000000000 s)");
	assert.equal(clock("relative", {at: null}).everywhere(START + 5n), "+5 ns (8000.000000005 s)");
	assert.equal(clock("guest", {at: null}).everywhere(START + 5n), "8000.000000005 s (+5 ns)");
});

test("while the wall time is unknown, times count from the start", () => {
	const it = clock("wall", {at: null});

	assert.equal(it.used, "relative");
	assert.equal(it.at(START + SECOND), "+1 s");
	assert.equal(it.text, null);
	it.wall = {known: false};
	assert.equal(it.used, "relative");
	assert.deepEqual(it.grid, {flags: 64, dayShift: 0n, origin: START});
});

test("the wall time says its date, its zone and how sure it is", () => {
	const text = (uncertaintyNs) => clock("wall", {uncertaintyNs}).text;

	assert.equal(text(0n), "Dom0's wall time on 2026-11-23, UTC+01:00; events happened then.");
	assert.match(text(2000000n), /; an event happened then, or up to 2 ms earlier\.$/);
	assert.match(text(null), /earlier by an unknown time\.$/);
	assert.match(clock("utc").text, /2026-11-23, UTC;/);
});

test("a trace that passes midnight has dates, by the zone of the clock", () => {
	const late = BigInt(Date.parse("2026-11-22T22:59:58Z")) * 1000000n;

	assert.equal(clock("wall", {at: late}).at(START), "2026-11-22 23:59:58");
	assert.equal(clock("wall", {at: late}).at(START + 3n * SECOND), "2026-11-23 00:00:01");
	assert.equal(clock("utc", {at: late}).at(START), "22:59:58");
	assert.equal(clock("wall", {at: late}).tick(START + 2n * SECOND, SECOND), "2026-11-23 00:00:00");
});

test("times are right on both sides of a change of the zone's offset", () => {
	const before = BigInt(Date.parse("2026-10-25T00:59:59Z")) * 1000000n;
	const it = clock("wall", {at: before});

	assert.equal(it.at(START), "02:59:59");
	assert.equal(it.zone(START), "UTC+02:00");
	assert.equal(it.at(START + SECOND), "02:00:00");
	assert.equal(it.zone(START + SECOND), "UTC+01:00");
});

test("ticks have the decimals that tell them apart, and stand at round times of day", () => {
	const it = clock("wall");

	assert.equal(it.tick(START + 50000000n, 100000000n), "03:12:44.3");
	assert.equal(it.tick(START + 750000000n, SECOND), "03:12:45");
	assert.equal(it.tick(START + 15750000000n, 60n * SECOND), "03:13");
	assert.equal(it.moment(START + 1n, SECOND), "03:12:44.25");
	for (const [step, next] of [
		[1n, 2n],
		[5n, 10n],
		[10n, 20n],
		[20n, 60n],
		[60n, 120n],
		[120n, 600n],
		[3600n, 7200n],
		[43200n, 86400n],
		[86400n, 172800n],
	])
		assert.equal(it.wider(step * SECOND, 0), next * SECOND, String(step));
	/* The grid and the ticks share their places: times of day that are multiples of the step. */
	assert.equal((START - it.origin) % SECOND, 250000000n);
	assert.equal(((START + it.grid.dayShift) / SECOND) % 86400n, 3n * 3600n + 12n * 60n + 44n);
	assert.equal(clock("guest").tick(START + SECOND / 10n, SECOND / 10n), "8000.1 s");
	assert.equal(clock("guest").origin, 0n);
});

test("an address keeps the clock", () => {
	for (const time of ["guest", "wall", "utc"]) assert.equal(parse(format({capture: 1, time})).time, time);
	assert.equal(parse("#capture=1&time=noon").time, undefined);
	assert.equal(parse(format({capture: 1})).time, undefined);
});

test("the wall time of a source comes from itself, from its packets, or is unknown", async () => {
	const it = clock("relative", {at: null});
	const wall = {known: true, offsetNs: 5n, uncertaintyNs: 0n};

	await it.learn(null, {wall});
	assert.deepEqual(it.wall, wall);
	await it.learn(null, {file: {}});
	assert.deepEqual(it.wall, {known: false});
	const asked = [];
	const source = {isLocal: async () => true, streams: [{stream: 0}], packets: ({stream}) => `packets of ${stream}`};
	const api = {
		async *pages(path, what) {
			asked.push(path, what);
			yield [];
		},
	};
	const engine = {clocks: async (...what) => (asked.push(what), {guests: [{wall}]})};
	await it.learn(api, source, engine);
	assert.deepEqual(asked, ["packets of 0", "packets", [[[new BigUint64Array()]], [true]]]);
	assert.deepEqual(it.wall, wall);
	assert.equal(it.isOld, false);
});
