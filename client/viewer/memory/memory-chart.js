/*
 * The chart of live memory over time. A click or Enter selects a moment. Dragging, or Shift with
 * the arrow keys, selects a range. A click or Enter with Shift compares with the selection before. The
 * chart requests one value per pixel.
 */
import {make} from "../page/make.js";
import {HEIGHT, Plot} from "./memory-plot.js";

const DRAG = 4; /* most pixels that the pointer may move during a click */
const ASKED_MAX = 4096;
const HOW = "Click: objects that lived then. Draw: objects allocated in a range.";
const SHIFT = " Shift and click: what changed since the click before.";
const PART = " The lower, orange line: the counted objects.";

export class Chart extends Plot {
	/**
	 * HOOKS: choose({at} | {from, to} | null, against): the user selected a moment, a range or
	 * nothing; AGAINST is true for a comparison with the selection before;
	 * ask(n): request lines of N values, one per pixel; tell(text): announce TEXT to screen
	 * readers; dark(): return true for dark colours.
	 */
	constructor(hooks) {
		super();
		this.hooks = hooks;
		this.how = matchMedia("(any-pointer: fine)").matches ? HOW + SHIFT : HOW; /* a finger has no Shift */
		this.canvas = make("canvas", {
			className: "mem-chart",
			id: "mem-chart",
			tabIndex: 0,
			role: "application",
			"aria-label":
				"Live memory over time. Left and Right move, Enter chooses the moment, with Shift what changed since the one before; with Shift the arrows draw a range, Escape chooses everything.",
			"aria-describedby": "mem-chart-says",
		});
		this.says = make("p", {className: "mem-says", id: "mem-chart-says", textContent: this.how});
		this.element = make("div", {className: "mem-chart-box"}, this.canvas);
		this.lines = null; /* argument of show(), or null before the first answer */
		this.chosen = null; /* the selection: {at}, {from, to} (µs) or null */
		this.base = null; /* the selection that CHOSEN is compared with, in the same form */
		this.pointer = null; /* time under the pointer, µs, or null */
		this.mark = null; /* time of the crosshair that keys move, µs, or null */
		this.listen();
		this.observer = new ResizeObserver(() => this.resize());
		this.observer.observe(this.element);
	}

	close() {
		this.observer.disconnect();
		cancelAnimationFrame(this.frame);
		this.closed = true;
	}

	listen() {
		const {canvas} = this;

		canvas.addEventListener("pointerdown", (event) => this.down(event));
		canvas.addEventListener("pointermove", (event) => this.move(event));
		canvas.addEventListener("pointerup", (event) => this.up(event));
		canvas.addEventListener("pointercancel", () => this.drop());
		canvas.addEventListener("pointerleave", () => this.leave());
		canvas.addEventListener("keydown", (event) => this.key(event));
	}

	resize() {
		const width = Math.floor(this.element.clientWidth);

		if (width < 1 || width === this.width) return;
		this.width = width;
		const ratio = devicePixelRatio || 1;
		this.canvas.width = Math.round(width * ratio);
		this.canvas.height = Math.round(HEIGHT * ratio);
		this.hooks.ask(Math.min(this.plot, ASKED_MAX));
		this.draw();
	}

	/** Set INFO, the answer of heap.load(). WALLED: the axis shows the time of day. */
	know(info, walled) {
		this.info = info;
		this.walled = walled && info.startUs > 0n;
		this.draw();
	}

	/**
	 * Show LINES: {from, to, full, part}. FROM and TO are times (µs). FULL has the live bytes of all
	 * objects, PART those of the filtered objects (null without a filter). Value I of N is the one at
	 * the time FROM + (TO - FROM) * (I + 1) / N.
	 */
	show(lines) {
		this.lines = lines;
		this.says.textContent = lines.part ? this.how + PART : this.how;
		this.draw();
	}

	/** Set the selection, and the one that it is compared with: {at}, {from, to} or null. */
	choose(chosen, base = null) {
		this.chosen = chosen;
		this.base = base;
		this.draw();
	}

	draw() {
		this.frame ||= requestAnimationFrame(() => {
			this.frame = 0;
			if (!this.closed && this.info && this.width) this.paint();
		});
	}

	// Pointer.

	place(event) {
		return event.clientX - this.canvas.getBoundingClientRect().left;
	}

	down(event) {
		if (event.button !== 0 || !this.info) return;
		this.canvas.setPointerCapture(event.pointerId);
		this.held = this.place(event);
		this.mark = null;
	}

	move(event) {
		if (!this.info) return;
		const x = this.place(event);

		this.pointer = this.time(x);
		if (this.held !== undefined && (this.drawn || Math.abs(x - this.held) >= DRAG)) {
			const ends = [this.time(this.held), this.pointer].sort((a, b) => a - b);
			this.drawn = {from: ends[0], to: ends[1]};
		}
		this.draw();
	}

	up(event) {
		if (this.held === undefined) return;
		const {drawn} = this;

		this.drop();
		if (drawn && drawn.to > drawn.from) this.hooks.choose(drawn);
		else this.hooks.choose({at: this.time(this.place(event))}, event.shiftKey);
		if (event.pointerType !== "mouse") this.leave();
	}

	drop() {
		this.held = undefined;
		this.drawn = null;
		this.draw();
	}

	leave() {
		if (this.held !== undefined) return;
		this.pointer = null;
		this.draw();
	}

	// Keys.

	key(event) {
		const steps = {ArrowLeft: -1, ArrowRight: 1, PageUp: -32, PageDown: 32}[event.key];
		const ends = {Home: 0, End: this.end}[event.key];

		if (!this.info || event.ctrlKey || event.altKey || event.metaKey) return;
		if (steps !== undefined || ends !== undefined)
			this.walk(
				ends ?? this.time(this.x(this.mark ?? this.chosen?.at ?? this.end / 2) + 4 * steps),
				event.shiftKey,
			);
		else if (event.key === "Enter" || event.key === " ") this.enter(event.shiftKey);
		else if (event.key === "Escape") this.escape();
		else return;
		event.preventDefault();
		event.stopPropagation();
	}

	walk(to, drawing) {
		const from = this.mark ?? this.chosen?.at ?? to;

		this.anchor = drawing ? (this.anchor ?? from) : null;
		this.mark = to;
		this.pointer = null;
		const ends = drawing ? [this.anchor, to].sort((a, b) => a - b) : null;
		this.drawn = ends && ends[0] < ends[1] ? {from: ends[0], to: ends[1]} : null;
		this.hooks.tell(
			this.drawn
				? `From ${this.timeText(this.drawn.from)} to ${this.timeText(this.drawn.to)}; Enter chooses the range.`
				: this.momentText(to),
		);
		this.draw();
	}

	enter(against) {
		const {drawn} = this;

		if (this.mark === null && !drawn) return;
		this.drawn = null;
		this.anchor = null;
		this.hooks.choose(drawn ?? {at: this.mark}, against && !drawn);
	}

	escape() {
		this.mark = null;
		this.anchor = null;
		this.drawn = null;
		this.draw();
		this.hooks.choose(null);
	}
}
