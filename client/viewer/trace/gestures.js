/*
 * The gestures on a picture: wheel, drag, pinch, double click and keys. Each gesture calls a hook.
 * All places are in pixels.
 *
 * hooks: zoom(x, factor), pan(dx), grab(x, y), drag(x, y), drop(), pinch(x0, x1, to0, to1),
 * click(x, y), double(x, y),
 *        range(x0, x1, done), hover(x, y), leave(), key(action, event)
 */
import {act} from "./keys.js";

/** Zoom factor of one wheel notch. */
export const STEP = 1.2;

const NOTCH = 100; /* pixels that a browser reports per notch */
const LINE = 100 / 3;
const STILL = 4; /* most pixels that the pointer may move during a click */
const TWICE_MS = 400;

export class Gestures {
	constructor(canvas, hooks) {
		this.canvas = canvas;
		this.hooks = hooks;
		this.pointers = new Map();
		this.moved = false;
		this.mode = null;
		this.last = null; /* the last click, to recognise a double click */
		const on = (name, handle, options) => canvas.addEventListener(name, handle.bind(this), options);

		on("wheel", this.wheel, {passive: false});
		on("pointerdown", this.down);
		on("pointermove", this.move);
		on("pointerup", this.up);
		on("pointercancel", this.cancel);
		on("pointerleave", () => this.pointers.size || hooks.leave());
		on("keydown", this.key);
	}

	at(event) {
		const box = this.canvas.getBoundingClientRect();

		return {x: event.clientX - box.left, y: event.clientY - box.top};
	}

	wheel(event) {
		const unit = event.deltaMode === 1 ? LINE : event.deltaMode === 2 ? 400 : 1;
		const {x} = this.at(event);
		let [dx, dy] = [event.deltaX * unit, event.deltaY * unit];

		event.preventDefault();
		if (event.shiftKey && !dx) [dx, dy] = [dy, 0];
		if (Math.abs(dx) > Math.abs(dy)) return this.hooks.pan(-dx);
		/* A browser reports a pinch on a touch pad as a wheel with Ctrl, in smaller steps. */
		const notches = Math.max(-5, Math.min(5, (-dy / NOTCH) * (event.ctrlKey ? 5 : 1)));
		if (notches) this.hooks.zoom(x, STEP ** notches);
	}

	down(event) {
		if (event.button !== 0) return;
		const at = this.at(event);

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
		else if (this.mode === "range") this.hooks.range(this.start.x, at.x, false);
	}

	pinch(id, at) {
		const was = [...this.pointers.values()];
		const is = [...this.pointers.entries()].map(([key, place]) => (key === id ? at : place));

		if (was.length === 2) this.hooks.pinch(was[0].x, was[1].x, is[0].x, is[1].x);
	}

	up(event) {
		if (!this.pointers.delete(event.pointerId) || this.pointers.size) return;
		const at = this.at(event);

		if (!this.moved) this.click(at, event);
		else if (this.mode === "range") this.hooks.range(this.start.x, at.x, true);
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
	}

	cancel(event) {
		this.pointers.delete(event.pointerId);
		this.hooks.drop();
		this.mode = null;
	}

	key(event) {
		const action = act(event);

		if (action && this.hooks.key(action, event)) {
			event.preventDefault();
			event.stopPropagation();
		}
	}
}

/** Call PRESS again and again while the button ELEMENT is held, and once for a key press. */
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
	/* A click with detail 0 has no pointer: it is by keyboard or by a screen reader. */
	element.addEventListener("click", (event) => event.detail === 0 && press());
	return element;
}
