/* Layers of so many shapes that they are set pixel by pixel: those of full strength that follow each other together. */
import {Raster} from "./raster.js";

const MANY = 800; /* shapes from which on pixels are cheaper */

export class Crowd {
	constructor(ctx) {
		this.ctx = ctx;
		this.raster = null;
	}

	/** Take LAYER, where it is one of many shapes; what is taken is on the picture after flush(). */
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
