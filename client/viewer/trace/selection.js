/* What a person has chosen of a trace: a thread, a family that is highlighted, a range of time. */
import {line} from "./threads.js";

const REACH = 16; /* pixels from a thread's line */
const LOOKED_AT_MAX = 500;

export class Selection {
	constructor(timeline) {
		this.timeline = timeline;
		this.thread = null; /* as engine.thread() tells it */
		this.family = null; /* index of a thread */
		this.range = null; /* {from, to} */
	}

	/** The thread that {stream, id, index} names in this model, or null: an index holds for one model alone. */
	async locate({stream, id, thread, index}) {
		const {timeline} = this;
		const {engine} = timeline.session;
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

	/** Searching highlights, and so does a family: put back what was. */
	async restore() {
		const {timeline} = this;
		const {engine} = timeline.session;

		if (timeline.search.input.value) await engine.find(timeline.search.input.value);
		else await engine.family(this.family);
	}

	async find(text) {
		const {timeline} = this;

		if (!timeline.session?.engine) return {threads: []};
		this.family = null;
		const found = await timeline.session.engine.find(text);
		timeline.stage.renew();
		return found;
	}

	async select(index, {reveal = false, tell = true} = {}) {
		const {timeline} = this;
		const thread = index === null ? null : await timeline.session.engine.thread(index);

		this.thread = thread;
		if (thread) {
			if (reveal) this.reveal(thread);
			timeline.live.textContent = `Selected: ${line(thread, timeline.camera.start)}`;
			if (tell) await timeline.panels.show("thread");
		} else if (timeline.panels.name === "thread") {
			timeline.panels.close();
		}
		timeline.stage.changed();
		timeline.settle();
	}

	/** Bring a thread into view, at the scale there is. */
	reveal(thread) {
		const {timeline} = this;
		const {camera} = timeline;

		if (
			thread.end < camera.from ||
			thread.start > camera.to ||
			(!camera.sees(thread.start, 8) && !camera.sees(thread.end, 8))
		)
			camera.center(thread.end - thread.start > camera.span ? thread.start : (thread.start + thread.end) / 2n);
		if (thread.row !== null) camera.look(thread.row + 0.5);
		timeline.moved();
	}

	async highlight(index) {
		const {timeline} = this;

		this.family = index;
		if (timeline.search.input.value) {
			timeline.search.input.value = "";
			timeline.search.text = "";
			timeline.search.threads = [];
			timeline.search.say();
		}
		await timeline.session.engine.family(index);
		timeline.stage.renew();
	}

	at(x, y) {
		const {timeline} = this;

		return timeline.session?.engine ? timeline.stage.near(x, y, REACH) : null;
	}

	async click(x, y) {
		this.clicking = (async () => this.select(await this.at(x, y)))();
		await this.clicking;
	}

	/** The second click means what the first one met: the panel that it opened may have moved the picture since. */
	async double() {
		await this.clicking;
		const index = this.thread?.index ?? null;

		await this.highlight(index);
		await this.select(index);
	}

	drawRange(x0, x1, done) {
		const {timeline} = this;
		const [a, b] = [timeline.camera.timeAt(Math.min(x0, x1)), timeline.camera.timeAt(Math.max(x0, x1))];

		this.setRange(a, b, done);
	}

	setRange(from, to, done) {
		const {timeline} = this;

		this.range = to > from ? {from, to} : null;
		timeline.stage.changed();
		if (done) {
			timeline.panels.show(this.range ? "stats" : null);
			timeline.settle();
		}
	}
}
