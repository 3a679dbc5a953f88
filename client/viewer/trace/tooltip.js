/* The tooltip: a box at the pointer with the time and the thread there. */
import {sure} from "../compare/guest-strips.js";
import {make, short} from "../page/make.js";
import {called} from "./panel.js";
import {span} from "../page/times.js";

export class Tooltip {
	/**
	 * CAMERA gives the time at an x. hooks:
	 * - ready(): return true if a trace is loaded;
	 * - threadAt(x, y): return a Promise of the thread near X, Y, or of null;
	 * - signsAt(x, y): return a Promise of {arrow, band}, lists of sentences on an arrow and on a
	 *   band at X, Y; a list is empty if there is none;
	 * - strips(): return the rows and clock errors of the guests, from guest-strips.js;
	 * - clock(): return the Clock (clock.js), which writes times;
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
			const [thread, signs] = await Promise.all([this.hooks.threadAt(x, y), this.hooks.signsAt(x, y)]);

			this.show(thread, signs);
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
	 * Show the sentences that SIGN(time) returns, in a box at X, Y of the pictures, in pixels. SIGN
	 * returns a Promise. The box closes if the list is empty, or the pointer has left.
	 */
	async sign(x, y, sign) {
		this.point(x);
		const at = this.time;
		const list = at === null ? [] : await sign(at);

		if (this.time !== at || this.closed || !list.length) return;
		Object.assign(this, {x, y});
		this.put([...this.sentences(list), this.now()]);
	}

	/**
	 * Show the box about an arrow, else about THREAD; else about the time alone if THREAD is null.
	 * SIGNS is from signsAt(). The box stays inside of the picture.
	 */
	show(thread, {arrow, band}) {
		if (this.time === null || this.closed) return;
		this.put(arrow.length ? [...this.sentences(arrow), this.now()] : [...this.about(thread), ...this.quiet(band)]);
	}

	/** Return a node for each sentence of LIST, the first one strong. */
	sentences([first, ...others]) {
		return [make("strong", {textContent: short(first, 200)}), ...this.quiet(others)];
	}

	/** Return a node in a quiet colour for each sentence of LIST. */
	quiet(list) {
		return list.map((text) => make("div", {className: "tl-quiet", textContent: short(text, 200)}));
	}

	/** Return the node that says the time at the pointer. */
	now() {
		return this.quiet([`at ${this.hooks.clock().everywhere(this.time)}`])[0];
	}

	/** Put NODES into the box, and the box beside the pointer. */
	put(nodes) {
		const {camera, x, y, element} = this;

		element.replaceChildren(...nodes);
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
		const clock = this.hooks.clock();
		const quiet = (text) => this.quiet([text])[0];
		const now = this.now();
		const proof = this.hooks.unproven(this.x) ? [quiet("not proven: copied when the guest had stopped")] : [];

		if (!thread) return [now, ...proof];
		const strip = this.hooks.strips()[thread.stream];
		return [
			make("strong", {textContent: short(called(thread), 200)}),
			...thread.labels.slice(-4).map((it) => quiet(it.text)),
			make("div", {
				textContent: `${clock.at(thread.start)} to ${clock.at(thread.end)}, ran ${span(thread.ran)}`,
			}),
			...(strip ? [quiet(`there, ${sure(strip)} (the clock of ${strip.name})`)] : []),
			...(thread.failure ? [make("div", {className: "tl-bad", textContent: short(thread.failure, 200)})] : []),
			now,
			...proof,
		];
	}
}
