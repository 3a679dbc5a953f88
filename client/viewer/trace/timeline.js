/*
 * A trace on the screen: puts source, session, stage, panel and search together, and keeps the address true.
 *
 *   const timeline = await Timeline.open(element, view, {api, events, file});
 *   timeline.go(view)      the address changed; false where it names another trace
 *   timeline.close()
 */
import {Actions} from "./actions.js";
import {Camera} from "./camera.js";
import {Frame} from "./frame.js";
import {Input} from "./input.js";
import {Loading} from "./loading.js";
import {make} from "../page/make.js";
import {Minimap} from "./minimap.js";
import {Panels} from "./panels.js";
import {Search} from "./search.js";
import {Selection} from "./selection.js";
import {FLAGS_ALL, FLAGS_NO_COUNTERS, Stage} from "./stage.js";
import {palette, watchDark} from "../draw/theme.js";
import {inView, line} from "./threads.js";
import {Tip} from "./tip.js";
import {rough} from "../page/times.js";
import {Versus} from "../compare/versus.js";
import {Whereabouts} from "./whereabouts.js";

const READ_MS = 700; /* until the text beside the picture follows it */

export class Timeline {
	static async open(root, view, services) {
		const timeline = new Timeline(root, view, services);

		timeline.ready = timeline.loading.start();
		return timeline;
	}

	constructor(root, view, services) {
		Object.assign(this, {root, view, services});
		this.camera = new Camera();
		this.selection = new Selection(this);
		this.actions = new Actions(this);
		this.loading = new Loading(this);
		this.whereabouts = new Whereabouts(this);
		this.tip = new Tip(this);
		this.chain = []; /* of waits, as overlay.js draws it */
		this.leaving = new AbortController();
		this.dark = watchDark((dark) => {
			this.dark = dark;
			this.stage?.renew();
			this.versus?.stage.renew();
		}, this.leaving.signal);
		this.build();
		root.timeline = this;
	}

	/** The primitives that are shown: of the picture, and of what lies over it. */
	get painted() {
		return [...(this.stage.shown?.marks.list() ?? []), ...(this.stage.over ?? [])];
	}

	/** What lies over the picture. */
	get over() {
		const {selection, chain, tip, unloaded} = this;
		const guests = this.strips ?? [];
		const marks = this.versus?.marksOf("bad", this.stage) ?? [];
		const pointer = tip.time ?? this.heap?.time ?? this.versus?.tipTime ?? null;

		return {guests, marks, selected: selection.thread, range: selection.range, chain, pointer, unloaded};
	}

	/** Times that are there but not in this model. */
	get unloaded() {
		const {loaded, overview} = this.session ?? {};

		if (!loaded) return [];
		return [
			{from: overview.from, to: loaded.from},
			{from: loaded.to, to: this.camera.end},
		].filter(({from, to}) => to > from);
	}

	get palette() {
		return palette(this.dark);
	}

	build() {
		this.stage = new Stage(null, this.camera, {
			palette: () => this.palette,
			counter: (index, name) => this.counters.caption(index, name),
			overlay: () => this.over,
			drawn: () => this.drawn(),
			failed: (error) => this.failed(error),
			sized: () => this.minimap.resize(),
		});
		this.minimap = new Minimap(() => this.palette, {
			show: (from, to) => this.move(() => this.camera.show(from, to)),
		});
		this.search = new Search({
			find: (text) => this.selection.find(text),
			go: (thread) => this.selection.select(thread, {reveal: true}),
			changed: () => this.settle(),
			leave: () => this.stage.canvas.focus(),
		});
		this.panels = new Panels(this);
		this.says = make("div", {className: "tl-status", id: "tl-view"});
		this.live = make("div", {className: "unseen", role: "status", "aria-live": "polite"});
		this.text = make("div", {className: "unseen", role: "region", "aria-label": "The threads in view, as text"});
		this.stage.pictures.append(this.tip.element);
		this.versus = this.view.against ? new Versus(this) : null;
		this.frame = new Frame(this);
		this.root.replaceChildren(this.frame.element);
		this.input = new Input(this.stage.canvas, this.hooks());
		this.onKey = (event) => this.actions.key(event);
		document.addEventListener("keydown", this.onKey);
		this.minimap.canvas.addEventListener("keydown", (event) => this.input.key(event));
	}

	hooks() {
		return {
			zoom: (x, factor) => this.move(() => this.camera.zoom(x, factor)),
			pan: (dx) => this.move(() => this.camera.pan(dx)),
			grab: (x, y) => {
				this.held = {x};
				this.stage.grab(y);
			},
			drag: (x, y) =>
				this.move(() => {
					this.camera.pan(x - this.held.x);
					this.held.x = x;
					this.stage.pull(y);
				}),
			drop: () => this.stage.drop(),
			pinch: (...x) => this.move(() => this.camera.pinch(...x)),
			click: (x, y) => this.selection.click(x, y),
			double: () => this.selection.double(),
			range: (x0, x1, done) => this.selection.drawRange(x0, x1, done),
			hover: (x, y) => this.tip.hover(x, y),
			leave: () => this.tip.leave(),
			key: (action) => this.actions.act(action),
		};
	}

	/** Lay the heap beside the threads, where a memory profile ran; a page without a server has none. */
	async beside() {
		const Strip = await this.services.strip?.();

		if (!Strip || this.heap || this.closed) return;
		this.heap = new Strip(this);
		this.stage.element.insertBefore(this.heap.element, this.stage.pictures);
		await this.heap.begin();
	}

	close() {
		this.leaving.abort();
		document.removeEventListener("keydown", this.onKey);
		this.whereabouts.close();
		clearTimeout(this.reading);
		this.versus?.close();
		this.heap?.close();
		this.stage.close();
		this.session?.close();
		this.closed = true;
		delete this.root.timeline;
	}

	/** A person gave a file. */
	take(file) {
		const {take} = this.services;

		if (take) take(file, () => this.loading.take(file));
		else this.loading.take(file);
	}

	/** Sentences on what the trace lacks. */
	notes() {
		return this.loading.notes();
	}

	/** The address changed; false where it names another trace. */
	go(view) {
		return this.whereabouts.go(view);
	}

	/** Something was moved or chosen: the address follows. */
	settle() {
		this.whereabouts.settle();
	}

	fit() {
		return this.whereabouts.fit();
	}

	failed(error) {
		this.frame.trouble(error.message);
	}

	// Moving.

	/** Move the camera, and show it. */
	move(change) {
		if (!this.session?.summary) return;
		change();
		this.tip.hide();
		this.moved();
	}

	moved() {
		const {camera} = this;

		this.stage.changed();
		this.versus?.follow();
		this.session.look(camera.from, camera.to);
		this.settle();
	}

	say() {
		const {camera} = this;

		const from = camera.from > camera.start ? camera.from : camera.start;
		const to = camera.to < camera.end ? camera.to : camera.end;

		this.says.textContent =
			from === camera.start && to === camera.end
				? `The whole trace is in view: ${rough(to - from)}.`
				: `${rough(to - from)} in view, from +${rough(from - camera.start)} to +${rough(to - camera.start)}, of ` +
					`${rough(camera.end - camera.start)}.`;
	}

	drawn() {
		this.versus?.follow();
		this.heap?.draw();
		const key = `${this.camera.from} ${this.camera.to} ${this.dark} ${this.camera.width}`;

		if (this.session?.summary && this.mapped !== key) {
			this.mapped = key;
			this.minimap.draw(this.camera);
			this.say();
		}
		if (this.read !== this.stage.shown) {
			this.read = this.stage.shown;
			clearTimeout(this.reading);
			this.reading = setTimeout(() => this.tell(), READ_MS);
		}
	}

	/** The picture as text. */
	async tell() {
		if (!this.stage.shown || this.closed) return;
		const indices = inView(this.stage.shown.marks);
		const {engine} = this.session;
		const threads = await Promise.all(indices.slice(0, 40).map((index) => engine.thread(index))).catch(() => []);

		this.text.replaceChildren(
			make("p", {textContent: `${this.says.textContent} ${indices.length} threads are drawn; the first are:`}),
			make(
				"ul",
				{},
				...threads.filter(Boolean).map((it) => make("li", {textContent: line(it, this.camera.start)})),
			),
		);
		if (this.panels.name === "threads") this.panels.show("threads");
	}

	// Counters.

	showCounter(index, shown) {
		this.session.engine.counter(index, shown);
		this.stage.renew();
	}

	flipCounters() {
		const shown = this.counters.flip();

		this.stage.flags = shown ? FLAGS_ALL : FLAGS_NO_COUNTERS;
		this.live.textContent = shown ? "Counters are shown." : "Counters are hidden.";
		this.stage.renew();
	}
}
