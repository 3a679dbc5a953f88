/*
 * Another trace below the first, on the same scale of time: its picture, how the two are aligned, and what differs between them.  Moving one moves
 * the other.
 */
import {Counters} from "../trace/counters.js";
import {NONE, differences, loneLines, marked} from "./differences.js";
import {Input} from "../trace/input.js";
import {Linked} from "./linked.js";
import {make} from "../page/make.js";
import {Session} from "../trace/session.js";
import {remote} from "../trace/source.js";
import {Stage} from "../trace/stage.js";
import {Tip} from "../trace/tip.js";
import {memberView} from "./together.js";

const REACH = 16;

export class Versus {
	constructor(timeline) {
		this.timeline = timeline;
		this.camera = new Linked();
		this.shift = 0n; /* of its times to those above */
		this.thread = null;
		this.diff = null;
		this.list = [];
		this.marks = {bad: [], good: []};
		this.caption = make("h2", {className: "tl-caption", textContent: "Below"});
		this.stage = new Stage(null, this.camera, {
			palette: () => timeline.palette,
			counter: (index, name) => this.counters.caption(index, name),
			overlay: () => this.over,
			drawn: () => {},
			failed: (error) => timeline.failed(error),
			sized: () => this.follow(),
		});
		this.stage.canvas.id = "tl-canvas-below";
		this.stage.canvas.setAttribute("aria-label", "Time line of what it is compared with");
		this.stage.canvas.removeAttribute("aria-describedby");
		this.tip = new Tip(this);
		this.stage.pictures.append(this.tip.element);
		this.selection = {at: (x, y) => this.engine && this.stage.near(x, y, REACH)};
		this.element = make(
			"section",
			{className: "tl-below", "aria-label": "What it is compared with"},
			this.caption,
			this.stage.element,
		);
		this.input = new Input(this.stage.canvas, this.hooks());
	}

	/** What a hand does here moves both; rows are its own. */
	hooks() {
		const {timeline, stage} = this;
		const {zoom, pan, pinch, range, key} = timeline.hooks();
		let held = 0;
		let clicking = null;

		return {
			zoom,
			pan,
			pinch,
			range,
			key,
			grab: (x, y) => {
				held = x;
				stage.grab(y);
			},
			drag: (x, y) => {
				pan(x - held);
				held = x;
				stage.pull(y);
			},
			drop: () => stage.drop(),
			click: (x, y) => (clicking = (async () => this.select(await this.selection.at(x, y)))()),
			/* Of what the first click met: see selection.js. */
			double: async () => {
				await clicking;
				const index = this.thread?.index ?? null;
				await this.engine.family(index);
				stage.renew();
				await this.select(index);
			},
			hover: (x, y) => this.tip.hover(x, y),
			leave: () => this.tip.leave(),
		};
	}

	failed(error) {
		this.timeline.failed(error);
	}

	close() {
		this.closed = true;
		this.session?.close();
		this.stage.close();
	}

	get summary() {
		return this.session.summary;
	}

	/** Load it beside the trace in ENGINE, and find out what differs. */
	async load(engine) {
		const {timeline} = this;
		const {api} = timeline.services;
		const named = memberView(timeline.view.against);

		if (!named) throw new Error("What is compared with must be named as domain:NAME or capture:NUMBER");
		this.source ??= await remote(api, named);
		this.source.running = false;
		this.source.compared = true;
		this.caption.textContent = `Below: ${this.source.title}, ${this.source.about}`;
		this.session?.close();
		this.session = new Session(
			this.source,
			{
				progress: (text, share) => timeline.frame.progress(text, share),
				loaded: () => {},
				failed: (error) => timeline.failed(error),
			},
			async () => ({load: (...what) => engine.compare(...what), close() {}}),
		);
		await this.session.begin(null);
		this.engine = this.stage.engine = engine.beside;
		this.session.engine = {close() {}, thread: (index) => this.engine.thread(index)};
		this.counters = new Counters(this.summary.counters, () => {});
		this.camera.trace(this.summary.start, this.summary.end, this.summary.rows);
		this.camera.look(this.summary.rows / 2);
		timeline.frame.progress("Finding out what differs", null);
		await this.compare(engine);
		timeline.frame.progress(null, null);
		await this.align(timeline.view.align);
	}

	async compare(engine) {
		this.diff = await engine.diff();
		this.list = differences(this.diff);
		for (const [side, asked] of [
			["bad", engine],
			["good", engine.beside],
		]) {
			const indices = new Set(this.list.map((it) => it[side]?.index).filter((it) => it !== undefined));
			const threads = await Promise.all([...indices].map((index) => asked.thread(index)));
			this.marks[side] = marked(this.list, side, new Map(threads.filter(Boolean).map((it) => [it.index, it])));
		}
	}

	// Alignment.

	/** The time in each that HOW names: {label}, {threads} or null for the first events; null where there is none. */
	async moments(how) {
		const {timeline} = this;
		const sides = [timeline.session.engine, this.engine];

		if (how?.label) return Promise.all(sides.map((engine) => this.labelled(engine, how.label)));
		if (how?.threads)
			return (await Promise.all(sides.map((engine, i) => this.locate(engine, how.threads[i])))).map(
				(it) => it?.start ?? null,
			);
		return [timeline.session.summary.start, this.summary.start];
	}

	/** When the first label with TEXT came. */
	async labelled(engine, text) {
		const {threads} = await engine.find(text);
		const all = await Promise.all([...threads.slice(0, 50)].map((index) => engine.thread(index)));
		const times = all
			.flatMap((it) => it?.labels ?? [])
			.filter((it) => it.text.toLowerCase().includes(text.toLowerCase()))
			.map((it) => it.time);

		await engine.family(null);
		return times.length ? times.reduce((a, b) => (a < b ? a : b)) : null;
	}

	async locate(engine, {id, index}) {
		const thread = Number.isInteger(index) ? await engine.thread(index) : null;

		return thread?.id === id ? thread : null;
	}

	/** Put the two so that what HOW names stands above each other.  False, with a sentence, where it is not in both. */
	async align(how) {
		const {timeline} = this;
		const [above, below] = await this.moments(how);
		const there = above !== null && below !== null;

		this.how = there ? (how ?? null) : null;
		this.shift = there ? above - below : timeline.session.summary.start - this.summary.start;
		timeline.camera.join(this.summary.start + this.shift, this.summary.end + this.shift, timeline.session.whole);
		this.follow();
		if (!there)
			timeline.failed(
				new Error(
					`What they should be aligned on is not in the trace ${above === null ? "above" : "below"}; their first events are`,
				),
			);
		return there;
	}

	/** The camera above has moved. */
	follow() {
		if (this.camera.follow(this.timeline.camera, this.shift)) this.stage.changed();
	}

	// What is drawn and chosen.

	get pointer() {
		const {time} = this.timeline.tip;

		return this.tip.time ?? (time === null ? null : time - this.shift);
	}

	get over() {
		const {range} = this.timeline.selection;

		return {
			selected: this.thread,
			range: range && {from: range.from - this.shift, to: range.to - this.shift},
			chain: [],
			pointer: this.pointer,
			marks: this.marksOf("good", this.stage),
		};
	}

	/** What lies over the picture of STAGE. */
	marksOf(side, stage) {
		if (!this.diff || !stage.shown) return [];
		stage.lone = stage.loneOf === stage.shown ? stage.lone : loneLines(stage.shown, this.diff[`${side}_match`]);
		stage.loneOf = stage.shown;
		return [...stage.lone, ...this.marks[side]];
	}

	/** The time above of the pointer below. */
	get tipTime() {
		return this.tip.time === null ? null : this.tip.time + this.shift;
	}

	get painted() {
		return [...(this.stage.shown?.marks.list() ?? []), ...(this.stage.over ?? [])];
	}

	/** Select thread INDEX of the trace below; with TIME bring it into view. */
	async select(index, {reveal = false, tell = true} = {}) {
		const {timeline} = this;

		this.thread = index === null ? null : await this.engine.thread(index);
		if (this.thread && this.thread.row !== null && reveal) this.camera.look(this.thread.row + 0.5);
		if (this.thread && reveal && tell && !timeline.camera.sees(this.thread.start + this.shift, 8))
			timeline.move(() => timeline.camera.center(this.thread.start + this.shift));
		this.stage.changed();
		if (tell) await timeline.panels.show(this.thread ? "below" : null);
	}

	/** Show difference IT in both pictures. */
	async jump(it) {
		const {timeline} = this;

		if (it.good) await this.select(it.good.index, {reveal: true, tell: !it.bad});
		if (it.bad) {
			await timeline.selection.select(it.bad.index, {reveal: true, tell: false});
			if (it.badTime) timeline.move(() => timeline.camera.center(it.badTime));
		}
		this.stage.changed();
		timeline.stage.changed();
	}

	/** The counterpart of thread INDEX of SIDE, or null. */
	counterpart(side, index) {
		const other = this.diff?.[`${side}_match`][index];

		return other === undefined || other === NONE ? null : other;
	}
}
