/*
 * A trace on the screen: puts source, session, stage, panel and search together, and keeps the address true.
 *
 *   const timeline = await Timeline.open(element, view, {api, events, file});
 *   timeline.go(view)      the address changed; false where it names another trace
 *   timeline.close()
 */
import {Actions} from "./actions.js";
import {format, sameTrace} from "./address.js";
import {density} from "./archive.js";
import {Camera} from "./camera.js";
import {Counters} from "./counters.js";
import {Frame} from "./frame.js";
import {strips} from "./guests.js";
import {Input} from "./input.js";
import {make} from "./make.js";
import {Minimap} from "./minimap.js";
import {Panels} from "./panels.js";
import {Search} from "./search.js";
import {Selection} from "./selection.js";
import {Session} from "./session.js";
import {local, remote} from "./source.js";
import {FLAGS_ALL, FLAGS_NO_COUNTERS, Stage} from "./stage.js";
import {palette, watchDark} from "./theme.js";
import {inView, line} from "./threads.js";
import {markTails} from "./tail.js";
import {Tip} from "./tip.js";
import {rough} from "./times.js";
import {Versus} from "./versus.js";
import {clockWords, together} from "./together.js";

const big = (_, value) => (typeof value === "bigint" ? String(value) : value);

const SETTLE_MS = 300;
const READ_MS = 700; /* until the text beside the picture follows it */

export class Timeline {
	static async open(root, view, services) {
		const timeline = new Timeline(root, view, services);

		timeline.ready = timeline.start();
		return timeline;
	}

	constructor(root, view, services) {
		Object.assign(this, {root, view, services});
		this.camera = new Camera();
		this.selection = new Selection(this);
		this.actions = new Actions(this);
		this.tip = new Tip(this);
		this.chain = []; /* of waits, as overlay.js draws it */
		this.dark = watchDark((dark) => {
			this.dark = dark;
			this.stage?.renew();
			this.versus?.stage.renew();
		});
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
		const pointer = tip.time ?? this.versus?.tipTime ?? null;

		return {guests, marks, selected: selection.thread, range: selection.range, chain, pointer, unloaded};
	}

	/** Times that are there but not in this model. */
	get unloaded() {
		const {loaded, overview} = this.session ?? {};

		if (!loaded)
			return [];
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
		this.minimap = new Minimap(() => this.palette, {show: (from, to) => this.move(() => this.camera.show(from, to))});
		this.search = new Search({
			find: (text) => this.selection.find(text),
			go: (thread) => this.selection.select(thread, {reveal: true}),
			changed: () => this.settle(),
			leave: () => this.stage.canvas.focus(),
		});
		this.panels = new Panels(this);
		this.says = make("div", {className: "tl-status", id: "tl-view"});
		this.live = make("div", {className: "tl-hidden", role: "status", "aria-live": "polite"});
		this.text = make("div", {className: "tl-hidden", role: "region", "aria-label": "The threads in view, as text"});
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
			double: (x, y) => this.selection.double(x, y),
			range: (x0, x1, done) => this.selection.drawRange(x0, x1, done),
			hover: (x, y) => this.tip.hover(x, y),
			leave: () => this.tip.leave(),
			key: (action) => this.actions.act(action),
		};
	}

	close() {
		document.removeEventListener("keydown", this.onKey);
		clearTimeout(this.settling);
		clearTimeout(this.reading);
		this.versus?.close();
		this.stage.close();
		this.session?.close();
		this.closed = true;
		delete this.root.timeline;
	}

	// Loading.

	async start() {
		try {
			this.frame.progress("Opening", null);
			const source = await this.source();
			if (!source || this.closed)
				return;
			this.frame.title(source);
			this.session = new Session(source, {
				progress: (text, share) => this.frame.progress(text, share),
				loaded: (summary, how) => this.loaded(summary, how),
				failed: (error) => this.failed(error),
				paused: (on) => this.frame.sayPause(on),
				ended: () => this.frame.ended(),
			}, this.services.engine);
			await this.session.begin(this.view.from === undefined ? null : this.view);
			this.session.follow(this.services.events);
		} catch (error) {
			if (!this.closed)
				this.frame.sorry(error.message);
		}
	}

	async source() {
		const {file, api, held} = this.services;
		const mine = held?.(this.view);

		if (mine)
			return mine;
		if (this.view.together)
			return this.alone(await together(api, this.view));
		if (this.view.file === undefined)
			return this.alone(await remote(api, this.view));
		if (file && file.name === this.view.file)
			return local(file);
		this.frame.ask(this.view.file);
		return null;
	}

	/** What is compared stands still. */
	alone(source) {
		source.running &&= !this.versus;
		return source;
	}

	/** A person gave a file. */
	take(file) {
		this.services.file = file;
		const address = format({file: file.name});
		if (location.hash === address)
			this.services.reopen ? this.services.reopen() : this.restart();
		else
			location.hash = address;
	}

	restart() {
		this.session?.close();
		this.session = null;
		this.view = {file: this.services.file.name};
		this.ready = this.start();
	}

	async loaded(summary, how) {
		const {camera, stage, session} = this;
		const {start, end} = session.whole;
		const sticks = how === "live" && (camera.to >= camera.end || session.ahead);

		stage.engine = session.engine;
		const was = {span: camera.span, all: camera.from <= camera.start && camera.to >= camera.end};
		camera.trace(start, end, summary.rows);
		if (how !== "begin")
			this.goOn(was, sticks);
		this.counters = this.counters?.carry(summary.counters) ?? new Counters(summary.counters, () => {});
		this.counters.toggle = (index, shown) => this.showCounter(index, shown);
		for (const [index, shown] of this.counters.changes())
			session.engine.counter(index, shown);
		await this.versus?.load(session.engine);
		await this.overlook();
		this.strips = strips(summary.streams);
		this.frame.notes(this.notes());
		markTails(session.source, session.engine).then(() => stage.renew(), (error) => this.failed(error));
		if (how === "begin")
			await this.apply(this.view);
		else
			await this.again();
		stage.renew();
	}

	/** Where a run goes on, so does a window at its end; one that shows all goes on showing all. */
	goOn(was, sticks) {
		if (sticks && was.all)
			this.camera.fit();
		else if (sticks)
			this.camera.show(this.camera.widest + this.camera.end - was.span, this.camera.widest + this.camera.end);
	}

	/** The strip of the whole. */
	async overlook() {
		const {session, camera} = this;

		this.minimap.trace(
			camera.start,
			camera.end,
			session.loaded ? density(session.overview) : await session.engine.density(camera.start > 0n ? camera.start : 0n, camera.end + 1n, 1024),
			session.loaded,
		);
		this.mapped = null;
	}

	/** Sentences on what the trace lacks. */
	notes() {
		const {summary, notes, source, loaded} = this.session;
		const {totals} = summary;
		const out = [...notes, ...(this.session.source.guests ?? []).filter((it) => !it.known).map((it) => `${clockWords(it)}.`)];

		if (!totals.events)
			out.push(`There are no events in it yet: ${source.title} records none, or was not made to trace.`);
		if (totals.lost_packets && !notes.some((it) => it.includes("were lost")))
			out.push(`${totals.lost_packets.toLocaleString("en")} packets are missing; the picture shows where.`);
		out.push(...summary.damages.slice(0, 20).map((it) => `Damage: ${it}.`));
		if (loaded)
			out.push("The run is longer than what is loaded at once: the strip below shows all of it, and what you go to is loaded.");
		return out;
	}

	failed(error) {
		this.frame.trouble(error.message);
	}

	/** After a new model came in place of the old one: what was selected and sought is found in it again. */
	async again() {
		const {selection} = this;

		if (this.search.input.value)
			await this.search.search(this.search.input.value);
		if (!selection.thread)
			return;
		selection.thread = await selection.locate(selection.thread);
		if (selection.thread && selection.family !== null)
			await selection.highlight(selection.thread.index);
		this.stage.changed();
	}

	// The view and its address.

	go(view) {
		if (!sameTrace(view, this.view))
			return false;
		this.view = view;
		if (this.session?.summary)
			this.applying = this.apply(view);
		return true;
	}

	/** Put the rows that have the most of lines into the focus: where a trace has many, the middle one is seldom worth it. */
	home() {
		const {shown} = this.stage;
		const rows = new Map();
		let all = 0;

		for (const it of shown.marks.list(["thread", "failed"])) {
			const length = Math.max(it.x1 - it.x0, 1);
			rows.set(it.y0, (rows.get(it.y0) ?? 0) + length);
			all += length;
		}
		let sum = 0;
		for (const [y, length] of [...rows].sort((a, b) => a[0] - b[0])) {
			sum += length;
			if (sum >= all / 2)
				return this.camera.look(shown.rowAt(y));
		}
	}

	/** The whole trace, or a PART of it. */
	async fit(part = null) {
		this.camera.fit();
		if (part)
			this.camera.show(part.from, part.to);
		this.stage.changed();
		this.moved();
		await this.stage.painted();
		this.home();
		this.moved();
	}

	async apply(view) {
		if (this.versus && JSON.stringify(view.align, big) !== JSON.stringify(this.versus.how ?? undefined, big))
			await this.versus.align(view.align);
		if (view.from === undefined)
			await this.fit(this.session.loaded);
		else
			this.camera.show(view.from, view.to);
		if (view.row !== undefined)
			this.camera.look(view.row);
		if ((view.find ?? "") !== this.search.input.value)
			await this.search.set(view.find ?? "");
		this.selection.range = view.measure ?? null;
		const thread = view.thread ? await this.selection.locate(view.thread) : null;
		this.selection.thread = thread;
		await this.panels.show(view.panel ?? (thread ? "thread" : view.measure ? "stats" : this.versus ? "diff" : null));
		this.stage.renew();
		this.moved();
	}

	/** What is seen now, as a view. */
	get now() {
		const {camera} = this;
		const {thread, range} = this.selection;
		const {domain, capture, file, together: several, run, stream, against, align} = this.view;
		const view = {domain, capture, file, together: several, run, stream, against, align, from: camera.from, to: camera.to, row: camera.focus};

		for (const key of Object.keys(view))
			if (view[key] === undefined)
				delete view[key];
		if (thread)
			view.thread = {stream: thread.stream, id: thread.id, index: thread.index};
		if (this.search.input.value)
			view.find = this.search.input.value;
		if (range)
			view.measure = range;
		if (this.panels.address)
			view.panel = this.panels.address;
		return view;
	}

	/** Write the address once a hand rests: each rest is a place to come back to. */
	settle() {
		clearTimeout(this.settling);
		this.settling = setTimeout(() => this.write(), SETTLE_MS);
	}

	write() {
		clearTimeout(this.settling);
		if (!this.session?.summary || this.closed)
			return;
		const view = this.now;
		const address = format(view);
		if (address === location.hash)
			return;
		this.view = view;
		/* The first time the address is only told in full; a run that goes on moves by itself. */
		const same = this.settled === undefined || this.session.live;
		history[same ? "replaceState" : "pushState"](null, "", address);
		this.settled = address;
	}

	// Moving.

	/** Move the camera, and show it. */
	move(change) {
		if (!this.session?.summary)
			return;
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
		if (!this.stage.shown || this.closed)
			return;
		const indices = inView(this.stage.shown.marks);
		const {engine} = this.session;
		const threads = await Promise.all(indices.slice(0, 40).map((index) => engine.thread(index))).catch(() => []);

		this.text.replaceChildren(
			make("p", {textContent: `${this.says.textContent} ${indices.length} threads are drawn; the first are:`}),
			make("ul", {}, ...threads.filter(Boolean).map((it) => make("li", {textContent: line(it, this.camera.start)}))),
		);
		if (this.panels.name === "threads")
			this.panels.show("threads");
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
