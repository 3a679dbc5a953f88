/*
 * The picture on the screen.  The worker paints it; until a new one is there the old one is shown moved and stretched to where it belongs, so that a
 * hand never waits for a model.
 */
import {make} from "../page/make.js";
import {Marks} from "../draw/marks.js";
import {paintOverlay, primitives} from "./overlay.js";
import {plan} from "../draw/paint.js";
import {Widths} from "../draw/painter.js";
import {tick} from "../page/times.js";

export const RULER = 22; /* pixels of height */
export const FLAGS_ALL = 7;
export const FLAGS_NO_COUNTERS = 6;

const WORK_KEPT = 1000;

/** CANVAS at this size, and its pen; one that is opaque costs less to put together with the others. */
function fitted(canvas, width, height, alpha = false) {
	const ratio = devicePixelRatio || 1;
	const [w, h] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];

	if (canvas.width !== w || canvas.height !== h) {
		canvas.width = w;
		canvas.height = h;
		canvas.style.width = `${width}px`;
		canvas.style.height = `${height}px`;
	}
	const ctx = canvas.getContext("2d", {alpha});
	ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
	return ctx;
}

export class CanvasView {
	/** hooks: palette(), counter(index, name) -> what stands at it, overlay() -> state for overlay.js, drawn(), failed(error), sized() */
	constructor(engine, camera, hooks) {
		Object.assign(this, {engine, camera, hooks});
		this.ruler = make("canvas", {className: "tl-ruler", "aria-hidden": "true"});
		this.picture = make("canvas", {className: "tl-picture", "aria-hidden": "true"});
		this.pixels = this.picture.getContext("bitmaprenderer");
		this.canvas = make("canvas", {
			id: "tl-canvas",
			className: "tl-canvas",
			tabIndex: 0,
			role: "application",
			"aria-label": "Time line",
			"aria-describedby": "tl-view",
		});
		this.pictures = make("div", {className: "tl-pictures"}, this.picture, this.canvas);
		this.element = make("div", {className: "tl-canvas-view"}, this.ruler, this.pictures);
		this.flags = FLAGS_ALL;
		this.shown = null; /* the picture that is painted: {marks, window, yOf, rowAt, gridNs} */
		this.arrived = null; /* one that is not yet */
		this.drag = null; /* {row, y}: the row that a hand holds, and where */
		this.stale = true;
		this.asking = false;
		this.work = []; /* ms of this thread, of the last frames */
		this.resizing = new ResizeObserver(() => this.resize());
		this.resizing.observe(this.pictures);
	}

	close() {
		this.resizing.disconnect();
		cancelAnimationFrame(this.wanted);
		this.closed = true;
	}

	resize() {
		const {clientWidth, clientHeight} = this.pictures;

		if (!clientWidth || !clientHeight) return;
		this.camera.size(clientWidth, clientHeight);
		this.hooks.sized();
		this.changed();
	}

	/** The camera moved, or what lies over the picture changed. */
	changed() {
		if (!this.wanted && !this.closed) this.wanted = requestAnimationFrame(() => this.frame());
	}

	/** The model, its highlights or what is drawn of it changed. */
	renew() {
		this.stale = true;
		this.changed();
	}

	get window() {
		const {from, to, focus, width, height} = this.camera;
		const plain = {focus, height, letter: 6.6, flags: this.flags};

		if (from >= 0n) return {...plain, from, to, width};
		/* There is no time before 0: what lies there stays empty. */
		return to > 0n
			? {...plain, from: 0n, to, width: Math.max(width - this.camera.xOf(0n), 1)}
			: {...plain, from: 0n, to: to - from, width};
	}

	/** The thread that is nearest to a point, up to REACH pixels away, or null. */
	near(x, y, reach) {
		const {window} = this;

		return this.engine.near(window, x - this.camera.xOf(window.from), y, reach);
	}

	frame() {
		const began = performance.now();

		this.wanted = 0;
		if (this.closed) return;
		if (this.arrived) this.take();
		this.place();
		this.paintRuler();
		this.paintOverlay();
		this.hooks.drawn();
		if (this.engine && !this.asking && this.isOld()) this.ask();
		this.work.push(performance.now() - began);
		if (this.work.length > WORK_KEPT) this.work.shift();
	}

	/** Until a picture of the camera as it is now is painted. */
	async painted() {
		this.renew();
		while (!this.closed && (this.stale || this.asking || this.arrived || !this.shown))
			await new Promise((resolve) => requestAnimationFrame(resolve));
	}

	isOld() {
		const is = this.window;
		const was = this.asked;

		return this.stale || this.drag?.moved || !was || Object.keys(is).some((key) => is[key] !== was[key]);
	}

	async ask() {
		this.asking = true;
		try {
			if (this.drag?.moved) {
				this.drag.moved = false;
				this.camera.look(await this.engine.focus(this.window, this.drag.row, this.drag.y));
			}
			const window = this.window;
			this.stale = false;
			this.asked = window;
			const answer = await this.engine.frame(window, {
				dark: this.hooks.palette().dark,
				ratio: devicePixelRatio || 1,
			});
			if (answer) this.arrived = {answer, window};
		} catch (error) {
			this.hooks.failed(error);
		} finally {
			this.asking = false;
			this.changed();
		}
	}

	/** Show what has arrived. */
	take() {
		const {answer, window} = this.arrived;
		const {bitmap} = answer;
		const {picture} = this;

		this.arrived = null;
		if (
			picture.width !== bitmap.width ||
			picture.height !== bitmap.height ||
			this.shown?.window.width !== window.width
		) {
			picture.width = bitmap.width;
			picture.height = bitmap.height;
			picture.style.width = `${window.width}px`;
			picture.style.height = `${window.height}px`;
		}
		this.pixels.transferFromImageBitmap(bitmap);
		this.first ??= performance.now();
		this.shown = {
			marks: new Marks(answer.marks, answer.n, answer.text),
			window,
			yOf: answer.rowY,
			rowAt: answer.rowAt,
			gridNs: answer.gridNs,
		};
	}

	/** The layers of the picture that is shown, as the worker painted them. */
	layers() {
		const widths = new Widths(new OffscreenCanvas(1, 1).getContext("2d"));
		const {marks, window} = this.shown;

		return plan(
			marks,
			this.hooks.palette(),
			window,
			(text) => widths.of(text),
			(index, name) => this.hooks.counter(index, name),
		);
	}

	/** Put the picture that is there where the camera is by now. */
	place() {
		if (!this.shown) return;
		const {window} = this.shown;
		const x0 = this.camera.xOf(window.from);
		const stretch = (this.camera.xOf(window.to) - x0) / window.width;
		const dy = this.drag ? this.drag.y - this.shown.yOf(this.drag.row) : 0;
		const still = Math.abs(x0) < 1e-6 && Math.abs(stretch - 1) < 1e-9 && Math.abs(dy) < 0.5;

		this.picture.style.transform = still ? "" : `translate(${x0}px, ${dy}px) scale(${stretch}, 1)`;
	}

	/** Where a row is on the screen now. */
	y(row) {
		return this.shown ? this.shown.yOf(row) + (this.drag ? this.drag.y - this.shown.yOf(this.drag.row) : 0) : 0;
	}

	/** The row at height Y. */
	row(y) {
		const {shown, drag} = this;

		return shown ? shown.rowAt(drag ? y - drag.y + shown.yOf(drag.row) : y) : this.camera.focus;
	}

	grab(y) {
		this.drag = {row: this.row(y), y, moved: false};
	}

	pull(y) {
		if (this.drag) Object.assign(this.drag, {y, moved: true});
	}

	drop() {
		this.drag = null;
		this.changed();
	}

	/** Lines of the grid with their times, as texts beside the beginning of the trace. */
	ticks() {
		const {camera} = this;
		const step = this.shown.gridNs;
		const least = camera.length(90) + 1n;
		let every = step > 0n ? step : 1n;

		for (let i = 0; every < least; i++) every *= i % 3 === 1 ? 5n : 2n;
		for (; every % step && step > 0n;) every += step - (every % step);
		const out = [];
		const first = camera.from - camera.start;
		let at = first >= 0n ? (first / every) * every : -(-first / every) * every;
		for (; at + camera.start <= camera.to && out.length < 200; at += every)
			if (at >= 0n) out.push({x: camera.xOf(at + camera.start), text: tick(at, every)});
		return out;
	}

	paintRuler() {
		const palette = this.hooks.palette();
		const {width, from, to} = this.camera;
		const key = `${from} ${to} ${width} ${devicePixelRatio} ${palette.dark} ${this.shown?.gridNs}`;

		if (key === this.ruled) return;
		this.ruled = key;
		const ctx = fitted(this.ruler, width, RULER);

		ctx.fillStyle = palette.ruler;
		ctx.fillRect(0, 0, width, RULER);
		if (!this.shown) return;
		ctx.font = "11px system-ui, sans-serif";
		ctx.fillStyle = palette.rulerText;
		ctx.textAlign = "left";
		this.tickList = this.ticks();
		for (const {x, text} of this.tickList) {
			ctx.fillRect(Math.round(x), RULER - 6, 1, 6);
			ctx.fillText(text, x + 3, RULER - 8);
		}
	}

	paintOverlay() {
		const {width, height} = this.camera;
		const was = this.over;
		const size = `${width} ${height} ${devicePixelRatio}`;

		this.over = this.shown ? primitives(this.hooks.overlay(), this.camera, (row) => this.y(row)) : [];
		/* Mostly there is nothing, and wiping the whole of a canvas is not free. */
		if (!this.over.length && !was?.length && size === this.overSize) return;
		this.overSize = size;
		const ctx = fitted(this.canvas, width, height, true);
		paintOverlay(ctx, this.over, this.hooks.palette(), this.camera);
	}
}
