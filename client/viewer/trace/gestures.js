/*
 * Turn wheel, pointer and keys on a picture into gestures. Each gesture calls a hook. All places
 * are pixels from the left top corner of the picture.
 *
 * hooks:
 * - zoom(x, factor): zoom around X; FACTOR above 1 zooms in;
 * - pan(dx): move the picture by DX to the right;
 * - grab(x, y), drag(x, y), drop(): a drag begins, moves to X, Y, and ends;
 * - pinch(x0, x1, to0, to1): two fingers moved from X0 to TO0 and from X1 to TO1;
 * - click(x, y), double(x, y): a click, and the second click of a double click;
 * - range(x0, x1, done, y0, y1): the user draws a range; DONE is true at its end;
 * - hover(x, y), leave(): the pointer moved without a button, or a finger tapped; it left the
 *   picture, or a finger touches again;
 * - key(action, event): a key for ACTION (keys.js) was pressed; return true if it is handled.
 */
import {act} from "./keys.js";

/** Factor by which one notch of the wheel zooms. */
export const STEP = 1.2;

const NOTCH = 100; /* pixels that browsers report for a notch of the wheel */
const LINE = 100 / 3; /* pixels for a line, in which some browsers report the wheel */
/* Greatest distance in pixels that the pointer moves in a click; farther is a drag. */
const STILL = 4;
const TWICE_MS = 400; /* longest time between the clicks of a double click, ms */

/**
 * Return what EVENT, of the wheel, means: {pan, notches}. PAN is not 0 if the wheel moved sideways, or
 * with Shift: pixels to the right. Otherwise NOTCHES is how far it moved, more than 0 away from the
 * user.
 */
export function turned(event) {
	const unit = event.deltaMode === 1 ? LINE : event.deltaMode === 2 ? 400 : 1;
	let [dx, dy] = [event.deltaX * unit, event.deltaY * unit];

	if (event.shiftKey && !dx) [dx, dy] = [dy, 0];
	if (Math.abs(dx) > Math.abs(dy)) return {pan: dx, notches: 0};
	/* Browsers report a pinch on a touch pad as a wheel with Ctrl, in smaller steps. */
	return {pan: 0, notches: Math.max(-5, Math.min(5, (-dy / NOTCH) * (event.ctrlKey ? 5 : 1)))};
}

export class Gestures {
	/** Listen to CANVAS from now on. HOOKS are those of this file's first comment. */
	constructor(canvas, hooks) {
		this.canvas = canvas;
		this.hooks = hooks;
		this.pointers = new Map(); /* id of a pressed pointer -> its place {x, y} */
		this.moved = false;
		this.mode = null; /* "drag", "range", "pinch", or null */
		/* {x, y, time in ms} of the last click, to recognise a double click; null: none. */
		this.last = null;
		const on = (name, handle, options) => canvas.addEventListener(name, handle.bind(this), options);

		on("wheel", this.wheel, {passive: false});
		on("pointerdown", this.down);
		on("pointermove", this.move);
		on("pointerup", this.up);
		on("pointercancel", this.cancel);
		/* A finger has left as soon as it is up; its tip stays until the next touch. */
		on("pointerleave", ({pointerType}) => this.pointers.size || pointerType !== "mouse" || hooks.leave());
		on("keydown", this.key);
	}

	/** Return the place {x, y} of EVENT in the picture. */
	at(event) {
		const box = this.canvas.getBoundingClientRect();

		return {x: event.clientX - box.left, y: event.clientY - box.top};
	}

	/** Zoom, or pan if the wheel moves sideways or Shift is held. */
	wheel(event) {
		const {pan, notches} = turned(event);

		event.preventDefault();
		if (pan) this.hooks.pan(-pan);
		else if (notches) this.hooks.zoom(this.at(event).x, STEP ** notches);
	}

	down(event) {
		if (event.button !== 0) return;
		const at = this.at(event);

		if (event.pointerType !== "mouse") this.hooks.leave();
		this.canvas.setPointerCapture(event.pointerId);
		this.canvas.focus({preventScroll: true});
		this.pointers.set(event.pointerId, at);
		if (this.pointers.size === 1) {
			this.start = at;
			this.moved = false;
			this.mode = event.shiftKey ? "range" : "drag";
			if (this.mode === "drag") this.hooks.grab(at.x, at.y);
		} else {
			this.mode = this.pointers.size === 2 ? "pinch" : null;
			this.moved = true;
		}
	}

	move(event) {
		const at = this.at(event);
		const was = this.pointers.get(event.pointerId);

		if (!was) return this.hooks.hover(at.x, at.y);
		if (this.mode === "pinch") this.pinch(event.pointerId, at);
		this.pointers.set(event.pointerId, at);
		if (!this.moved && Math.hypot(at.x - this.start.x, at.y - this.start.y) < STILL) return;
		this.moved = true;
		if (this.mode === "drag") this.hooks.drag(at.x, at.y);
		else if (this.mode === "range") this.hooks.range(this.start.x, at.x, false, this.start.y, at.y);
	}

	/** Report that the finger ID has moved to AT, while the other rests. */
	pinch(id, at) {
		const was = [...this.pointers.values()];
		const is = [...this.pointers.entries()].map(([key, place]) => (key === id ? at : place));

		if (was.length === 2) this.hooks.pinch(was[0].x, was[1].x, is[0].x, is[1].x);
	}

	up(event) {
		if (!this.pointers.delete(event.pointerId) || this.pointers.size) return;
		const at = this.at(event);

		if (!this.moved) this.click(at, event);
		else if (this.mode === "range") this.hooks.range(this.start.x, at.x, true, this.start.y, at.y);
		this.hooks.drop();
		this.mode = null;
	}

	click(at, event) {
		const twice =
			this.last &&
			event.timeStamp - this.last.time < TWICE_MS &&
			Math.hypot(at.x - this.last.x, at.y - this.last.y) < 3 * STILL;

		this.last = twice ? null : {...at, time: event.timeStamp};
		this.hooks[twice ? "double" : "click"](at.x, at.y);
		if (event.pointerType !== "mouse") this.hooks.hover(at.x, at.y);
	}

	cancel(event) {
		this.pointers.delete(event.pointerId);
		this.hooks.drop();
		this.mode = null;
	}

	/** Call the hook for the key of EVENT. A handled key does nothing else. */
	key(event) {
		const action = act(event);

		if (action && this.hooks.key(action, event)) {
			event.preventDefault();
			event.stopPropagation();
		}
	}
}

/**
 * Call PRESS when the button ELEMENT is pressed, and repeat it while the button is held: after 400
 * ms, then each 60 ms. A key press calls it once. Return ELEMENT.
 */
export function repeat(element, press) {
	let timer = 0;
	const stop = () => {
		clearTimeout(timer);
		timer = 0;
	};
	const again = () => {
		press();
		timer = setTimeout(again, 60);
	};

	element.addEventListener("pointerdown", (event) => {
		if (event.button !== 0 || element.disabled) return;
		press();
		stop();
		timer = setTimeout(again, 400);
	});
	for (const name of ["pointerup", "pointerleave", "pointercancel", "blur"]) element.addEventListener(name, stop);
	/*
	 * A click with detail 0 is from the keyboard or a screen reader. Other clicks follow a
	 * pointerdown, which is handled above.
	 */
	element.addEventListener("click", (event) => event.detail === 0 && press());
	return element;
}
