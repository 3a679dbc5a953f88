/* What keys and buttons do to a time line, by name; keys.js says which key is which. */
import {inView} from "./threads.js";
import {span} from "../page/times.js";

export class Actions {
	constructor(timeline) {
		this.timeline = timeline;
		this.begun = undefined; /* where a range begins that is measured by key */
	}

	/** A key that was pressed anywhere on the page. */
	key(event) {
		const {timeline} = this;
		const element = event.target;

		if (event.defaultPrevented || /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName)) return;
		/* On a button these two press it. */
		if ((event.key === " " || event.key === "Enter") && element.closest("button, a, summary")) return;
		timeline.input.key(event);
	}

	/** Select the next thread in view (BY 1), or the one before (-1). */
	neighbour(by) {
		const {timeline} = this;
		const indices = timeline.stage.shown ? inView(timeline.stage.shown.marks) : [];
		const at = timeline.selection.thread ? indices.indexOf(timeline.selection.thread.index) : -1;

		if (indices.length)
			timeline.selection.select(
				indices[at < 0 ? (by > 0 ? 0 : indices.length - 1) : (at + by + indices.length) % indices.length],
			);
	}

	/** The selected thread, or the selected range, over the whole width. */
	zoomTo() {
		const {timeline} = this;
		const {thread, range} = timeline.selection;
		const what = thread ? {from: thread.start, to: thread.end} : range;

		if (!what) return;
		const margin = (what.to - what.from) / 16n + 1n;
		timeline.camera.show(what.from - margin, what.to + margin);
	}

	/** What only moves the camera. */
	moves() {
		const {timeline} = this;
		const {camera} = timeline;
		const x = timeline.tip.x ?? camera.width / 2;

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

	/** True where it was done. */
	act(action) {
		const {timeline} = this;
		const moves = this.moves();
		const others = {
			fit: () => timeline.fit(),
			search: () => {
				timeline.search.input.focus();
				timeline.search.input.select();
			},
			next: () => timeline.search.step(1),
			previous: () => timeline.search.step(-1),
			"thread-next": () => this.neighbour(1),
			"thread-previous": () => this.neighbour(-1),
			family: () => timeline.selection.thread && timeline.selection.highlight(timeline.selection.thread.index),
			mark: () => this.mark(),
			heap: () => timeline.heap?.any && timeline.heap.flip(),
			counters: () => timeline.flipCounters(),
			escape: () => this.escape(),
		};

		if (moves[action]) timeline.move(moves[action]);
		else if (others[action]) timeline.session?.summary && others[action]();
		else timeline.panels.flip(action);
		return true;
	}

	/** Close the topmost thing that is open. */
	escape() {
		const {timeline} = this;
		const {selection} = timeline;

		this.begun = undefined;
		if (timeline.frame.closeMenu()) return;
		if (timeline.panels.name) {
			timeline.panels.close();
		} else if (selection.range) {
			selection.setRange(0n, 0n, true);
		} else if (selection.thread) {
			selection.select(null);
		} else if (selection.family !== null) {
			selection.highlight(null);
		}
		timeline.stage.canvas.focus();
	}

	/** Measure by key: once where it begins, once where it ends. */
	mark(time = this.timeline.tip.time ?? this.timeline.camera.timeAt(this.timeline.camera.width / 2)) {
		const {timeline} = this;

		if (this.begun === undefined) {
			this.begun = time;
			timeline.live.textContent = `The range begins at +${span(time - timeline.camera.start)}; m again ends it.`;
			return;
		}
		const [from, to] = this.begun < time ? [this.begun, time] : [time, this.begun];
		this.begun = undefined;
		timeline.selection.setRange(from, to, true);
	}
}
