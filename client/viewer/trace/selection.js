/*
 * The selection in a trace: a thread, a highlighted family (a thread with its aliases), and a time
 * range.
 */
import {line} from "./threads.js";

const REACH = 16; /* greatest distance in pixels at which a click selects a thread */
const LOOKED_AT_MAX = 500;

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
	}

	/**
	 * Return the thread with this stream and id in the model, or null. THREAD is another name
	 * of ID. INDEX is a guess, because a thread has another index in each model.
	 */
	async locate({stream, id, thread, index}) {
		const {engine} = this.state.session;
		const wanted = BigInt(id ?? thread);
		const fits = (it) => it && it.id === wanted && (typeof stream !== "number" || it.stream === stream);
		const guess = Number.isInteger(index) ? await engine.thread(index) : null;

		if (fits(guess)) return guess;
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

	/** In a new model, highlight the matches of the search or the family again. */
	async restore() {
		const {engine} = this.state.session;

		if (this.search.input.value) await engine.find(this.search.input.value);
		else await engine.family(this.family);
	}

	async find(text) {
		if (!this.state.engine) return {threads: []};
		this.family = null;
		const found = await this.state.engine.find(text);
		this.canvasView.renew();
		return found;
	}

	async select(index, {reveal = false, tell = true} = {}) {
		const thread = index === null ? null : await this.state.engine.thread(index);

		this.thread = thread;
		if (thread) {
			if (reveal) this.reveal(thread);
			this.hooks.announce(`Selected: ${line(thread, this.camera.start)}`);
			if (tell) await this.hooks.showPanel("thread");
		} else if (this.hooks.panel() === "thread") {
			this.hooks.showPanel(null);
		}
		this.canvasView.changed();
		this.hooks.settle();
	}

	/** Move the camera so that THREAD can be seen. The scale stays. */
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

	async highlight(index) {
		this.family = index;
		if (this.search.input.value) {
			this.search.clear();
		}
		await this.state.engine.family(index);
		this.canvasView.renew();
	}

	at(x, y) {
		return this.state.engine ? this.canvasView.near(x, y, REACH) : null;
	}

	async click(x, y) {
		this.clicking = (async () => this.select(await this.at(x, y)))();
		await this.clicking;
	}

	/**
	 * Highlight the thread that the first click of a double click selected. The thread may no
	 * longer be at the pointer, because the panel that the first click opened can move the
	 * picture.
	 */
	async double() {
		await this.clicking;
		const index = this.thread?.index ?? null;

		await this.highlight(index);
		await this.select(index);
	}

	drawRange(x0, x1, done) {
		const [a, b] = [this.camera.timeAt(Math.min(x0, x1)), this.camera.timeAt(Math.max(x0, x1))];

		this.setRange(a, b, done);
	}

	setRange(from, to, done) {
		this.range = to > from ? {from, to} : null;
		this.canvasView.changed();
		if (done) {
			this.hooks.showPanel(this.range ? "stats" : null);
			this.hooks.settle();
		}
	}
}
