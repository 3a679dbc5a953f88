/*
 * The comparison: a second trace below the first one, on the same time scale. The second trace has
 * its own picture, and the panel lists the differences. Moving one picture moves the other.
 */
import {closeUp} from "../trace/close-up.js";
import {Clock} from "../trace/clock.js";
import {Counters} from "../trace/counters.js";
import {NONE, differences, marked, unmatchedLines} from "./differences.js";
import {listenAtEdges} from "../trace/edge-gestures.js";
import {Gestures} from "../trace/gestures.js";
import {LinkedCamera} from "../trace/camera.js";
import {make} from "../page/make.js";
import {Session} from "../trace/trace-session.js";
import {remote} from "../trace/source.js";
import {CanvasView} from "../trace/canvas-view.js";
import {markTails} from "../trace/tail.js";
import {TrackControls} from "../trace/track-controls.js";
import {THREADS, streamsOf, usualTracks} from "../trace/track-layout.js";
import {POINT_MS, Tooltip} from "../trace/tooltip.js";
import {target} from "../trace/pointed.js";
import {memberView} from "./multi-guest.js";

const REACH = 16;

export class Comparison {
	/**
	 * STATE, CAMERA, CANVASVIEW, SELECTION and TOOLTIP belong to the trace above. hooks:
	 * gestureHooks() -> {zoom, pan, pinch, range, key}, palette(), progress(text, share of 1),
	 * showPanel(name or null), move(change: a function that moves the camera), moved(): the
	 * camera moved, relaid(): the layout of the tracks changed, hide(id): hide a track,
	 * announce(sentence): tell it to screen readers, approach(time, from, to): show TIME (ns of the
	 * trace above) in the middle, the window at most FROM to TO, approachAbove(time): the same, with
	 * the events around TIME above, failed(error)
	 */
	constructor({api, state, camera, canvasView, selection, tooltip, layout}, hooks) {
		this.hooks = hooks;
		this.api = api;
		this.above = {state, camera, canvasView, selection, tooltip};
		this.layout = layout;
		this.camera = new LinkedCamera();
		this.clock = new Clock(this.camera);
		this.shift = 0n; /* ns to add to a time of the trace below to get the time above */
		this.thread = null;
		this.diff = null;
		this.list = [];
		this.tails = []; /* unproven tails of the trace below, as TraceState has them */
		this.leaving = new AbortController();
		this.marks = {bad: [], good: []};
		this.caption = make("h2", {className: "tl-caption", textContent: "Below"});
		this.canvasView = new CanvasView(null, this.camera, {
			palette: () => this.hooks.palette(),
			counter: (index, name, stream) =>
				index === null ? this.streamName(stream) : this.counters.caption(index, name),
			tracks: () => this.tracks,
			clock: () => this.clock,
			layout,
			controls: () => this.controls,
			heapLayers: () => [],
			overlay: () => this.over,
			drawn: () => this.drawn(),
			failed: (error) => this.hooks.failed(error),
			sized: () => this.follow(),
		});
		this.controls = new TrackControls(layout, {
			ids: () => usualTracks(this.tracks).map(({id}) => id),
			displayed: () => this.canvasView.displayed,
			changed: () => hooks.relaid(),
			hide: (id) => hooks.hide(id),
			more: (id) => (id === THREADS ? [["Filter…", () => hooks.showPanel("counters")]] : []),
			announce: (sentence) => hooks.announce(sentence),
		});
		this.controls.closes(this.leaving.signal);
		this.canvasView.element.append(this.controls.line, this.controls.menu);
		this.canvasView.canvas.id = "tl-canvas-below";
		this.canvasView.canvas.setAttribute("aria-label", "Time line of the compared trace");
		this.canvasView.canvas.removeAttribute("aria-describedby");
		this.tooltip = new Tooltip(this.camera, {
			ready: () => this.session?.summary,
			threadAt: async (x, y) => {
				const index = await this.at(x, y);
				return index === null ? null : this.session.engine.thread(index);
			},
			signsAt: (x, y) => this.canvasView.signsAt(x, y),
			strips: () => [],
			clock: () => this.clock,
			unproven: (x) => this.canvasView.unproven.some(({x0, x1}) => x >= x0 && x <= x1),
			changed: () => this.canvasView.changed(),
			failed: (error) => hooks.failed(error),
		});
		this.canvasView.pictures.append(this.tooltip.element);
		this.element = make(
			"section",
			{className: "tl-below", "aria-label": "Compared trace"},
			this.caption,
			this.canvasView.element,
		);
		this.gestures = new Gestures(this.canvasView.canvas, this.gestureHooks());
		listenAtEdges(this.canvasView, this.tooltip, {
			...this.gestureHooks(),
			clock: () => this.clock,
			tails: () => this.tails.map(({stream, time}) => ({from: time, to: this.summary.streams[stream].end})),
			select: (from, to) => this.selectRange(from, to),
			failed: (error) => hooks.failed(error),
		});
	}

	/** The objects of the trace below that get a track; see the hook tracks() of CanvasView. */
	get tracks() {
		return {streams: streamsOf(this.summary), counters: this.counters.lanes, heap: null};
	}

	/** Select the range FROM to TO, ns of the trace below, in both traces. */
	selectRange(from, to) {
		this.above.selection.setRange(from + this.shift, to + this.shift, true);
	}

	/**
	 * Return the gesture hooks of the picture below. Gestures move the time in both pictures
	 * and the rows only in this one.
	 */
	gestureHooks() {
		const {canvasView} = this;
		const {zoom, pan, pinch, range, key} = this.hooks.gestureHooks();
		let held = 0;
		let clicking = null;

		return {
			zoom,
			pan,
			pinch,
			/* The rows are those of the trace above. */
			range: (x0, x1, done) => {
				this.tooltip.carry(x1);
				range(x0, x1, done);
			},
			key,
			grab: (x, y) => {
				held = x;
				canvasView.grab(y);
			},
			drag: (x, y) => {
				this.tooltip.carry(x, y);
				pan(x - held);
				held = x;
				canvasView.pull(y);
			},
			drop: () => canvasView.drop(),
			click: (x, y) => (clicking = this.click(x, y)),
			/* Use the thread of the first click: see double() in selection.js. */
			double: async () => {
				await clicking;
				const index = this.thread?.index ?? null;
				await this.engine.family(index);
				canvasView.renew();
				await this.select(index);
			},
			hover: (x, y) => this.tooltip.hover(x, y),
			leave: () => this.tooltip.leave(),
		};
	}

	/** Return the name of the compared trace's stream STREAM, an index; "" if it is the only one. */
	streamName(stream) {
		const {streams} = this.summary;

		return streams.length > 1 ? (streams[stream]?.name ?? "") : "";
	}

	/**
	 * Return a Promise of the index of the thread to which the arrow at X, Y of the picture below
	 * leads; without an arrow of the thread near X, Y, or of null.
	 */
	async at(x, y) {
		const {engine} = this;
		const arrow = engine ? await this.canvasView.arrowAt(x, y) : null;

		if (arrow) return target(arrow.kind, await engine.pointed(arrow.kind, arrow.item));
		return engine ? this.canvasView.near(x, y, REACH) : null;
	}

	/** Select the thread at X, Y of the picture below, or the time of the gap there. */
	async click(x, y) {
		const index = await this.at(x, y);
		const gap = index === null ? await this.canvasView.gapAt(x, y) : null;

		if (gap) this.selectRange(gap.from, gap.to);
		else await this.select(index);
	}

	close() {
		this.closed = true;
		this.leaving.abort();
		clearTimeout(this.pointing);
		this.session?.close();
		this.tooltip.close();
		this.canvasView.close();
	}

	get summary() {
		return this.session.summary;
	}

	/**
	 * Load the second trace into ENGINE, which has the first one, and compute the differences.
	 */
	async load(engine) {
		const {api} = this;
		const named = memberView(this.above.state.view.against);

		if (!named) throw new Error("The trace to compare with must be named as domain:NAME or capture:NUMBER");
		this.source ??= await remote(api, named);
		this.source.running = false;
		this.source.compared = true;
		this.caption.textContent = `Below: ${this.source.title}, ${this.source.about}`;
		this.session?.close();
		this.session = new Session(
			this.source,
			{
				progress: (text, share) => this.hooks.progress(text, share),
				loaded: () => {},
				failed: (error) => this.hooks.failed(error),
			},
			async () => ({load: (...what) => engine.compare(...what), close() {}, retire() {}}),
		);
		await this.session.begin(null);
		this.engine = this.canvasView.engine = engine.compared;
		this.session.engine = {close() {}, retire() {}, thread: (index) => this.engine.thread(index)};
		this.counters = new Counters(this.summary.counters, () => this.hooks.relaid(), this.layout);
		this.camera.trace(this.summary.start, this.summary.end, this.summary.rows);
		this.camera.look(this.summary.rows / 2);
		this.canvasView.retrack();
		this.markTails().catch((error) => this.closed || this.hooks.failed(error));
		this.hooks.progress("Computing the differences", null);
		await this.compare(engine);
		this.hooks.progress(null, null);
		await this.align(this.above.state.view.align);
	}

	/** Mark the unproven parts of the trace below (trace/tail.js), which the server knows. */
	async markTails() {
		const {engine} = this;
		const tails = await markTails(this.source, engine);

		if (engine !== this.engine || this.closed) return;
		this.tails = tails;
		this.canvasView.renew();
	}

	async compare(engine) {
		this.diff = await engine.diff();
		this.list = differences(this.diff);
		for (const [side, asked] of [
			["bad", engine],
			["good", engine.compared],
		]) {
			const indices = new Set(this.list.map((it) => it[side]?.index).filter((it) => it !== undefined));
			const threads = await Promise.all([...indices].map((index) => asked.thread(index)));
			this.marks[side] = marked(this.list, side, new Map(threads.filter(Boolean).map((it) => [it.index, it])));
		}
	}

	/**
	 * Write the times of the trace below by the clock of KIND (trace/clock.js). If dom0's wall time
	 * of this trace is unknown, write them since its start.
	 */
	async setClock(kind) {
		const {clock} = this;

		clock.kind = kind;
		if (clock.isWall && !clock.wall && this.source)
			await clock
				.learn(this.api, this.source, this.above.state.engine)
				.catch((error) => this.closed || this.hooks.failed(error));
		this.canvasView.renew();
	}

	// Alignment.

	/**
	 * Return the two times, above and below, to align: those of a label if HOW has {label}, of
	 * threads if HOW has {threads}, else of the first events. A time is null if its trace has
	 * no such label or thread.
	 */
	async moments(how) {
		const sides = [this.above.state.engine, this.engine];

		if (how?.label) return Promise.all(sides.map((engine) => this.labelled(engine, how.label)));
		if (how?.threads)
			return (await Promise.all(sides.map((engine, i) => this.locate(engine, how.threads[i])))).map(
				(it) => it?.start ?? null,
			);
		return [this.above.state.summary.start, this.summary.start];
	}

	/** Return the time of the first label in ENGINE's trace that contains TEXT, or null. */
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

	/**
	 * Align the two traces at the times that moments(HOW) returns. If a trace has no such time,
	 * show a sentence and return false.
	 */
	async align(how) {
		const [above, below] = await this.moments(how);
		const there = above !== null && below !== null;

		this.how = there ? (how ?? null) : null;
		this.shift = there ? above - below : this.above.state.summary.start - this.summary.start;
		this.above.camera.join(
			this.summary.start + this.shift,
			this.summary.end + this.shift,
			this.above.state.session.whole,
		);
		this.follow();
		if (!there)
			this.hooks.failed(
				new Error(
					`The trace ${above === null ? "above" : "below"} lacks what the alignment names: the traces are aligned on their first events`,
				),
			);
		return there;
	}

	/**
	 * Align by HOW, which the user chose: call align(), then update the address and the panel.
	 */
	async realign(how) {
		const {state, canvasView} = this.above;

		await this.align(how);
		state.view = {...state.view, align: this.how ?? undefined};
		canvasView.renew();
		this.hooks.moved();
		await this.hooks.showPanel("diff");
	}

	/** Return the selected thread above, or null. */
	get selectedAbove() {
		return this.above.selection.thread;
	}

	/** Select thread INDEX of the trace above and bring it into view. */
	selectAbove(index) {
		return this.above.selection.select(index, {reveal: true});
	}

	/** Arrange the tracks as those above, whose layout changed. */
	relaid() {
		if (!this.counters) return;
		this.counters.all = this.above.state.counters.all;
		this.counters.read();
		this.canvasView.retrack();
	}

	/** Move this picture to the times that the camera above shows. */
	follow() {
		if (!this.camera.follow(this.above.camera, this.shift)) return;
		this.tooltip.moved();
		this.canvasView.changed();
	}

	/** Tell what is at the pointer when the picture below has rested. Call it after each frame. */
	drawn() {
		if (this.pointedIn === this.canvasView.shown) return;
		this.pointedIn = this.canvasView.shown;
		clearTimeout(this.pointing);
		this.pointing = setTimeout(() => this.tooltip.again(), POINT_MS);
	}

	// Drawing and selection.

	/** The mark at the end of the guest below, as Timeline.death; null if it runs, and for a file. */
	get death() {
		const {death} = this.source ?? {};

		return death && this.session?.summary ? {time: this.session.whole.end, text: death} : null;
	}

	get pointer() {
		const {time} = this.above.tooltip;

		return this.tooltip.time ?? (time === null ? null : time - this.shift);
	}

	get over() {
		const {range} = this.above.selection;

		return {
			selected: this.thread,
			range: range && {from: range.from - this.shift, to: range.to - this.shift},
			chain: [],
			pointer: this.pointer,
			death: this.death,
			marks: this.marksOf("good", this.canvasView),
		};
	}

	/**
	 * Return the marks of differences for the picture of SIDE ("bad" or "good"), which
	 * CANVASVIEW shows.
	 */
	marksOf(side, canvasView) {
		if (!this.diff || !canvasView.shown) return [];
		canvasView.unmatched =
			canvasView.loneOf === canvasView.shown
				? canvasView.unmatched
				: unmatchedLines(canvasView.shown, this.diff[`${side}_match`]);
		canvasView.loneOf = canvasView.shown;
		return [...canvasView.unmatched, ...this.marks[side]];
	}

	/** Return the time of the pointer below, on the time line of the trace above, or null. */
	get tooltipTime() {
		return this.tooltip.time === null ? null : this.tooltip.time + this.shift;
	}

	get painted() {
		return [...(this.canvasView.shown?.marks.list() ?? []), ...(this.canvasView.over ?? [])];
	}

	/**
	 * Select thread INDEX of the trace below; null: none. With REVEAL bring the thread into
	 * view. With TELL open its panel.
	 */
	async select(index, {reveal = false, tell = true} = {}) {
		this.thread = index === null ? null : await this.engine.thread(index);
		if (this.thread && this.thread.row !== null && reveal) this.camera.look(this.thread.row + 0.5);
		if (this.thread && reveal && tell && !this.above.camera.sees(this.thread.start + this.shift, 8))
			this.hooks.move(() => this.above.camera.center(this.thread.start + this.shift));
		this.canvasView.changed();
		if (tell) await this.hooks.showPanel(this.thread ? "below" : null);
	}

	/**
	 * Return a Promise of the range {from, to} of time, ns of the trace above, around the moments at
	 * which the two traces part first; null if they do not part.
	 */
	async parting() {
		const first = this.list.find((it) => it.first);
		const {engine, summary} = this.above.state;
		const {badTime, goodTime} = first ?? {badTime: null, goodTime: null};
		const ranges = [
			...(badTime === null ? [] : [await closeUp(engine, summary, badTime)]),
			...(goodTime === null ? [] : [this.shifted(await closeUp(this.engine, this.summary, goodTime))]),
		];

		return ranges.length
			? ranges.reduce((a, b) => ({from: a.from < b.from ? a.from : b.from, to: a.to > b.to ? a.to : b.to}))
			: null;
	}

	/** Return the range {from, to} of times below as times above. */
	shifted({from, to}) {
		return {from: from + this.shift, to: to + this.shift};
	}

	/**
	 * Show TIME, ns of the trace below, in the middle of both pictures, near enough to tell the events
	 * around it.
	 */
	async approach(time) {
		const {from, to} = this.shifted(await closeUp(this.engine, this.summary, time));

		this.hooks.approach(time + this.shift, from, to);
	}

	/** Show the difference IT, an item of differences(), in both pictures. */
	async jump(it) {
		if (it.good) await this.select(it.good.index, {reveal: true, tell: !it.bad});
		if (it.bad) {
			await this.above.selection.select(it.bad.index, {reveal: true, tell: false});
			if (it.badTime) await this.hooks.approachAbove(it.badTime);
		} else if (it.goodTime) await this.approach(it.goodTime);
		this.canvasView.changed();
		this.above.canvasView.changed();
	}

	/** Return the index of the counterpart of thread INDEX of SIDE, or null. */
	counterpart(side, index) {
		const other = this.diff?.[`${side}_match`][index];

		return other === undefined || other === NONE ? null : other;
	}
}
