/*
 * Turn marks into a picture, in two steps. plan() makes a list of layers, each of one colour.
 * paint() paints the layers on a canvas. Tests and the SVG read the same layers, so they show the
 * same picture.
 *
 * A layer: {kind, shape, colour, alpha, width, data, texts}
 *   shape "rect": data = x, y, width, height, …      filled
 *   shape "line": data = x0, y0, x1, y1, …           stroked, WIDTH pixels
 *   shape "head": data = three corners, …            filled
 *   shape "hatch": as rect, filled with slanting lines
 *   shape "text": texts = [{text, x, y, align, item}]
 */
import {BatchRaster} from "./raster.js";
import {KINDS} from "./marks.js";

export const HEAD_LENGTH = 10;
export const HEAD_WIDTH = 8;
export const FONT = "12px system-ui, sans-serif";

const DASH = 4; /* length of a dash, pixels */
const LABEL_GAP = 4; /* least distance between two labels, pixels */
const LABEL_EDGE = 4; /* least distance of a label from the picture's left edge, pixels */
const LABEL_LEAST = 4; /* least number of letters that a cut label shows */
const SWATCH = 9;
const LANE_SWATCH = 6; /* distance of a lane's colour sign from the picture's left edge, pixels */
const LANE_TEXT = 20;
const MENU = 28; /* width at the right edge where the page puts a track's button, pixels */
const LINE_LEAST = 3; /* least opacity of a line, in steps of ALPHAS */
const ALPHAS = 8; /* number of opacities; each opacity is a layer of its own */
const SHADE_MOST = 0.6; /* opacity of the strongest shade */
const LABELS_MOST = 0.35; /* the same of labels, which are black */
const BAR_LEAST = 2; /* half the height of the bar at the end of a failed thread, pixels */
const BAR_MOST = 8;
const STEEP = 10; /* rows; an arrow over more rows has an upright head */

const K = Object.fromEntries(KINDS.map((name, i) => [name, i]));
const ARROWS = new Set([K.resolve, K.read, K["read-failed"], K["try-read"], K.signal]);

const VARIANTS = 64; /* most layers of one kind of mark */

/** Layers in the order of their first mark, indexed by number because each mark looks one up. */
class Layers {
	constructor() {
		this.list = [];
		this.slots = [];
	}

	get(kind, variant, shape, colour, alpha = 1, width = 1, name = KINDS[kind]) {
		return (
			this.slots[kind * VARIANTS + variant] ??
			this.add(kind, variant, {kind: name, shape, colour, alpha, width, data: [], texts: []})
		);
	}

	add(kind, variant, layer) {
		this.slots[kind * VARIANTS + variant] = layer;
		this.list.push(layer);
		return layer;
	}
}

/**
 * Append a horizontal or vertical line as a rectangle WIDTH thick on whole pixels. A rectangle is
 * sharper and cheaper than a stroke.
 */
function flat(layer, x0, y0, x1, y1, width) {
	const upright = Math.abs(x1 - x0) < Math.abs(y1 - y0);
	const half = width >> 1;

	if (upright) layer.data.push(Math.round(x0) - half, Math.min(y0, y1), width, Math.max(Math.abs(y1 - y0), 1));
	else layer.data.push(Math.min(x0, x1), Math.round(y0) - half, Math.max(Math.abs(x1 - x0), 1), width);
}

/**
 * Return [start, length] from A to B. The length is at least 8 pixels, so that a highlight can be
 * seen; a shorter one is centred.
 */
function around(a, b) {
	return b - a < 8 ? [(a + b) / 2 - 4, 8] : [a, b - a];
}

/** Return the beginning of TEXT that fits into ROOM pixels. The whole text is WIDTH pixels wide. */
function cut(text, room, width) {
	const characters = Array.from(text);
	const n = Math.floor((characters.length * room) / width) - 1;

	return n > 0 ? `${characters.slice(0, n).join("")}…` : "";
}

/*
 * The heads of arrows, as triangles [u, v, u, v, u, v]. U counts pixels from the point of the arrow
 * back along its line, V to the side. Each kind has a shape of its own, so that kinds can be told
 * without their colours.
 */
const HALF = HEAD_WIDTH / 2;
const HEADS = {
	/* a triangle */
	resolve: [[0, 0, HEAD_LENGTH, -HALF, HEAD_LENGTH, HALF]],
	/* a triangle with a notch in its foot */
	read: [
		[0, 0, HEAD_LENGTH, -HALF, 6, 0],
		[0, 0, HEAD_LENGTH, HALF, 6, 0],
	],
	/* a triangle before a bar */
	"read-failed": [
		[2, 0, HEAD_LENGTH, -HALF, HEAD_LENGTH, HALF],
		[0, -HALF, 2, -HALF, 0, HALF],
		[2, -HALF, 2, HALF, 0, HALF],
	],
	/* two strokes, open at the foot */
	"try-read": [
		[0, 0, HEAD_LENGTH, -HALF, HEAD_LENGTH - 3, -HALF],
		[0, 0, 3, 0, HEAD_LENGTH, -HALF],
		[0, 0, HEAD_LENGTH, HALF, HEAD_LENGTH - 3, HALF],
		[0, 0, 3, 0, HEAD_LENGTH, HALF],
	],
	/* a rhombus */
	signal: [
		[0, 0, HEAD_LENGTH / 2, -HALF, HEAD_LENGTH / 2, HALF],
		[HEAD_LENGTH, 0, HEAD_LENGTH / 2, -HALF, HEAD_LENGTH / 2, HALF],
	],
};

function arrow(layers, kind, colour, step, x0, y0, x1, y1) {
	const line = layers.get(kind, step, "line", colour, step / ALPHAS);
	const {data} = layers.get(kind, ALPHAS + step, "head", colour, step / ALPHAS);
	const rise = y1 - y0;
	const upright = Math.abs(rise) > STEEP;
	const back = upright ? -Math.sign(rise) : x1 < x0 ? 1 : -1;

	if (upright) line.data.push(x0, y0, x1, y1 + back * HEAD_LENGTH);
	else line.data.push(x0, y0, x1 + back * HEAD_LENGTH, y1);
	for (const triangle of HEADS[KINDS[kind]])
		for (let i = 0; i < 6; i += 2) {
			const [along, side] = [back * triangle[i], triangle[i + 1]];

			if (upright) data.push(x1 + side, y1 + along);
			else data.push(x1 + along, y1 + side);
		}
}

class Planner {
	constructor(marks, palette, size, measure, captionOf) {
		this.marks = marks;
		this.palette = palette;
		this.size = size;
		this.measure = measure;
		this.captionOf = captionOf;
		this.layers = new Layers();
		this.inLane = false; /* set with the first lane of a counter: nothing lies below the curves of lanes */
		this.labels = []; /* labels as {text, x, end, y, item}; placed after the last mark */
		this.above = false; /* set after the threads; highlights from then on lie above the threads */
	}

	/*
	 * Return the opacity of band I in steps: the share of the band's time that it covers, but
	 * at least one step.
	 */
	step(i) {
		return Math.max(Math.ceil((this.marks.shade(i) / 65535) * ALPHAS), 1);
	}

	band(i, kind) {
		const m = this.marks;
		const name = KINDS[kind];
		const [x, y, width, height] = [m.x0(i), m.y0(i), Math.max(m.x1(i) - m.x0(i), 1), m.y1(i) - m.y0(i)];
		const step = this.step(i);

		this.layers.get(kind, step, "rect", this.palette[name], step / ALPHAS).data.push(x, y, width, height);
		if (kind === K.gap) {
			const colour = this.palette.gapLine;
			this.layers.get(kind, ALPHAS + 1, "hatch", colour).data.push(x, y, width, height);
			this.layers.get(kind, ALPHAS + 2, "rect", colour).data.push(x, y, 1, height, x + width - 1, y, 1, height);
		}
	}

	/**
	 * Append the dashed line at which the unproven part of a stream begins. The ruler hatches
	 * the unproven part itself.
	 */
	tail(i) {
		const m = this.marks;
		const {data} = this.layers.get(K.tail, 0, "rect", this.palette.tailLine);

		for (let y = m.y0(i); y < m.y1(i); y += 2 * DASH)
			data.push(Math.round(m.x0(i)), y, 1, Math.min(DASH, m.y1(i) - y));
	}

	grid(i) {
		const m = this.marks;
		const colour = m.item(i) ? this.palette.gridTenth : this.palette.grid;

		this.layers
			.get(K.grid, m.item(i) ? 1 : 0, "rect", colour)
			.data.push(Math.round(m.x0(i)), 0, 1, this.size.height);
	}

	highlight(i) {
		const m = this.marks;
		const [x0, x1, y0, y1] = [m.x0(i), m.x1(i), m.y0(i), m.y1(i)];
		const layer = this.above
			? this.layers.get(K.highlight, 1, "rect", this.palette.highlight, 0.8, 1, "highlight-top")
			: this.layers.get(K.highlight, 0, "rect", this.palette.highlight);

		/* Make a very short line as long as it is wide, so that it can be seen. */
		if (y0 === y1) {
			const [x, length] = around(x0, x1);
			layer.data.push(x, Math.round(y0) - 4, length, 8);
		} else {
			const [y, length] = around(Math.min(y0, y1), Math.max(y0, y1));
			layer.data.push(Math.round(x0) - 4, y, 8, length);
		}
	}

	line(i, kind, colour, width) {
		const m = this.marks;
		const step = this.lineStep(i);

		flat(
			this.layers.get(kind, step, "rect", colour, step / ALPHAS),
			...[m.x0(i), m.y0(i), m.x1(i), m.y0(i), width],
		);
	}

	/**
	 * Return the opacity of line I in steps: the share of its time in which there was an item,
	 * but at least LINE_LEAST steps, so that a line can be seen.
	 */
	lineStep(i) {
		return Math.max(this.step(i), LINE_LEAST);
	}

	upright(i, kind) {
		const m = this.marks;
		const step = this.step(i);
		const layer = this.layers.get(kind, step, "rect", this.palette.thread, step / ALPHAS);

		flat(layer, m.x0(i), m.y0(i), m.x0(i), m.y1(i), 1);
	}

	/** Append an area that many links of one kind cross, or that has many labels, in their colour. */
	shade(i) {
		const m = this.marks;
		const step = this.step(i);
		const of = KINDS[m.item(i)];
		const name = `shade-${of}-${step}`;

		this.shades ??= {};
		this.shades[name] ??= this.layers.add(K.shade, Object.keys(this.shades).length, {
			kind: "shade",
			of,
			shape: "rect",
			colour: this.palette[of] ?? this.palette.thread,
			alpha: ((of === "label" ? LABELS_MOST : SHADE_MOST) * step) / ALPHAS,
			width: 1,
			data: [],
			texts: [],
		});
		this.shades[name].data.push(m.x0(i), m.y0(i), m.x1(i) - m.x0(i), m.y1(i) - m.y0(i));
	}

	openEnd(i) {
		const m = this.marks;
		const [x, y] = [m.x0(i), Math.round(m.y0(i))];

		this.layers.get(K["open-end"], 0, "head", this.palette.thread).data.push(x, y, x - 6, y - 4, x - 6, y + 4);
	}

	failed(i) {
		const m = this.marks;
		const step = this.lineStep(i);
		const layer = this.layers.get(K.failed, step, "rect", this.palette.failed, step / ALPHAS);

		flat(layer, m.x0(i), m.y0(i), m.x1(i), m.y0(i), 2);
		/* Bars of many short threads would cover the rows beside them. */
		const half = Math.min(Math.max(Math.round(m.x1(i) - m.x0(i)), BAR_LEAST), BAR_MOST);
		layer.data.push(Math.round(m.x1(i)) - 1, Math.round(m.y0(i)) - half, 2, 2 * half);
	}

	arrow(i, kind) {
		const m = this.marks;
		const step = Math.ceil((m.shade(i) / 65535) * ALPHAS);

		if (step > 0) arrow(this.layers, kind, this.palette[KINDS[kind]], step, m.x0(i), m.y0(i), m.x1(i), m.y1(i));
	}

	/** Append a text with its left end at X0, cut at X1. */
	text(i, kind) {
		const m = this.marks;
		const room = m.x1(i) - m.x0(i);
		let text = m.text(i);
		let width = this.measure(text);

		if (kind === K.label) {
			if (m.shade(i)) text += "…";
			this.labels.push({text, x: m.x0(i), end: m.x1(i), y: m.y0(i) - LIFT, item: m.item(i)});
			return;
		}
		if (width > room) {
			text = cut(text, room, width);
			width = Math.min(room, this.measure(text));
		}
		if (text)
			this.layers.get(kind, 0, "text", this.palette[KINDS[kind]]).texts.push({
				text,
				x: m.x0(i),
				y: m.y0(i),
				width,
				align: "left",
				item: m.item(i),
			});
	}

	/**
	 * Place the labels. A label that is wider than its room uses free room in its row, first to
	 * the right, then to the left. If neither side has room, the label is cut.
	 */
	placeLabels() {
		const layer = this.labels.length ? this.layers.get(K.label, 0, "text", this.palette.label) : null;
		const rows = new Map();

		for (const it of this.labels) {
			const key = Math.round(it.y * 2);
			rows.has(key) ? rows.get(key).push(it) : rows.set(key, [it]);
		}
		for (const row of rows.values()) {
			let taken = LABEL_EDGE;

			row.sort((a, b) => a.x - b.x);
			row.forEach((it, i) => {
				const right = Math.max(row[i + 1] ? row[i + 1].x - LABEL_GAP : this.size.width - LABEL_GAP, it.x);
				const width = this.measure(it.text);
				const start = Math.max(it.x, taken);
				const x = start + width <= right ? start : Math.max(Math.min(start, right - width), taken);
				const room = right - x;
				const text = width <= room ? it.text : cut(it.text, room, width);

				if (text.length < Math.min(it.text.length, LABEL_LEAST)) return;
				const wide = Math.min(width <= room ? width : this.measure(text), room);
				layer.texts.push({text, x, y: it.y, width: wide, align: "left", item: it.item});
				taken = x + wide + LABEL_GAP;
			});
		}
	}

	tick(i) {
		const m = this.marks;

		flat(this.layers.get(K.tick, 0, "rect", this.palette.label), m.x0(i), m.y0(i), m.x0(i), m.y1(i), 1);
	}

	/**
	 * Append the name of a processor's track. If there is only one such track, it has no name.
	 */
	trackName(i) {
		const m = this.marks;
		const text = this.captionOf(null, "", m.stream(i));

		if (text && m.y1(i) - m.y0(i) >= LINE)
			this.layers.get(K.busy, 9, "text", this.palette.label, 1, 1, "busy-name").texts.push({
				text,
				x: LANE_SWATCH,
				y: (m.y0(i) + m.y1(i)) / 2 + 4,
				width: this.measure(text),
				align: "left",
				item: m.item(i),
			});
	}

	/**
	 * Append the caption of a counter's lane with the counter's colour, and the line at the
	 * lane's foot.
	 */
	lane(i) {
		const m = this.marks;
		const colour = m.shade(i) % 4;
		const caption = this.captionOf(m.item(i), m.text(i));
		const width = this.measure(caption);
		const room = Math.max(this.size.width - LANE_TEXT - MENU, 0);
		const text = width > room ? cut(caption, room, width) : caption;

		this.inLane = true;
		flat(this.layers.get(K.lane, 8, "rect", this.palette.gridTenth), m.x0(i), m.y1(i), m.x1(i), m.y1(i), 1);
		this.layers
			.get(K.lane, colour, "rect", this.palette.counters[colour])
			.data.push(LANE_SWATCH, m.y0(i) - 14, SWATCH, SWATCH);
		this.layers.get(K.lane, 9, "text", this.palette.label).texts.push({
			text,
			x: LANE_TEXT,
			y: m.y0(i) - 6,
			width: Math.min(width, room),
			align: "left",
			item: m.item(i),
		});
	}

	/**
	 * Append the range of a counter's samples within one pixel, with lines at the least and the
	 * greatest value.
	 */
	envelope(i) {
		const m = this.marks;
		const [x, y0, y1, colour] = [m.x0(i), m.y0(i), m.y1(i), m.shade(i) % 4];
		const line = this.palette.counters[colour];

		this.layers.get(K.envelope, colour, "rect", line, 0.4).data.push(x, y0, 1, y1 - y0);
		this.layers.get(K.envelope, 8 + colour, "rect", line).data.push(x, y0 - 0.5, 1, 1, x, y1 - 0.5, 1, 1);
	}

	counter(i) {
		const m = this.marks;
		const [x0, y0, x1, y1, colour] = [m.x0(i), m.y0(i), m.x1(i), m.y1(i), m.shade(i) % 4];

		if (this.inLane)
			return flat(
				this.layers.get(K.counter, colour, "rect", this.palette.counters[colour]),
				...[x0, y0, x1, y1, 2],
			);
		/* Draw a shadow below the curve, so that text behind the curve stays readable. */
		flat(this.layers.get(K.counter, 8, "rect", this.palette.shadow, 0.25, 1, "counter-shadow"), x0, y0, x1, y1, 4);
		flat(this.layers.get(K.counter, colour, "rect", this.palette.counters[colour], 0.7), x0, y0, x1, y1, 2);
	}

	counterName(i) {
		const m = this.marks;
		const text = this.captionOf(m.item(i), m.text(i));

		this.layers
			.get(K["counter-name"], m.shade(i) % 4, "text", this.palette.counterNames[m.shade(i) % 4])
			.texts.push({
				text,
				x: m.x1(i) - 3,
				y: m.y0(i),
				width: this.measure(text) * 1.1,
				align: "right",
				item: m.item(i),
			});
	}

	bandName(i) {
		const m = this.marks;
		const text = m.text(i);
		const width = this.measure(text);
		/* A name stays clear of the menu where its band has the room. */
		const x = Math.max(m.x0(i) + width / 2, Math.min((m.x0(i) + m.x1(i)) / 2, this.size.width - MENU - width / 2));

		if (m.x1(i) - m.x0(i) >= width)
			this.layers.get(K["band-name"], 0, "text", this.palette.band).texts.push({
				text,
				x,
				y: m.y0(i),
				width,
				align: "center",
				item: m.item(i),
			});
	}

	mark(i) {
		const kind = this.marks.kind(i);

		if (ARROWS.has(kind)) return this.arrow(i, kind);
		switch (kind) {
			case K.sleeping:
			case K.collection:
			case K.gap:
			case K.duration:
				return this.band(i, kind);
			case K.busy:
				this.band(i, kind);
				return this.trackName(i);
			case K.tail:
				return this.tail(i);
			case K.grid:
				return this.grid(i);
			case K.shade:
				return this.shade(i);
			case K.highlight:
				return this.highlight(i);
			case K.thread:
				this.above = true;
				return this.line(i, kind, this.palette.thread, 2);
			case K.running:
				return this.line(i, kind, this.palette.running, 3);
			case K.creation:
			case K.becomes:
				return this.upright(i, kind);
			case K["open-end"]:
				return this.openEnd(i);
			case K.failed:
				this.above = true;
				return this.failed(i);
			case K.label:
			case K.type:
				return this.text(i, kind);
			case K.tick:
				return this.tick(i);
			case K.counter:
				return this.counter(i);
			case K["counter-name"]:
				return this.counterName(i);
			case K["band-name"]:
				return this.bandName(i);
			case K.lane:
				return this.lane(i);
			case K.envelope:
				return this.envelope(i);
		}
	}
}

/** Return an estimate of the width of TEXT in pixels, for use without a canvas. */
export function roughWidth(text) {
	return text.length * 6.6;
}

/**
 * Return the layers of MARKS for a picture of SIZE {width, height}. MEASURE(text) returns a width
 * in pixels. CAPTIONOF(index, name) returns the caption of a counter; CAPTIONOF(null, "", stream)
 * returns the name of a stream's track, or "" for none.
 */
export function plan(marks, palette, size, measure = roughWidth, captionOf = (_, name) => name) {
	const planner = new Planner(marks, palette, size, measure, captionOf);

	for (let i = 0; i < marks.n; i++) planner.mark(i);
	planner.placeLabels();
	const layers = shadowsFirst(planner.layers.list);
	unhide(layers, "label", "type");
	unhide(layers, "counter-name", "band-name");
	unhide(layers, "busy-name", "band-name");
	return layers;
}

const LINE = 14; /* height of a text, pixels */
const LIFT = 3; /* distance of a label from the line below it, pixels; a lower label would be crossed by that line */
const FEW = 128; /* most shapes in one path */

/** Remove the texts of the layers WEAK that overlap a text of the layers STRONG. */
function unhide(layers, strong, weak) {
	const taken = new Map();
	const left = (it) => it.x - (it.align === "right" ? it.width : it.align === "center" ? it.width / 2 : 0);

	for (const layer of layers)
		if (layer.kind === strong)
			for (const it of layer.texts) {
				const key = Math.floor(it.y / LINE);
				taken.has(key) ? taken.get(key).push(it) : taken.set(key, [it]);
			}
	const hidden = (it) =>
		[-1, 0, 1].some((by) =>
			(taken.get(Math.floor(it.y / LINE) + by) ?? []).some(
				(other) =>
					Math.abs(other.y - it.y) < LINE - 2 &&
					left(other) < left(it) + it.width &&
					left(it) < left(other) + other.width,
			),
		);
	for (const layer of layers) if (layer.kind === weak) layer.texts = layer.texts.filter((it) => !hidden(it));
}

/*
 * Sort the layers so that all shadows of counters lie below all curves, and the names of tracks
 * come last.
 */
function shadowsFirst(layers) {
	const at = layers.findIndex((layer) => layer.kind === "counter");
	const shadow = layers.findIndex((layer) => layer.kind === "counter-shadow");

	if (shadow > at && at >= 0) layers.splice(at, 0, ...layers.splice(shadow, 1));
	const names = layers.findIndex((layer) => layer.kind === "busy-name");
	if (names >= 0) layers.push(...layers.splice(names, 1));
	return layers;
}

/** Return a pattern of slanting lines, for missing or unproven data. */
export function hatching(ctx, colour) {
	const tile = new OffscreenCanvas(8, 8);
	const pen = tile.getContext("2d");

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

/*
 * Fill rectangles as one path. So the opacity of transparent rectangles does not add up where they
 * overlap.
 */
function fillShape(ctx, data) {
	ctx.beginPath();
	for (let i = 0; i < data.length; i += 4) ctx.rect(data[i], data[i + 1], data[i + 2], data[i + 3]);
	ctx.fill();
}

function fillRects(ctx, data) {
	for (let i = 0; i < data.length; i += 4) ctx.fillRect(data[i], data[i + 1], data[i + 2], data[i + 3]);
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

/*
 * Fill heads of arrows. Opaque ones are filled in several paths, because one path with thousands of
 * corners is slow.
 */
function fillHeads(ctx, {data, alpha}) {
	const most = alpha < 1 ? data.length : 6 * FEW;

	for (let first = 0; first < data.length; first += most) {
		ctx.beginPath();
		for (let i = first; i < Math.min(first + most, data.length); i += 6) {
			ctx.moveTo(data[i], data[i + 1]);
			ctx.lineTo(data[i + 2], data[i + 3]);
			ctx.lineTo(data[i + 4], data[i + 5]);
		}
		ctx.fill();
	}
}

function writeTexts(ctx, layer, palette) {
	ctx.font = layer.kind === "counter-name" ? `bold ${FONT}` : FONT;
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

/**
 * Paint LAYERS over the whole canvas of CTX. BATCH is a BatchRaster that the caller may keep for
 * the next picture on the same canvas.
 */
export function paint(ctx, layers, palette, size, batch = new BatchRaster(ctx)) {
	ctx.globalAlpha = 1;
	ctx.fillStyle = palette.back;
	ctx.fillRect(0, 0, size.width, size.height);
	for (const layer of layers) {
		if (batch.take(layer)) continue;
		batch.flush();
		ctx.globalAlpha = layer.alpha;
		ctx.fillStyle = layer.shape === "hatch" ? hatching(ctx, layer.colour) : layer.colour;
		ctx.strokeStyle = layer.colour;
		if (layer.shape === "rect" && layer.alpha < 1 && layer.kind.startsWith("counter")) fillShape(ctx, layer.data);
		else if (layer.shape === "rect" || layer.shape === "hatch") fillRects(ctx, layer.data);
		else if (layer.shape === "line") strokeLines(ctx, layer);
		else if (layer.shape === "head") fillHeads(ctx, layer);
		else writeTexts(ctx, layer, palette);
	}
	batch.flush();
	ctx.globalAlpha = 1;
}
