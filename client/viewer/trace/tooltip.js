/* The tooltip: a box at the pointer with the time and the thread there. */
import {sure} from "../compare/guest-strips.js";
import {make, short} from "../page/make.js";
import {called} from "./panel.js";
import {exact, span} from "../page/times.js";

export class Tooltip {
	/**
	 * CAMERA gives the time at an x. hooks:
	 * - ready(): return true if a trace is loaded;
	 * - threadAt(x, y): return a Promise of the thread near X, Y, or of null;
	 * - strips(): return the rows and clock errors of the guests, from guest-strips.js;
	 * - unproven(x): return true if the trace is not proven at X;
	 * - changed(): draw the overlay, because `time` changed;
	 * - failed(error): report an error.
	 */
	constructor(camera, hooks) {
		Object.assign(this, {camera, hooks});
		this.element = make("div", {className: "tl-tooltip", "aria-hidden": "true", hidden: true});
		this.time = null; /* time at the pointer, ns; null: the pointer is not on the picture */
	}

	/**
	 * Show the tooltip for the pointer at X, Y, pixels of the picture. A call while an earlier one
	 * waits for its thread only notes the new place.
	 */
	async hover(x, y) {
		if (!this.hooks.ready()) return;
		this.time = this.camera.timeAt(x);
		Object.assign(this, {x, y});
		this.hooks.changed();
		if (this.hovering) return;
		this.hovering = true;
		try {
			this.show(await this.hooks.threadAt(x, y));
		} catch (error) {
			this.hooks.failed(error);
		} finally {
			this.hovering = false;
		}
		/* The pointer moved while the thread was looked up. Show the tooltip of the new place. */
		if (this.time !== null && !this.closed && (this.x !== x || this.y !== y)) await this.hover(this.x, this.y);
	}

	/** Show the line at X pixels in all pictures, and no box. */
	point(x) {
		if (!this.hooks.ready()) return;
		this.element.hidden = true;
		this.time = this.camera.timeAt(x);
		this.hooks.changed();
	}

	/**
	 * Show the box about THREAD, or about the time alone if THREAD is null. It stays inside of the
	 * picture.
	 */
	show(thread) {
		const {camera, x, y, element} = this;

		if (this.time === null || this.closed) return;
		element.replaceChildren(...this.about(thread));
		element.hidden = false;
		element.style.left = `${Math.min(x + 14, Math.max(camera.width - element.offsetWidth - 4, 0))}px`;
		element.style.top = `${y + 16 + element.offsetHeight > camera.height ? Math.max(y - element.offsetHeight - 10, 0) : y + 16}px`;
	}

	/** Show nothing any more, also when a look-up that runs now ends. */
	close() {
		this.closed = true;
	}

	/** Hide the tooltip and the line. Call it when the pointer leaves the picture. */
	leave() {
		this.x = undefined;
		this.hide();
	}

	/**
	 * Hide the tooltip and the line. Call it when the picture moves, so that another thread may be
	 * at the pointer.
	 */
	hide() {
		this.time = null;
		this.element.hidden = true;
		this.hooks.changed();
	}

	/** Return the nodes in the box. */
	about(thread) {
		const {start} = this.camera;
		const quiet = (text) => make("div", {className: "tl-quiet", textContent: short(text, 200)});
		const now = quiet(`at +${span(this.time - start)} (${exact(this.time)})`);

		const proof = this.hooks.unproven(this.x) ? [quiet("not proven: copied when the guest had stopped")] : [];

		if (!thread) return [now, ...proof];
		const strip = this.hooks.strips()[thread.stream];
		return [
			make("strong", {textContent: short(called(thread), 200)}),
			...thread.labels.slice(-4).map((it) => quiet(it.text)),
			make("div", {
				textContent: `+${span(thread.start - start)} to +${span(thread.end - start)}, ran ${span(thread.ran)}`,
			}),
			...(strip ? [quiet(`there, ${sure(strip)} (the clock of ${strip.name})`)] : []),
			...(thread.failure ? [make("div", {className: "tl-bad", textContent: short(thread.failure, 200)})] : []),
			now,
			...proof,
		];
	}
}
