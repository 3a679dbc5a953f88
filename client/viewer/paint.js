/*
 * Marks to a picture, in two steps: a plan, which is a short list of layers of one colour each, and its painting.  The plan is what
 * tests look at and what an SVG is made from, so all three show the same.  Knows nothing of cameras and models.
 *
 * A layer: {kind, shape, colour, alpha, width, data, texts}
 *   shape "rect": data = x, y, width, height, …      filled
 *   shape "line": data = x0, y0, x1, y1, …           stroked, WIDTH pixels
 *   shape "head": data = three corners, …            filled
 *   shape "hatch": as rect, filled with slanting lines
 *   shape "text": texts = [{text, x, y, align, item}]
 */
import {KINDS} from "./marks.js";

export const HEAD_LENGTH = 10;
export const HEAD_WIDTH = 8;
export const FONT = "12px system-ui, sans-serif";

const LABEL_UP = 4; /* from a line to the foot of the text above it */
const TYPE_DOWN = 13;
const ALPHAS = 8; /* steps of opacity: each is a layer of its own */
const STEEP = 10; /* rows so far apart have arrows with an upright head */
const ROOM = 3; /* between two texts */

const K = Object.fromEntries(KINDS.map((name, i) => [name, i]));
const ARROWS = new Set([K.resolve, K.read, K["read-failed"], K["try-read"], K.signal]);

/** Layers in the order in which they first come, found again by what makes them one. */
class Layers {
	constructor() {
		this.list = [];
		this.byKey = new Map();
	}

	get(kind, shape, colour, more = {}) {
		const key = `${kind} ${shape} ${colour} ${more.alpha ?? 1} ${more.width ?? 0}`;
		let layer = this.byKey.get(key);

		if (!layer) {
			layer = {kind, shape, colour, alpha: 1, width: 1, data: [], texts: [], ...more};
			this.byKey.set(key, layer);
			this.list.push(layer);
		}
		return layer;
	}
}

/** A straight line along an axis as a rectangle WIDTH thick, on whole pixels: sharper and cheaper than a stroke. */
function flat(layer, x0, y0, x1, y1, width) {
	const upright = Math.abs(x1 - x0) < Math.abs(y1 - y0);
	const half = width >> 1;

	if (upright)
		layer.data.push(Math.round(x0) - half, Math.min(y0, y1), width, Math.max(Math.abs(y1 - y0), 1));
	else
		layer.data.push(Math.min(x0, x1), Math.round(y0) - half, Math.max(Math.abs(x1 - x0), 1), width);
}

function arrow(layers, kind, colour, alpha, x0, y0, x1, y1) {
	const line = layers.get(kind, "line", colour, {alpha, width: 1});
	const head = layers.get(kind, "head", colour, {alpha});
	const rise = y1 - y0;
	const half = HEAD_WIDTH / 2;

	if (Math.abs(rise) > STEEP) {
		const foot = y1 - Math.sign(rise) * HEAD_LENGTH;
		line.data.push(x0, y0, x1, foot);
		head.data.push(x1, y1, x1 - half, foot, x1 + half, foot);
	} else {
		const foot = x1 - (x1 < x0 ? -HEAD_LENGTH : HEAD_LENGTH);
		line.data.push(x0, y0, foot, y1);
		head.data.push(x1, y1, foot, y1 - half, foot, y1 + half);
	}
}

/** Texts beside each other on one height: each takes what the one before left. */
class Shelves {
	constructor() {
		this.right = new Map();
	}

	/** Where a text of WIDTH may stand that wants X: there, or up to SHIFT further right; null where another one stands. */
	put(y, x, width, shift) {
		const key = Math.round(y / 6);
		const taken = this.right.get(key) ?? -Infinity;
		const at = Math.max(x, taken + ROOM);

		if (at > x + shift)
			return null;
		this.right.set(key, at + width);
		return at;
	}
}

class Planner {
	constructor(marks, palette, size, measure) {
		this.marks = marks;
		this.palette = palette;
		this.size = size;
		this.measure = measure;
		this.layers = new Layers();
		this.above = new Shelves();
		this.below = new Shelves();
		this.late = [];
	}

	band(i, kind) {
		const m = this.marks;
		const layer = this.layers.get(kind, "rect", this.palette[kind]);
		const width = Math.max(m.x1(i) - m.x0(i), 1);

		layer.data.push(m.x0(i), 0, width, this.size.height);
		if (kind === "gap") {
			this.layers.get(kind, "hatch", this.palette.gapLine).data.push(m.x0(i), 0, width, this.size.height);
			const edge = this.layers.get(kind, "rect", this.palette.gapLine);
			edge.data.push(m.x0(i), 0, 1, this.size.height, m.x1(i) - 1, 0, 1, this.size.height);
		}
	}

	grid(i) {
		const m = this.marks;
		const colour = m.item(i) ? this.palette.gridTenth : this.palette.grid;

		this.layers.get("grid", "rect", colour).data.push(Math.round(m.x0(i)), 0, 1, this.size.height);
	}

	highlight(i) {
		const m = this.marks;
		const [x0, x1, y] = [m.x0(i), m.x1(i), Math.round(m.y0(i))];
		const data = [x0 - (m.shade(i) ? 4 : 0), y - 4, Math.max(x1 - x0, 1) + (m.shade(i) ? 8 : 0), 8];

		/* What is short would be hidden under what comes: it goes on top. */
		if (m.shade(i))
			this.late.push(data);
		else
			this.layers.get("highlight", "rect", this.palette.highlight).data.push(...data);
	}

	line(i, kind, colour, width) {
		const m = this.marks;

		flat(this.layers.get(kind, "rect", colour), m.x0(i), m.y0(i), m.x1(i), m.y0(i), width);
	}

	upright(i, kind) {
		const m = this.marks;

		flat(this.layers.get(kind, "rect", this.palette.thread), m.x0(i), m.y0(i), m.x0(i), m.y1(i), 1);
	}

	openEnd(i) {
		const m = this.marks;
		const [x, y] = [m.x0(i), Math.round(m.y0(i))];

		this.layers.get("open-end", "head", this.palette.thread).data.push(x, y, x - 6, y - 4, x - 6, y + 4);
	}

	failed(i) {
		const m = this.marks;
		const layer = this.layers.get("failed", "rect", this.palette.failed);

		flat(layer, m.x0(i), m.y0(i), m.x1(i), m.y0(i), 2);
		layer.data.push(Math.round(m.x1(i)) - 1, Math.round(m.y0(i)) - 8, 2, 16);
	}

	arrow(i, kind) {
		const m = this.marks;
		const alpha = Math.ceil((m.shade(i) / 65535) * ALPHAS) / ALPHAS;

		if (alpha > 0)
			arrow(this.layers, kind, this.palette[kind], alpha, m.x0(i), m.y0(i), m.x1(i), m.y1(i));
	}

	label(i) {
		const m = this.marks;
		const text = m.text(i);
		const width = this.measure(text);
		const [x, y, end] = [m.x0(i), m.y0(i), m.x1(i)];
		/* Centred on its time, but in the room that it has, and never cut at the picture's left edge. */
		const wanted = Math.max(Math.min(x - width / 2, end - width), Math.min(x, 2));
		const at = this.above.put(y, Math.max(wanted, 2), width, Math.max(24, width / 2));

		if (at === null)
			return;
		this.layers.get("label", "text", this.palette.label).texts.push({
			text,
			x: at,
			y: y - LABEL_UP,
			width,
			align: "left",
			item: m.item(i),
		});
		this.layers.get("label", "rect", this.palette.label).data.push(Math.round(x), Math.round(y) - 4, 1, 4);
	}

	type(i) {
		const m = this.marks;
		const text = m.text(i);
		const width = this.measure(text);
		const at = this.below.put(m.y0(i), Math.max(m.x0(i), 2), width, 12);

		if (at !== null)
			this.layers.get("type", "text", this.palette.type).texts.push({
				text,
				x: at,
				y: m.y0(i) + TYPE_DOWN,
				width,
				align: "left",
				item: m.item(i),
			});
	}

	counter(i) {
		const m = this.marks;
		const place = [m.x0(i), m.y0(i), m.x1(i), m.y1(i)];
		const shadow = this.layers.get("counter-shadow", "rect", this.palette.shadow, {alpha: 0.45});

		flat(shadow, ...place, 4);
		flat(this.layers.get("counter", "rect", this.palette.counters[m.shade(i) % 4]), ...place, 2);
	}

	counterName(i) {
		const m = this.marks;
		const text = m.text(i);

		this.layers.get("counter-name", "text", this.palette.counterNames[m.shade(i) % 4], {bold: true}).texts.push({
			text,
			x: m.x1(i),
			y: m.y0(i) + 4,
			width: this.measure(text),
			align: "right",
			item: m.item(i),
		});
	}

	bandName(i) {
		const m = this.marks;
		const text = m.text(i);
		const width = this.measure(text);

		if (m.x1(i) - m.x0(i) > width + 4)
			this.layers.get("band-name", "text", this.palette.band).texts.push({
				text,
				x: (m.x0(i) + m.x1(i)) / 2,
				y: m.y0(i) > 0 ? m.y0(i) : 14,
				width,
				align: "center",
				item: m.item(i),
			});
	}

	mark(i) {
		const kind = this.marks.kind(i);

		if (ARROWS.has(kind))
			return this.arrow(i, KINDS[kind]);
		switch (kind) {
			case K.sleeping:
			case K.collection:
			case K.gap:
				return this.band(i, KINDS[kind]);
			case K.grid:
				return this.grid(i);
			case K.highlight:
				return this.highlight(i);
			case K.thread:
				return this.line(i, "thread", this.palette.thread, 2);
			case K.running:
				return this.line(i, "running", this.palette.running, 3);
			case K.creation:
			case K.becomes:
				return this.upright(i, KINDS[kind]);
			case K["open-end"]:
				return this.openEnd(i);
			case K.failed:
				return this.failed(i);
			case K.label:
				return this.label(i);
			case K.type:
				return this.type(i);
			case K.counter:
				return this.counter(i);
			case K["counter-name"]:
				return this.counterName(i);
			case K["band-name"]:
				return this.bandName(i);
		}
	}
}

/** A rough measure, where there is no canvas to ask. */
export function roughWidth(text) {
	return text.length * 6.6;
}

/** The layers of MARKS for a picture of SIZE {width, height}; MEASURE tells the width of a text. */
export function plan(marks, palette, size, measure = roughWidth) {
	const planner = new Planner(marks, palette, size, measure);

	for (let i = 0; i < marks.n; i++)
		planner.mark(i);
	for (const data of planner.late)
		planner.layers.get("highlight-top", "rect", palette.highlight, {alpha: 0.8}).data.push(...data);
	return shadowsFirst(planner.layers.list);
}

/* All shadows of counters lie under all their colours; names and texts come last as they came. */
function shadowsFirst(layers) {
	const at = layers.findIndex((layer) => layer.kind === "counter");
	const shadow = layers.findIndex((layer) => layer.kind === "counter-shadow");

	if (shadow > at && at >= 0)
		layers.splice(at, 0, ...layers.splice(shadow, 1));
	return layers;
}

/** Lines slanting across a tile, for what is missing. */
function hatching(ctx, colour) {
	const tile = ctx.canvas.ownerDocument.createElement("canvas");
	const pen = tile.getContext("2d");

	tile.width = 8;
	tile.height = 8;
	pen.strokeStyle = colour;
	pen.globalAlpha = 0.45;
	pen.beginPath();
	for (const x of [-8, 0, 8]) {
		pen.moveTo(x, 8);
		pen.lineTo(x + 8, 0);
	}
	pen.stroke();
	return ctx.createPattern(tile, "repeat");
}

function fillRects(ctx, data) {
	for (let i = 0; i < data.length; i += 4)
		ctx.fillRect(data[i], data[i + 1], data[i + 2], data[i + 3]);
}

function strokeLines(ctx, layer) {
	const {data} = layer;

	ctx.lineWidth = layer.width;
	ctx.beginPath();
	for (let i = 0; i < data.length; i += 4) {
		ctx.moveTo(data[i], data[i + 1]);
		ctx.lineTo(data[i + 2], data[i + 3]);
	}
	ctx.stroke();
}

function fillHeads(ctx, data) {
	ctx.beginPath();
	for (let i = 0; i < data.length; i += 6) {
		ctx.moveTo(data[i], data[i + 1]);
		ctx.lineTo(data[i + 2], data[i + 3]);
		ctx.lineTo(data[i + 4], data[i + 5]);
	}
	ctx.fill();
}

function writeTexts(ctx, layer, palette) {
	ctx.font = layer.bold ? `bold ${FONT}` : FONT;
	ctx.lineWidth = 3;
	ctx.lineJoin = "round";
	ctx.strokeStyle = palette.halo;
	for (const it of layer.texts) {
		ctx.textAlign = it.align;
		ctx.globalAlpha = 0.8;
		ctx.strokeText(it.text, it.x, it.y);
		ctx.globalAlpha = 1;
		ctx.fillText(it.text, it.x, it.y);
	}
}

/** Paint LAYERS over all of a canvas of SIZE. */
export function paint(ctx, layers, palette, size) {
	ctx.globalAlpha = 1;
	ctx.fillStyle = palette.back;
	ctx.fillRect(0, 0, size.width, size.height);
	for (const layer of layers) {
		ctx.globalAlpha = layer.alpha;
		ctx.fillStyle = layer.shape === "hatch" ? hatching(ctx, layer.colour) : layer.colour;
		ctx.strokeStyle = layer.colour;
		if (layer.shape === "rect" || layer.shape === "hatch")
			fillRects(ctx, layer.data);
		else if (layer.shape === "line")
			strokeLines(ctx, layer);
		else if (layer.shape === "head")
			fillHeads(ctx, layer.data);
		else
			writeTexts(ctx, layer, palette);
	}
	ctx.globalAlpha = 1;
}
