/*
 * A raster: thousands of small shapes of one colour, set pixel by pixel. A canvas needs some
 * microseconds for each shape, while the cost of a raster depends only on the pixels. Edges are not
 * smoothed.
 */

/** Return "#rrggbb" as a little-endian pixel of an ImageData. */
function word(colour) {
	const n = parseInt(colour.slice(1), 16);

	return (0xff000000 | ((n & 0xff) << 16) | (n & 0xff00) | (n >> 16)) >>> 0;
}

/*
 * Set the pixels FROM to TO. Short runs are set in a loop, because a call of fill() costs more than
 * a few pixels.
 */
function fill(words, paint, from, to) {
	if (to - from > 32) words.fill(paint, from, to);
	else for (let i = from; i < to; i++) words[i] = paint;
}

export class Raster {
	/** Make a raster as large as CANVAS. RATIO is the device pixels per unit of the drawing. */
	constructor(canvas, ratio) {
		this.width = canvas.width;
		this.height = canvas.height;
		this.ratio = ratio;
		this.image = new ImageData(this.width, this.height);
		this.words = new Uint32Array(this.image.data.buffer);
		this.low = this.height; /* first row with pixels; HIGH is the row after the last one */
		this.high = 0;
	}

	get empty() {
		return this.high <= this.low;
	}

	/** Draw rectangles: DATA has [x, y, width, height] of each. */
	rects(data, colour) {
		const {width, height, ratio, words} = this;
		const paint = word(colour);

		for (let i = 0; i < data.length; i += 4) {
			const x0 = Math.max(Math.round(data[i] * ratio), 0);
			const x1 = Math.min(Math.round((data[i] + data[i + 2]) * ratio), width);
			const y0 = Math.max(Math.round(data[i + 1] * ratio), 0);
			const y1 = Math.min(Math.round((data[i + 1] + data[i + 3]) * ratio), height);
			if (x1 <= x0 || y1 <= y0) continue;
			for (let row = y0 * width; row < y1 * width; row += width) fill(words, paint, row + x0, row + x1);
			this.low = Math.min(this.low, y0);
			this.high = Math.max(this.high, y1);
		}
	}

	/** Draw triangles: DATA has the three corners of each. */
	heads(data, colour) {
		const paint = word(colour);

		for (let i = 0; i < data.length; i += 6) this.triangle(data, i, paint);
	}

	/*
	 * Fill a triangle row by row: a row is filled between the points where the edges cross the
	 * row's middle.
	 */
	triangle(data, at, paint) {
		const {width, height, ratio, words} = this;
		const top = Math.min(data[at + 1], data[at + 3], data[at + 5]) * ratio;
		const bottom = Math.max(data[at + 1], data[at + 3], data[at + 5]) * ratio;
		const y1 = Math.min(Math.ceil(bottom - 0.5), height);

		for (let y = Math.max(Math.ceil(top - 0.5), 0); y < y1; y++) {
			const middle = (y + 0.5) / ratio;
			let left = Infinity;
			let right = -Infinity;

			for (let k = 0; k < 6; k += 2) {
				const next = k < 4 ? k + 2 : 0;
				const xa = data[at + k];
				const ya = data[at + k + 1];
				const xb = data[at + next];
				const yb = data[at + next + 1];
				if (ya === yb || (ya < middle && yb < middle) || (ya > middle && yb > middle)) continue;
				const x = xa + ((xb - xa) * (middle - ya)) / (yb - ya);
				left = Math.min(left, x);
				right = Math.max(right, x);
			}
			const x0 = Math.max(Math.round(left * ratio), 0);
			const x1 = Math.min(Math.round(right * ratio), width);
			if (x1 <= x0) continue;
			fill(words, paint, y * width + x0, y * width + x1);
			this.low = Math.min(this.low, y);
			this.high = Math.max(this.high, y + 1);
		}
	}

	/**
	 * Draw the raster onto CTX with opacity ALPHA, then clear the raster. SHEET is the context
	 * of an empty canvas of the same size, used as a buffer.
	 */
	put(ctx, sheet, alpha) {
		const {low, high, width} = this;

		if (this.empty) return;
		sheet.putImageData(this.image, 0, 0, 0, low, width, high - low);
		ctx.save();
		ctx.setTransform(1, 0, 0, 1, 0, 0);
		ctx.globalAlpha = alpha;
		ctx.drawImage(sheet.canvas, 0, low, width, high - low, 0, low, width, high - low);
		ctx.restore();
		sheet.clearRect(0, low, width, high - low);
		this.words.fill(0, low * width, high * width);
		this.low = this.height;
		this.high = 0;
	}
}

/*
 * A batch raster: draws layers with very many shapes through a Raster. Consecutive opaque layers
 * share one raster.
 */

const MANY = 800; /* number of shapes from which on a raster is faster than a canvas */

export class BatchRaster {
	constructor(ctx) {
		this.ctx = ctx;
		this.raster = null;
	}

	/**
	 * Add LAYER to the raster if it has many shapes, and return true. Otherwise return false;
	 * the caller then paints the layer. flush() draws the added layers.
	 */
	take(layer) {
		const heads = layer.shape === "head";
		const many = layer.data.length > MANY * (heads ? 6 : 4);
		const one = layer.alpha === 1 || layer.kind.startsWith("counter");

		if (!many || !one || !(heads || layer.shape === "rect") || typeof ImageData === "undefined") return false;
		if (layer.alpha < 1 || this.alpha < 1) this.flush();
		this.open();
		this.alpha = layer.alpha;
		if (heads) this.raster.heads(layer.data, layer.colour);
		else this.raster.rects(layer.data, layer.colour);
		return true;
	}

	open() {
		const {canvas} = this.ctx;

		if (this.raster) return;
		this.sheet = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d");
		this.raster = new Raster(canvas, this.ctx.getTransform().a);
	}

	flush() {
		this.raster?.put(this.ctx, this.sheet, this.alpha);
	}
}
