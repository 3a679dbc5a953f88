/* Addresses: round trips, and text that is no address. */
import assert from "node:assert/strict";
import {test} from "node:test";

import {format, namesTrace, parse, sameTrace} from "../../client/viewer/page/address.js";
import * as times from "../../client/viewer/page/times.js";

test("a view comes back as it was", () => {
	for (const view of [
		{},
		{domain: "web"},
		{domain: "a b&c=d#é/\u202e%41", run: 7, stream: 2},
		{capture: 12, from: 9007199254740993n, to: 9223372036854775806n, row: 12.345},
		{domain: "x", thread: {stream: 3, id: -9223372036854775808n}, find: 'a+b & "c"', panel: "why"},
		{domain: "x", thread: {stream: 0, id: 7n, index: 12}},
		{file: "small.ctf", measure: {from: 1n, to: 2n}, panel: "stats"},
		{domain: "x", heap: "off"},
		{domain: "x", counters: "off", rows: "all", tracks: [{id: "cpu0", collapsed: true}]},
		{domain: "x", filter: {types: ["Task", "On_any"], label: "a*b&c", unresolved: true}},
		{domain: "x", filter: {depends: {stream: 3, id: -7n, index: 2}}},
	]) {
		assert.deepEqual(parse(format(view)), view);
		assert.ok(sameTrace(parse(format(view)), view));
	}
});

test("malformed parts of an address are left out", () => {
	assert.deepEqual(
		parse(
			"#domain=x&from=5&to=3&run=-1&stream=1e3&thread=1.x&panel=../x&measure=7-7&row=Infinity&heap=on" +
				"&tracks=q&counters=on&rows=some&types=1.%3C&label=&state=x&depends=1",
		),
		{
			domain: "x",
		},
	);
	assert.deepEqual(parse("#from=1&to=99999999999999999999999"), {});
	assert.deepEqual(parse("#from=1&to=9223372036854775808"), {});
	assert.equal(parse(`#find=${"x".repeat(5000)}`).find.length, 1024);
	assert.equal(namesTrace(parse("#")), false);
	assert.equal(namesTrace(parse("#capture=0")), true);
	assert.equal(sameTrace({domain: "a"}, {domain: "a", run: 1}), false);
});

test("times keep every digit", () => {
	assert.equal(times.exact(9007199254740993123n), "9007199254.740993123 s");
	assert.equal(times.exact(-1n), "-0.000000001 s");
	assert.equal(times.span(1250000n), "1.25 ms");
	assert.equal(times.span(9007199254740993123n), "9007199254.740993123 s");
	assert.equal(times.span(0n), "0 ns");
	assert.equal(times.rough(1234567n), "1.23 ms");
	assert.equal(times.tick(0n, 10n), "0");
	assert.equal(times.tick(1500000000n, 100000000n), "+1.5 s");
	assert.equal(times.tick(2000000000n, 100000000n), "+2.0 s");
	assert.equal(times.tick(1000000003n, 1n), "+1.000000003 s");
	assert.equal(times.tick(-30n, 10n), "-30 ns");
	assert.equal(times.bytes(1536), "1.5 KB");
	assert.equal(times.count(1, "thread"), "1 thread");
	assert.equal(times.count(12345, "match", "matches"), "12,345 matches");
});
