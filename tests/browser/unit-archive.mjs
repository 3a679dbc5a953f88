/* The part of a long run that the page loads, and the sentences about sources. */
import assert from "node:assert/strict";
import {test} from "node:test";

import {around, density, leaves, newest} from "../../client/viewer/trace/archive.js";
import {endOf} from "../../client/viewer/trace/live.js";
import {fileName} from "../../client/viewer/trace/save.js";
import {remarks} from "../../client/viewer/trace/source.js";
import {lastActivity} from "../../client/viewer/trace/view-url.js";

/** Return 100 buckets of 10 ns from 1,000 on, of 1 MB each. */
function overview(bytes = () => 1 << 20) {
	const buckets = Array.from({length: 100}, (_, i) => ({
		from: 1000n + 10n * BigInt(i),
		to: 1010n + 10n * BigInt(i),
		bytes: bytes(i),
	}));

	return {from: 1000n, to: 1999n, buckets};
}

const MOST = 10 << 20;

test("the newest part reaches the end and is as long as allowed", () => {
	assert.deepEqual(newest(overview(), MOST), {from: 1900n, to: 2000n});
	assert.deepEqual(
		newest(
			overview((i) => (i === 99 ? 64 << 20 : 1)),
			MOST,
		),
		{from: 1990n, to: 2000n},
	);
	assert.deepEqual(
		newest(
			overview(() => 0),
			MOST,
		),
		{from: 1000n, to: 2000n},
	);
});

test("the loaded part has the window in its middle", () => {
	assert.deepEqual(around(overview(), 1500n, 1510n, MOST), {from: 1460n, to: 1560n});
	assert.deepEqual(around(overview(), 0n, 10n, MOST), {from: 1000n, to: 1100n});
	assert.deepEqual(around(overview(), 9000n, 9010n, MOST), {from: 1900n, to: 2000n});
});

test("another part is loaded only when the window leaves this one", () => {
	const loaded = {from: 1460n, to: 1560n};
	const all = overview();

	assert.equal(leaves(loaded, all, 1470n, 1550n), false);
	assert.equal(leaves(loaded, all, 1550n, 1570n), true);
	assert.equal(leaves(loaded, all, 1400n, 1410n), true);
	/* The whole run is shown: the loaded part is shown in its place. */
	assert.equal(leaves(loaded, all, 900n, 2100n), false);
	assert.equal(leaves(loaded, all, 1600n, 1900n), true);
	/* A window that is too large to load begins or ends exactly at the edge of this part. */
	assert.equal(leaves(loaded, all, 1560n, 1900n), true);
	assert.equal(leaves(loaded, all, 1100n, 1460n), true);
	assert.equal(leaves(loaded, all, 1559n, 1900n), false);
	/*
	 * The page has loaded less than it might: a window that fits into memory, and one that does
	 * not.
	 */
	assert.equal(leaves({from: 1960n, to: 2000n}, all, 1900n, 2000n, false), false);
	assert.equal(leaves({from: 1960n, to: 2000n}, all, 1900n, 2000n, true), true);
	assert.equal(leaves({from: 1960n, to: 2000n}, all, 1000n, 2000n, true), false);
	/* Margins beside the run do not belong to it. */
	assert.equal(leaves({from: 1900n, to: 2000n}, all, 1950n, 2100n), false);
});

test("the density of an overview", () => {
	assert.deepEqual([...density(overview((i) => i)).slice(0, 3)], [0, 1, 2]);
	assert.deepEqual([...density(overview((i) => (i % 4 === 1 ? 400 : 0))).slice(0, 6)], [0, 100, 100, 100, 100, 100]);
});

test("headers become sentences", () => {
	assert.deepEqual(remarks(new Headers({"Mprof-Lost-Packets": "1"}), ""), ["1 packet of it was lost."]);
	assert.deepEqual(remarks(new Headers({"Mprof-Lost-Packets": "1+"}), "a"), ["a: at least 1 packet of it was lost."]);
	const said = (headers, name = "") => remarks(new Headers(headers), name);

	assert.deepEqual(said({"Mprof-Lost-Packets": "0"}), []);
	assert.deepEqual(said({"Mprof-Lost-Packets": "5+"}), ["at least 5 packets of it were lost."]);
	assert.match(said({"Mprof-Cut": "bytes=1536; packets=2; at=1.0.2.30"}, "vcpu1")[0], /^vcpu1: .*1.5 KB.*2 packets/);
	assert.match(said({"Mprof-Complete": "false"})[0], /quotas/);
});

test("a position is read from Content-Location", () => {
	const answer = (place) => ({headers: new Headers(place ? {"Content-Location": place} : {})});

	assert.equal(endOf(answer("/v1/domains/a%2Fb/trace?first=1.0.0.30&end=1.0.7.4711")), "1.0.7.4711");
	assert.equal(endOf(answer(null)), null);
});

test("a file's name is made of any guest name", () => {
	assert.equal(fileName("web", "ctf"), "web.ctf");
	assert.equal(fileName("../../etc/passwd", "ctf"), "etc-passwd.ctf");
	assert.equal(fileName("a\u202eb<c>", "svg"), "a-u202eb-c-.svg");
	assert.equal(fileName("...", "svg"), "trace.svg");
});

test("the last activity is the newest parts with enough in them", () => {
	assert.equal(lastActivity([5, 0, 3, 0, 0, 4, 1], 5), 5);
	assert.equal(lastActivity([5, 0, 3, 0, 0, 4, 1], 6), 2);
	assert.equal(lastActivity([5, 0, 3, 0, 0, 4, 1], 100), 0);
	assert.equal(lastActivity([0, 0, 0, 900], 5), 2, "not less than two parts");
});
