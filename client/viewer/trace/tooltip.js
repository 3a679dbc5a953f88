/* The tooltip: a box at the pointer with the time and the thread there. */
import {sure} from "../compare/guest-strips.js";
import {make, short} from "../page/make.js";
import {called} from "./panel.js";
import {span} from "../page/times.js";

/** Time without a new picture, in ms, after which again() is called. */
export const POINT_MS = 60;

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
		/* Pixels of the pictures at which the pointer is; undefined: it is not on them. */
		this.x = this.y = undefined;
		this.part = null; /* the part of the view that has the pointer: "threads", or any other name */
		this.tell = null; /* function that returns a Promise of the nodes for the box */
		this.turn = {}; /* replaced when an answer that is under way must not be shown */
		this.old = false; /* true: ask again, because the pointer or the view moved */
		this.asking = false; /* true while an answer is under way */
	}

	/** The time at the pointer, ns; null if the pointer is not on the picture. */
	get time() {
		return this.x === undefined || !this.hooks.ready() ? null : this.camera.timeAt(this.x);
	}

	/** Show the box about the arrow, the thread or the band at X, Y, pixels of the picture. */
	hover(x, y) {
		return this.look("threads", x, y, async () => {
			const [thread, {arrow, band}] = await Promise.all([
				this.hooks.threadAt(this.x, this.y),
				this.hooks.signsAt(this.x, this.y),
			]);

			if (this.time === null) return [];
			return arrow.length ? [...this.sentences(arrow), this.now()] : [...this.about(thread), ...this.quiet(band)];
		});
	}

	/**
	 * Show the sentences that SIGN(time) returns, in a box at X, Y of the pictures, in pixels. SIGN
	 * returns a Promise. There is no box if the list is empty. PART is the name of the part of the
	 * view that has the pointer.
	 */
	sign(part, x, y, sign) {
		return this.look(part, x, y, async () => {
			const list = await sign(this.time);

			return list.length && this.time !== null ? [...this.sentences(list), this.now()] : [];
		});
	}

	/**
	 * Show the line at X and the box with the nodes that TELL() returns a Promise of. X and Y are
	 * pixels of the pictures. PART as for sign().
	 */
	look(part, x, y, tell) {
		if (!this.hooks.ready()) return;
		if (part !== this.part) this.moved();
		Object.assign(this, {part, x, y, tell});
		this.hooks.changed();
		return this.again();
	}

	/** The pointer moved to X, Y, pixels of the pictures, and drags the picture along. */
	carry(x, y = this.y) {
		if (this.x !== undefined) Object.assign(this, {x, y});
	}

	/**
	 * Hide the box, because the view moved and another sign may be at the pointer. again() shows the
	 * box of that sign.
	 */
	moved() {
		this.turn = {};
		this.element.hidden = true;
	}

	/**
	 * Ask what is at the pointer and show the box. A call while an earlier one waits for its answer
	 * only notes that the answer must be asked again.
	 */
	async again() {
		this.old = true;
		if (this.asking) return;
		this.asking = true;
		try {
			while (this.old && this.x !== undefined && !this.closed) {
				const {tell, turn} = this;

				this.old = false;
				const nodes = await tell();
				if (turn === this.turn && !this.closed) this.put(nodes);
			}
		} catch (error) {
			this.hooks.failed(error);
		} finally {
			this.asking = false;
		}
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

	/**
	 * Put NODES into the box, and the box beside the pointer, inside of the picture. Hide the box if
	 * there are no nodes.
	 */
	put(nodes) {
		const {camera, x, y, element} = this;

		element.replaceChildren(...nodes);
		element.hidden = !nodes.length;
		if (element.hidden) return;
		element.style.left = `${Math.min(x + 14, Math.max(camera.width - element.offsetWidth - 4, 0))}px`;
		element.style.top = `${y + 16 + element.offsetHeight > camera.height ? Math.max(y - element.offsetHeight - 10, 0) : y + 16}px`;
	}

	/** Show nothing any more, also when a look-up that runs now ends. */
	close() {
		this.closed = true;
	}

	/** Hide the box and the line. Call it when the pointer leaves the picture. */
	leave() {
		Object.assign(this, {part: null, x: undefined, y: undefined});
		this.moved();
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
