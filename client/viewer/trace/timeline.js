/*
 * The time line: the page of a trace. This class makes the parts of the page, connects them by
 * hooks, and keeps the URL up to date.
 *
 *    const timeline = await Timeline.open(element, view, {api, events, file});
 *    timeline.go(view)      show another view of the same trace; false if VIEW names another trace
 *    timeline.close()
 */
import {Actions} from "./actions.js";
import {Camera} from "./camera.js";
import {CLOCKS} from "./clock.js";
import {closeUp} from "./close-up.js";
import {listenAtEdges} from "./edge-gestures.js";
import {Frame} from "./frame.js";
import {Gestures} from "./gestures.js";
import {Loading} from "./loading.js";
import {make} from "../page/make.js";
import {Minimap} from "./minimap.js";
import {Panels} from "./panels.js";
import {Search} from "./search.js";
import {Selection} from "./selection.js";
import {CanvasView} from "./canvas-view.js";
import {palette, watchDark} from "../draw/theme.js";
import {inView, line} from "./threads.js";
import {ThreadFilter} from "./thread-filter.js";
import {POINT_MS, Tooltip} from "./tooltip.js";
import {UserNotes} from "./user-notes.js";
import {rough} from "../page/times.js";
import {TraceState} from "./state.js";
import {TrackControls, trackList} from "./track-controls.js";
import {HEAP, THREADS, TrackLayout, streamsOf, usualTracks} from "./track-layout.js";
import {Comparison} from "../compare/comparison.js";
import {ViewUrl} from "./view-url.js";

const READ_MS = 700; /* ms without a new picture until the list for screen readers is updated */

export class Timeline {
	/**
	 * Fill the element ROOT with the time line of VIEW (address.js), and begin to load the trace.
	 * SERVICES are {api, events, file}; README.md describes them. `ready` settles when loading
	 * ends.
	 */
	static async open(root, view, services) {
		const timeline = new Timeline(root, view, services);

		timeline.loading.begin();
		return timeline;
	}

	constructor(root, view, services) {
		Object.assign(this, {root, services});
		this.camera = new Camera();
		this.state = new TraceState(view, this.camera);
		this.layout = new TrackLayout(view.tracks, view.rows === "all");
		this.filter = new ThreadFilter(view.filter, {
			engines: () => [this.state.engine, this.comparison?.engine],
			locate: (thread) => this.selection.locate(thread),
			selected: () => this.selection.thread,
			changed: () => this.filtered(),
			failed: (error) => this.failed(error),
		});
		/*
		 * the HeapStrip, the curve of the heap above the threads; null before a trace is loaded,
		 * and always without a server
		 */
		this.heap = null;
		this.leaving = new AbortController();
		this.dark = watchDark((dark) => {
			this.dark = dark;
			this.canvasView.renew();
			this.comparison?.canvasView.renew();
		}, this.leaving.signal);
		this.buildPicture();
		this.buildParts();
		this.buildControls();
		root.replaceChildren(this.frame.element);
		root.timeline = this;
	}

	/** A Promise that resolves when the trace or an error is on the screen. */
	get ready() {
		return this.loading.ready;
	}

	/** The Session (trace-session.js), which loads parts of the trace; null before the source is open. */
	get session() {
		return this.state.session;
	}

	/**
	 * The marks on the screen as objects, for tests: those of the threads, of the tracks and of the
	 * overlay. The kinds of a processor track begin with "processor-".
	 */
	get painted() {
		const {shown, over, areas} = this.canvasView;
		const lanes = ["lane", "counter", "envelope"];
		const tracks = Object.values(areas).flatMap(({marks}) => marks?.list() ?? []);

		return [
			...(shown?.marks.list() ?? []),
			...tracks.filter(({kind}) => !lanes.includes(kind)).map((it) => ({...it, kind: `processor-${it.kind}`})),
			...tracks.filter(({kind}) => lanes.includes(kind)),
			...(over ?? []),
		];
	}

	/** The STATE that primitives() of overlay.js draws. */
	get over() {
		const {
			selection,
			tooltip,
			unloaded,
			state: {chain, strips: guests},
		} = this;
		const marks = this.comparison?.marksOf("bad", this.canvasView) ?? [];
		const pointer = tooltip.time ?? this.heap?.time ?? this.comparison?.tooltipTime ?? null;

		return {
			guests,
			marks,
			selected: selection.thread,
			range: selection.range,
			rows: selection.rows,
			chain,
			pointer,
			unloaded,
			death: this.death,
			notes: this.userNotes.list,
		};
	}

	/**
	 * The mark at the end of a guest that has ended: {time: of its last event, text: reason of the
	 * end}. null for a guest that runs, for a file, and before a trace is loaded.
	 */
	get death() {
		const {session} = this;

		if (!this.state.summary || !session.source.death || (session.live && !session.ended)) return null;
		return {time: session.whole.end, text: session.source.death};
	}

	/** The ranges [{from, to}] of the trace, in ns, that are not in the loaded model. */
	get unloaded() {
		const {loaded, overview, summary} = this.session ?? {};

		if (!loaded) return [];
		/*
		 * The server sends whole packets, so the model can have events before and after the part
		 * that was requested.
		 */
		return [
			{from: overview.from, to: summary.start < loaded.from ? summary.start : loaded.from},
			{from: summary.end > loaded.to ? summary.end : loaded.to, to: this.camera.end},
		].filter(({from, to}) => to > from);
	}

	/** The colours of the present theme, dark or light (theme.js). */
	get palette() {
		return palette(this.dark);
	}

	// Building.

	/**
	 * Make the picture with its tracks, the minimap, the status line and the texts for screen
	 * readers.
	 */
	buildPicture() {
		const {camera, state} = this;

		this.canvasView = new CanvasView(null, camera, {
			palette: () => this.palette,
			counter: (index, name, stream) =>
				index === null ? this.streamName(stream) : state.counters.caption(index, name),
			tracks: () => this.tracks,
			clock: () => state.clock,
			layout: this.layout,
			controls: () => this.controls,
			heapLayers: (y) => this.heap?.layers(y) ?? [],
			overlay: () => this.over,
			drawn: () => this.drawn(),
			failed: (error) => this.failed(error),
			sized: () => this.minimap.resize(),
		});
		this.controls = new TrackControls(this.layout, {
			ids: () => usualTracks(this.tracks).map(({id}) => id),
			displayed: () => this.canvasView.displayed,
			changed: () => this.relaid(),
			hide: (id) => this.hideTrack(id),
			more: (id) => (id === THREADS ? [["Filter…", () => this.panels.show("counters")]] : []),
			announce: (sentence) => this.announce(sentence),
		});
		this.controls.closes(this.leaving.signal);
		this.canvasView.element.append(this.controls.line, this.controls.menu);
		this.minimap = new Minimap(() => this.palette, {
			show: (from, to) => this.move(() => camera.show(from, to)),
			zoom: (time, factor) => this.move(() => camera.zoomAt(time, factor)),
			pan: (x) => this.move(() => camera.pan(x)),
		});
		this.says = make("div", {className: "tl-status", id: "tl-view"});
		this.live = make("div", {className: "unseen", role: "status", "aria-live": "polite"});
		this.text = make("div", {className: "unseen", role: "region", "aria-label": "The threads in view, as text"});
	}

	/**
	 * The objects that get a track: {streams, counters, heap}; see the hook tracks() of CanvasView.
	 */
	get tracks() {
		const {summary, counters} = this.state;

		return {
			streams: summary ? streamsOf(summary) : [],
			counters: counters?.lanes ?? [],
			heap: this.heap?.shows ? this.heap.element : null,
		};
	}

	/**
	 * Draw the tracks and write the URL. Call it after the layout changed. Before a trace is
	 * loaded, do nothing.
	 */
	relaid() {
		if (!this.state.summary) return;
		this.state.counters.read();
		this.canvasView.retrack();
		this.comparison?.relaid();
		this.settle();
	}

	/**
	 * Return the list of check boxes that show and hide the processors, the heap and the threads.
	 * Counters have a list of their own (counters.js).
	 */
	chooser() {
		const {layout, heap} = this;
		const flip = (id) => (id === HEAP ? heap.flip() : this.showTrack(id, layout.of(id).shown === false));
		const isShown = (id) => (id === HEAP ? heap.on : layout.of(id).shown !== false);

		const every = (on) => {
			layout.everyRow = on;
			this.relaid();
		};
		const usual = () => {
			layout.everyRow = false;
			layout.read([]);
			this.state.counters.all = true;
			heap?.set(true);
			this.relaid();
			this.panels.show("counters");
		};

		return trackList(
			usualTracks({...this.tracks, counters: [], heap: heap?.any}),
			isShown,
			flip,
			every,
			layout.everyRow,
			usual,
		);
	}

	/** Show or hide the track ID, which is no counter and not the heap. */
	showTrack(id, shown) {
		this.layout.set(id, {shown: shown ? undefined : false});
		this.relaid();
	}

	/** Draw the pictures and write the URL. Call it after the filter of threads changed. */
	filtered() {
		this.canvasView.renew();
		this.comparison?.canvasView.renew();
		this.announce(this.filter.text || "All threads are shown.");
		this.say();
		this.settle();
	}

	/** Hide the track ID of any kind. */
	hideTrack(id) {
		const lists = [this.state.counters, this.comparison?.counters].filter((list) => list?.has(id));

		if (id === HEAP) return this.heap.flip();
		for (const list of lists) list.hide(id);
		if (!lists.length) this.showTrack(id, false);
		this.announce("The track is hidden; the panel Tracks shows it again.");
		this.relaid();
		this.canvasView.canvas.focus();
	}

	/**
	 * Return the name of STREAM's processor track. STREAM is an index of summary.streams. Return ""
	 * if the trace has only one stream.
	 */
	streamName(stream) {
		const {streams} = this.state.summary;

		return streams.length > 1 ? streams[stream].name || `stream ${stream + 1}` : "";
	}

	/** Make the search, the selection, the tooltip, the comparison and the panels. */
	buildParts() {
		const {state, camera, canvasView} = this;
		const failed = (error) => this.failed(error);
		const moved = () => this.moved();
		const settle = () => this.settle();
		const showPanel = (name) => this.panels.show(name);

		this.search = new Search({
			find: (text) => this.selection.find(text),
			go: (thread) => this.selection.select(thread, {reveal: true}),
			changed: settle,
			leave: () => canvasView.canvas.focus(),
		});
		this.selection = new Selection(
			{state, camera, canvasView, search: this.search},
			{panel: () => this.panels.name, showPanel, announce: (text) => this.announce(text), moved, settle},
		);
		this.userNotes = new UserNotes(
			{api: this.services.api, state, camera, selection: this.selection},
			{
				changed: () => this.notesChanged(),
				show: (from, to) => this.move(() => camera.show(from, to)),
				announce: (sentence) => this.announce(sentence),
				failed,
			},
		);
		this.tooltip = new Tooltip(camera, {
			ready: () => state.summary,
			threadAt: (x, y) => this.threadAt(x, y),
			signsAt: (x, y) => canvasView.signsAt(x, y),
			strips: () => state.strips,
			clock: () => state.clock,
			unproven: (x) => canvasView.unproven.some(({x0, x1}) => x >= x0 && x <= x1),
			changed: () => canvasView.changed(),
			failed,
		});
		canvasView.pictures.append(this.tooltip.element);
		this.comparison = state.view.against
			? new Comparison(
					{
						api: this.services.api,
						state,
						camera,
						canvasView,
						selection: this.selection,
						tooltip: this.tooltip,
						layout: this.layout,
					},
					{
						gestureHooks: () => this.gestureHooks(),
						palette: () => this.palette,
						progress: (text, share) => this.frame.progress(text, share),
						move: (change) => this.move(change),
						approach: (...times) => this.approachIn(...times),
						approachAbove: (time) => this.approach(time),
						relaid: () => this.relaid(),
						hide: (id) => this.hideTrack(id),
						announce: (sentence) => this.announce(sentence),
						showPanel,
						moved,
						failed,
					},
				)
			: null;
		this.panels = new Panels(
			{state, camera, canvasView, selection: this.selection, comparison: this.comparison},
			{
				heap: () => this.heap,
				palette: () => this.palette,
				tracks: async () => [this.chooser(), this.filter.node(await this.state.engine.types())],
				userNotes: () => this.userNotes,
				notes: () => this.loading.notes(),
				pressed: (name) => this.frame.pressed(name),
				approach: (time) => this.approach(time).catch(failed),
				moved,
				settle,
				failed,
				context: this.services.context ? (capture) => this.services.context(capture).catch(failed) : null,
			},
		);
	}

	/**
	 * Make the frame around the picture, the actions, the loader, the view URL and the gestures.
	 */
	buildControls() {
		const {
			state,
			services,
			camera,
			canvasView,
			minimap,
			search,
			selection,
			tooltip,
			panels,
			comparison,
			says,
			live,
			text,
		} = this;
		const failed = (error) => this.failed(error);
		const flipHeap = () => this.heap?.any && this.heap.flip();

		this.frame = new Frame(
			{state, canvasView, minimap, search, panels, comparison, says, live, text},
			{
				act: (action) => this.actions.act(action),
				flipHeap,
				take: (file) => this.take(file),
				setClock: (kind) => this.setClock(kind),
				flipLive: () => this.flipLive(),
				home: (words) => this.home(words),
				who: services.who ?? null,
				palette: () => this.palette,
			},
		);
		this.frame.closesMenu(this.leaving.signal);
		this.frame.prints(this.leaving.signal);
		this.actions = new Actions(
			{state, camera, canvasView, search, selection, tooltip, panels},
			{
				move: (change) => this.move(change),
				fit: () => this.fit(),
				flipCounters: () => this.flipCounters(),
				flipHeap,
				nextClock: () => this.nextClock(),
				writeNote: (time) => this.writeNote(time),
				closeMenu: () =>
					this.frame.closeMenu() || this.controls.close(false) || this.comparison?.controls.close(false),
				announce: (sentence) => this.announce(sentence),
			},
		);
		this.viewUrl = new ViewUrl(
			{
				state,
				camera,
				canvasView,
				search,
				selection,
				userNotes: this.userNotes,
				panels,
				comparison,
				layout: this.layout,
				filter: this.filter,
			},
			{
				heap: () => this.heap,
				relaid: () => this.relaid(),
				setClock: (kind) => this.setClock(kind),
				moved: () => this.moved(),
				failed,
			},
		);
		this.loading = new Loading(
			{
				state,
				services,
				frame: this.frame,
				camera,
				canvasView,
				minimap,
				search,
				selection,
				viewUrl: this.viewUrl,
				comparison,
				layout: this.layout,
				filter: this.filter,
			},
			{
				showCounter: () => this.relaid(),
				loadNotes: (marks) => this.userNotes.load(marks),
				addHeapStrip: () => this.addHeapStrip(),
				clockLearnt: () => this.state.clock.isWall && this.clockChanged(),
				failed,
			},
		);
		this.gestures = new Gestures(canvasView.canvas, this.gestureHooks());
		listenAtEdges(canvasView, tooltip, {
			...this.gestureHooks(),
			clock: () => state.clock,
			tails: () => this.tails,
			select: (from, to) => selection.setRange(from, to, true),
			failed,
		});
		this.onKey = (event) => this.actions.takes(event) && this.gestures.key(event);
		document.addEventListener("keydown", this.onKey);
		minimap.canvas.addEventListener("keydown", (event) => this.gestures.key(event));
	}

	/**
	 * Return the link with the text WORDS to the page of all guests. In a single-file page, return
	 * the element or null that its service home() returns.
	 */
	home(words) {
		const {home} = this.services;

		return home ? home() : make("a", {className: "tl-back", href: "#", textContent: words});
	}

	/** Return a Promise of the thread near X, Y, in pixels of the picture, or of null. */
	async threadAt(x, y) {
		const index = await this.selection.at(x, y);

		return index === null ? null : this.state.engine.thread(index);
	}

	/**
	 * Return the hooks of gestures.js for the picture. A drag to the side moves the time; a drag up
	 * or down moves the rows.
	 */
	gestureHooks() {
		const {camera, canvasView} = this;

		return {
			zoom: (x, factor) => this.move(() => camera.zoom(x, factor)),
			pan: (dx) => this.move(() => camera.pan(dx)),
			grab: (x, y) => {
				this.held = {x};
				canvasView.grab(y);
			},
			drag: (x, y) => {
				this.tooltip.carry(x, y);
				this.move(() => {
					camera.pan(x - this.held.x);
					this.held.x = x;
					canvasView.pull(y);
				});
			},
			drop: () => canvasView.drop(),
			pinch: (...x) => this.move(() => camera.pinch(...x)),
			click: (x, y) => this.selection.click(x, y),
			double: () => this.selection.double(),
			range: (x0, x1, done, y0, y1) => {
				this.tooltip.carry(x1, y1);
				this.selection.drawRange(x0, x1, done, y0, y1);
			},
			hover: (x, y) => this.tooltip.hover(x, y),
			leave: () => this.tooltip.leave(),
			key: (action) => this.actions.act(action),
		};
	}

	/** The unproven parts [{from, to}] of the trace, ns. */
	get tails() {
		const {tails, summary} = this.state;

		return tails.map(({stream, time}) => ({from: time, to: summary.streams[stream]?.end ?? time}));
	}

	/** Add the heap strip, unless there is one. Only a page with a server has the service strip, its class. */
	async addHeapStrip() {
		const {state, services, camera, canvasView, selection, tooltip} = this;
		const Strip = services.strip;

		if (!Strip || this.heap || state.closed) return;
		this.heap = new Strip(
			{state, services, camera, canvasView, selection, tooltip},
			{
				palette: () => this.palette,
				move: (change) => this.move(change),
				mark: (time) => this.actions.mark(time),
				offered: (any, shown) => this.frame.heap(any, shown),
				announce: (sentence) => this.announce(sentence),
				settle: () => this.settle(),
				failed: (error) => this.failed(error),
			},
		);
		canvasView.element.append(this.heap.gestures.tooltip);
		await this.heap.begin();
	}

	/** Remove listeners and timers, and close the engines. The elements stay in ROOT. */
	close() {
		this.leaving.abort();
		document.removeEventListener("keydown", this.onKey);
		this.viewUrl.close();
		clearTimeout(this.reading);
		clearTimeout(this.pointing);
		this.comparison?.close();
		this.heap?.close();
		this.tooltip.close();
		this.canvasView.close();
		this.session?.close();
		this.state.closed = true;
		delete this.root.timeline;
	}

	/**
	 * Open FILE as a trace in this page, or as a memory profile in the page of one, which the
	 * service take() decides by the content.
	 */
	take(file) {
		const {take} = this.services;

		if (take) take(file, () => this.loading.take(file));
		else this.loading.take(file);
	}

	/** Show VIEW, the content of a new URL. Return false if VIEW names another trace. */
	go(view) {
		return this.viewUrl.go(view);
	}

	/** Write the URL after a short rest. Call it after each change of the view. */
	settle() {
		this.viewUrl.settle();
	}

	/** Show the whole trace. Return a Promise that resolves when it is on the screen. */
	fit() {
		return this.viewUrl.fit();
	}

	/** Announce SENTENCE to screen readers. */
	announce(sentence) {
		this.live.textContent = sentence;
	}

	/** Show the message of ERROR above the picture. */
	failed(error) {
		this.frame.trouble(error.message);
	}

	// Following.

	/** Stop following the run, or show its end and follow it. Without a run that goes on, do nothing. */
	flipLive() {
		const {session} = this;

		if (!session?.live) return;
		if (this.frame.follows) session.pause(true);
		else if (session.trouble && !session.paused) session.wake(0);
		else if (session.paused) session.pause(false);
		else this.move(() => this.camera.showEnd(this.camera.span));
		this.frame.sayLive();
	}

	// Moving.

	/**
	 * Call CHANGE, a function that moves the camera, and draw. Before a trace is loaded, do
	 * nothing.
	 */
	move(change) {
		if (!this.state.summary) return;
		change();
		this.moved();
	}

	/** Show TIME, ns, in the middle, near enough to tell the events around it. */
	async approach(time) {
		const {engine, summary} = this.state;
		const {from, to} = await closeUp(engine, summary, time);

		this.approachIn(time, from, to);
	}

	/** Show TIME in the middle. A window longer than FROM to TO becomes that. Times are in ns. */
	approachIn(time, from, to) {
		const {camera} = this;

		this.move(() => {
			const seen = (camera.span * BigInt(Math.max(1, camera.width - camera.inset))) / BigInt(camera.width);
			const span = seen > to - from ? to - from : seen;

			camera.showBeside(time - span / 2n, time - span / 2n + span);
		});
	}

	/**
	 * Draw, load the part in view if it is missing, and write the URL. Call it after the camera
	 * moved.
	 */
	moved() {
		const {camera} = this;

		this.tooltip.moved();
		this.canvasView.changed();
		this.comparison?.follow();
		this.session.look(camera.from, camera.to);
		this.settle();
	}

	/** Write the status line below the picture: which part of the trace is in view. */
	say() {
		const {
			camera,
			state: {clock},
		} = this;
		const from = camera.from > camera.start ? camera.from : camera.start;
		const to = camera.to < camera.end ? camera.to : camera.end;

		this.says.textContent =
			from === camera.start && to === camera.end
				? `The whole trace is in view: ${rough(to - from)}.`
				: `${rough(to - from)} in view, from ${clock.moment(from, to - from)} to ` +
					`${clock.moment(to, to - from)}, of ` +
					`${rough(camera.end - camera.start)}.`;
		if (clock.text) this.says.textContent += ` ${clock.text}`;
		if (this.filter.text) this.says.textContent += ` ${this.filter.text}`;
	}

	/** Update what depends on the picture after each frame. */
	drawn() {
		this.comparison?.follow();
		this.frame.sayLive();
		this.heap?.draw();
		if (this.state.summary && this.minimap.refresh(this.camera)) this.say();
		if (this.read !== this.canvasView.shown) {
			this.read = this.canvasView.shown;
			clearTimeout(this.reading);
			clearTimeout(this.pointing);
			this.reading = setTimeout(() => this.tell(), READ_MS);
			this.pointing = setTimeout(() => this.tooltip.again(), POINT_MS);
		}
	}

	/**
	 * Update the list of the threads in view that screen readers read, and a panel about what is in
	 * view.
	 */
	async tell() {
		if (!this.canvasView.shown || this.state.closed) return;
		const indices = inView(this.canvasView.shown.marks);
		const {engine} = this.state;
		const threads = await Promise.all(indices.slice(0, 40).map((index) => engine.thread(index))).catch(() => []);

		this.text.replaceChildren(
			make("p", {textContent: `${this.says.textContent} ${indices.length} threads are drawn; the first are:`}),
			make(
				"ul",
				{},
				...threads.filter(Boolean).map((it) => make("li", {textContent: line(it, this.state.clock)})),
			),
		);
		this.panels.renew().catch((error) => this.state.closed || this.failed(error));
	}

	/**
	 * Write times by the clock of KIND (clock.js). Resolve when they are, or when a sentence says
	 * why dom0's wall time is not known.
	 */
	async setClock(kind) {
		const {clock} = this.state;

		clock.kind = kind;
		if (clock.isWall) await this.loading.wallTime();
		if (this.state.closed || clock.kind !== kind) return;
		if (clock.used !== kind) {
			clock.kind = "relative";
			this.failed(new Error(this.loading.noWallTime));
		}
		await this.clockChanged();
	}

	/** Write all times of the page again. Call it after the clock changed. */
	async clockChanged() {
		const {state, panels, comparison, canvasView} = this;

		this.frame.showClock(state.clock.kind);
		await comparison?.setClock(state.clock.kind);
		canvasView.renew();
		this.say();
		if (panels.name) await panels.show(panels.name);
		this.settle();
	}

	/** Write times by the next of the clocks. */
	nextClock() {
		const kinds = Object.keys(CLOCKS);
		const kind = kinds[(kinds.indexOf(this.state.clock.kind) + 1) % kinds.length];

		this.announce(`Times: ${CLOCKS[kind]}.`);
		return this.setClock(kind);
	}

	// Notes.

	/** Let the user write a note at TIME, ns; null: in the middle of the window. */
	async writeNote(time) {
		this.userNotes.time = time;
		await this.panels.show("notes");
		this.panels.element.querySelector(".tl-note-text")?.focus();
	}

	/** Draw the notes, show them in the panel if it is open, and write the URL. */
	notesChanged() {
		this.canvasView.changed();
		if (this.panels.name === "notes") this.panels.show("notes");
		this.settle();
	}

	// Counters.

	/** Show all chosen counters, or hide them. */
	flipCounters() {
		const shown = this.state.counters.flip();

		this.announce(shown ? "Counters are shown." : "Counters are hidden.");
		this.relaid();
	}
}
