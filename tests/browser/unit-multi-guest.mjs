/* Guests on one time line: the functions that need no page. */
import assert from "node:assert/strict";
import test from "node:test";

import {format, namesTrace, parse, sameTrace} from "../../client/viewer/page/address.js";
import {Camera} from "../../client/viewer/trace/camera.js";
import {drawn, strips} from "../../client/viewer/compare/guest-strips.js";
import {tailed} from "../../client/viewer/trace/tail.js";
import {clockText, memberView} from "../../client/viewer/compare/multi-guest.js";
import {copied, realNs, stamps} from "../../client/viewer/trace/stamps.js";

const stamp = (offset, mono) => ({offset, mono: String(mono), real: "2026-01-01T00:00:00.000000005Z"});

test("packets with clock readings become numbers, others are left out", () => {
	const packet = {
		first_timestamp: "7",
		room: 4096,
		copied: {first: stamp(100, 11), last: stamp(200, 12)},
		unproven: false,
		clock_stepped: true,
	};
	const real = 1767225600000000005n;

	const numbers = [7n, 11n, real, 100n, 12n, real, 200n, 1n];
	const unknown = (1n << 64n) - 1n;
	const zeros = Array(15).fill(0n);

	assert.deepEqual([...copied([packet])], [...numbers, unknown, 0n, ...zeros]);
	const more = {...packet.copied, newest: [stamp(150, 13), stamp(200, 12)], last_chunk: "9"};
	const two = [13n, real, 150n, 12n, real, 200n];

	assert.deepEqual([...copied([{...packet, copied: more}])], [...numbers, 9n, 2n, ...two, ...zeros.slice(6)]);
	for (const newest of [null, 5, {}, [{}], [stamp(1, "x")], Array(6).fill(stamp(1, 1))])
		assert.deepEqual([...copied([{...packet, copied: {...more, newest}}])], [...numbers, 9n, 0n, ...zeros]);
	const verified = copied([{...packet, unproven: true, bytes: 47}]);

	assert.deepEqual([...verified], [...numbers, unknown, 0n, ...zeros]);
	for (const change of [
		{unproven: true, bytes: 30},
		{unproven: true},
		{first_timestamp: null},
		{copied: null},
		{copied: {first: stamp(1, "x"), last: stamp(1, 1)}},
	])
		assert.equal(copied([{...packet, ...change}]).length, 0, JSON.stringify(change));
});

test("the clock of a guest is estimated from its own streams", async () => {
	const asked = [];
	const api = {
		async *pages(path) {
			asked.push(path);
			yield [];
		},
	};
	const member = {streams: [{stream: 0}, {stream: 1023}, {stream: 1024}], packets: ({stream}) => `packets ${stream}`};

	assert.equal((await stamps(api, member)).length, 2);
	assert.deepEqual(asked, ["packets 0", "packets 1023"]);
});

test("wall times keep their nanoseconds", () => {
	assert.equal(realNs("1970-01-01T00:00:01.000000001Z"), 1000000001n);
	assert.equal(realNs("1970-01-01T00:00:01Z"), 1000000000n);
	for (const text of [null, "", "yesterday", "1969-01-01T00:00:00Z", "2026-01-01T00:00:00+02:00"])
		assert.equal(realNs(text), null, String(text));
});

test("an address names several guests, and one below another", () => {
	const view = {together: ["domain:a b&c=d", "capture:12"], from: 1n, to: 9n};

	assert.deepEqual(parse(format(view)), view);
	assert.ok(namesTrace(view));
	assert.ok(!sameTrace(view, {...view, together: ["capture:12"]}));
	assert.ok(sameTrace(view, {...view, from: 2n}));
	const pair = {capture: 3, against: "domain:web", align: {label: "GET ~ /"}};
	assert.deepEqual(parse(format(pair)), pair);
	const threads = {
		capture: 3,
		against: "capture:4",
		align: {
			threads: [
				{stream: 0, id: -1n, index: 5},
				{stream: 1, id: 7n},
			],
		},
	};
	assert.deepEqual(parse(format(threads)), threads);
	for (const hash of [
		"#together=file:x",
		"#together=capture:x",
		"#against=x",
		"#capture=1&align=x",
		"#capture=1&align=0.1",
	])
		assert.equal(JSON.stringify(parse(hash)), hash.includes("capture=1") ? '{"capture":1}' : "{}", hash);
	assert.equal(
		parse(`#${Array.from({length: 40}, (_, i) => `together=capture:${i}`).join("&")}`).together.length,
		16,
	);
	assert.deepEqual(memberView("domain:x"), {domain: "x"});
	assert.equal(memberView("file:x"), null);
});

test("strips have headings, and whiskers as long as the clock's uncertainty", () => {
	const stream = (name, guest, row, most) => ({
		name,
		guest,
		first_row: row,
		rows: 10,
		start: 0n,
		end: 100n,
		events: 1n,
		uncertainty_ns: most,
	});
	const camera = new Camera();

	camera.trace(0n, 1000000n, 20);
	camera.size(1000, 600);
	camera.show(0n, 1000n);
	const list = strips([stream("a", 0, 0, 100n), stream("b", 1, 10, (1n << 64n) - 1n)]);
	const marks = drawn(list, camera, (row) => row * 30, null);
	assert.deepEqual(
		marks.map((it) => [it.y0, it.y1]),
		[
			[0, 285],
			[285, 600],
		],
	);
	assert.equal(Math.round(marks[0].length), 100);
	assert.match(marks[0].text, /^a .*100 ns earlier$/);
	assert.equal(marks[1].length, 1000);
	assert.match(marks[1].text, /any amount/);
	assert.equal(drawn(list, camera, (row) => row * 30, 500n).filter((it) => it.kind === "uncertain").length, 2);
	assert.equal(drawn(list, camera, (row) => row, null).length, 1, "no room for a heading");
	assert.deepEqual(strips([stream("a", 0, 0, 0n), stream("b", 0, 10, 0n)]), [], "streams of one guest");
});

test("clocks are described in words", () => {
	assert.match(clockText({name: "x", known: false}), /is unknown/);
	assert.match(
		clockText({name: "x", known: true, offsetNs: -5000000000n, uncertaintyNs: 2000000n}),
		/5 s ahead of dom0's.*up to 2 ms earlier/,
	);
	assert.match(clockText({name: "x", known: true, offsetNs: 0n, uncertaintyNs: 0n}), /this host's own/);
	assert.match(
		clockText({name: "x", known: true, offsetNs: 5n, uncertaintyNs: null}),
		/5 ns behind dom0's.*by an unknown time/,
	);
});

test("the first entry with remaining tail bytes has the tail", () => {
	assert.equal(
		tailed([
			{tail_bytes: 0, cut: 0},
			{tail_bytes: 0, cut: 5},
		]),
		null,
	);
	assert.equal(
		tailed([
			{tail_bytes: 5, cut: 7, sequence: 1},
			{tail_bytes: 9, cut: 0, sequence: 2},
		]).sequence,
		1,
	);
});
