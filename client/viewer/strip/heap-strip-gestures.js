/*
 * The input of the heap strip: the selected moment and its tooltip, clicks, dragging, the wheel and
 * keys.
 */
import {format} from "../page/address.js";
import {sure} from "./heap-strip-clock.js";
import {STEP, turned} from "../trace/gestures.js";
import {make} from "../page/make.js";
import {bytes} from "../page/times.js";

const STILL = 4; /* most pixels that the pointer may move during a click */
const STEPS = {ArrowLeft: -8, ArrowRight: 8}; /* pixels by which a key moves the selected moment */

export class StripGestures {
	constructor(strip) {
		this.strip = strip;
		this.time = null; /* time under the pointer, or time that keys selected; null: none */
		this.tooltip = make("div", {className: "tl-heap-tooltip", "aria-hidden": "true", hidden: true});
		this.listen();
	}

	listen() {
		const on = (name, handle, options) => this.strip.canvas.addEventListener(name, handle.bind(this), options);

		on("pointerdown", this.down);
		on("pointermove", this.move);
		on("pointerup", this.up);
		on("pointercancel", () => (this.held = null));
		on("pointerleave", () => this.held || this.point(null));
		on("blur", () => this.point(null));
		on("wheel", this.wheel, {passive: false});
		on("keydown", this.key);
	}

	point(time) {
		this.time = time;
		this.tell();
		this.strip.canvasView.changed();
	}

	tell() {
		const {
			time,
			tooltip,
			strip: {canvas},
		} = this;
		const {camera} = this.strip;

		tooltip.hidden = time === null;
		if (time === null) return;
		const track = this.strip.trackAt(time);
		const at = this.strip.state.clock.at(time);
		const text = track ? `${bytes(track.at(time))} lived at ${at}` : `the heap at ${at} is unknown`;
		const quiet = (line) => make("div", {className: "tl-quiet", textContent: line});
		tooltip.replaceChildren(
			make("strong", {textContent: text}),
			...(track
				? [
						quiet("estimated from samples"),
						quiet(sure(track.place)),
						quiet("click: objects that lived then; drag: measure"),
					]
				: []),
		);
		const {top, height} = canvas.getBoundingClientRect();
		tooltip.style.top = `${top + height + 4 - (tooltip.offsetParent?.getBoundingClientRect().top ?? 0)}px`;
		tooltip.style.left = `${Math.min(camera.xOf(time) + 14, Math.max(camera.width - tooltip.offsetWidth - 4, 0))}px`;
		canvas.setAttribute(
			"aria-valuenow",
			String(Math.max(0, Math.min(1000, Math.round((camera.xOf(time) / camera.width) * 1000)))),
		);
		canvas.setAttribute("aria-valuetext", text);
	}

	place(event) {
		return event.clientX - this.strip.canvas.getBoundingClientRect().left;
	}

	down(event) {
		if (event.button !== 0) return;
		this.strip.canvas.setPointerCapture(event.pointerId);
		this.held = {x: this.place(event), moved: false};
	}

	move(event) {
		const {held} = this;
		const x = this.place(event);

		this.point(this.strip.camera.timeAt(x));
		if (!held || (!held.moved && Math.abs(x - held.x) < STILL)) return;
		held.moved = true;
		this.strip.selection.drawRange(held.x, x, false);
	}

	up(event) {
		const {held} = this;

		this.held = null;
		if (!held) return;
		if (held.moved) this.strip.selection.drawRange(held.x, this.place(event), true);
		else this.openAt(this.strip.camera.timeAt(held.x));
	}

	wheel(event) {
		const x = this.place(event);
		const {pan, notches} = turned(event);
		const {camera, hooks} = this.strip;

		event.preventDefault();
		hooks.move(() => (pan ? camera.pan(-pan) : camera.zoom(x, STEP ** notches)));
		this.point(camera.timeAt(x));
	}

	key(event) {
		const {camera} = this.strip;
		const by = STEPS[event.key];

		if (
			event.ctrlKey ||
			event.altKey ||
			event.metaKey ||
			(by === undefined && event.key !== "Enter" && event.key !== "m")
		)
			return; /* the page handles this key */
		event.preventDefault();
		if (event.key === "m") return this.strip.hooks.mark(this.time ?? undefined);
		if (event.key === "Enter") return this.openAt(this.time);
		const was = this.time ?? camera.timeAt(camera.width / 2);
		const time = was + camera.length(event.shiftKey ? by * 8 : by);
		if (time < camera.from || time > camera.to) this.strip.hooks.move(() => camera.center(time));
		this.point(time);
	}

	/** Open the page of the memory profile at the trace's TIME. */
	openAt(time) {
		const track = time === null ? null : this.strip.trackAt(time);

		if (track)
			location.hash = format({
				memtrace: track.id,
				at: Math.max(0, Math.min(Math.round(track.us(time)), track.lasts)),
			});
	}
}
