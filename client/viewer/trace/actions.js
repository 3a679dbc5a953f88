/* The actions of a time line by name. Keys and buttons run them; keys.js maps keys to names. */
import {inView} from "./threads.js";
import {span} from "../page/times.js";

export class Actions {
	/**
	 * hooks: move(change: a function that moves the camera), fit(): show the whole trace,
	 * flipCounters() and flipHeap(): show or hide them, closeMenu() -> was it open?,
	 * announce(sentence) to screen readers
	 */
	constructor({state, camera, canvasView, search, selection, tooltip, panels}, hooks) {
		Object.assign(this, {state, camera, canvasView, search, selection, tooltip, panels, hooks});
		this.begun = undefined; /* time at which a key began a range; undefined: none */
	}

	/** Return true if the time line handles EVENT, a key press anywhere on the page. */
	takes(event) {
		const element = event.target;

		if (event.defaultPrevented || /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName)) return false;
		/* Space and Enter press the focused button, if there is one. */
		return !((event.key === " " || event.key === "Enter") && element.closest("button, a, summary"));
	}

	/** Select the thread after the selected one in view (BY 1), or the one before (-1). */
	neighbour(by) {
		const indices = this.canvasView.shown ? inView(this.canvasView.shown.marks) : [];
		const at = this.selection.thread ? indices.indexOf(this.selection.thread.index) : -1;

		if (indices.length)
			this.selection.select(
				indices[at < 0 ? (by > 0 ? 0 : indices.length - 1) : (at + by + indices.length) % indices.length],
			);
	}

	/** Zoom to the selected thread or range. */
	zoomTo() {
		const {thread, range} = this.selection;
		const what = thread ? {from: thread.start, to: thread.end} : range;

		if (!what) return;
		const margin = (what.to - what.from) / 16n + 1n;
		this.camera.show(what.from - margin, what.to + margin);
	}

	/** Return the actions that only move the camera, by name. */
	moves() {
		const {camera} = this;
		const x = this.tooltip.x ?? camera.width / 2;

		return {
			closer: () => camera.zoom(x, 1.2),
			farther: () => camera.zoom(x, 1 / 1.2),
			left: () => camera.pan(camera.width / 8),
			right: () => camera.pan(-camera.width / 8),
			"page-left": () => camera.pan(camera.width * 0.9),
			"page-right": () => camera.pan(-camera.width * 0.9),
			up: () => camera.look(camera.focus - 1),
			down: () => camera.look(camera.focus + 1),
			start: () => camera.show(camera.start, camera.start + camera.span),
			end: () => camera.show(camera.end - camera.span, camera.end),
			"zoom-thread": () => this.zoomTo(),
		};
	}

	/** Run the action called ACTION. Return true. */
	act(action) {
		const moves = this.moves();
		const others = {
			fit: () => this.hooks.fit(),
			search: () => {
				this.search.input.focus();
				this.search.input.select();
			},
			next: () => this.search.step(1),
			previous: () => this.search.step(-1),
			"thread-next": () => this.neighbour(1),
			"thread-previous": () => this.neighbour(-1),
			family: () => this.selection.thread && this.selection.highlight(this.selection.thread.index),
			mark: () => this.mark(),
			heap: () => this.hooks.flipHeap(),
			counters: () => this.hooks.flipCounters(),
			escape: () => this.escape(),
		};

		if (moves[action]) this.hooks.move(moves[action]);
		else if (others[action]) this.state.summary && others[action]();
		else this.panels.flip(action);
		return true;
	}

	/** Close the uppermost open part: a menu, the panel, or the selection. */
	escape() {
		const {selection} = this;

		this.begun = undefined;
		if (this.hooks.closeMenu()) return;
		if (this.panels.name) {
			this.panels.close();
		} else if (selection.range) {
			selection.setRange(0n, 0n, true);
		} else if (selection.thread) {
			selection.select(null);
		} else if (selection.family !== null) {
			selection.highlight(null);
		}
		this.canvasView.canvas.focus();
	}

	/** Begin a range at TIME, or end the range that was begun. Keys call this. */
	mark(time = this.tooltip.time ?? this.camera.timeAt(this.camera.width / 2)) {
		if (this.begun === undefined) {
			this.begun = time;
			this.hooks.announce(`The range begins at +${span(time - this.camera.start)}; m again ends it.`);
			return;
		}
		const [from, to] = this.begun < time ? [this.begun, time] : [time, this.begun];
		this.begun = undefined;
		this.selection.setRange(from, to, true);
	}
}
