/* Two compared traces: the sentences, the marks, and the cameras for both. */
import assert from "node:assert/strict";
import test from "node:test";

import {Camera, LinkedCamera} from "../../client/viewer/trace/camera.js";
import {
	NONE,
	differences,
	drawn,
	leftOut,
	unmatchedLines,
	marked,
	stepText,
	summary,
} from "../../client/viewer/compare/differences.js";

const who = (index, label = null) => ({index, thread: BigInt(index + 100), type: "Bind", label});
const step = (kind, time, more = {}) => ({step: kind, time, self: false, other: null, label: null, ...more});

const DIFF = {
	matched: 7,
	bad_threads: 9,
	good_threads: 8,
	alike: false,
	bad_start: 0n,
	bad_end: 2000000000n,
	good_start: 5n,
	good_end: 1000000005n,
	outcomes: [{kind: "bad-waits", good: who(1), bad: who(2, "connect"), threads: 3, root: who(5, "ARP")}],
	all_outcomes: 4,
	divergences: [
		{
			good: who(3),
			bad: who(4),
			good_common: step("label", 1n, {label: "x"}),
			bad_common: step("label", 2n, {label: "x"}),
			good_next: [step("resolves", 5n, {self: true})],
			bad_next: [],
		},
		{
			good: who(6),
			bad: who(7),
			good_common: null,
			bad_common: null,
			good_next: [step("reads", 8n, {other: who(1)})],
			bad_next: [step("fails", 9n, {self: true})],
		},
	],
	all_divergences: 2,
	first: 1,
	unmatched: [{good: null, bad: who(8, "extra"), good_n: 0, bad_n: 2}],
	all_unmatched: 1,
	slower: [{good: who(1), bad: who(2), good_ns: 1000n, bad_ns: 5000000n, followers: 1}],
	all_slower: 1,
	counters: [{good: null, bad: {index: 0, name: "gntref"}}],
	all_counters: 1,
};

test("differences are listed, the first in time first, each with the threads to show", () => {
	const list = differences(DIFF);

	assert.deepEqual(
		list.map((it) => it.kind),
		["divergence", "outcome", "divergence", "unmatched", "slower", "counter"],
	);
	assert.match(list[0].text, /^Here they part first: 107 \(Bind\).* above it fails, below it reads 101 \(Bind\)\.$/);
	assert.equal(
		list[1].text,
		"Resolved below only: 102 (Bind, “connect”), and 2 others for the same reason; above it waits in the end on 105 (Bind, “ARP”).",
	);
	assert.match(list[2].text, /until it says “x”; then above it does nothing more, below it is resolved\.$/);
	assert.match(list[3].text, /“extra”, 2 above and 0 below/);
	assert.match(list[4].text, /takes 5 ms, below 1 µs, and 1 other that waited for it/);
	assert.match(list[5].text, /gntref is above only/);
	assert.deepEqual([list[1].good.index, list[1].bad.index], [1, 2]);
	const [, alone] = differences({...DIFF, outcomes: [{...DIFF.outcomes[0], threads: 1, root: null}]});
	assert.equal(alone.text, "Resolved below only: 102 (Bind, “connect”).");
	assert.equal(leftOut(DIFF), 3);
	assert.match(
		summary(DIFF),
		/^7 threads have a counterpart, of 9 above and 8 below; the trace above lasts 2 s, below 1 s\.$/,
	);
	assert.match(summary({...DIFF, alike: true}), /^Nothing differs but times/);
	for (const kind of [
		"creates",
		"signals",
		"signalled",
		"resolves",
		"resolved",
		"fails",
		"failed",
		"reads",
		"read",
		"becomes",
	])
		assert.match(stepText(step(kind, 0n, {other: who(1)})), /101/, kind);
});

test("differences are marked where their threads are", () => {
	const threads = new Map([2, 4, 7].map((index) => [index, {index, row: index, start: 10n, end: 20n}]));
	const marks = marked(differences(DIFF), "bad", threads);
	const camera = new Camera();

	camera.trace(0n, 1000n, 10);
	camera.show(0n, 100n);
	assert.deepEqual(
		marks.map((it) => [it.kind, it.row, it.text]),
		[
			["divergence", 7, "they part here"],
			["outcome", 2, "Resolved below only"],
			["divergence", 4, ""],
		],
	);
	const [flag, line] = drawn(marks, camera, (row) => row * 10);
	assert.deepEqual([Math.round(flag.x0), flag.y0], [Math.round(camera.xOf(9n)), 70]);
	assert.deepEqual([line.x0, line.x1, line.y0], [camera.xOf(10n), camera.xOf(20n), 20]);
	assert.deepEqual(
		marked(differences(DIFF), "bad", new Map([[2, {index: 2, row: null}]])),
		[],
		"the items that are not drawn",
	);
});

test("threads without counterpart are marked, up to the visible number", () => {
	const list = Array.from({length: 5000}, (_, item) => ({kind: "thread", item, x0: 0, x1: 500, y0: item}));
	const shown = {marks: {list: () => list}, window: {from: 100n, to: 300n, width: 1000}, rowAt: (y) => y / 2};
	const match = Uint32Array.from(list, (_, i) => (i % 2 ? NONE : 0));
	const unmatched = unmatchedLines(shown, match);

	assert.equal(unmatched.length, 1000);
	assert.deepEqual(unmatched[0], {kind: "unmatched", row: 0.5, from: 100n, to: 200n, thread: 1});
});

test("a linked camera follows the other one, also before 0, and ignores its own moves", () => {
	const [camera, linked] = [new Camera(), new LinkedCamera()];

	camera.trace(1000n, 2000n, 5);
	camera.show(1100n, 1200n);
	linked.trace(50n, 90n, 3);
	assert.ok(linked.follow(camera, 1150n));
	assert.deepEqual([linked.from, linked.to], [-50n, 50n]);
	assert.ok(!linked.follow(camera, 1150n));
	linked.show(0n, 10n);
	linked.size(500, 100);
	assert.deepEqual([linked.from, linked.to, linked.width], [-50n, 50n, 500]);
	camera.join(-500n, 2500n, {start: 1000n, end: 2000n});
	camera.fit();
	assert.ok(camera.from < -500n && camera.to > 2500n, `${camera.from} ${camera.to}`);
	camera.trace(1000n, 2000n, 5);
	camera.fit();
	assert.ok(camera.from >= 0n, "alone again it ends at 0");
});
