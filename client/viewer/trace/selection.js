/*
 * The selection in a trace: a thread, a range of time, and a family to highlight. A
 * family is a thread with its aliases: the threads that it became, and those that became it.
 */
import {line} from "./threads.js";
import {target} from "./pointed.js";

const REACH = 16; /* greatest distance in pixels at which a click selects a thread */
const ROWS_LEAST = 40; /* least height in pixels of an area that selects rows */
const LOOKED_AT_MAX = 500; /* most threads with a fitting text that locate() examines */

export class Selection {
	/**
	 * HOOKS, functions of the time line:
	 * - panel(): return the name of the open panel, or null;
	 * - showPanel(name): open a panel; null closes the open one;
	 * - announce(sentence): tell the sentence to screen readers;
	 * - moved(): draw again, because the camera moved;
	 * - settle(): write the address of the page, because the selection changed.
	 */
	constructor({state, camera, canvasView, search}, hooks) {
		Object.assign(this, {state, camera, canvasView, search, hooks});
		this.thread = null; /* the selected thread, an answer of engine.thread(); null: none */
		this.family = null; /* index of the thread whose family is highlighted; null: none */
		this.range = null; /* the selected range {from, to}, or null */
		this.rows = null; /* the selected rows {first, last}, both included; null: all */
	}

	/**
	 * Return a Promise of the thread with the number ID in the stream STREAM of the present model,
	 * or of null. THREAD is another member for the number, used if ID is absent. INDEX is the
	 * thread's index in an earlier model; it is tried first, because indices differ between models.
	 */
	async locate({stream, id, thread, index}) {
		const {engine} = this.state.session;
		const wanted = BigInt(id ?? thread);
		const fits = (it) => it && it.id === wanted && (typeof stream !== "number" || it.stream === stream);
		const guess = Number.isInteger(index) ? await engine.thread(index) : null;

		if (fits(guess)) return guess;
		/* The search also highlights the threads that it finds; restore() undoes that. */
		const {threads} = await engine.find(String(wanted));
		let found = null;
		for (const it of threads.slice(0, LOOKED_AT_MAX)) {
			const one = await engine.thread(it);
			if (fits(one)) {
				found = one;
				break;
			}
		}
		await this.restore();
		return found;
	}

	/**
	 * Highlight again what the user wants highlighted: the matches of the search, or else the
	 * family.
	 */
	async restore() {
		const {engine} = this.state.session;

		if (this.search.input.value) await engine.find(this.search.input.value);
		else await engine.family(this.family);
	}

	/** Search for TEXT and highlight the matches. Return a Promise of {threads: indices}. */
	async find(text) {
		if (!this.state.engine) return {threads: []};
		this.family = null;
		const found = await this.state.engine.find(text);
		this.canvasView.renew();
		return found;
	}

	/**
	 * Select the thread INDEX; null selects none. REVEAL: true moves the camera to the thread.
	 * TELL: true opens the panel about it.
	 */
	async select(index, {reveal = false, tell = true} = {}) {
		const thread = index === null ? null : await this.state.engine.thread(index);

		this.thread = thread;
		if (thread) {
			if (reveal) this.reveal(thread);
			this.hooks.announce(`Selected: ${line(thread, this.state.clock)}`);
			if (tell) await this.hooks.showPanel("thread");
		} else if (this.hooks.panel() === "thread") {
			this.hooks.showPanel(null);
		}
		this.canvasView.changed();
		this.hooks.settle();
	}

	/** Move the camera so that an end of THREAD is in view, and focus its row. The scale stays. */
	reveal(thread) {
		const {camera} = this;

		if (
			thread.end < camera.from ||
			thread.start > camera.to ||
			(!camera.sees(thread.start, 8) && !camera.sees(thread.end, 8))
		)
			camera.center(thread.end - thread.start > camera.span ? thread.start : (thread.start + thread.end) / 2n);
		if (thread.row !== null) camera.look(thread.row + 0.5);
		this.hooks.moved();
	}

	/**
	 * Highlight the family of the thread INDEX in place of the matches of the search; null: none.
	 */
	async highlight(index) {
		this.family = index;
		if (this.search.input.value) {
			this.search.clear();
		}
		await this.state.engine.family(index);
		this.canvasView.renew();
	}

	/**
	 * Return a Promise of the index of the thread to which the arrow at X, Y (pixels of the picture)
	 * leads; without an arrow of the thread near X, Y, or of null.
	 */
	async at(x, y) {
		const {engine} = this.state;
		const arrow = engine ? await this.canvasView.arrowAt(x, y) : null;

		if (arrow) return target(arrow.kind, await engine.pointed(arrow.kind, arrow.item));
		return engine ? this.canvasView.near(x, y, REACH) : null;
	}

	/**
	 * Select the thread near X, Y, in pixels of the picture. Without a thread, select the time of the
	 * gap there, or no thread.
	 */
	async click(x, y) {
		this.clicking = (async () => {
			const index = await this.at(x, y);
			const gap = index === null ? await this.canvasView.gapAt(x, y) : null;

			if (gap) this.setRange(gap.from, gap.to, true);
			else await this.select(index);
		})();
		await this.clicking;
	}

	/**
	 * Highlight the thread that the first click of a double click selected. The thread may no
	 * longer be at the pointer, because the first click can open the panel, which moves the
	 * picture.
	 */
	async double() {
		await this.clicking;
		const index = this.thread?.index ?? null;

		await this.highlight(index);
		await this.select(index);
	}

	/**
	 * Select the range between X0 and X1 pixels, in any order; with Y0 and Y1 that are ROWS_LEAST
	 * pixels apart, only the rows between them. DONE is true when the user ends drawing it.
	 */
	drawRange(x0, x1, done, y0 = 0, y1 = y0) {
		const [a, b] = [this.camera.timeAt(Math.min(x0, x1)), this.camera.timeAt(Math.max(x0, x1))];
		const {shown} = this.canvasView;

		this.rows = null;
		if (shown && Math.abs(y1 - y0) >= ROWS_LEAST) {
			const row = (y) => Math.max(0, Math.min(this.camera.rows - 1, Math.round(shown.rowAt(y))));

			this.rows = {first: row(Math.min(y0, y1)), last: row(Math.max(y0, y1))};
		}
		this.setRange(a, b, done);
	}

	/** Select only the rows FIRST to LAST; without numbers, all. Open the panel with their numbers. */
	setRows(first, last) {
		const most = this.camera.rows - 1;
		const within = (row) => Math.max(0, Math.min(most, row));

		this.rows = first === undefined ? null : {first: within(first), last: within(Math.max(first, last))};
		if (this.rows?.first === 0 && this.rows.last === most) this.rows = null;
		this.canvasView.changed();
		this.hooks.showPanel("stats");
		this.hooks.settle();
	}

	/**
	 * Select the range FROM to TO, ns; an empty one selects none. If DONE is true, open the panel
	 * with its numbers and write the URL.
	 */
	setRange(from, to, done) {
		this.range = to > from ? {from, to} : null;
		if (!this.range) this.rows = null;
		this.canvasView.changed();
		if (done) {
			this.hooks.showPanel(this.range ? "stats" : null);
			this.hooks.settle();
		}
	}
}
