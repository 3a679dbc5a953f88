/*
 * The window of time and the focused row.  Times are BigInt nanoseconds and all arithmetic on them is of integers, so that a window of ten
 * nanoseconds at the end of 2^63 stands as still under the pointer as one at 0.  Knows nothing of what is drawn.
 */

/** The largest time of a model. */
export const TIME_MAX = (1n << 63n) - 1n;
/** The least time that a window spans, ns. */
export const SPAN_MIN = 10n;
/** What is left free beside the trace's ends, pixels. */
export const MARGIN = 20;

const FINE = 1024; /* parts of a pixel */
const PARTS = 1n << 32n; /* of a zoom factor */

const most = (a, b) => (a > b ? a : b);
const least = (a, b) => (a < b ? a : b);

/** A / B to the nearest, of a B above 0. */
function divided(a, b) {
	const twice = 2n * a + b;
	const q = twice / (2n * b);

	return twice < 0n && twice % (2n * b) !== 0n ? q - 1n : q;
}

export class Camera {
	constructor() {
		this.start = 0n;
		this.end = 1n;
		this.rows = 1;
		this.width = 1000;
		this.height = 600;
		this.focus = 0;
		this.from = 0n;
		this.to = SPAN_MIN;
		this.floor = 0n; /* below 0 where another trace begins there */
		this.held = null; /* what the last step of a zoom held in its place, in parts of a nanosecond */
		this.fit();
	}

	get span() {
		return this.to - this.from;
	}

	/** What the whole trace is: times, and rows of its layout.  The window stays where it is as far as it may. */
	trace(start, end, rows) {
		this.floor = 0n;
		this.start = least(most(start, 0n), TIME_MAX);
		this.end = least(most(end, this.start), TIME_MAX);
		this.rows = Math.max(1, rows);
		this.show(this.from, this.to);
		this.look(this.focus);
	}

	/** Another trace, from START up to END, is seen with it, which is WHOLE {start, end}. */
	join(start, end, whole) {
		this.start = least(start, whole.start);
		this.end = least(most(end, whole.end), TIME_MAX);
		this.floor = least(this.start - (this.end - this.start), 0n);
		this.show(this.from, this.to);
	}

	/** The picture's size in pixels.  The range stays. */
	size(width, height) {
		this.width = Math.max(1, Math.round(width));
		this.height = Math.max(1, Math.round(height));
		this.show(this.from, this.to);
	}

	/** The whole trace and its margins. */
	get widest() {
		const whole = this.end - this.start;
		const inner = BigInt(Math.max(1, this.width - 2 * MARGIN));

		return most((whole * BigInt(this.width)) / inner + 2n, SPAN_MIN);
	}

	fit() {
		const span = this.widest;

		this.show(this.start - (span - (this.end - this.start)) / 2n, this.start + span);
		this.look(this.rows / 2);
	}

	/** Show FROM up to TO, as far as that is in the trace; too short a range is widened around its middle. */
	show(from, to) {
		const span = least(most(to - from, SPAN_MIN), this.widest);
		const margin = (span * BigInt(MARGIN)) / BigInt(this.width) + 1n;
		const first = most(this.start - margin, this.floor);
		const last = most(least(this.end + margin, TIME_MAX) - span, first);
		const wanted = to - from < span ? from - (span - (to - from)) / 2n : from;

		this.from = least(most(wanted, first), last);
		this.to = this.from + span;
	}

	/** Put ROW (fractions too) into the focus. */
	look(row) {
		this.focus = Number.isFinite(row) ? Math.min(Math.max(row, 0), this.rows) : this.rows / 2;
	}

	/** The time at X pixels, to the nearest nanosecond. */
	timeAt(x) {
		return this.from + divided(this.span * BigInt(Math.round(x * FINE)), BigInt(this.width * FINE));
	}

	/** Where a time is, pixels; also outside. */
	xOf(time) {
		return (Number(time - this.from) / Number(this.span)) * this.width;
	}

	/** How long X pixels are. */
	length(x) {
		return divided(this.span * BigInt(Math.round(x * FINE)), BigInt(this.width * FINE));
	}

	/** Move by X pixels: what lay at 0 lies at X then. */
	pan(x) {
		const by = this.length(x);

		this.show(this.from - by, this.to - by);
	}

	/** Show FACTOR times as much detail; the time at X stays there, to the nanosecond, through any number of steps. */
	zoom(x, factor) {
		const parts = BigInt(Math.max(1, Math.round(factor * Number(PARTS))));
		const share = (span) => (span * PARTS * BigInt(Math.round(x * FINE))) / BigInt(this.width * FINE);
		let span = divided(this.span * PARTS, parts);
		let at = this.from * PARTS + share(this.span);

		if (this.held && this.held.x === x && this.held.from === this.from && this.held.to === this.to)
			at = this.held.at;
		/* Near the end of nanoseconds a step of a fifth would round to none. */
		if (span === this.span && factor !== 1) span += factor > 1 ? -1n : 1n;
		span = least(most(span, SPAN_MIN), this.widest);
		const from = divided(at - share(span), PARTS);
		this.show(from, from + span);
		/* Where the margins moved it, it is another time that is held from here on. */
		this.held = this.from === from ? {x, at, from: this.from, to: this.to} : null;
	}

	/** Two fingers: the times under X0 and X1 go to TO0 and TO1. */
	pinch(x0, x1, to0, to1) {
		const was = Math.abs(x1 - x0);
		const is = Math.abs(to1 - to0);

		this.pan((to0 + to1 - x0 - x1) / 2);
		if (was >= 1 && is >= 1) this.zoom((to0 + to1) / 2, is / was);
	}

	/** Put TIME into the middle, at the scale there is. */
	center(time) {
		const span = this.span;

		this.show(time - span / 2n, time - span / 2n + span);
	}

	/** Is TIME in the window, EDGE pixels from its sides at least? */
	sees(time, edge = 0) {
		const x = this.xOf(time);

		return x >= edge && x <= this.width - edge;
	}
}

/* A camera that looks where another one does, SHIFT apart: only its rows are its own.  It may look at times before 0. */

export class LinkedCamera extends Camera {
	/** Look at what CAMERA does, SHIFT before; true where that is somewhere else than before. */
	follow(camera, shift) {
		const from = camera.from - shift;
		const to = camera.to - shift;
		const moved = from !== this.from || to !== this.to;

		this.from = from;
		this.to = to;
		return moved;
	}

	/** It does not go anywhere by itself. */
	show() {}
}
