/*
 * The camera: the visible window of time and the focused row. Times are BigInt nanoseconds, and all
 * arithmetic is on integers. So a window of ten nanoseconds is exact also near 2^63. The camera
 * does not draw.
 */

/** Largest time of a model. */
export const TIME_MAX = (1n << 63n) - 1n;
/** Least span of a window, ns. */
export const SPAN_MIN = 10n;
/** Margin at the trace's ends, pixels. */
export const MARGIN = 20;

const FINE = 1024; /* parts of a pixel, for arithmetic on integers */
const PARTS = 1n << 32n; /* parts of 1, in which a zoom factor is counted */

const most = (a, b) => (a > b ? a : b);
const least = (a, b) => (a < b ? a : b);

/** Return A / B rounded to the nearest integer. B > 0. */
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
		this.floor = 0n; /* least time that can be shown; below 0 if a compared trace begins earlier */
		this.inset = 0; /* pixels at the right that a panel covers; panning may go farther by as much */
		this.held = null; /* the fixed point of the last zoom step {x, at, from, to}, AT in parts of a nanosecond */
		this.fit();
	}

	get span() {
		return this.to - this.from;
	}

	/** Set the times of the trace and its number of rows. The window changes only if it must. */
	trace(start, end, rows) {
		this.floor = 0n;
		this.start = least(most(start, 0n), TIME_MAX);
		this.end = least(most(end, this.start), TIME_MAX);
		this.rows = Math.max(1, rows);
		this.show(this.from, this.to);
		this.look(this.focus);
	}

	/**
	 * Add a second trace, from START to END. WHOLE {start, end} are the times of the first trace.
	 */
	join(start, end, whole) {
		this.start = least(start, whole.start);
		this.end = least(most(end, whole.end), TIME_MAX);
		this.floor = least(this.start - (this.end - this.start), 0n);
		this.show(this.from, this.to);
	}

	/** Set the size of the picture in pixels. The window of time stays. */
	size(width, height) {
		this.width = Math.max(1, Math.round(width));
		this.height = Math.max(1, Math.round(height));
		this.show(this.from, this.to);
	}

	/** Span of the whole trace with its margins, beside a panel. */
	get widest() {
		const whole = this.end - this.start;
		const inner = BigInt(Math.max(1, this.width - this.inset - 2 * MARGIN));

		return most((whole * BigInt(this.width)) / inner + 2n, SPAN_MIN);
	}

	fit() {
		const span = this.widest;
		const covered = (span * BigInt(this.inset)) / BigInt(this.width);
		const margin = (span - covered - (this.end - this.start)) / 2n;

		this.show(this.start - margin, this.start + span);
		this.look(this.rows / 2);
	}

	/**
	 * Show the times FROM to TO. The window stays within the trace and its margins. If it is too
	 * short, it is widened around its middle.
	 */
	show(from, to) {
		const span = least(most(to - from, SPAN_MIN), this.widest);
		const margin = (span * BigInt(MARGIN)) / BigInt(this.width) + 1n;
		const first = most(this.start - margin, this.floor);
		const beyond = (span * BigInt(MARGIN + this.inset)) / BigInt(this.width) + 1n;
		const last = most(least(this.end + beyond, TIME_MAX) - span, first);
		const wanted = to - from < span ? from - (span - (to - from)) / 2n : from;

		this.from = least(most(wanted, first), last);
		this.to = this.from + span;
	}

	/** Set the focus to ROW, which can be between two rows. The focused row is drawn largest. */
	look(row) {
		this.focus = Number.isFinite(row) ? Math.min(Math.max(row, 0), this.rows) : this.rows / 2;
	}

	/** Return the time at X pixels, to the nearest nanosecond. */
	timeAt(x) {
		return this.from + divided(this.span * BigInt(Math.round(x * FINE)), BigInt(this.width * FINE));
	}

	/** Return the x of TIME in pixels, also outside of the window. */
	xOf(time) {
		return (Number(time - this.from) / Number(this.span)) * this.width;
	}

	/** Return the length of X pixels in ns. */
	length(x) {
		return divided(this.span * BigInt(Math.round(x * FINE)), BigInt(this.width * FINE));
	}

	/** Pan by X pixels to the right. */
	pan(x) {
		const by = this.length(x);

		this.show(this.from - by, this.to - by);
	}

	/**
	 * Zoom by FACTOR. The time at X pixels stays at X, exact to the nanosecond after any number of
	 * steps.
	 */
	zoom(x, factor) {
		const parts = BigInt(Math.max(1, Math.round(factor * Number(PARTS))));
		const share = (span) => (span * PARTS * BigInt(Math.round(x * FINE))) / BigInt(this.width * FINE);
		let span = divided(this.span * PARTS, parts);
		let at = this.from * PARTS + share(this.span);

		if (this.held && this.held.x === x && this.held.from === this.from && this.held.to === this.to)
			at = this.held.at;
		/* In a short span a zoom step can round to 0 ns. Change the span by at least 1 ns. */
		if (span === this.span && factor !== 1) span += factor > 1 ? -1n : 1n;
		span = least(most(span, SPAN_MIN), this.widest);
		const from = divided(at - share(span), PARTS);
		this.show(from, from + span);
		/*
		 * If show() moved the window because of the margins, the next step uses a new fixed point.
		 */
		this.held = this.from === from ? {x, at, from: this.from, to: this.to} : null;
	}

	/** Move the time at X0 to TO0 and the time at X1 to TO1 (pixels). */
	pinch(x0, x1, to0, to1) {
		const was = Math.abs(x1 - x0);
		const is = Math.abs(to1 - to0);

		this.pan((to0 + to1 - x0 - x1) / 2);
		if (was >= 1 && is >= 1) this.zoom((to0 + to1) / 2, is / was);
	}

	/** Show TIME in the middle, at the same scale. */
	center(time) {
		const span = this.span;

		this.show(time - span / 2n, time - span / 2n + span);
	}

	/**
	 * Return true if TIME is in the window, not covered by the panel, and at least EDGE pixels from
	 * both sides.
	 */
	sees(time, edge = 0) {
		const x = this.xOf(time);

		return x >= edge && x <= this.width - this.inset - edge;
	}
}

/*
 * A camera that shows the times of another camera, shifted by SHIFT ns. Only its rows are its own.
 * It can show times before 0.
 */

export class LinkedCamera extends Camera {
	/** Show the times of CAMERA minus SHIFT. Return true if the window changed. */
	follow(camera, shift) {
		const from = camera.from - shift;
		const to = camera.to - shift;
		const moved = from !== this.from || to !== this.to;

		this.from = from;
		this.to = to;
		return moved;
	}

	/** Do nothing: a linked camera moves only by follow(). */
	show() {}
}
