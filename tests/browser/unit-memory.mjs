/* Memory profiles without a page: typed text, addresses, box positions. */
import assert from "node:assert/strict";
import {test} from "node:test";

import {format, parse, sameTrace} from "../../client/viewer/page/address.js";
import {clauseOf, clauseText, gather, hiddenOf, narrowed} from "../../client/viewer/memory/memory-clauses.js";
import {Layout, NONE, nodeAt, pathTo, search} from "../../client/viewer/memory/memory-layout.js";
import {step} from "../../client/viewer/memory/memory-plot.js";
import {collapsed} from "../../client/viewer/memory/memory-save.js";
import {ProfileView} from "../../client/viewer/memory/memory-profile-view.js";
import {around, byObjects, difference, functionsOfBoth} from "../../client/viewer/memory/memory-trees.js";
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
		{memtrace: 7, weight: "live", base: {at: 5}, count: "objects", tab: "sandwich", around: "a b&c"},
		{memtrace: 7, base: {during: {from: 1, to: 9}, still: true}},
		{memtrace: 7, base: {weight: "peak"}},
		{memtrace: 7, base: {}},
		{memtrace: 7, other: 8},
		{memtrace: 7, weight: "peak", only: ["size:least:4K", "inside:has:a~b:c&d"], hide: ["hide:is:x"]},
	]) {
		assert.deepEqual(parse(format(view)), view);
		assert.ok(sameTrace(parse(format(view)), view));
	}
	assert.ok(!sameTrace({memtrace: 7}, {memtrace: 8}));
	assert.deepEqual(parse("#memtrace=7&at=-1&during=9-3&tab=__proto__&sort=x&weight=all&grow=up&still=2"), {
		memtrace: 7,
	});
	for (const base of ["at:", "at:x", "during:9-3", "still:", "x", "at:1:2", "__proto__"])
		assert.deepEqual(parse(`#memtrace=7&other=x&base=${base}`), {memtrace: 7}, base);
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

/* Make the tree of STACKS: [{frames: numbers of names, the outermost first, bytes, allocs}]. */
function treeOf(stacks) {
	const tree = {n: 1, parent: [NONE], depth: [0], self: [0], allocs: [0], name: [0]};
	const children = [new Map()];

	for (const {frames, bytes, allocs} of stacks) {
		let node = 0;

		for (const name of frames) {
			if (!children[node].has(name)) {
				children[node].set(name, tree.n++);
				children.push(new Map());
				tree.parent.push(node);
				tree.depth.push(tree.depth[node] + 1);
				tree.self.push(0);
				tree.allocs.push(0);
				tree.name.push(name);
			}
			node = children[node].get(name);
		}
		tree.self[node] += bytes;
		tree.allocs[node] += allocs;
	}
	tree.total = [...tree.self];
	for (let i = tree.n - 1; i > 0; i--) tree.total[tree.parent[i]] += tree.total[i];
	return tree;
}

/** Return {path of numbers: [total, self]} of TREE by its links from parent to child, and check these. */
function pathsOf(tree, total = tree.total, self = tree.self) {
	const out = {};
	const visit = (node, path) => {
		let last = Infinity;

		out[path.join()] = [total[node], self[node]];
		for (let child = tree.first[node]; child !== NONE; child = tree.next[child]) {
			assert.equal(tree.parent[child], node);
			assert.equal(tree.depth[child], tree.depth[node] + 1);
			assert.ok(tree.total[child] <= last && tree.total[child] > 0, "the largest first");
			last = tree.total[child];
			visit(child, [...path, tree.name[child]]);
		}
	};

	visit(0, []);
	return out;
}

/** Add [TOTAL, SELF] to OUT for each prefix of FRAMES. */
function count(out, frames, amount) {
	for (let n = 0; n <= frames.length; n++) {
		const it = (out[frames.slice(0, n).join()] ??= [0, 0]);

		it[0] += amount;
		if (n === frames.length) it[1] += amount;
	}
}

/** Return N random stacks of few functions; a function can stand on one several times. */
function randomStacks(random, n) {
	return Array.from({length: n}, () => ({
		frames: Array.from({length: Math.floor(random() * 7)}, () => 1 + Math.floor(random() * 4)),
		bytes: Math.floor(random() * 100) + 1,
		allocs: 1 + Math.floor(random() * 3),
	}));
}

/** Return a generator of numbers in [0, 1), the same for each SEED. */
function randomOf(seed) {
	return () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;
}

test("trees by objects, around a function and of two profiles count every stack", () => {
	for (let seed = 1; seed <= 200; seed++) {
		const random = randomOf(seed);
		const stacks = randomStacks(random, 1 + Math.floor(random() * 30));
		const others = randomStacks(random, Math.floor(random() * 30));
		const [tree, other] = [treeOf(stacks), treeOf(others)];
		const objects = {"": [0, 0]};
		const [above, below] = [{}, {}];

		for (const {frames, allocs} of stacks) count(objects, frames, allocs);
		assert.deepEqual(pathsOf(byObjects(tree)), objects, `objects, ${seed}`);

		for (const {frames, bytes} of stacks) {
			const at = frames.indexOf(2);

			if (at < 0) continue;
			count(above, frames.slice(0, at).reverse(), bytes);
			count(below, frames.slice(at + 1), bytes);
		}
		const both = around(tree, 2);
		if (!both) assert.deepEqual(below, {}, `${seed}`);
		else {
			assert.deepEqual(pathsOf(both.callers), above, `callers, ${seed}`);
			assert.deepEqual(pathsOf(both.callees), below, `callees, ${seed}`);
		}

		/* In the other profile's names, each number is one greater. */
		const apart = difference(other, tree, (name) => name + 1);
		const wanted = [{}, {}, {}];
		others.forEach(({frames, bytes}) =>
			count(
				wanted[0],
				frames.map((it) => it + 1),
				bytes,
			),
		);
		stacks.forEach(({frames, bytes}) => count(wanted[1], frames, bytes));
		for (const it of wanted.slice(0, 2))
			for (const [path, [total, self]] of Object.entries(it)) {
				const sum = (wanted[2][path] ??= [0, 0]);

				sum[0] += total;
				sum[1] += self;
			}
		assert.deepEqual(pathsOf(apart), wanted[2], `both, ${seed}`);
		[
			[apart.before, apart.selfBefore, wanted[0]],
			[apart.after, apart.selfAfter, wanted[1]],
		].forEach(([total, self, it], which) => {
			for (const [path, [was, own]] of Object.entries(pathsOf(apart, total, self)))
				assert.deepEqual([was, own], it[path] ?? [0, 0], `${which ? "after" : "before"}, ${path}, ${seed}`);
		});
	}
});

test("a profile of another recording is compared by the names of functions", () => {
	const spot = (name, self, total) => ({
		function: name,
		file: "f.ml",
		self_bytes: self,
		total_bytes: total,
		callers: [],
	});
	const stacks = [{frames: [1, 2], bytes: 10, allocs: 1}];
	const profile = (name) => {
		const callees = treeOf(stacks);

		return {
			callees,
			callers: callees,
			samples_bytes: 10,
			objects: 1,
			relativeError: 1,
			functions: [spot(name, 10, 10)],
		};
	};
	const names = ["", "main", "new"];
	const view = new ProfileView(profile("new"), names, {profile: profile("old"), names: ["", "main", "old"]});
	const tree = view.callees;

	assert.deepEqual(
		Array.from({length: tree.n - 1}, (_, i) => [
			view.names[tree.name[i + 1]],
			tree.before[i + 1],
			tree.after[i + 1],
		]),
		[
			["main", 10, 10],
			["old", 10, 0],
			["new", 0, 10],
		],
	);
	assert.deepEqual(names, ["", "main", "new"], "the heap's own names stay");
	assert.equal(view.rootText, "all: 10 B before, 10 B now (no change)");
	assert.deepEqual(
		functionsOfBoth([spot("a", 5, 6), spot("b", 1, 1)], [spot("b", 3, 4)]).map((it) => [
			it.function,
			it.selfBefore,
			it.self_bytes,
			it.totalBefore,
			it.total_bytes,
		]),
		[
			["b", 1, 3, 1, 4],
			["a", 5, 0, 6, 0],
		],
	);
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
	/* The most bytes that a sample stands for (MPROF_MEM_SCALE_MAX), of the most samples. */
	assert.ok(Number.isFinite(step(2 ** 62 * 2 ** 64, 5, 1024)));
});
