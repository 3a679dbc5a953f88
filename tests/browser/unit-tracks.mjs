/* The layout of the tracks, and its form in an address. */
import assert from "node:assert/strict";
import test from "node:test";

import {counterId, formatTracks, parseTracks} from "../../client/viewer/page/track-address.js";
import {TrackLayout, areas, usualTracks} from "../../client/viewer/trace/track-layout.js";

const TRACKS = {
	streams: [{id: "cpu0", stream: 0, name: ""}],
	counters: ["a", "b"].map((name, index) => ({id: counterId(0, name), index, stream: 0, name})),
	heap: {},
};
const IDS = usualTracks(TRACKS).map(({id}) => id);
const ids = (area) => area.places.map(({id}) => id);

test("tracks: an address keeps every state, and drops what is malformed", () => {
	const states = [
		{id: "cpu0", collapsed: true},
		{id: "heap", height: 120},
		{id: counterId(0, "open requests_2"), collapsed: true, pinned: true, shown: false, height: 8, place: 0},
		{id: counterId(12, "é"), shown: true},
	];

	assert.deepEqual(parseTracks(formatTracks(states)), states);
	assert.equal(formatTracks(states.slice(0, 2)), "cpu0.c_heap.h120");
	for (const bad of [
		"cpu0",
		"cpu0.",
		"cpu0.z",
		"cpu.c",
		"heap.h3",
		"heap.h9000",
		"c0-a.pc",
		"x.c",
		"c0-a b.c",
		"",
		".",
	])
		assert.deepEqual(parseTracks(`${bad}_threads.c`), [{id: "threads", collapsed: true}], bad);
	assert.deepEqual(parseTracks("heap.c_heap.p"), [{id: "heap", collapsed: true}], "an id counts once");
	assert.ok(parseTracks("heap.c_".repeat(100000)).length <= 1);
});

test("tracks: ids of counters differ, and are short", () => {
	const long = [1, 2].map((n) => counterId(0, "x".repeat(5000) + n));
	const all = [...long, counterId(0, "a_b"), counterId(0, "a.b"), counterId(0, "a b"), counterId(1, "a b")];

	assert.equal(new Set(all).size, all.length);
	for (const id of all) {
		assert.ok(id.length < 80);
		assert.deepEqual(parseTracks(`${id}.c`), [{id, collapsed: true}]);
	}
});

test("tracks: one that moves is the only one that counts as moved", () => {
	for (const id of IDS)
		for (const before of [...IDS.filter((it) => it !== id), null]) {
			const layout = new TrackLayout();
			const wanted = IDS.filter((it) => it !== id);

			wanted.splice(before === null ? wanted.length : wanted.indexOf(before), 0, id);
			layout.move(IDS, id, before);
			assert.deepEqual(layout.order(IDS), wanted);
			assert.ok(layout.list.length <= 1, `${layout.list.length} moved`);
			assert.deepEqual(new TrackLayout(parseTracks(formatTracks(layout.list))).order(IDS), wanted);
		}
	const layout = new TrackLayout();
	layout.move(IDS, "heap", null);
	layout.move(IDS, "cpu0", "threads");
	layout.move(IDS, "heap", "threads");
	layout.move(IDS, "cpu0", "heap");
	assert.deepEqual(layout.list, [], "all is as usual");
});

test("tracks: they stand above and below the threads, pinned ones at the top", () => {
	const layout = new TrackLayout();
	const of = () => areas(TRACKS, layout);

	assert.deepEqual(
		[ids(of().areas.pinned), ids(of().areas.above), ids(of().areas.below)],
		[[], ["cpu0", "heap"], ["c0-a", "c0-b"]],
	);
	layout.set("c0-b", {pinned: true, collapsed: true});
	layout.set("cpu0", {shown: false});
	layout.set("heap", {height: 100});
	const {areas: placed, threads} = of();
	assert.deepEqual([ids(placed.pinned), ids(placed.above), ids(placed.below)], [["c0-b"], ["heap"], ["c0-a"]]);
	assert.ok(placed.pinned.places[0].height < placed.below.places[0].height);
	assert.equal(placed.above.places[0].height, 100);
	assert.deepEqual(placed.above.tracks, [], "the scene does not draw the heap");
	assert.deepEqual(threads, {pinned: false, shown: true, collapsed: false, height: null});
	layout.set("threads", {pinned: true, height: 3});
	assert.deepEqual(
		[ids(of().areas.pinned), ids(of().areas.above), ids(of().areas.below), of().threads.height],
		[[], ["c0-b"], ["heap", "c0-a"], 8],
	);
	layout.set("c0-b", {pinned: undefined, collapsed: undefined});
	assert.deepEqual(
		layout.list.map(({id}) => id),
		["cpu0", "heap", "threads"],
	);
});
