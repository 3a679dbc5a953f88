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

const who = (index, label = null) => ({index, thread: index + 100, type: "Bind", label});
const step = (kind, time, more = {}) => ({
	step: kind,
	time_ns: String(time),
	self: false,
	other: null,
	label: null,
	...more,
});
const side = (thread, common, next) => ({thread, common, next, later: null});

const DIFF = {
	alike: false,
	good: {threads: 8, first_ns: "5", last_ns: "1000000005"},
	bad: {threads: 9, first_ns: "0", last_ns: "2000000000"},
	counterparts: 7,
	first_parting: {
		good: side(who(6), null, [step("reads", 8, {other: who(1)})]),
		bad: side(who(7), null, [step("fails", 9, {self: true})]),
	},
	other_partings: [
		{
			good: side(who(3), step("label", 1, {label: "x"}), [step("resolves", 5, {self: true})]),
			bad: side(who(4), step("label", 2, {label: "x"}), []),
		},
	],
	outcomes: [{outcome: "bad-waits", good: who(1), bad: who(2, "connect"), threads: 3, root: who(5, "ARP")}],
	lone: [{type: "Bind", label: "extra", good: 0, bad: 2, first_good: null, first_bad: who(8, "extra")}],
	slower: [{good: {...who(1), lasted_ns: "1000"}, bad: {...who(2), lasted_ns: "5000000"}, followers: 1}],
	counters: [{counter: "gntref", good: null, bad: {last: 1}}],
	left_out: {outcomes: 3, slower: 0, lone: 0, counters: 0, partings: 0},
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
		assert.match(stepText(step(kind, 0, {other: who(1)})), /101/, kind);
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

test("of a trace with a hole nothing is denied", () => {
	const hole = {hole: "gap", from_ns: "1", to_ns: "2"};
	const {good, bad} = DIFF.other_partings[0];
	const torn = {
		...DIFF,
		alike: null,
		good: {...DIFF.good, coverage: hole, missing: [[{text: ": the trace lacks packets from "}, {text: "1.5"}]]},
		other_partings: [{good, bad: {...bad, next: null}}],
		outcomes: [{...DIFF.outcomes[0], coverage: hole}],
		lone: [{...DIFF.lone[0], good: null}],
	};
	const list = differences(torn);

	assert.match(list[1].text, /^Without a resolution in the trace above: 102 /);
	assert.match(list[2].text, /then above it does nothing more in the trace, below it is resolved\.$/);
	assert.match(list[3].text, /, 2 above and none in the trace below\.$/);
	assert.match(list[5].text, /gntref is in the trace above only/);
	assert.match(
		summary(torn),
		/below 1 s\. A thread, a step or a counter of the trace below would not be here: the trace lacks packets from 1\.5\.$/,
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
