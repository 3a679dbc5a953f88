/*
 * The camera: the window of time on the screen, and the focused row, which is drawn highest. Times
 * are BigInt nanoseconds. All arithmetic on times is on integers, so a window of ten nanoseconds is
 * exact also near 2^63. The camera does not draw.
 */

/** Largest time of a trace, ns. */
export const TIME_MAX = (1n << 63n) - 1n;
/** Least length of the window of time, ns. */
export const SPAN_MIN = 10n;
/** Empty space before the trace's first time and after its last time, pixels. */
export const MARGIN = 20;

/* parts into which a pixel is divided, so that a place in pixels becomes an integer */
const FINE = 1024;
/* zoom factors, and times while zooming, are integers in units of 1 / PARTS */
const PARTS = 1n << 32n;

const most = (a, b) => (a > b ? a : b);
const least = (a, b) => (a < b ? a : b);

/** Return A / B, rounded to the nearest integer. A and B are BigInt, and B > 0. */
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
		/* earliest time that the window can show, ns; below 0 if a compared trace begins earlier */
		this.floor = 0n;
		/*
		 * Width of the right part of the picture that a panel covers, pixels. The window can go
		 * beyond the end of the trace by this width, so that the end can be seen beside the panel.
		 */
		this.inset = 0;
		/*
		 * The fixed point of the last zoom step: {x, at, from, to}. AT is the time at X pixels in
		 * units of 1 / PARTS ns. FROM and TO are the window after the step. null: none.
		 */
		this.held = null;
		this.fit();
	}

	/** Length of the window, ns. */
	get span() {
		return this.to - this.from;
	}

	/**
	 * Set the trace's first and last time, ns, and its number of rows. Times below 0 become 0. The
	 * window stays, unless it is outside of the trace.
	 */
	trace(start, end, rows) {
		this.floor = 0n;
		this.start = least(most(start, 0n), TIME_MAX);
		this.end = least(most(end, this.start), TIME_MAX);
		this.rows = Math.max(1, rows);
		this.show(this.from, this.to);
		this.look(this.focus);
	}

	/**
	 * Extend the times to a second, compared trace from START to END, ns. START may be below 0.
	 * WHOLE {start, end} are the times of the first trace.
	 */
	join(start, end, whole) {
		this.start = least(start, whole.start);
		this.end = least(most(end, whole.end), TIME_MAX);
		this.floor = least(this.start - (this.end - this.start), 0n);
		this.show(this.from, this.to);
	}

	/** Set the size of the picture, pixels. The window of time stays. */
	size(width, height) {
		this.width = Math.max(1, Math.round(width));
		this.height = Math.max(1, Math.round(height));
		this.show(this.from, this.to);
	}

	/**
	 * Greatest length of the window, ns: the whole trace with its margins, in the part of the
	 * picture that no panel covers.
	 */
	get widest() {
		const whole = this.end - this.start;
		const inner = BigInt(Math.max(1, this.width - this.inset - 2 * MARGIN));

		return most((whole * BigInt(this.width)) / inner + 2n, SPAN_MIN);
	}

	/** Show the whole trace, and focus its middle row. */
	fit() {
		const span = this.widest;
		const covered = (span * BigInt(this.inset)) / BigInt(this.width);
		const margin = (span - covered - (this.end - this.start)) / 2n;

		this.show(this.start - margin, this.start + span);
		this.look(this.rows / 2);
	}

	/**
	 * Show the times FROM to TO, ns. A window shorter than SPAN_MIN is widened around its middle. A
	 * window that leaves the trace and its margins is moved back; one that is too long is cut to
	 * `widest`.
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

	/** Show a window of SPAN ns at the end of the trace. */
	showEnd(span) {
		const to = this.widest + this.end;

		this.show(to - span, to);
	}

	/** Show the times FROM to TO, ns, in the part of the picture that no panel covers. */
	showBeside(from, to) {
		this.show(from, from + ((to - from) * BigInt(this.width)) / BigInt(Math.max(1, this.width - this.inset)));
	}

	/**
	 * Return true if the times FROM and TO, ns, are in the part of the window that no panel covers,
	 * at least LEAST pixels from each other.
	 */
	tells(from, to, least) {
		return this.sees(from) && this.sees(to) && this.xOf(to) - this.xOf(from) >= least;
	}

	/**
	 * Focus ROW, a number from 0 to the number of rows; a fraction is between two rows. A value
	 * that is no finite number focuses the middle.
	 */
	look(row) {
		this.focus = Number.isFinite(row) ? Math.min(Math.max(row, 0), this.rows) : this.rows / 2;
	}

	/** Return the time at X pixels from the left edge, rounded to 1 ns. */
	timeAt(x) {
		return this.from + divided(this.span * BigInt(Math.round(x * FINE)), BigInt(this.width * FINE));
	}

	/**
	 * Return the x of TIME in pixels from the left edge. It is below 0 or above the width if TIME
	 * is outside of the window.
	 */
	xOf(time) {
		return (Number(time - this.from) / Number(this.span)) * this.width;
	}

	/** Return the length of time that X pixels show, ns. */
	length(x) {
		return divided(this.span * BigInt(Math.round(x * FINE)), BigInt(this.width * FINE));
	}

	/** Move the picture X pixels to the right, which shows earlier times. */
	pan(x) {
		const by = this.length(x);

		this.show(this.from - by, this.to - by);
	}

	/**
	 * Zoom by FACTOR; more than 1 zooms in. The time at X pixels stays at X. The fixed point of the
	 * last step is used again, so rounding errors do not add up over many steps.
	 */
	zoom(x, factor) {
		const parts = BigInt(Math.max(1, Math.round(factor * Number(PARTS))));
		const share = (span) => (span * PARTS * BigInt(Math.round(x * FINE))) / BigInt(this.width * FINE);
		let span = divided(this.span * PARTS, parts);
		let at = this.from * PARTS + share(this.span);

		if (this.held && this.held.x === x && this.held.from === this.from && this.held.to === this.to)
			at = this.held.at;
		/*
		 * A zoom step in a short window can round to a change of 0 ns. Then change the length by 1
		 * ns.
		 */
		if (span === this.span && factor !== 1) span += factor > 1 ? -1n : 1n;
		span = least(most(span, SPAN_MIN), this.widest);
		const from = divided(at - share(span), PARTS);
		this.show(from, from + span);
		/*
		 * If show() moved the window to keep it within the margins, the time at X has changed, so
		 * the next step must compute a new fixed point.
		 */
		this.held = this.from === from ? {x, at, from: this.from, to: this.to} : null;
	}

	/**
	 * Zoom by FACTOR at TIME, ns. If TIME is outside of the window, the window first moves so that
	 * TIME is in its middle.
	 */
	zoomAt(time, factor) {
		if (!this.sees(time)) this.center(time);
		this.zoom(Math.max(0, Math.min(this.width, this.xOf(time))), factor);
	}

	/** Move and zoom so that the time at X0 pixels is at TO0, and the time at X1 is at TO1. */
	pinch(x0, x1, to0, to1) {
		const was = Math.abs(x1 - x0);
		const is = Math.abs(to1 - to0);

		this.pan((to0 + to1 - x0 - x1) / 2);
		if (was >= 1 && is >= 1) this.zoom((to0 + to1) / 2, is / was);
	}

	/** Move the window so that TIME is in its middle. The length stays. */
	center(time) {
		const span = this.span;

		this.show(time - span / 2n, time - span / 2n + span);
	}

	/**
	 * Return true if TIME is in the part of the window that no panel covers, and at least EDGE
	 * pixels from both ends of this part.
	 */
	sees(time, edge = 0) {
		const x = this.xOf(time);

		return x >= edge && x <= this.width - this.inset - edge;
	}
}

/*
 * The camera of the lower trace in a comparison. Its window is that of the upper trace's camera,
 * shifted by a constant time. It has its own rows, and can show times before 0.
 */

export class LinkedCamera extends Camera {
	/** Show the window of CAMERA, moved by -SHIFT ns. Return true if the window changed. */
	follow(camera, shift) {
		const from = camera.from - shift;
		const to = camera.to - shift;
		const moved = from !== this.from || to !== this.to;

		this.from = from;
		this.to = to;
		return moved;
	}

	/** Do nothing, so that the methods of Camera do not move the window; follow() moves it. */
	show() {}
}
