/*
 * The painter: makes pictures as pixels in the worker. Painting without a graphics card is slow, so
 * it is not done in the page's thread, which must react to the pointer.
 */
import {BatchRaster} from "./raster.js";
import {Marks} from "./marks.js";
import {FONT, paint, plan} from "./paint.js";
import {palette} from "./theme.js";

const WIDTHS_MAX = 20000;

/** A cache of text widths on a canvas context. */
export class Widths {
	constructor(pen) {
		pen.font = FONT;
		this.pen = pen;
		this.known = new Map();
	}

	of(text) {
		let width = this.known.get(text);

		if (width === undefined) {
			if (this.known.size > WIDTHS_MAX) this.known.clear();
			width = this.pen.measureText(text).width;
			this.known.set(text, width);
		}
		return width;
	}
}

export class Painter {
	constructor() {
		this.canvas = null;
		this.widths = new Widths(new OffscreenCanvas(1, 1).getContext("2d"));
	}

	/** Resize the canvas to WIDTH by HEIGHT, with RATIO device pixels per pixel. */
	fit({width, height}, ratio) {
		const [w, h] = [width, height].map((it) => Math.max(1, Math.round(it * ratio)));

		if (this.canvas?.width !== w || this.canvas.height !== h) {
			this.canvas = new OffscreenCanvas(w, h);
			this.ctx = this.canvas.getContext("2d", {alpha: false});
			this.batch = null;
		}
		this.ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
		this.batch ??= new BatchRaster(this.ctx);
	}

	/**
	 * Return PICTURE {marks, n, text} of WINDOW as an ImageBitmap. LOOK is {dark: use the dark
	 * palette, ratio: device pixels per pixel}. CAPTIONOF is as for plan(). COLOURS is the
	 * palette.
	 */
	paint({marks, n, text}, window, {dark, ratio}, captionOf, colours = palette(dark)) {
		this.fit(window, ratio);
		paint(
			this.ctx,
			plan(new Marks(marks, n, text), colours, window, (it) => this.widths.of(it), captionOf),
			colours,
			window,
			this.batch,
		);
		return this.canvas.transferToImageBitmap();
	}
}
