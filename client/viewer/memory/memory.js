/*
 * The page of a memory profile. The class MemoryPage creates the parts of the page, asks the worker
 * of memory profiles (engine/heap.js) for profiles, and passes the answers to the parts.
 */
import {Heap} from "../engine/heap.js";
import {askNote} from "../host/host-dialogs.js";
import {make} from "../page/make.js";
import {Chart} from "./memory-chart.js";
import {Choice} from "./memory-choice.js";
import {Compare} from "./memory-compare.js";
import {Filters} from "./memory-filters.js";
import {Flame} from "./memory-flame.js";
import {Functions} from "./memory-functions.js";
import {Follow} from "./memory-follow.js";
import {Head} from "./memory-head.js";
import {Leaks} from "./memory-leaks.js";
import {ProfileView} from "./memory-profile-view.js";
import {Sandwich} from "./memory-sandwich.js";
import {saveCollapsed, saveJson, savePng, savePprof, saveSpeedscope, saveSvg} from "./memory-save.js";
import {LocalFile, Recording} from "./memory-source.js";
import {Tabs} from "./memory-tabs.js";
import {Threads} from "./memory-threads.js";
import {MemoryViewUrl} from "./memory-view-url.js";
import {amount, give} from "./memory-text.js";
import {download, fileName} from "../trace/save.js";
import {watchDark} from "../draw/theme.js";

const AGAIN_MS = 2000; /* time until the page tries again after a first load that failed, ms */
const THREADS_MS = 400; /* the link to the time line is updated this long after the last change */

export class MemoryPage {
	static async open(root, view, services) {
		const page = new MemoryPage(root, view, services);

		page.ready = page.start();
		return page;
	}

	constructor(root, view, services) {
		Object.assign(this, {root, view, services});
		this.leaving = new AbortController();
		this.dark = watchDark((dark) => {
			this.dark = dark;
			this.chart.draw();
			this.flame.draw();
			this.sandwich.draw();
		}, this.leaving.signal);
		this.threads = new Threads(services.api);
		this.viewUrl = new MemoryViewUrl(this);
		this.build();
		this.viewUrl.put(view);
		this.onKey = (event) => this.key(event);
		document.addEventListener("keydown", this.onKey);
		root.memory = this;
	}

	build() {
		const dark = () => this.dark;
		const error = (bytes) => this.error(bytes);
		const tell = (text) => (this.live.textContent = text);
		const settle = () => this.settle();

		this.live = make("div", {className: "unseen", role: "status", "aria-live": "polite"});
		const timeText = (us) => (this.chart?.info ? this.chart.timeText(us) : `${us / 1e6} s`);

		this.choice = new Choice({timeText, changed: () => this.chosen()});
		this.compare = new Compare({
			timeText,
			changed: () => this.chosen(),
			selection: () => this.choice,
			heap: () => this.newHeap(),
			api: this.services.api ?? null,
			own: () => this.view.memtrace,
		});
		this.head = new Head(this.acts(), this.saves());
		this.chart = new Chart({
			choose: (it, against) => {
				if (against) this.compare.keep();
				this.choice.choose(it);
			},
			ask: () => this.draw(),
			tell,
			dark,
		});
		this.filters = new Filters({changed: () => this.chosen()});
		this.flame = new Flame({
			changed: settle,
			asked: () => this.chosen(),
			filter: (text) => this.filters.add(text),
			callers: (name) => this.showFunction(name),
			around: (name) => this.showAround(name),
			tell,
			dark,
			error,
		});
		this.sandwich = new Sandwich({changed: settle, tell, dark, error});
		this.functions = new Functions({
			changed: settle,
			show: (name) => this.showFunction(name),
			around: (name) => this.showAround(name),
			error,
		});
		this.leaks = new Leaks({error});
		this.tabs = new Tabs(
			[
				["flame", "Flame graph", this.flame.element],
				["sandwich", "Callers and callees", this.sandwich.element],
				["functions", "Functions", this.functions.element],
				["leaks", "Leaks", this.leaks.element],
			],
			(name) => this.turned(name),
		);
		this.clock = make(
			"select",
			{"aria-label": "Times", onchange: () => this.walled()},
			make("option", {value: "", textContent: "Elapsed time"}),
			make("option", {value: "wall", textContent: "Wall time (UTC)"}),
		);
		const over = make(
			"section",
			{"aria-label": "Memory over time"},
			this.chart.element,
			make("div", {className: "mem-bar mem-row"}, this.chart.says, this.clock),
			this.choice.element,
			make("div", {className: "mem-bar"}, this.compare.element),
			this.filters.element,
		);
		this.main = make("main", {className: "mem-main", hidden: true}, over, this.tabs.element);
		this.element = make("div", {className: "mem"}, this.head.element, this.main, this.live);
		this.root.replaceChildren(this.element);
		this.drops();
	}

	drops() {
		this.element.addEventListener("dragover", (event) => event.preventDefault());
		this.element.addEventListener("drop", (event) => {
			event.preventDefault();
			const [file] = event.dataTransfer.files;
			if (file) this.services.take(file);
		});
	}

	close() {
		this.closed = true;
		this.leaving.abort();
		document.removeEventListener("keydown", this.onKey);
		this.viewUrl.close();
		clearTimeout(this.linking);
		this.aborting?.abort();
		this.follow?.close();
		for (const part of [this.chart, this.filters, this.flame, this.sandwich, this.compare]) part.close();
		this.heap?.close();
		document.querySelectorAll("dialog").forEach((dialog) => dialog.close());
		delete this.root.memory;
	}

	// Loading.

	async start() {
		try {
			this.head.progress("Opening");
			const source = await this.open();
			if (!source || this.closed) return;
			this.source = source;
			this.head.title(source);
			await this.load();
		} catch (error) {
			if (!this.closed) await this.lacks(error);
		}
	}

	/**
	 * Show ERROR, with which the first load failed. If the server can answer again soon, load again after
	 * AGAIN_MS.
	 */
	async lacks(error) {
		if (!error.passing) return this.head.sorry(error.message);
		this.head.waits(error.message);
		await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
		if (this.closed) return;
		this.heap?.close();
		this.heap = null;
		await this.start();
	}

	async open() {
		const {view, services} = this;
		const embedded = services.embedded?.(view);

		if (embedded) return embedded;
		if (view.memtrace !== undefined) return Recording.open(services.api, view.memtrace);
		if (services.file?.name === view.memfile) return new LocalFile(services.file);
		this.head.sorry(
			`This view is of the file ${view.memfile.slice(0, 120)}, which a page may not open by itself; choose it, or drop it here`,
			"status",
		);
		return null;
	}

	/** Return a Promise of a heap without a recording. */
	newHeap() {
		return this.services.heap?.() ?? Heap.open();
	}

	async load() {
		this.aborting = new AbortController();
		this.heap = await this.newHeap();
		if (this.closed) return this.heap.close();
		const body = await this.source.body(this.aborting.signal);
		const info = await this.heap.load(
			body,
			({phase, bytes, total}) =>
				this.head.progress(
					`${phase === "building" ? "Building" : "Reading"}: ${amount(bytes)}`,
					total ? bytes / total : null,
				),
			this.aborting.signal,
		);
		if (this.closed) return;
		this.head.progress(null);
		this.main.hidden = false;
		this.know(info);
		this.link();
		await this.ask();
		if (this.source.recording) this.follow = new Follow(this);
	}

	/** Show INFO, the newest answer of heap.load() or heap.feed(), in all parts of the page. */
	know(info) {
		this.info = info;
		this.head.title(this.source);
		this.head.know(info, this.source);
		this.filters.know(info);
		this.chart.know(info, this.clock.value === "wall");
		this.clock.hidden = info.startUs <= 0n;
		this.choice.build();
		this.compare.build();
	}

	/** Return the statistical error of BYTES, an estimate from samples, as text: "± 5 %". */
	error(bytes) {
		const samples = this.info?.sample_bytes ? bytes / this.info.sample_bytes : 0;

		return samples > 0 ? give(1 / Math.sqrt(samples)) : "";
	}

	// Questions.

	/** Ask for a new profile after the user changed the selection or a filter. */
	chosen() {
		this.chart.choose(this.choice.marked, this.compare.base?.marked ?? null);
		this.compare.build();
		this.settle();
		this.link();
		this.asking = this.ask();
	}

	async ask() {
		if (!this.heap || !this.info) return;
		const turn = (this.turn = (this.turn ?? 0) + 1);

		this.element.setAttribute("aria-busy", "true");
		try {
			await Promise.all([this.askProfile(), this.draw(), this.askLeaks()]);
		} catch (error) {
			if (!this.closed) this.head.trouble(error.message);
		}
		if (turn === this.turn) this.element.removeAttribute("aria-busy");
	}

	async askProfile() {
		const {filters, choice, compare, flame, heap, info} = this;
		const turn = (this.profiling = (this.profiling ?? 0) + 1);
		const began = performance.now();
		const objects = flame.countChoice.value === "objects";
		const options = {hidden: filters.hidden, sites: flame.sites.checked, recursion: flame.recursion.checked};
		/* Ask for one profile after the other, because only the newest question is answered. */
		const before = await compare.profile(heap, info, filters.filter, objects, options);

		if (turn !== this.profiling || this.closed || (compare.on && !before)) return;
		const profile = await heap.profile({
			...choice.question(filters.filter, Number(info.peak_us), objects),
			...options,
		});
		if (!profile || this.closed) return;
		this.cost = performance.now() - began;
		this.profile = profile;
		choice.tell(profile, info.allocated_bytes);
		const view = new ProfileView(profile, heap.names, before, objects);
		flame.show(view);
		this.sandwich.show(view);
		if (this.tabs.name === "sandwich") this.sandwich.turn();
		this.functions.show(view, flame.recursion.checked);
	}

	/** Request the lines of the chart, one value per pixel. */
	async draw() {
		if (!this.heap || !this.info || !this.chart.width) return;
		const {chart, info} = this;
		const turn = (this.scene = (this.scene ?? 0) + 1);
		const n = Math.min(chart.plot, 4096);
		const to = chart.end;
		const filter = this.choice.lineFilter(this.filters.filter, Number(info.peak_us));
		/*
		 * Ask for one line after the other, because only the newest question of a kind is answered.
		 * Stop if a newer call of draw() began.
		 */
		const full = await this.heap.timeline(null, 0, to, n);
		const part = full && filter && turn === this.scene ? await this.heap.timeline(filter, 0, to, n) : null;

		if (full && (part || !filter) && turn === this.scene && !this.closed)
			chart.show({from: 0, to, full: full.bytes, part: part?.bytes ?? null});
	}

	async askLeaks() {
		if (this.tabs.name !== "leaks" || this.leaked === this.info) return;
		const {info} = this;
		const leaks = await this.heap.leaks();

		if (!leaks || this.closed) return;
		this.leaked = info;
		this.leaks.show(leaks);
	}

	// Actions.

	acts() {
		const act = (what, call) => async () => {
			try {
				await call();
				this.head.trouble("");
				this.head.title(this.source);
				if (this.info) this.head.know(this.info, this.source);
			} catch (error) {
				this.head.trouble(`${what}: ${error.message}`);
			}
		};

		return {
			stop: act("Stop", async () => {
				this.head.stopButton.disabled = true;
				try {
					await this.source.stop();
				} finally {
					this.head.stopButton.disabled = false;
				}
				await this.follow?.now();
			}),
			pin: act("Pin", () => this.source.change({pinned: !this.source.memtrace.pinned})),
			note: act("Note", () => this.note()),
			pause: () => this.follow?.pause(!this.follow.paused),
			take: (file) => this.services.take(file),
			who: this.services.who ?? null,
			home: this.services.home ?? ((textContent) => make("a", {href: "#", textContent})),
		};
	}

	async note() {
		const {memtrace, title} = this.source;
		const note = await askNote({domain: title, note: memtrace.note});

		if (note !== null && note !== memtrace.note) await this.source.change({note});
	}

	saves() {
		const title = () =>
			`${this.source.title}: ${this.choice.select.selectedOptions[0].textContent}, ${this.choice.says.textContent}`;

		return [
			[
				"The recording (memtrace)",
				() => download(this.source.saved, this.source.file?.name ?? fileName(this.source.name, "trace")),
			],
			["The flame graph (SVG)", () => saveSvg(this.flame, this.source.name, title())],
			["The flame graph (PNG)", () => savePng(this.flame, this.source.name)],
			["The profile (pprof)", () => savePprof(this.flame, this.source.name)],
			["The profile (speedscope)", () => saveSpeedscope(this.flame, this.source.name)],
			["The profile (collapsed stacks)", () => saveCollapsed(this.flame, this.source.name)],
			[
				"The profile (JSON)",
				() => saveJson(this.flame, this.source.name, {title: this.source.title, counted: this.choice.what}),
			],
		];
	}

	showFunction(name) {
		this.tabs.show("flame");
		this.flame.treeChoice.value = "callers";
		this.flame.go([name]);
		this.flame.scroller.focus();
		this.settle();
	}

	showAround(name) {
		this.tabs.show("sandwich");
		this.sandwich.go(name, true);
	}

	turned(name) {
		if (name === "sandwich") this.sandwich.turn();
		if (name === "leaks" && this.info) this.ask();
		this.settle();
	}

	walled() {
		this.chart.know(this.info, this.clock.value === "wall");
		this.choice.build();
		this.compare.build();
		this.settle();
	}

	key(event) {
		if (
			event.defaultPrevented ||
			event.ctrlKey ||
			event.altKey ||
			event.metaKey ||
			event.target.closest?.("input, select, textarea, dialog")
		)
			return;
		if (event.key === "/") {
			(this.tabs.name === "functions" ? this.functions.find : this.flame.find).focus();
			event.preventDefault();
		} else if (event.key === "Escape" && this.tabs.name === "flame") {
			this.flame.out();
		}
	}

	/** Set the link to the guest's time line at the selected time. */
	link() {
		clearTimeout(this.linking);
		this.linking = setTimeout(async () => {
			const {source, info, choice} = this;
			/* If the request fails, the link is not shown. */
			const address =
				source?.memtrace && info
					? await this.threads.address(source.memtrace, info, choice.marked).catch(() => null)
					: null;

			if (this.closed) return;
			this.head.threads.hidden = !address;
			if (address) this.head.threads.href = address;
		}, THREADS_MS);
	}

	/** Follow a new address. Return false if it names another recording. */
	go(view) {
		return this.viewUrl.go(view);
	}

	/** Write the URL after a change. */
	settle() {
		this.viewUrl.settle();
	}
}
