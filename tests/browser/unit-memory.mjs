/* Memory profiles without a page: typed text, addresses, box positions. */
import assert from "node:assert/strict";
import {test} from "node:test";

import {format, parse, sameTrace} from "../../client/viewer/page/address.js";
import {scaleOf} from "../../client/viewer/worker/heap-answers.js";
import {clauseOf, clauseText, gather, hiddenOf, narrowed} from "../../client/viewer/memory/memory-clauses.js";
import {Layout, NONE, nodeAt, pathTo, search} from "../../client/viewer/memory/memory-layout.js";
import {step} from "../../client/viewer/memory/memory-plot.js";
import {collapsed} from "../../client/viewer/memory/memory-save.js";
import {isMemtrace} from "../../client/viewer/memory/memory-source.js";
import {
	amount,
	give,
	readBytes,
	readSpan,
	readTime,
	share,
	span,
	wall,
} from "../../client/viewer/memory/memory-text.js";

const START = BigInt(Date.parse("2026-11-21T23:59:50.500Z")) * 1000n;

test("a view of a memory profile comes back as it was", () => {
	const path = ["a", ...Array(300).fill("loop"), "3*x", "<b>"];

	for (const view of [
		{memtrace: 7},
		{memfile: "a b&c#.trace", at: 0},
		{memtrace: 7, at: 218336, tree: "callers", grow: "down", sites: true, recursion: true, find: "a+b&c", path},
		{memtrace: 7, during: {from: 0, to: 99}, still: true, tab: "leaks", sort: "name", clock: "wall"},
		{memtrace: 7, weight: "peak", only: ["size:least:4K", "inside:has:a~b:c&d"], hide: ["hide:is:x"]},
	]) {
		assert.deepEqual(parse(format(view)), view);
		assert.ok(sameTrace(parse(format(view)), view));
	}
	assert.ok(!sameTrace({memtrace: 7}, {memtrace: 8}));
	assert.deepEqual(parse("#memtrace=7&at=-1&during=9-3&tab=__proto__&sort=x&weight=all&grow=up&still=2"), {
		memtrace: 7,
	});
	assert.deepEqual(parse("#at=5&only=size:least:4K"), {});
	assert.ok(
		format({memtrace: 7, path: Array.from({length: 4096}, (_, i) => `f${i}`)}).length < 16000,
		"an address has an end",
	);
	assert.ok(parse(`#memtrace=7${"&path=9999*x".repeat(100)}`).path.length <= 512);
});

test("amounts and times are read as people write them", () => {
	assert.deepEqual(["512", "512 B", "4K", "4 kB", "1.5M", "2GiB", ".5k"].map(readBytes), [
		512,
		512,
		4096,
		4096,
		1572864,
		2 ** 31,
		512,
	]);
	assert.deepEqual(["", "K", "4X", "1e3", "-1", "4KK", "0x10", "9".repeat(20)].map(readBytes), Array(8).fill(null));
	assert.deepEqual(
		["1.5", "1.5 s", "200ms", "7 µs", "7us", "2 min", "1h", "+3"].map(readSpan),
		[1.5e6, 1.5e6, 200000, 7, 7, 1.2e8, 3.6e9, 3e6],
	);
	assert.deepEqual(
		["", "s", "1 parsec", "1:2", "-3", "constructor", "1 toString"].map(readSpan),
		Array(7).fill(null),
	);
	assert.equal(readTime("2026-11-21 23:59:51.25", START), 750000);
	assert.equal(readTime("23:59:51 UTC", START), 500000);
	assert.equal(readTime("0:00:01", START), 10500000, "the day after");
	assert.equal(readTime("2026-11-21T23:59Z", START), -50500000, "before the start");
	assert.equal(readTime("25:00", START), null);
	assert.equal(readTime("12:30", 0n), null);
	assert.equal(readTime("12.5", 0n), 12500000);
	assert.equal(amount(269440000), "257 MB");
	assert.equal(amount(999), "999 B");
	assert.equal(share(1, 3), "33.3 %");
	assert.equal(share(0, 0), "0 %");
	assert.equal(give(0.01), "± 1 %");
	assert.deepEqual(
		[0.096, 0.0967, 0.094, 0.1, 0.123, 0.999, 1, 7, 0.004, 0.00123, 1e-9].map(give),
		[
			"± 9.6 %",
			"± 9.7 %",
			"± 9 %",
			"± 10 %",
			"± 12 %",
			"± 100 %",
			"± 100 %",
			"± 100 %",
			"± 0.4 %",
			"± 0.1 %",
			"± < 0.01 %",
		],
		"errors as people write them",
	);
	for (let relative = 1e-12; relative < 1e3; relative *= 1.037) assert.ok(!/e/.test(give(relative)), give(relative));
	for (let bytes = 1; bytes < 1e300; bytes *= 1.37)
		assert.match(amount(bytes), /^(\d{1,3}(\.\d{1,3})?|> 1000) [KMGTPE]?B$/, `${bytes} bytes`);
	assert.equal(give(0), "");
	assert.equal(span(101e6), "1 min 41 s");
	assert.equal(wall(START, 0), "2026-11-21 23:59:50.500");
	assert.equal(wall(1n << 62n, 0), `${1n << 62n} µs`);
});

test("clauses are combined, and a wrong one is left out with a sentence", () => {
	const read = (...texts) => gather(texts.map(clauseOf), START, 1000);

	assert.deepEqual(read("allocated:most:2", "allocated:between:1 s~3 s", "size:least:1K").filter, {
		clauses: [],
		allocated: {least: 1e6, most: 2e6},
		bytes: {least: 1024},
	});
	assert.deepEqual(read("live:peak", "collected:never", "outside:is:a:b").filter, {
		clauses: [{name: "a:b", whole: true, outside: true}],
		live: {least: 1000, most: 1000},
		never: true,
	});
	assert.deepEqual(read("off:minor").filter.heaps, ["major", "external"]);
	assert.deepEqual(read("live:at:5 us", "live:at:9 us").filter.live, {least: 9, most: 5}, "it lived at both");
	assert.equal(read().filter, null);
	const {filter, errors} = read("on:major", "off:major", "size:most:x", "lifetime:between:2~1");
	assert.deepEqual(filter.heaps, ["major"]);
	assert.equal(errors[0], null);
	assert.match(errors[1], /exclude every heap/);
	assert.match(errors[2], /“x” is not understood/);
	assert.match(errors[3], /exchange them/);
	assert.equal(read("size:most:x").filter, null);
	assert.match(gather([clauseOf("allocated:most:12:30")], 0n, 0).errors[0], /has no start time/);
	const many = gather(
		Array.from({length: 9}, () => clauseOf("inside:has:f")),
		START,
		0,
	);
	assert.equal(many.filter.clauses.length, 8);
	assert.match(many.errors[8], /More than 8/);
	for (const text of ["nonsense", "size:most", "size:constructor:1", "constructor:most:1", "live:peak:1", ""])
		assert.equal(clauseOf(text), null, text);
	assert.equal(clauseText({kind: "size", how: "between", a: "1", b: ""}), null);
	assert.deepEqual(narrowed(null, {live: {least: 5, most: 5}}), {clauses: [], live: {least: 5, most: 5}});
	assert.deepEqual(narrowed({clauses: [], never: true, live: {least: 9}}, {live: {least: 5, most: 5}}).live, {
		least: 9,
		most: 5,
	});
	assert.deepEqual(hiddenOf([clauseOf("hide:has:List"), {kind: "hide", how: "is", a: "", b: ""}]), [
		{name: "List", whole: false},
	]);
});

/* root -> a (60: self 10) -> c 50; root -> b 39.6 -> c; root -> d 0.4 */
const NAMES = ["", "a", "b", "c", "d"];
const TREE = {
	n: 6,
	parent: [NONE, 0, 0, 0, 1, 2],
	first: [1, 4, 5, NONE, NONE, NONE],
	next: [NONE, 2, 3, NONE, NONE, NONE],
	depth: [0, 1, 1, 1, 2, 2],
	self: [0, 10, 0, 0.4, 50, 39.6],
	total: [100, 60, 39.6, 0.4, 50, 39.6],
	name: [0, 1, 2, 4, 3, 3],
};

test("boxes stand at their bytes, and a function under half a pixel has none", () => {
	const layout = new Layout(TREE, 0, 100);

	assert.deepEqual(layout.nodes, [0, 1, 2, 4, 5], "d is 0.4 pixels wide");
	assert.deepEqual(layout.xs, [0, 0, 60, 0, 60]);
	assert.deepEqual(layout.rows, [0, 1, 3, 5]);
	assert.equal(layout.nodes[layout.at(1, 59.9)], 1);
	assert.equal(layout.nodes[layout.at(1, 60)], 2);
	assert.equal(layout.at(2, 55), -1, "the allocations of a itself");
	assert.equal(layout.at(1, 99.9), -1);
	assert.equal(layout.at(3, 5), -1);
	assert.ok(new Layout(TREE, 0, 1000).nodes.includes(3));
	const zoomed = new Layout(TREE, 1, 120);
	assert.deepEqual([zoomed.nodes, zoomed.wide(1)], [[1, 4], 100]);
	assert.deepEqual(new Layout({...TREE, total: TREE.total.map(() => 0)}, 0, 100).nodes, [0]);
	assert.deepEqual(pathTo(TREE, 5), [2, 5]);
	assert.equal(nodeAt(TREE, NAMES, ["b", "c"]), 5);
	assert.equal(nodeAt(TREE, NAMES, ["b", "x", "c"]), 2, "as far as there is one");
	assert.deepEqual({...search(TREE, NAMES, "C"), names: null}, {names: null, nodes: 2, bytes: 89.6});
	assert.equal(search(TREE, NAMES, "zzz").nodes, 0);
	assert.deepEqual(collapsed(TREE, ["", "a;b", "b", "c", "d"]), ["a_b 10\n", "d 0\n", "a_b;c 50\n", "b;c 40\n"]);
});

test("lines of the axes are round", () => {
	assert.equal(step(4.2 * 1024 ** 2, 5, 1024), 1024 ** 2);
	assert.equal(step(1800000, 5, 1024), 512 * 1024);
	assert.equal(step(224480, 10), 50000);
	assert.equal(step(1, 10), 0.1);
});

test("a memory profile is recognized by its first bytes", async () => {
	const head = (bits, version) => {
		const bytes = new DataView(new ArrayBuffer(70));
		bytes.setUint32(0, 0xc1fc1fc1, true);
		bytes.setUint32(4, bits, true);
		bytes.setUint16(28, version, true);
		return new Blob([bytes]);
	};

	assert.ok(await isMemtrace(head(70 * 8, 2)));
	assert.ok(!(await isMemtrace(head(70 * 8 + 1, 2))));
	assert.ok(!(await isMemtrace(head(70 * 8, 4))));
	assert.ok(!(await isMemtrace(new Blob(["CTF"]))));
});

test("a guest with a tiny sampling rate gives finite numbers", () => {
	assert.equal(scaleOf(8, 1e-3), 8000);
	assert.ok(Number.isFinite(scaleOf(8, 2.3e-308) * 2 ** 64));
	assert.ok(Number.isFinite(step(scaleOf(8, 2.3e-308) * 2 ** 64, 5, 1024)));
});
