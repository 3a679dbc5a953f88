/*
 * A trace on the screen: puts source, session, stage, panel and search together, and keeps the address true.
 *
 *   const timeline = await Timeline.open(element, view, {api, events, file});
 *   timeline.go(view)      the address changed; false where it names another trace
 *   timeline.close()
 */
import {format, sameTrace} from "./address.js";
import {density} from "./archive.js";
import {Camera} from "./camera.js";
import {Counters} from "./counters.js";
import {Frame} from "./frame.js";
import {Input} from "./input.js";
import {make, short} from "./make.js";
import {Minimap} from "./minimap.js";
import {Panels} from "./panels.js";
import {called} from "./panel.js";
import {Search} from "./search.js";
import {Session} from "./session.js";
import {local, remote} from "./source.js";
import {FLAGS_ALL, FLAGS_NO_COUNTERS, Stage} from "./stage.js";
import {palette, watchDark} from "./theme.js";
import {inView, line} from "./threads.js";
import {exact, rough, span} from "./times.js";

const REACH = 16;
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
		this.selected = null;
		this.family = null;
		this.range = null;
		this.chain = [];
		this.pointer = null;
		this.dark = watchDark((dark) => {
			this.dark = dark;
			this.stage?.renew();
		});
		this.build();
		root.timeline = this;
	}

	/** The primitives that are shown: of the picture, and of what lies over it. */
	get painted() {
		return [...(this.stage.shown?.marks.list() ?? []), ...(this.stage.over ?? [])];
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
			overlay: () => this,
			drawn: () => this.drawn(),
			failed: (error) => this.failed(error),
			sized: () => {},
		});
		this.minimap = new Minimap(() => this.palette, {show: (from, to) => this.move(() => this.camera.show(from, to))});
		this.search = new Search({
			find: (text) => this.find(text),
			go: (thread) => this.select(thread, {reveal: true}),
			changed: () => this.settle(),
			leave: () => this.stage.canvas.focus(),
		});
		this.panels = new Panels(this);
		this.says = make("div", {className: "tl-status", id: "tl-view"});
		this.live = make("div", {className: "tl-hidden", role: "status", "aria-live": "polite"});
		this.text = make("div", {className: "tl-hidden", role: "region", "aria-label": "The threads in view, as text"});
		this.tip = make("div", {className: "tl-tip", "aria-hidden": "true", hidden: true});
		this.stage.pictures.append(this.tip);
		this.frame = new Frame(this);
		this.root.replaceChildren(this.frame.element);
		this.input = new Input(this.stage.canvas, this.hooks());
		this.onKey = (event) => this.rootKey(event);
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
			click: (x, y) => this.click(x, y),
			double: (x, y) => this.double(x, y),
			range: (x0, x1, done) => this.drawRange(x0, x1, done),
			hover: (x, y) => this.hover(x, y),
			leave: () => this.leave(),
			key: (action) => this.act(action),
		};
	}

	close() {
		document.removeEventListener("keydown", this.onKey);
		clearTimeout(this.settling);
		clearTimeout(this.reading);
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
			});
			await this.session.begin(this.view.from === undefined ? null : this.view);
			this.session.follow(this.services.events);
		} catch (error) {
			if (!this.closed)
				this.frame.sorry(error.message);
		}
	}

	async source() {
		const {file, api} = this.services;

		if (this.view.file === undefined)
			return remote(api, this.view);
		if (file && file.name === this.view.file)
			return local(file);
		this.frame.ask(this.view.file);
		return null;
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
		await this.overlook();
		this.frame.notes(this.notes());
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
			session.loaded ? density(session.overview) : await session.engine.density(camera.start, camera.end + 1n, 1024),
			session.loaded,
		);
		this.mapped = null;
	}

	/** Sentences on what the trace lacks. */
	notes() {
		const {summary, notes, source, loaded} = this.session;
		const {totals} = summary;
		const out = [...notes];

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
		const {selected} = this;

		if (this.search.input.value)
			await this.search.search(this.search.input.value);
		if (!selected)
			return;
		const thread = await this.locate(selected);
		this.selected = thread;
		if (thread && this.family !== null)
			await this.highlight(thread.index);
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
		if (view.from === undefined)
			await this.fit(this.session.loaded);
		else
			this.camera.show(view.from, view.to);
		if (view.row !== undefined)
			this.camera.look(view.row);
		if ((view.find ?? "") !== this.search.input.value)
			await this.search.set(view.find ?? "");
		this.range = view.measure ?? null;
		const thread = view.thread ? await this.locate(view.thread) : null;
		this.selected = thread;
		await this.panels.show(view.panel ?? (thread ? "thread" : this.range ? "stats" : null));
		this.stage.renew();
		this.moved();
	}

	/** What is seen now, as a view. */
	get now() {
		const {camera, selected} = this;
		const {domain, capture, file, run, stream} = this.view;
		const view = {domain, capture, file, run, stream, from: camera.from, to: camera.to, row: camera.focus};

		for (const key of Object.keys(view))
			if (view[key] === undefined)
				delete view[key];
		if (selected)
			view.thread = {stream: selected.stream, id: selected.id, index: selected.index};
		if (this.search.input.value)
			view.find = this.search.input.value;
		if (this.range)
			view.measure = this.range;
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
		this.leave();
		this.moved();
	}

	moved() {
		const {camera} = this;

		this.stage.changed();
		this.session.look(camera.from, camera.to);
		this.settle();
		this.say();
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
		const key = `${this.camera.from} ${this.camera.to} ${this.dark} ${this.minimap.canvas.clientWidth}`;

		if (this.session?.summary && this.mapped !== key) {
			this.mapped = key;
			this.minimap.draw(this.camera);
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

	// Threads.

	/** The thread that {stream, id, index} names in this model, or null: an index holds for one model alone. */
	async locate({stream, id, thread, index}) {
		const {engine} = this.session;
		const wanted = BigInt(id ?? thread);
		const fits = (it) => it && it.id === wanted && (typeof stream !== "number" || it.stream === stream);
		const guess = Number.isInteger(index) ? await engine.thread(index) : null;

		if (fits(guess))
			return guess;
		const {threads} = await engine.find(String(wanted));
		let found = null;
		for (const it of threads.slice(0, 500)) {
			const one = await engine.thread(it);
			if (fits(one)) {
				found = one;
				break;
			}
		}
		await this.highlightAgain();
		return found;
	}

	/** Searching highlights, and so does a family: put back what was. */
	async highlightAgain() {
		const {engine} = this.session;

		if (this.search.input.value)
			await engine.find(this.search.input.value);
		else
			await engine.family(this.family);
	}

	async find(text) {
		if (!this.session?.engine)
			return {threads: []};
		this.family = null;
		const found = await this.session.engine.find(text);
		this.stage.renew();
		return found;
	}

	async select(index, {reveal = false} = {}) {
		const thread = index === null ? null : await this.session.engine.thread(index);

		this.selected = thread;
		if (thread) {
			if (reveal)
				this.reveal(thread);
			this.live.textContent = `Selected: ${line(thread, this.camera.start)}`;
			await this.panels.show("thread");
		} else if (this.panels.name === "thread") {
			this.panels.close();
		}
		this.stage.changed();
		this.settle();
	}

	/** Bring a thread into view, at the scale there is. */
	reveal(thread) {
		const {camera} = this;

		if (thread.end < camera.from || thread.start > camera.to || (!camera.sees(thread.start, 8) && !camera.sees(thread.end, 8)))
			camera.center(thread.end - thread.start > camera.span ? thread.start : (thread.start + thread.end) / 2n);
		if (thread.row !== null)
			camera.look(thread.row + 0.5);
		this.moved();
	}

	async highlight(index) {
		this.family = index;
		if (this.search.input.value) {
			this.search.input.value = "";
			this.search.text = "";
			this.search.threads = [];
			this.search.say();
		}
		await this.session.engine.family(index);
		this.stage.renew();
	}

	at(x, y) {
		return this.session?.engine ? this.session.engine.near(this.stage.window, x, y, REACH) : null;
	}

	async click(x, y) {
		await this.select(await this.at(x, y));
	}

	async double(x, y) {
		const index = await this.at(x, y);

		await this.highlight(index);
		await this.select(index);
	}

	async hover(x, y) {
		if (!this.session?.summary)
			return;
		this.pointer = this.camera.timeAt(x);
		this.pointed = {x, y};
		this.stage.changed();
		if (this.hovering)
			return;
		this.hovering = true;
		try {
			const index = await this.at(x, y);
			const thread = index === null ? null : await this.session.engine.thread(index);
			this.showTip(thread);
		} catch (error) {
			this.failed(error);
		} finally {
			this.hovering = false;
		}
	}

	showTip(thread) {
		const {tip, camera} = this;

		if (this.pointer === null || this.closed)
			return;
		const {x, y} = this.pointed;
		tip.replaceChildren(
			...(thread
				? [
						make("strong", {textContent: short(called(thread), 200)}),
						...thread.labels.slice(-4).map((it) => make("div", {className: "tl-quiet", textContent: short(it.text, 200)})),
						make("div", {
							textContent: `+${span(thread.start - camera.start)} to +${span(thread.end - camera.start)}, ran ${span(thread.ran)}`,
						}),
						thread.failure ? make("div", {className: "tl-bad", textContent: thread.failure}) : "",
					]
				: []),
			make("div", {className: "tl-quiet", textContent: `at +${span(this.pointer - camera.start)} (${exact(this.pointer)})`}),
		);
		tip.hidden = false;
		tip.style.left = `${Math.min(x + 14, Math.max(camera.width - tip.offsetWidth - 4, 0))}px`;
		tip.style.top = `${y + 16 + tip.offsetHeight > camera.height ? Math.max(y - tip.offsetHeight - 10, 0) : y + 16}px`;
	}

	leave() {
		this.pointer = null;
		this.tip.hidden = true;
		this.stage.changed();
	}

	// Ranges.

	drawRange(x0, x1, done) {
		const [a, b] = [this.camera.timeAt(Math.min(x0, x1)), this.camera.timeAt(Math.max(x0, x1))];

		this.setRange(a, b, done);
	}

	setRange(from, to, done) {
		this.range = to > from ? {from, to} : null;
		this.stage.changed();
		if (done) {
			this.panels.show(this.range ? "stats" : null);
			this.settle();
		}
	}

	/** Measure by key: once where it begins, once where it ends. */
	mark() {
		const time = this.pointer ?? this.camera.timeAt(this.camera.width / 2);

		if (this.begun === undefined) {
			this.begun = time;
			this.live.textContent = `The range begins at +${span(time - this.camera.start)}; m again ends it.`;
			return;
		}
		const [from, to] = this.begun < time ? [this.begun, time] : [time, this.begun];
		this.begun = undefined;
		this.setRange(from, to, true);
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

	// Keys and buttons.

	rootKey(event) {
		const element = event.target;

		if (event.defaultPrevented || /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName))
			return;
		/* On a button these two press it. */
		if ((event.key === " " || event.key === "Enter") && element.closest("button, a, summary"))
			return;
		this.input.key(event);
	}

	neighbour(by) {
		const indices = this.stage.shown ? inView(this.stage.shown.marks) : [];
		const at = this.selected ? indices.indexOf(this.selected.index) : -1;

		if (indices.length)
			this.select(indices[at < 0 ? (by > 0 ? 0 : indices.length - 1) : (at + by + indices.length) % indices.length]);
	}

	zoomTo() {
		const what = this.selected ? {from: this.selected.start, to: this.selected.end} : this.range;

		if (!what)
			return;
		const margin = (what.to - what.from) / 16n + 1n;
		this.camera.show(what.from - margin, what.to + margin);
	}

	act(action) {
		const {camera} = this;
		const x = this.pointer === null ? camera.width / 2 : this.pointed.x;
		const moves = {
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
		const others = {
			fit: () => this.fit(),
			search: () => {
				this.search.input.focus();
				this.search.input.select();
			},
			next: () => this.search.step(1),
			previous: () => this.search.step(-1),
			"thread-next": () => this.neighbour(1),
			"thread-previous": () => this.neighbour(-1),
			family: () => this.selected && this.highlight(this.selected.index),
			mark: () => this.mark(),
			counters: () => this.flipCounters(),
			escape: () => this.escape(),
		};

		if (moves[action])
			this.move(moves[action]);
		else if (others[action])
			this.session?.summary && others[action]();
		else
			this.panels.flip(action);
		return true;
	}

	/** Close the topmost thing that is open. */
	escape() {
		this.begun = undefined;
		if (this.frame.closeMenu())
			return;
		if (this.panels.name) {
			this.panels.close();
		} else if (this.range) {
			this.setRange(0n, 0n, true);
		} else if (this.selected) {
			this.select(null);
		} else if (this.family !== null) {
			this.highlight(null);
		}
		this.stage.canvas.focus();
	}
}
