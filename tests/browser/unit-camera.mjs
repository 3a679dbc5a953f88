/* The camera is exact at every time, and stays within the trace. */
import assert from "node:assert/strict";
import {test} from "node:test";

import {Camera, MARGIN, SPAN_MIN, TIME_MAX} from "../../client/viewer/trace/camera.js";

const LATE = (1n << 62n) + 12345n; /* doubles are 1,024 ns apart there */

function camera(start, end, rows = 10, width = 1000) {
	const c = new Camera();

	c.size(width, 500);
	c.trace(start, end, rows);
	c.fit();
	return c;
}

test("fit shows all, with margins", () => {
	const c = camera(1000000n, 2000000n);

	assert.ok(c.from < 1000000n && c.to > 2000000n);
	assert.ok(Math.abs(c.xOf(1000000n) - MARGIN) < 1);
	assert.ok(Math.abs(c.xOf(2000000n) - (1000 - MARGIN)) < 1);
});

test("fit leaves room for a panel, and one may pan the end from under it", () => {
	const camera = new Camera();

	camera.trace(1000000n, 2000000n, 10);
	camera.size(1000, 500);
	camera.inset = 400;
	camera.fit();
	assert.ok(Math.abs(camera.xOf(1000000n) - 20) < 1 && Math.abs(camera.xOf(2000000n) - 580) < 1);
	camera.zoom(500, 8);
	camera.pan(-1e6);
	assert.ok(Math.abs(camera.xOf(2000000n) - 580) < 2, `${camera.xOf(2000000n)}`);
	assert.ok(camera.sees(2000000n, 8) && !camera.sees(camera.timeAt(700)));
});

test("a nanosecond is a nanosecond behind 2^62", () => {
	const c = camera(LATE, LATE + 10n ** 15n);

	c.show(LATE + 500000000000001n, LATE + 500000000000021n);
	assert.equal(c.span, 20n);
	assert.equal(c.from, LATE + 500000000000001n);
	for (let k = 0n; k <= 20n; k++) {
		assert.equal(c.xOf(c.from + k), Number(k) * 50);
		assert.equal(c.timeAt(Number(k) * 50), c.from + k);
	}
});

test("the time under the pointer stays there through two hundred steps", () => {
	const c = camera(LATE, LATE + 10n ** 15n);
	const x = 333.25;
	const there = c.timeAt(x);

	for (let i = 0; i < 200; i++) {
		const pixel = c.length(1) + 1n;

		c.zoom(x, 1.2);
		const moved = c.timeAt(x) - there;
		assert.ok((moved < 0n ? -moved : moved) <= pixel, `step ${i}: moved ${moved}`);
	}
	assert.equal(c.span, SPAN_MIN);
	for (let i = 0; i < 400; i++) c.zoom(x, 1 / 1.2);
	assert.equal(c.span, c.widest);
});

test("no step in or out is lost to rounding", () => {
	const c = camera(0n, 10n ** 12n);

	c.show(1000n, 1011n);
	c.zoom(0, 1.01);
	assert.equal(c.span, 10n);
	c.zoom(0, 1 / 1.01);
	assert.equal(c.span, 11n);
});

test("a time at the edge of the window is seen, and one at the edge of its margin", () => {
	const c = camera(0n, 10n ** 12n);

	c.show(1000n, 2000n);
	assert.ok(c.sees(1000n) && c.sees(2000n) && !c.sees(999n) && !c.sees(2001n));
	assert.ok(c.sees(1010n, 10) && c.sees(1990n, 10) && !c.sees(1009n, 10) && !c.sees(1991n, 10));
});

test("zooming out ends at the whole, panning at the margins", () => {
	const c = camera(1000000n, 2000000n);

	c.zoom(500, 0.001);
	assert.equal(c.span, c.widest);
	c.show(1500000n, 1500100n);
	c.pan(1e9);
	assert.ok(c.xOf(1000000n) <= MARGIN + 11 && c.xOf(1000000n) >= MARGIN - 1);
	c.pan(-1e12);
	assert.ok(c.xOf(2000000n) >= 1000 - MARGIN - 11 && c.xOf(2000000n) <= 1000 - MARGIN + 1);
});

test("panning by pixels and back restores the window", () => {
	const c = camera(LATE, LATE + 10n ** 15n);

	c.show(LATE + 10n ** 14n, LATE + 10n ** 14n + 777777n);
	const {from, to} = c;
	for (const by of [13, 0.5, 200.25, -17]) {
		c.pan(by);
		assert.notEqual(c.from, from);
		c.pan(-by);
		assert.equal(c.from, from);
		assert.equal(c.to, to);
	}
});

test("dragging moves the grabbed time with the pointer", () => {
	const c = camera(0n, 10n ** 9n);

	c.show(10n ** 8n, 2n * 10n ** 8n);
	const there = c.timeAt(400);
	c.pan(123);
	assert.ok(Math.abs(c.xOf(there) - 523) < 0.01);
});

test("two fingers keep the times under them", () => {
	const c = camera(0n, 10n ** 12n);

	c.show(10n ** 10n, 2n * 10n ** 10n);
	const [a, b] = [c.timeAt(200), c.timeAt(600)];
	c.pinch(200, 600, 150, 750);
	assert.ok(Math.abs(c.xOf(a) - 150) < 0.01);
	assert.ok(Math.abs(c.xOf(b) - 750) < 0.01);
});

test("a new size keeps the range", () => {
	const c = camera(0n, 10n ** 9n);

	c.show(123456n, 923457n);
	c.size(377, 200);
	assert.equal(c.from, 123456n);
	assert.equal(c.to, 923457n);
});

test("the edges of time hold", () => {
	for (const [start, end] of [
		[0n, 0n],
		[0n, 5n],
		[TIME_MAX, TIME_MAX],
		[TIME_MAX - 3n, TIME_MAX],
		[0n, TIME_MAX],
	]) {
		const c = camera(start, end);

		for (const step of [
			() => c.fit(),
			() => c.zoom(10, 1e9),
			() => c.zoom(990, 1e-9),
			() => c.pan(-1e6),
			() => c.pan(1e6),
		]) {
			step();
			assert.ok(c.from >= 0n && c.to > c.from, `${c.from} to ${c.to}`);
			assert.ok(c.span >= SPAN_MIN);
		}
	}
	const c = camera(0n, 100n);
	c.look(NaN);
	assert.equal(c.focus, 5);
	c.look(-3);
	assert.equal(c.focus, 0);
	c.look(1e9);
	assert.equal(c.focus, 10);
});
