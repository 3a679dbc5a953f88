/*
 * The actions that keys and buttons run on a time line, by name. keys.js says which key runs which
 * action.
 */
import {inView} from "./threads.js";

export class Actions {
	/**
	 * hooks:
	 * - move(change): call CHANGE, which moves the camera, and draw;
	 * - fit(): show the whole trace;
	 * - flipCounters(), flipHeap(): show or hide them;
	 * - writeNote(time): let the user write a note at TIME, ns; null: in the middle;
	 * - nextClock(): write times by the next of the clocks;
	 * - closeMenu(): close the open menu; return true if one was open;
	 * - announce(sentence): tell the sentence to screen readers.
	 */
	constructor({state, camera, canvasView, search, selection, tooltip, panels}, hooks) {
		Object.assign(this, {state, camera, canvasView, search, selection, tooltip, panels, hooks});
		/* First end of a range that the key "mark" began, ns; undefined: none. */
		this.begun = undefined;
	}

	/**
	 * Return true if the time line handles EVENT, a key press anywhere on the page: it is not for a
	 * field or a button.
	 */
	takes(event) {
		const element = event.target;

		if (event.defaultPrevented || /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName)) return false;
		/* Keys in a dialog are the dialog's: Escape closes it, and not the panel below it. */
		if (element.closest("dialog")) return false;
		/* With a button or a link in focus, Space and Enter press it. */
		return !((event.key === " " || event.key === "Enter") && element.closest("button, a, summary"));
	}

	/**
	 * Select the next thread in view (BY is 1) or the one before (BY is -1), in the order of
	 * inView(). Without a selected thread, select the first or the last.
	 */
	neighbour(by) {
		const indices = this.canvasView.shown ? inView(this.canvasView.shown.marks) : [];
		const at = this.selection.thread ? indices.indexOf(this.selection.thread.index) : -1;

		if (indices.length)
			this.selection.select(
				indices[at < 0 ? (by > 0 ? 0 : indices.length - 1) : (at + by + indices.length) % indices.length],
			);
	}

	/** Show the selected thread over the whole width, or else the selected range. */
	zoomTo() {
		const {thread, range} = this.selection;
		const what = thread ? {from: thread.start, to: thread.end} : range;

		if (!what) return;
		const margin = (what.to - what.from) / 16n + 1n;
		this.camera.show(what.from - margin, what.to + margin);
	}

	/** Return the actions that only move the camera: name -> function. */
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

	/**
	 * Run ACTION. If no action has this name, open or close the panel of this name. Return true.
	 */
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
			note: () => this.hooks.writeNote(this.tooltip.time),
			heap: () => this.hooks.flipHeap(),
			counters: () => this.hooks.flipCounters(),
			clock: () => this.hooks.nextClock(),
			escape: () => this.escape(),
		};

		if (moves[action]) this.hooks.move(moves[action]);
		else if (others[action]) this.state.summary && others[action]();
		else this.panels.flip(action);
		return true;
	}

	/**
	 * Close the menu; else close the panel; else clear the selected range, the thread or the
	 * highlights, the first that there is.
	 */
	escape() {
		const {selection} = this;

		this.begun = undefined;
		if (this.hooks.closeMenu()) return;
		if (this.panels.name) {
			this.panels.close();
		} else if (selection.range || selection.rows) {
			selection.setRange(0n, 0n, true);
		} else if (selection.thread) {
			selection.select(null);
		} else if (selection.family !== null) {
			selection.highlight(null);
		}
		this.canvasView.canvas.focus();
	}

	/**
	 * Begin a range at TIME, ns, or end the range that was begun, and select it. Without an
	 * argument, TIME is that at the pointer, or that in the middle of the window.
	 */
	mark(time = this.tooltip.time ?? this.camera.timeAt(this.camera.width / 2)) {
		if (this.begun === undefined) {
			this.begun = time;
			this.hooks.announce(`The range begins at ${this.state.clock.at(time)}; m again ends it.`);
			return;
		}
		const [from, to] = this.begun < time ? [this.begun, time] : [time, this.begun];
		this.begun = undefined;
		this.selection.setRange(from, to, true);
	}
}
