/* Painting: from marks to layers, and from layers to a canvas and to an SVG. */
import assert from "node:assert/strict";
import {test} from "node:test";

import {KINDS, Marks, marksOf} from "../../client/viewer/draw/marks.js";
import {HEAD_LENGTH, HEAD_WIDTH, paint, plan} from "../../client/viewer/draw/paint.js";
import {RULER, svg} from "../../client/viewer/draw/svg.js";
import {palette, trackPalette} from "../../client/viewer/draw/theme.js";
import {CAPTION, caption, lanes, processors, stacked} from "../../client/viewer/draw/tracks.js";

const SIZE = {width: 1000, height: 500};
const LIGHT = palette(false);

const marks = (...list) => marksOf(list);

const layer = (layers, kind, shape) => layers.find((it) => it.kind === kind && (!shape || it.shape === shape));

test("marks are read from their buffer", () => {
	const m = marks({
		kind: "label",
		x0: 1.5,
		y0: 2,
		x1: 3,
		y1: 4,
		item: 4294967295,
		text: "é",
		stream: 255,
		shade: 7,
		count: 9,
	});

	assert.deepEqual(m.list(), [
		{kind: "label", x0: 1.5, y0: 2, x1: 3, y1: 4, item: 4294967295, text: "é", stream: 255, shade: 7, count: 9},
	]);
	assert.equal(new Marks(new ArrayBuffer(64), 1000, new Uint8Array()).n, 2);
});

test("every kind of mark is painted", () => {
	for (const kind of KINDS) {
		const layers = plan(marks({kind, x0: 10, y0: 100, x1: 400, y1: 200, text: "text", shade: 65535}), LIGHT, SIZE);
		assert.ok(layers.length > 0 && layers.some((it) => it.data.length + it.texts.length > 0), kind);
	}
});

test("arrows differ by colour and by head", () => {
	const colours = {
		resolve: "#008000",
		read: "#0000ff",
		"read-failed": "#d6001c",
		"try-read": "#6f6b00",
		signal: "#a85400",
	};
	const heads = new Map();

	for (const [kind, colour] of Object.entries(colours)) {
		const headOf = (x0, y0, x1, y1) => {
			const layers = plan(marks({kind, x0, y0, x1, y1, shade: 65535}), LIGHT, SIZE);
			assert.equal(layer(layers, kind, "line").colour, colour);
			assert.equal(layer(layers, kind, "head").colour, colour);
			return layer(layers, kind, "head").data;
		};
		/* Rows more than 10 pixels apart: the head is upright, of the original's size, at the end. */
		const down = headOf(10, 100, 40, 200);
		const part = (data, i) => data.filter((_, at) => at % 2 === i);
		assert.deepEqual(
			[Math.min, Math.max].flatMap((most) => [0, 1].map((i) => most(...part(down, i)))),
			[40 - HEAD_WIDTH / 2, 200 - HEAD_LENGTH, 40 + HEAD_WIDTH / 2, 200],
			kind,
		);
		/* Upwards and to the sides it is the same head, turned. */
		const turned = (data, [x, y], [xx, xy, yx, yy]) =>
			data.map((_, at) => {
				const [dx, dy] = [data[at - (at % 2)] - x, data[at - (at % 2) + 1] - y];
				return at % 2 ? dx * yx + dy * yy : dx * xx + dy * xy;
			});
		const shape = turned(down, [40, 200], [1, 0, 0, 1]);
		const same = (data, what) =>
			assert.deepEqual(
				data.map((it) => it + 0),
				shape.map((it) => it + 0),
				`${kind} ${what}`,
			);
		same(turned(headOf(10, 200, 40, 100), [40, 100], [1, 0, 0, -1]), "up");
		same(turned(headOf(10, 100, 60, 105), [60, 105], [0, 1, 1, 0]), "to the right");
		same(turned(headOf(90, 100, 60, 105), [60, 105], [0, 1, -1, 0]), "to the left");
		heads.set(String(shape), kind);
	}
	assert.equal(heads.size, 5, "shapes of heads");
});

test("an arrow of shade 0 is not painted", () => {
	const layers = plan(marks({kind: "read", x0: 0, y0: 0, x1: 900, y1: 90, shade: 0}), LIGHT, SIZE);

	assert.equal(layers.length, 0);
});

test("one colour is one layer, in the order of the marks", () => {
	const many = [];

	for (let i = 0; i < 100; i++) many.push({kind: "thread", x0: i, y0: i, x1: i + 50});
	for (let i = 0; i < 100; i++) many.push({kind: "running", x0: i, y0: i, x1: i + 10});
	const layers = plan(marks(...many), LIGHT, SIZE);
	assert.deepEqual(
		layers.map((it) => it.kind),
		["thread", "running"],
	);
	assert.equal(layers[0].data.length, 400);
	assert.deepEqual(layers[0].data.slice(0, 4), [0, -1, 50, 2]);
	assert.deepEqual(layers[1].data.slice(0, 4), [0, -1, 10, 3]);
});

test("a failed thread is red with a bar of 16 pixels", () => {
	const red = layer(plan(marks({kind: "failed", x0: 10, y0: 100, x1: 200}), LIGHT, SIZE), "failed");

	assert.equal(red.colour, "#cc0000");
	assert.deepEqual(red.data, [10, 99, 190, 2, 199, 92, 2, 16]);
});

test("highlights behind the threads lie below them, later ones on top; shadows below all colours of counters", () => {
	const layers = plan(
		marks(
			{kind: "highlight", x0: 0, y0: 50, x1: 500, y1: 50},
			{kind: "highlight", x0: 70, y0: 50, x1: 70, y1: 150},
			{kind: "thread", x0: 0, y0: 50, x1: 500, y1: 50},
			{kind: "counter", x0: 0, y0: 10, x1: 100, y1: 10, shade: 0},
			{kind: "counter", x0: 0, y0: 20, x1: 100, y1: 20, shade: 1},
			{kind: "highlight", x0: 10, y0: 50, x1: 12, y1: 50},
		),
		LIGHT,
		SIZE,
	);
	assert.deepEqual(
		layers.map((it) => it.kind),
		["highlight", "thread", "counter-shadow", "counter", "counter", "highlight-top"],
	);
	assert.deepEqual(layers[0].data, [0, 46, 500, 8, 66, 50, 8, 100]);
	assert.deepEqual(layers.at(-1).data, [7, 46, 8, 8]);
});

test("texts stand where the scene put them, labels clear of the line, and end where their room does", () => {
	const layers = plan(
		marks(
			{kind: "label", x0: 20, y0: 96, x1: 900, y1: 96, text: "short"},
			{kind: "label", x0: 20, y0: 196, x1: 60, y1: 196, text: "a label longer than its room"},
			{kind: "label", x0: 120, y0: 196, x1: 160, y1: 196, text: "another"},
			{kind: "label", x0: 20, y0: 296, x1: 21, y1: 296, text: "none"},
			{kind: "label", x0: 24, y0: 296, x1: 25, y1: 296, text: "next"},
			{kind: "type", x0: 20, y0: 113, x1: 900, y1: 113, text: "bind"},
			{kind: "tick", x0: 40, y0: 96, x1: 40, y1: 100},
		),
		LIGHT,
		SIZE,
	);
	const {texts} = layer(layers, "label", "text");
	assert.equal(texts.length, 4);
	assert.deepEqual([texts[0].text, texts[0].x, texts[0].y], ["short", 20, 93]);
	assert.ok(texts[1].text.endsWith("…") && texts[1].x + texts[1].width <= 120, texts[1].text);
	assert.deepEqual(
		texts.slice(2).map((it) => it.text),
		["another", "next"],
	);
	assert.equal(layer(layers, "type").texts[0].y, 113);
	assert.deepEqual(layer(layers, "tick").data, [40, 96, 1, 4]);
});

test("a label takes free room of its row on either side, and its end is cut only where there is none", () => {
	const text = "twenty letters label";
	const wide = 6.6 * text.length;
	const placed = (...list) =>
		layer(plan(marks(...list.map((it) => ({kind: "label", y0: 100, y1: 100, text, ...it}))), LIGHT, SIZE), "label")
			.texts;

	/* To the right, beyond the end of the thread. */
	assert.deepEqual(
		placed({x0: 300, x1: 310}).map((it) => [it.text, it.x]),
		[[text, 300]],
	);
	/* To the left, before its begin, at the picture's edge and beside a neighbour. */
	const [left] = placed({x0: 980, x1: 990});
	assert.ok(left.text === text && left.x + left.width <= SIZE.width && left.x < 980);
	const [first, second] = placed({x0: 300, x1: 310}, {x0: 380, x1: 900});
	assert.deepEqual([first.text, second.text, second.x], [text, text, 380]);
	assert.ok(first.x + first.width <= 380 && first.x < 300 && Math.abs(first.width - wide) < 1e-6);
	/* No room on either side. */
	const cut = placed({x0: 4, x1: 50}, {x0: 90, x1: 100}, {x0: 130, x1: 800});
	assert.ok(cut.slice(0, 2).every((it) => it.text.endsWith("…") || it.text === text));
	assert.ok(cut[0].text.endsWith("…"));
	for (let i = 1; i < cut.length; i++) assert.ok(cut[i - 1].x + cut[i - 1].width < cut[i].x, "they touch");
	/* A text that the scene cut says so, however much room it has. */
	assert.equal(placed({x0: 10, x1: 900, shade: 1})[0].text, `${text}…`);
});

test("lanes have captions, and bands where samples share a pixel", () => {
	const layers = plan(
		marks(
			{kind: "lane", x0: 0, y0: 20, x1: 1000, y1: 50, text: "bytes", item: 3, shade: 1},
			{kind: "counter", x0: 0, y0: 30, x1: 100, y1: 30, item: 3, shade: 1},
			{kind: "envelope", x0: 100, y0: 25, x1: 101, y1: 45, item: 3, shade: 1},
		),
		trackPalette(false),
		SIZE,
		(text) => text.length * 6,
		(index, name) => `${index} ${name}`,
	);

	assert.deepEqual(
		layer(layers, "lane", "text").texts.map((it) => [it.text, it.align]),
		[["3 bytes", "left"]],
	);
	assert.equal(layer(layers, "counter-shadow"), undefined, "nothing lies below");
	assert.deepEqual(layer(layers, "envelope").data, [100, 25, 1, 20]);
	assert.equal(layer(layers, "envelope").alpha, 0.4);
	assert.ok(
		layers.filter((it) => it.kind === "lane").some((it) => it.colour === LIGHT.counters[1]),
		"its swatch",
	);
});

test("captions and names of bands stay clear of the menu at the right edge", () => {
	const layers = plan(
		marks(
			{kind: "band-name", x0: 900, y0: 12, x1: 1000, y1: 12, text: "sleeping"},
			{kind: "band-name", x0: 960, y0: 12, x1: 1000, y1: 12, text: "lost 5"},
			{kind: "band-name", x0: 0, y0: 12, x1: 100, y1: 12, text: "running"},
			{kind: "lane", x0: 0, y0: 20, x1: 1000, y1: 50, text: "a counter ".repeat(30), item: 3, shade: 1},
		),
		trackPalette(false),
		SIZE,
		(text) => text.length * 6,
	);
	const [caption] = layer(layers, "lane", "text").texts;

	assert.deepEqual(
		layer(layers, "band-name").texts.map((it) => it.x),
		[948, 978, 50],
	);
	assert.ok(caption.text.endsWith("…") && caption.x + caption.width <= SIZE.width - 28, caption.text);
});

test("captions have ranges, units by the name, and the scale where it differs", () => {
	const of = (name, min, max, more = {}) => caption({name, min, max, ...more});

	assert.equal(of("gntref", 1n, 506n), "gntref  1 to 506");
	assert.equal(of("requests", 0n, 12345n), "requests  0 to 12,345");
	assert.equal(of("bytes sent", 0n, 2097152n), "bytes sent  0 bytes to 2.0 MB (bytes?)");
	assert.equal(of("heap words", 0n, 65000n), "heap words  0 to 65,000");
	assert.equal(of("poll_ns", 5n, 2000000n), "poll_ns  5 ns to 2 ms (time?)");
	assert.equal(of("a", 1n, 2n, {scaleMin: 0n, scaleMax: 10n}), "a  1 to 2, scale 0 to 10");
	assert.equal(of("a", 0n, 10n, {scaleMin: 0n, scaleMax: 10n}), "a  0 to 10");
});

test("tracks: lanes of a guest stand together, and few lanes are higher", () => {
	const counters = [
		{index: 0, stream: 1},
		{index: 1, stream: 0},
		{index: 2, stream: 1},
	];
	const placed = (list) => stacked(list, () => ({}));
	const {height, tracks} = placed(lanes(counters));

	assert.deepEqual(
		tracks.map((it) => it.item),
		[1, 0, 2],
	);
	for (let i = 1; i < tracks.length; i++)
		assert.ok(tracks[i].top - CAPTION >= tracks[i - 1].top + tracks[i - 1].height, "room for the caption");
	assert.ok(tracks[1].top - tracks[0].top > tracks[2].top - tracks[1].top, "a part for each guest");
	assert.ok(height >= tracks[2].top + tracks[2].height);
	const many = lanes(Array.from({length: 24}, (_, index) => ({index, stream: 0})));
	assert.ok(placed(many).tracks[0].height < tracks[0].height);
	assert.deepEqual([placed(lanes([])).height, placed(processors([])).height], [0, 0]);
	assert.equal(processors(Array.from({length: 40}, (_, i) => ({id: `cpu${i}`, stream: i}))).length, 8);
});

test("a type gives way to the label of the row below", () => {
	const layers = plan(
		marks(
			{kind: "label", x0: 20, y0: 100, x1: 900, y1: 100, text: "label"},
			{kind: "type", x0: 22, y0: 96, x1: 900, y1: 96, text: "bind"},
			{kind: "type", x0: 222, y0: 96, x1: 900, y1: 96, text: "map"},
			{kind: "type", x0: 22, y0: 83, x1: 900, y1: 83, text: "task"},
		),
		LIGHT,
		SIZE,
	);
	assert.deepEqual(
		layer(layers, "type").texts.map((it) => it.text),
		["map", "task"],
	);
});

test("a band's opacity is its share of time", () => {
	const layers = plan(
		marks(
			{kind: "sleeping", x0: 0, y0: 0, x1: 10, y1: 500, shade: 65535},
			{kind: "sleeping", x0: 10, y0: 0, x1: 20, y1: 500, shade: 32768},
			{kind: "sleeping", x0: 20, y0: 0, x1: 20, y1: 500, shade: 0},
		),
		LIGHT,
		SIZE,
	);
	assert.deepEqual(
		layers.map((it) => it.alpha),
		[1, 0.625, 0.125],
	);
	assert.deepEqual(layers[2].data, [20, 0, 1, 500]);
});

/** Return a canvas context that records its calls. */
function pen() {
	const calls = [];
	const proxy = new Proxy(
		{},
		{
			get:
				(_, name) =>
				(...args) =>
					void calls.push([name, ...args]),
			set: () => true,
		},
	);

	return {calls, proxy};
}

test("painting 10,000 lines of one colour sets that colour once", () => {
	const list = [];
	let sets = 0;
	const {calls, proxy} = pen();
	const counting = new Proxy(proxy, {get: (t, n) => t[n], set: () => (sets++, true)});

	for (let i = 0; i < 10000; i++) list.push({kind: "read", x0: i, y0: 0, x1: i + 5, y1: 100, shade: 65535});
	paint(counting, plan(marks(...list), LIGHT, SIZE), LIGHT, SIZE);
	assert.ok(sets < 20, `${sets} changes of state`);
	assert.equal(calls.filter(([name]) => name === "stroke").length, 1);
	const fills = calls.filter(([name]) => name === "fill").length;
	assert.ok(fills < 200, `${fills} shapes`);
});

test("an SVG is well formed and holds a guest's text as text", () => {
	const bad = `</text><script>alert(1)</script>&"'\u0001\ud800]]>`;
	const layers = plan(
		marks(
			{kind: "label", x0: 100, y0: 100, x1: 900, text: bad},
			{kind: "gap", x0: 200, x1: 300},
			{kind: "read", x0: 10, y0: 100, x1: 40, y1: 200, shade: 30000},
		),
		LIGHT,
		SIZE,
	);
	const text = svg([{layers, size: SIZE}], LIGHT, bad);
	assert.ok(!text.includes("<script"));
	assert.ok(text.includes("&lt;script&gt;"));
	assert.ok(!/[\u0000-\u0008\ud800-\udfff]/.test(text));
	assert.ok(!/href|url\((?!#)/.test(text));
	for (const part of ['class="label"', 'class="gap"', 'class="read"', "#hatch-gap"])
		assert.ok(text.includes(part), part);
});

test("an SVG has several pictures one below the other", () => {
	const layers = plan(marks({kind: "gap", x0: 200, x1: 300}), LIGHT, SIZE);
	const text = svg(
		[
			{layers, size: SIZE, ticks: [{x: 5, text: "+1 ms"}]},
			{layers, size: {width: 600, height: 100}},
		],
		LIGHT,
		"two",
	);

	assert.ok(text.includes(`width="${SIZE.width}" height="${SIZE.height + 100 + 2 * RULER}"`), text.slice(0, 200));
	assert.ok(text.includes("translate(0 0)") && text.includes(`translate(0 ${SIZE.height + RULER})`));
	assert.equal([...text.matchAll(/class="gap"/g)].length, 6);
	assert.equal([...text.matchAll(/\+1 ms/g)].length, 1);
});

test("shades have the colour of their arrows, and are the stronger the more arrows there are", () => {
	const shade = (item, value) => ({
		kind: "shade",
		x0: 5,
		y0: 12,
		x1: 7,
		y1: 60,
		item: KINDS.indexOf(item),
		shade: value,
	});
	const layers = plan(marks(shade("signal", 16384), shade("signal", 65535), shade("read", 65535)), LIGHT, SIZE);

	assert.deepEqual(
		layers.map(({kind, colour, alpha, data}) => ({kind, colour, alpha, data})),
		[
			{kind: "shade", colour: LIGHT.signal, alpha: (0.6 * 3) / 8, data: [5, 12, 2, 48]},
			{kind: "shade", colour: LIGHT.signal, alpha: 0.6, data: [5, 12, 2, 48]},
			{kind: "shade", colour: LIGHT.read, alpha: 0.6, data: [5, 12, 2, 48]},
		],
	);
});

test("a line of many short threads is as strong as their share of time, and can always be seen", () => {
	const line = (shade) => ({kind: "thread", x0: 10, y0: 20, x1: 90, y1: 20, count: 50, shade});
	const [weak, half, full] = [1, 32768, 65535].map((shade) => plan(marks(line(shade)), LIGHT, SIZE)[0].alpha);

	assert.deepEqual([weak, half, full], [3 / 8, 5 / 8, 1]);
});
