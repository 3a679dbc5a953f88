/* Many small shapes, set pixel by pixel. */
import assert from "node:assert/strict";
import {test} from "node:test";

import {BatchRaster, Raster} from "../../client/viewer/draw/raster.js";

globalThis.ImageData = class {
	constructor(width, height) {
		this.data = new Uint8ClampedArray(4 * width * height);
	}
};

const RED = "#ff0000";

function raster(width, height, ratio = 1) {
	return new Raster({width, height}, ratio);
}

/** Return the pixels as lines of text. */
function seen(it) {
	return Array.from({length: it.height}, (_, y) =>
		Array.from({length: it.width}, (_, x) => (it.words[y * it.width + x] ? "x" : ".")).join(""),
	);
}

test("rectangles have their pixels and colour, and end at the edges", () => {
	const it = raster(6, 4);

	it.rects([1, 1, 2, 2, 4, -3, 100, 4, -5, 3, 6, 9, 2, 9, 1, 1], "#123456");
	assert.deepEqual(seen(it), ["....xx", ".xx...", ".xx...", "x....."]);
	assert.deepEqual([...it.image.data.subarray(4 * 7, 4 * 8)], [0x12, 0x34, 0x56, 255]);
});

test("on a fine screen each pixel is several", () => {
	const it = raster(6, 4, 2);

	it.rects([1, 0, 1, 1], RED);
	assert.deepEqual(seen(it), ["..xx..", "..xx..", "......", "......"]);
});

test("a head is filled between its edges, also partly outside", () => {
	const it = raster(7, 4);

	it.heads([3.5, 0, 0, 4, 7, 4], RED);
	assert.deepEqual(seen(it).slice(0, 3), ["...x...", "..xxx..", ".xxxxx."]);
	const out = raster(4, 4);
	out.heads([2, -8, -20, 30, 40, 30], RED);
	assert.ok(
		seen(out).every((line) => /x/.test(line)),
		seen(out).join("\n"),
	);
});

test("only painted parts are put on the canvas, and no pixel stays behind", () => {
	const it = raster(5, 9);
	const calls = [];
	const note =
		(name) =>
		(...args) =>
			calls.push([name, ...args.slice(1)]);
	const pen = {save() {}, restore() {}, setTransform() {}, drawImage: note("draw")};
	const sheet = {canvas: {}, putImageData: note("put"), clearRect: (...args) => calls.push(["clear", ...args])};

	it.put(pen, sheet, 1);
	assert.deepEqual(calls, []);
	it.rects([0, 3, 5, 2], RED);
	it.put(pen, sheet, 0.5);
	assert.equal(pen.globalAlpha, 0.5);
	assert.deepEqual(
		calls.map(([name]) => name),
		["put", "draw", "clear"],
	);
	assert.deepEqual(calls[1], ["draw", 0, 3, 5, 2, 0, 3, 5, 2]);
	assert.ok(it.empty && it.words.every((pixel) => pixel === 0));
	it.heads([2.5, 2, 0, 6, 5, 6], RED);
	it.put(pen, sheet, 1);
	assert.deepEqual(calls.at(-2), ["draw", 0, 2, 5, 4, 0, 2, 5, 4]);
	assert.ok(it.words.every((pixel) => pixel === 0));
});

test("layers of one opacity share a raster, another one begins a new one", () => {
	const drawn = [];
	const sheet = {canvas: {}, putImageData() {}, clearRect() {}};
	const ctx = {
		canvas: {width: 9, height: 9},
		getTransform: () => ({a: 1}),
		setTransform() {},
		save() {},
		restore() {},
		drawImage: (canvas, x, y) => drawn.push([ctx.globalAlpha, y]),
	};
	const layer = (alpha, y) => ({
		shape: "rect",
		kind: alpha < 1 ? "counter" : "creation",
		alpha,
		colour: RED,
		data: Array.from({length: 1000}, () => [0, y, 1, 1]).flat(),
	});
	globalThis.OffscreenCanvas = class {
		getContext() {
			return sheet;
		}
	};
	const batch = new BatchRaster(ctx);

	assert.ok(batch.take(layer(1, 0)) && batch.take(layer(1, 1)));
	assert.deepEqual(drawn, []);
	assert.ok(batch.take(layer(0.5, 2)));
	assert.deepEqual(drawn, [[1, 0]]);
	assert.ok(batch.take(layer(1, 3)));
	batch.flush();
	assert.deepEqual(drawn.slice(1), [
		[0.5, 2],
		[1, 3],
	]);
	assert.ok(!batch.take({...layer(1, 0), data: [0, 0, 1, 1]}), "few shapes are drawn one by one");
	assert.ok(!batch.take({...layer(0.5, 0), kind: "creation"}), "what lies over itself is drawn one by one");
});
