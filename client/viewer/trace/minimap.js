/*
 * The minimap: a strip below the time line with the number of events over the whole trace, the
 * loaded part, and a frame around the window of time that the time line shows. The user drags the
 * frame, resizes it at its edges, or clicks beside it to move it.
 */
import {STEP, turned} from "./gestures.js";
import {make} from "../page/make.js";
import {span} from "../page/times.js";

/* Distance from an edge of the frame within which a press resizes the frame, pixels. */
const EDGE = 6;
const LEAST = 8; /* least width of the frame, pixels */

export class Minimap {
	/**
	 * PALETTE() returns the colours. hooks:
	 * - show(from, to): the user moved the frame to these times, ns;
	 * - zoom(time, factor): the user zoomed by FACTOR at TIME, ns; more than 1 zooms in;
	 * - pan(x): the user moved the picture by X pixels to the right.
	 */
	constructor(palette, hooks) {
		this.palette = palette;
		this.hooks = hooks;
		this.density = new Uint32Array(0);
		this.loaded = null; /* {from, to} in ns: the loaded part; null: all is loaded */
		this.start = 0n;
		this.end = 1n;
		this.canvas = make("canvas", {
			className: "tl-minimap",
			tabIndex: 0,
			role: "scrollbar",
			"aria-label": "The whole trace, and the window on it",
			"aria-orientation": "horizontal",
			"aria-controls": "tl-canvas",
			"aria-valuemin": "0",
			"aria-valuemax": "100",
			"aria-valuenow": "0",
		});
		this.listen();
	}

	/** Handle the pointer and the wheel. */
	listen() {
		const on = (name, handle) => this.canvas.addEventListener(name, handle.bind(this));

		on("pointerdown", this.down);
		on("pointermove", this.move);
		for (const name of ["pointerup", "pointercancel"]) on(name, () => (this.held = null));
		this.canvas.addEventListener("wheel", (event) => this.wheel(event), {passive: false});
	}

	/** Zoom at the time under the pointer, or move the frame if the wheel moves sideways. */
	wheel(event) {
		const {pan, notches} = turned(event);

		event.preventDefault();
		if (!this.camera) return;
		if (pan) this.hooks.pan(-(pan * Number(this.end - this.start)) / Number(this.camera.span));
		else if (notches) this.hooks.zoom(this.time(this.place(event)), STEP ** notches);
	}

	/**
	 * Show another trace. START and END are its times, ns. DENSITY has the numbers of events in
	 * equal parts of this time, a Uint32Array. LOADED is the loaded part {from, to}, ns, or null if
	 * all is loaded.
	 */
	trace(start, end, density, loaded = null) {
		Object.assign(this, {start, end: end > start ? end : start + 1n, density, loaded});
		this.kept = null;
		this.drawn = null;
	}

	/** Return the x of TIME, pixels. */
	x(time) {
		return (Number(time - this.start) / Number(this.end - this.start)) * this.width;
	}

	/** Return the time at X pixels, ns. */
	time(x) {
		const parts = BigInt(Math.round((x / this.width) * 2 ** 32));

		return this.start + (((this.end - this.start) * parts) >> 32n);
	}

	/**
	 * Return the left and right edge {x0, x1} in pixels of the frame around the window of CAMERA.
	 * The frame is at least LEAST wide, so that the user can grab it.
	 */
	window(camera) {
		let [x0, x1] = [Math.max(this.x(camera.from), 0), Math.min(this.x(camera.to), this.width)];

		if (x1 - x0 < LEAST) {
			x0 = Math.min(Math.max((x0 + x1 - LEAST) / 2, 0), this.width - LEAST);
			x1 = x0 + LEAST;
		}
		return {x0, x1};
	}

	/**
	 * Read the size of the minimap from the page. The caller does so only when the size changed,
	 * because the browser may have to compute the layout of the page for it.
	 */
	resize() {
		this.width = Math.max(this.canvas.clientWidth, 1);
		this.height = Math.max(this.canvas.clientHeight, 1);
	}

	/**
	 * Draw if the window of CAMERA, the colours or the trace changed. Return true if it was drawn.
	 */
	refresh(camera) {
		const key = `${camera.from} ${camera.to} ${this.palette().dark} ${camera.width}`;

		if (key === this.drawn) return false;
		this.drawn = key;
		this.draw(camera);
		return true;
	}

	/** Draw the minimap with the frame of CAMERA. */
	draw(camera) {
		const {canvas} = this;
		const palette = this.palette();
		const ratio = devicePixelRatio || 1;

		this.camera = camera;
		if (!this.width) this.resize();
		if (canvas.width !== Math.round(this.width * ratio) || canvas.height !== Math.round(this.height * ratio)) {
			canvas.width = Math.round(this.width * ratio);
			canvas.height = Math.round(this.height * ratio);
		}
		const ctx = canvas.getContext("2d", {alpha: false});
		ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
		ctx.drawImage(this.background(palette, ratio), 0, 0, this.width, this.height);
		this.frame(ctx, palette, this.window(camera));
		this.say(camera);
	}

	/**
	 * Return a canvas with the bars and the loaded part. It is painted again only if the trace, the
	 * size or the colours change.
	 */
	background(palette, ratio) {
		const {canvas} = this;

		if (
			this.kept &&
			this.kept.width === canvas.width &&
			this.kept.height === canvas.height &&
			this.kept.palette === palette
		)
			return this.kept;
		this.kept = make("canvas", {width: canvas.width, height: canvas.height});
		this.kept.palette = palette;
		const ctx = this.kept.getContext("2d", {alpha: false});
		ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
		ctx.fillStyle = palette.ruler;
		ctx.fillRect(0, 0, this.width, this.height);
		this.bars(ctx, palette);
		return this.kept;
	}

	/** Draw the loaded part in the background colour, and a bar for each part of the time. */
	bars(ctx, palette) {
		const {density} = this;
		let peak = 1;

		if (this.loaded) {
			ctx.fillStyle = palette.back;
			ctx.fillRect(this.x(this.loaded.from), 0, this.x(this.loaded.to) - this.x(this.loaded.from), this.height);
		}
		for (const n of density) peak = Math.max(peak, n);
		ctx.fillStyle = palette.thread;
		const step = this.width / Math.max(density.length, 1);
		/* The height of a bar is logarithmic, so that one event can be seen beside a million. */
		for (let i = 0; i < density.length; i++)
			if (density[i]) {
				const height = Math.max((Math.log1p(density[i]) / Math.log1p(peak)) * (this.height - 6), 2);
				ctx.fillRect(i * step, this.height - height, Math.max(step, 1), height);
			}
	}

	/** Draw the frame from X0 to X1 pixels, and make the rest pale. */
	frame(ctx, palette, {x0, x1}) {
		ctx.fillStyle = palette.back;
		ctx.globalAlpha = 0.65;
		ctx.fillRect(0, 0, x0, this.height);
		ctx.fillRect(x1, 0, this.width - x1, this.height);
		ctx.globalAlpha = 1;
		ctx.strokeStyle = palette.select;
		ctx.lineWidth = 2;
		ctx.strokeRect(x0 + 1, 1, Math.max(x1 - x0 - 2, 2), this.height - 2);
	}

	/** Tell screen readers where the window is. */
	say(camera) {
		const whole = Number(this.end - this.start);
		const at = Math.round((Number(camera.from - this.start) / whole) * 100);

		this.canvas.setAttribute("aria-valuenow", String(Math.min(Math.max(at, 0), 100)));
		this.canvas.setAttribute("aria-valuetext", `${span(camera.span)} from ${Math.max(at, 0)} % on`);
	}

	/** Return the x of the pointer in pixels of the minimap. */
	place(event) {
		const box = this.canvas.getBoundingClientRect();

		return event.clientX - box.left;
	}

	/**
	 * Begin to drag the frame or one of its edges. A press beside the frame first moves its middle
	 * there.
	 */
	down(event) {
		const x = this.place(event);
		const {x0, x1} = this.window(this.camera);

		if (event.button !== 0) return;
		this.canvas.setPointerCapture(event.pointerId);
		const side = Math.abs(x - x0) < EDGE ? "from" : Math.abs(x - x1) < EDGE ? "to" : "all";
		if (side === "all" && (x < x0 || x > x1)) {
			const middle = this.time(x);
			const half = this.camera.span / 2n;
			this.hooks.show(middle - half, middle - half + this.camera.span);
		}
		this.held = {side, x, from: this.camera.from, to: this.camera.to};
	}

	/**
	 * Move the frame or its edge with the pointer. Without a pressed button, show by the cursor
	 * what a press would do.
	 */
	move(event) {
		const x = this.place(event);

		if (!this.held) {
			const {x0, x1} = this.window(this.camera);
			const edge = Math.abs(x - x0) < EDGE || Math.abs(x - x1) < EDGE;
			this.canvas.style.cursor = edge ? "ew-resize" : x > x0 && x < x1 ? "grab" : "pointer";
			return;
		}
		const {side, from, to} = this.held;
		const by = this.time(x) - this.time(this.held.x);
		if (side === "from") this.hooks.show(from + by < to ? from + by : to - 10n, to);
		else if (side === "to") this.hooks.show(from, to + by > from ? to + by : from + 10n);
		else this.hooks.show(from + by, to + by);
	}
}
