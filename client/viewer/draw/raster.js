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

/*
 * Return PAINT of opacity STEP, of 255, painted over the pixel BELOW, which may be transparent.
 */
function over(below, paint, step) {
	const rest = ((below >>> 24) * (255 - step)) / 255;
	const alpha = step + rest;
	const part = (shift) => (((paint >>> shift) & 0xff) * step + ((below >>> shift) & 0xff) * rest) / alpha;

	return ((Math.round(alpha) << 24) | (part(16) << 16) | (part(8) << 8) | part(0)) >>> 0;
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

	/** Draw rectangles of opacity ALPHA: DATA has [x, y, width, height] of each. */
	rects(data, colour, alpha = 1) {
		const {width, height, ratio, words} = this;
		const paint = word(colour);
		const step = Math.round(alpha * 255);

		for (let i = 0; i < data.length; i += 4) {
			const x0 = Math.max(Math.round(data[i] * ratio), 0);
			const x1 = Math.min(Math.round((data[i] + data[i + 2]) * ratio), width);
			const y0 = Math.max(Math.round(data[i + 1] * ratio), 0);
			const y1 = Math.min(Math.round((data[i + 1] + data[i + 3]) * ratio), height);
			if (x1 <= x0 || y1 <= y0) continue;
			for (let row = y0 * width; row < y1 * width; row += width)
				if (step === 255) fill(words, paint, row + x0, row + x1);
				else for (let at = row + x0; at < row + x1; at++) words[at] = over(words[at], paint, step);
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
 * A raster of shades: areas whose edges lie on a coarse grid, so that the raster has fewer rows than
 * the canvas. Shades of several colours on a pixel are mixed.
 */

const SHADE_ROW = 6; /* height of a row, pixels: about that of a cell in scene-shade.c */

class ShadeRaster {
	constructor(canvas, ratio) {
		this.width = canvas.width;
		this.ratio = ratio;
		this.rows = Math.max(Math.floor(canvas.height / ratio / SHADE_ROW), 1);
		this.scale = this.rows / (canvas.height / ratio); /* rows for each pixel of the drawing */
		this.mixed = new Float32Array(
			this.width * this.rows * 4,
		); /* red, green, blue, times the opacity, and the opacity */
	}

	rects(data, colour, alpha) {
		const n = parseInt(colour.slice(1), 16);
		const [red, green, blue] = [n >> 16, (n >> 8) & 0xff, n & 0xff].map((part) => part * alpha);
		const {mixed, width, rows, ratio, scale} = this;

		for (let i = 0; i < data.length; i += 4) {
			const x0 = Math.max(Math.round(data[i] * ratio), 0);
			const x1 = Math.min(Math.round((data[i] + data[i + 2]) * ratio), width);
			const y0 = Math.max(Math.round(data[i + 1] * scale), 0);
			const y1 = Math.min(Math.round((data[i + 1] + data[i + 3]) * scale), rows);

			for (let y = y0; y < y1; y++)
				for (let at = (y * width + x0) * 4; at < (y * width + x1) * 4; at += 4) {
					mixed[at] = red + mixed[at] * (1 - alpha);
					mixed[at + 1] = green + mixed[at + 1] * (1 - alpha);
					mixed[at + 2] = blue + mixed[at + 2] * (1 - alpha);
					mixed[at + 3] = alpha + mixed[at + 3] * (1 - alpha);
				}
		}
	}

	/** Draw the raster onto CTX, as large as the canvas. */
	put(ctx) {
		const image = new ImageData(this.width, this.rows);
		const {mixed} = this;

		for (let at = 0; at < mixed.length; at += 4) {
			const alpha = mixed[at + 3];

			if (!alpha) continue;
			for (let part = 0; part < 3; part++) image.data[at + part] = mixed[at + part] / alpha;
			image.data[at + 3] = alpha * 255;
		}
		const sheet = new OffscreenCanvas(this.width, this.rows);
		sheet.getContext("2d").putImageData(image, 0, 0);
		ctx.save();
		ctx.setTransform(1, 0, 0, 1, 0, 0);
		ctx.globalAlpha = 1;
		ctx.drawImage(sheet, 0, 0, ctx.canvas.width, ctx.canvas.height);
		ctx.restore();
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
		if (layer.kind === "shade" && typeof ImageData !== "undefined") {
			if (!this.shades) this.flush();
			this.shades ??= new ShadeRaster(this.ctx.canvas, this.ctx.getTransform().a);
			this.shades.rects(layer.data, layer.colour, layer.alpha);
			return true;
		}
		const heads = layer.shape === "head";
		const many = layer.data.length > MANY * (heads ? 6 : 4);
		const mixed = ["thread", "running", "failed"].includes(layer.kind);
		const one = layer.alpha === 1 || mixed || layer.kind.startsWith("counter");

		if (!many || !one || !(heads || layer.shape === "rect") || typeof ImageData === "undefined") return false;
		const alpha = mixed ? 1 : layer.alpha;
		if (alpha < 1 || this.alpha < 1) this.flush();
		this.open();
		this.alpha = alpha;
		if (heads) this.raster.heads(layer.data, layer.colour);
		else this.raster.rects(layer.data, layer.colour, mixed ? layer.alpha : 1);
		return true;
	}

	open() {
		const {canvas} = this.ctx;

		if (this.raster) return;
		this.sheet = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d");
		this.raster = new Raster(canvas, this.ctx.getTransform().a);
	}

	flush() {
		this.shades?.put(this.ctx);
		this.shades = null;
		this.raster?.put(this.ctx, this.sheet, this.alpha);
	}
}
