/* The tooltip: the time and the thread under the pointer. */
import {sure} from "../compare/guest-strips.js";
import {make, short} from "../page/make.js";
import {called} from "./panel.js";
import {exact, span} from "../page/times.js";

export class Tooltip {
	/**
	 * hooks: ready() -> is there a model?, threadAt(x, y) -> Promise of a thread or null, strips()
	 * -> strips of guests, unproven(x) -> is the time at X unproven?, changed(): draw again,
	 * failed(error)
	 */
	constructor(camera, hooks) {
		Object.assign(this, {camera, hooks});
		this.element = make("div", {className: "tl-tooltip", "aria-hidden": "true", hidden: true});
		this.time = null;
	}

	/** Show the tooltip for X, Y of the picture. */
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
		/*
		 * If the pointer has moved while the thread was looked up, show the tooltip of its new
		 * place.
		 */
		if (this.time !== null && !this.closed && (this.x !== x || this.y !== y)) await this.hover(this.x, this.y);
	}

	/** Show only the line of the time at X, without a tooltip. */
	point(x) {
		if (!this.hooks.ready()) return;
		this.element.hidden = true;
		this.time = this.camera.timeAt(x);
		this.hooks.changed();
	}

	show(thread) {
		const {camera, x, y, element} = this;

		if (this.time === null || this.closed) return;
		element.replaceChildren(...this.about(thread));
		element.hidden = false;
		element.style.left = `${Math.min(x + 14, Math.max(camera.width - element.offsetWidth - 4, 0))}px`;
		element.style.top = `${y + 16 + element.offsetHeight > camera.height ? Math.max(y - element.offsetHeight - 10, 0) : y + 16}px`;
	}

	close() {
		this.closed = true;
	}

	/** Hide the tooltip, because the pointer left the picture. */
	leave() {
		this.x = undefined;
		this.hide();
	}

	/** Hide the tooltip, because the picture moved below the pointer. */
	hide() {
		this.time = null;
		this.element.hidden = true;
		this.hooks.changed();
	}

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
