/*
 * The canvas view: the elements that show a trace. From top to bottom they are the ruler, the areas
 * of tracks above the threads, the picture of the threads, and the area of tracks below.
 *
 * The worker paints the picture for one window of time. While the worker paints the next picture,
 * this module moves and stretches the old one by CSS to fit the camera, so a drag or a zoom shows
 * at once.
 */
import {make} from "../page/make.js";
import {Marks} from "../draw/marks.js";
import {paintOverlay, primitives} from "./overlay.js";
import {trackPalette} from "../draw/theme.js";
import {TrackArea} from "./track-area.js";
import {HEAP, THREADS, areas} from "./track-layout.js";
import {arrowAt, bandAt, laneAt, sentences} from "./pointed.js";
import {CAPTION} from "../draw/tracks.js";
import {hatching, plan} from "../draw/paint.js";
import {labelPlaces} from "../draw/text-places.js";
import {Widths} from "../draw/painter.js";
import {RULER, UNPROVEN} from "../draw/svg.js";

/*
 * Flags of a scene, as in <mprof/scene.h>: 2 draws labels, 4 draws arrows, 8 draws each counter in
 * a lane of its own, 32 draws shades. FLAGS is all four.
 */
const FLAGS = 46;
const DENSE = 16; /* flag: a row without a thread in the window gets no height */
const LABELS = 2;
const LINE_REACH = 2; /* greatest distance from a thread's line at which the pointer is on it, pixels */

const TICK_LEAST = 90; /* least distance between two ticks of the ruler, pixels */
const TICK_LETTER = 6.6; /* estimated width of a letter of the ruler, pixels */
const TICK_GAP = 10; /* least gap between a tick's text and the next tick, pixels */
const WORK_KEPT = 1000; /* number of frames whose duration is kept */

/**
 * Resize CANVAS to WIDTH by HEIGHT CSS pixels and return its 2D context, scaled so that drawing
 * uses CSS pixels. ALPHA: true makes the canvas transparent; the browser draws an opaque canvas
 * faster.
 */
function fitted(canvas, width, height, alpha = false) {
	const ratio = devicePixelRatio || 1;
	const [w, h] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];

	if (canvas.width !== w || canvas.height !== h) {
		canvas.width = w;
		canvas.height = h;
		canvas.style.width = `${width}px`;
		canvas.style.height = `${height}px`;
	}
	const ctx = canvas.getContext("2d", {alpha});
	ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
	return ctx;
}

export class CanvasView {
	/**
	 * ENGINE is null until a trace is loaded. CAMERA (camera.js) is the window of time to show.
	 *
	 * hooks:
	 * - palette(): return the colours (theme.js);
	 * - counter(index, name, stream): return the caption of a counter, or of the processor track of
	 *   STREAM if INDEX is null;
	 * - tracks(): return {streams: [{id, stream, name}], counters: [{id, index, stream, name}],
	 *   heap: element or null}, the objects that get a track;
	 * - clock(): return the Clock (clock.js);
	 * - layout: the TrackLayout;
	 * - controls(): return the TrackControls, or null;
	 * - heapLayers(y): return the heap strip as layers of draw/paint.js, at Y of its track area;
	 * - overlay(): return the state that primitives() of overlay.js draws;
	 * - drawn(): called after each frame;
	 * - failed(error): report an error;
	 * - sized(): called after the size changed.
	 */
	constructor(engine, camera, hooks) {
		Object.assign(this, {engine, camera, hooks});
		this.ruler = make("canvas", {className: "tl-ruler", "aria-hidden": "true"});
		this.picture = make("canvas", {className: "tl-picture", "aria-hidden": "true"});
		this.pixels = this.picture.getContext("bitmaprenderer");
		this.canvas = make("canvas", {
			id: "tl-canvas",
			className: "tl-canvas",
			tabIndex: 0,
			role: "application",
			"aria-label": "Time line",
			"aria-describedby": "tl-view",
		});
		this.pictures = make("div", {className: "tl-pictures"}, this.picture, this.canvas);
		this.areas = {pinned: new TrackArea("pinned"), above: new TrackArea("above"), below: new TrackArea("below")};
		this.element = make(
			"div",
			{className: "tl-canvas-view"},
			this.ruler,
			this.areas.pinned.element,
			this.areas.above.element,
			this.pictures,
			this.areas.below.element,
		);
		/*
		 * Name of an area -> {height, tracks}. engine.frame() gets this object as the window's
		 * `tracks`.
		 */
		this.tracks = {};
		/* Place of the threads, from areas() of track-layout.js. */
		this.threads = {pinned: false, shown: true, collapsed: false, height: null};
		/*
		 * The picture on the screen: {marks, tails, window, yOf, rowAt, gridNs, engine}, or null.
		 * yOf(row) and rowAt(y) convert between rows and pixels of this picture. gridNs is the
		 * distance of its vertical grid lines, ns.
		 */
		this.shown = null;
		/*
		 * {answer, window, engine}: a picture from the worker that the next frame puts on the
		 * screen; null: none.
		 */
		this.arrived = null;
		/*
		 * While the user drags the picture: {row, y, moved}. ROW is the row under the pointer when
		 * the drag began, Y is the pointer's present y, and MOVED is true until a new focus for it
		 * is requested. Otherwise null.
		 */
		this.drag = null;
		this.stale = true; /* true: request a new picture, also for the same window */
		this.asking = false; /* true while the worker makes a picture */
		this.work = []; /* duration of the last frames in the page's thread, ms; tests read it */
		this.resizing = new ResizeObserver(() => this.resize());
		this.resizing.observe(this.pictures);
		this.resizing.observe(this.element);
	}

	close() {
		this.resizing.disconnect();
		cancelAnimationFrame(this.wanted);
		this.closed = true;
	}

	resize() {
		const {clientWidth} = this.element;
		const {clientHeight, hidden} = this.pictures;

		if (!clientWidth || (!clientHeight && !hidden)) return;
		this.camera.size(clientWidth, hidden ? 1 : clientHeight);
		this.hooks.sized();
		this.changed();
	}

	/** Request a frame. Call it after the camera or the overlay changed. */
	changed() {
		if (!this.wanted && !this.closed) this.wanted = requestAnimationFrame(() => this.frame());
	}

	/**
	 * Compute the places of the tracks again and request a new picture. Call it after the model,
	 * the chosen counters or the layout changed.
	 */
	retrack() {
		const tracks = this.hooks.tracks();
		const {areas: placed, threads} = areas(tracks, this.hooks.layout);

		this.tracks = {};
		for (const [name, area] of Object.entries(this.areas)) {
			const {height, tracks: list} = placed[name];

			this.tracks[name] = {height: list.length ? height : 0, tracks: list};
			area.size(placed[name], this.hooks.controls(), (id) => (id === HEAP ? tracks.heap : null));
		}
		this.placeThreads(threads);
		this.resize();
		this.renew();
	}

	/**
	 * Move the picture of the threads to its place among the track areas, and set its height.
	 * THREADS is the member `threads` of areas() in track-layout.js.
	 */
	placeThreads(threads) {
		const {element, pictures, areas: list} = this;
		const before = threads.pinned ? list.above.element : list.below.element;

		this.threads = threads;
		if (pictures.nextElementSibling !== before) element.insertBefore(pictures, before);
		pictures.hidden = !threads.shown;
		pictures.style.flex = threads.height === null ? "" : `0 1 ${threads.height}px`;
		element.classList.toggle("tl-fixed", !threads.shown || threads.height !== null);
		const controls = this.hooks.controls();
		if (!controls) return;
		const [button, edge] = controls.of(THREADS, "Threads");
		if (!pictures.contains(button)) pictures.append(button, edge);
		edge.hidden = threads.collapsed;
	}

	/**
	 * The tracks from top to bottom: [{id, name, pinned, collapsed, height, top, bottom}]. HEIGHT
	 * is in pixels. TOP and BOTTOM are pixels from the top of the browser's window.
	 */
	get displayed() {
		const {pinned, above, below} = this.areas;
		const {layout} = this.hooks;
		const inArea = ({places, inner}) => {
			const y = inner.getBoundingClientRect().top;

			return places.map(({id, name, top, head, height, collapsed}) => ({
				id,
				name,
				pinned: Boolean(layout.of(id).pinned),
				collapsed,
				height,
				top: y + top,
				bottom: y + top + head + height,
			}));
		};
		const {top, bottom} = this.pictures.getBoundingClientRect();
		const threads = this.threads.shown
			? [
					{
						id: THREADS,
						name: "Threads",
						pinned: this.threads.pinned,
						collapsed: this.threads.collapsed,
						height: this.pictures.clientHeight,
						top,
						bottom,
					},
				]
			: [];

		return this.threads.pinned
			? [...inArea(pinned), ...threads, ...inArea(above), ...inArea(below)]
			: [...inArea(pinned), ...inArea(above), ...threads, ...inArea(below)];
	}

	/** Request a new picture. Call it after the model, its highlights or the colours changed. */
	renew() {
		this.stale = true;
		this.changed();
	}

	/** The window to draw, in the form for engine.frame(); see README.md. */
	get window() {
		const {from, to, focus, width, height} = this.camera;
		const {everyRow} = this.hooks.layout;
		const {flags: grid, dayShift, origin} = this.hooks.clock().grid;
		const flags = (this.threads.collapsed ? FLAGS & ~LABELS : FLAGS) | (everyRow ? 0 : DENSE) | grid;
		const plain = {focus, height, letter: 6.6, flags, dayShift, origin, tracks: this.tracks};

		if (from >= 0n) return {...plain, from, to, width};
		/*
		 * The worker draws no times before 0. If the camera shows such times, request a narrower
		 * picture that begins at 0; place() puts it at its x, and the pixels to its left stay
		 * empty.
		 */
		return to > 0n
			? {...plain, from: 0n, to, width: Math.max(width - this.camera.xOf(0n), 1)}
			: {...plain, from: 0n, to: to - from, width};
	}

	/**
	 * Return a Promise of the index of the thread nearest to X, Y, or of null if none is within
	 * REACH. X, Y and REACH are pixels of the picture.
	 */
	near(x, y, reach) {
		const {window} = this;

		return this.engine.near(window, x - this.camera.xOf(window.from), y, reach);
	}

	/**
	 * Return X, pixels of the view, as pixels of a picture that was drawn for WINDOW. Return null if
	 * the picture is stretched, because a newer one is not ready.
	 */
	inPicture(x, window) {
		const {camera} = this;
		const x0 = camera.xOf(window.from);

		return Math.abs(camera.xOf(window.to) - x0 - window.width) < 0.01 ? x - x0 : null;
	}

	/**
	 * Return a Promise of the mark {kind, item} of the arrow at X, Y, in pixels of the picture, or of
	 * null. A thread that is at most LINE_REACH pixels away hides the arrow.
	 */
	async arrowAt(x, y) {
		const place = this.shown && !this.drag ? this.inPicture(x, this.shown.window) : null;
		const arrow = place === null ? null : arrowAt(this.shown.marks, place, y);

		return arrow && (await this.near(x, y, LINE_REACH)) === null ? arrow : null;
	}

	/**
	 * Return a Promise of {arrow, band}: sentences on the arrow and on the band at X, Y, in pixels
	 * of the picture. A list is empty if there is none.
	 */
	async signsAt(x, y) {
		const {shown, engine, camera} = this;
		const place = shown ? this.inPicture(x, shown.window) : null;
		const band = place === null ? null : bandAt(shown.marks, place, y);
		const about = async (mark) =>
			mark
				? sentences(mark.kind, await engine.pointed(mark.kind, mark.item, camera.timeAt(x)), this.hooks.clock())
				: [];

		return {arrow: await about(await this.arrowAt(x, y)), band: await about(band)};
	}

	/**
	 * Return a Promise of the gap {from, to, packets} at X, Y, in pixels of the picture, or of null.
	 */
	async gapAt(x, y) {
		const {shown, engine} = this;
		const place = shown ? this.inPicture(x, shown.window) : null;
		const band = place === null ? null : bandAt(shown.marks, place, y);

		return band?.kind === "gap" ? engine.pointed("gap", band.item, this.camera.timeAt(x)) : null;
	}

	/**
	 * Return a Promise of {mark: {kind, item} or null, about: its answer of engine.pointed()} of the
	 * band or counter of the track area AREA at X, Y, in pixels of the area's picture.
	 */
	async inTrack(area, x, y) {
		const {marks, window} = area;
		const place = marks && window && this.engine ? this.inPicture(x, window) : null;
		const mark = place === null ? null : (laneAt(marks, y, CAPTION) ?? bandAt(marks, place, y));
		const about = mark ? await this.engine.pointed(mark.kind, mark.item, this.camera.timeAt(x)) : null;

		return {mark, about};
	}

	/**
	 * Draw one frame: put a new picture on the screen if there is one, place it, and draw ruler and
	 * overlay. Request the next picture if this one is out of date.
	 */
	frame() {
		const began = performance.now();

		this.wanted = 0;
		if (this.closed) return;
		if (this.arrived) this.take();
		const overlay = this.hooks.overlay();
		this.place(overlay);
		this.paintRuler();
		this.paintOverlay(overlay);
		this.hooks.drawn();
		if (this.engine && !this.asking && this.isOld()) this.ask();
		this.work.push(performance.now() - began);
		if (this.work.length > WORK_KEPT) this.work.shift();
	}

	/** Request a new picture. Resolve when it is on the screen and fits the camera. */
	async painted() {
		this.renew();
		while (!this.closed && (this.stale || this.asking || this.arrived || !this.shown))
			await new Promise((resolve) => requestAnimationFrame(resolve));
	}

	/** Return true if the last requested picture does not fit the present window or model. */
	isOld() {
		const is = this.window;
		const was = this.asked;

		return this.stale || this.drag?.moved || !was || Object.keys(is).some((key) => is[key] !== was[key]);
	}

	/** Request a picture from the worker. frame() shows it when it comes. */
	async ask() {
		const {engine} = this;
		const turn = (this.turn = {});

		this.asking = true;
		try {
			if (this.drag?.moved) {
				this.drag.moved = false;
				this.camera.look(await engine.focus(this.window, this.drag.row, this.drag.y));
			}
			const window = this.window;
			this.stale = false;
			this.asked = window;
			const answer = await engine.frame(window, {
				dark: this.hooks.palette().dark,
				ratio: devicePixelRatio || 1,
			});
			if (this.turn !== turn) return;
			/*
			 * Thread indices differ between models. If the engine was replaced meanwhile, drop this
			 * picture of the old model and request another.
			 */
			if (engine !== this.engine) this.stale = true;
			else if (answer) this.arrived = {answer, window, engine};
		} catch (error) {
			if (this.turn === turn) this.hooks.failed(error);
		} finally {
			if (this.turn === turn) {
				this.asking = false;
				this.changed();
			}
		}
	}

	/** Drop the engine, which the caller closed, and clear its picture. */
	forget() {
		Object.assign(this, {engine: null, shown: null, arrived: null, turn: null, asking: false, ruled: null});
		this.pixels.transferFromImageBitmap(null);
		this.changed();
	}

	/** Put the picture in `arrived` on the screen. */
	take() {
		const {answer, window, engine} = this.arrived;
		const {bitmap} = answer;
		const {picture} = this;

		this.arrived = null;
		if (
			picture.width !== bitmap.width ||
			picture.height !== bitmap.height ||
			this.shown?.window.width !== window.width
		) {
			picture.width = bitmap.width;
			picture.height = bitmap.height;
			picture.style.width = `${window.width}px`;
			picture.style.height = `${window.height}px`;
		}
		this.pixels.transferFromImageBitmap(bitmap);
		this.first ??= performance.now();
		const marks = new Marks(answer.marks, answer.n, answer.text);
		this.shown = {
			marks,
			tails: marks.list(["tail"]),
			window,
			yOf: answer.rowY,
			rowAt: answer.rowAt,
			gridNs: answer.gridNs,
			engine,
		};
		for (const [name, area] of Object.entries(this.areas)) area.take(answer.areas[name], window);
	}

	/** Return the picture on the screen as layers of draw/paint.js. There must be a picture. */
	layers() {
		return this.plan(this.shown.marks, this.hooks.palette(), this.shown.window);
	}

	/** Return MARKS as layers in COLOURS. SIZE is {width, height} in pixels. */
	plan(marks, colours, size) {
		const widths = new Widths(new OffscreenCanvas(1, 1).getContext("2d"));

		return plan(
			marks,
			colours,
			size,
			(text) => widths.of(text),
			(index, name, stream) => this.hooks.counter(index, name, stream),
		);
	}

	/**
	 * Return the track area NAME ("pinned", "above" or "below") as a part of a saved picture:
	 * {layers, size: {width, height} in pixels, back: background colour}. Return null if the area
	 * is empty or hidden.
	 */
	part(name) {
		const {marks, element, places} = this.areas[name];
		const size = {width: this.shown.window.width, height: this.tracks[name]?.height ?? 0};
		const colours = trackPalette(this.hooks.palette().dark);
		const heap = places?.find(({id, collapsed}) => id === HEAP && !collapsed);

		if (element.hidden || !size.height || !(marks || heap)) return null;
		return {
			layers: [
				...(marks ? this.plan(marks, colours, size) : []),
				...(heap ? this.hooks.heapLayers(heap.top) : []),
			],
			size,
			back: colours.back,
		};
	}

	/**
	 * Set the CSS transforms that fit the old picture to the present camera. OVERLAY is the state
	 * for overlay.js; the track areas draw their lines from it.
	 */
	place(overlay) {
		if (!this.shown) return;
		const {window} = this.shown;
		const x0 = this.camera.xOf(window.from);
		const stretch = (this.camera.xOf(window.to) - x0) / window.width;
		const dy = this.drag ? this.drag.y - this.shown.yOf(this.drag.row) : 0;
		const still = Math.abs(x0) < 1e-6 && Math.abs(stretch - 1) < 1e-9 && Math.abs(dy) < 0.5;

		for (const area of Object.values(this.areas)) area.place(this.camera, overlay);
		this.picture.style.transform = still ? "" : `translate(${x0}px, ${dy}px) scale(${stretch}, 1)`;
	}

	/** Return the y of ROW in pixels of the picture, also during a drag; 0 without a picture. */
	y(row) {
		return this.shown ? this.shown.yOf(row) + (this.drag ? this.drag.y - this.shown.yOf(this.drag.row) : 0) : 0;
	}

	/**
	 * Return the row, maybe a fraction, at Y pixels of the picture, also during a drag. Without a
	 * picture, return the camera's focus.
	 */
	row(y) {
		const {shown, drag} = this;

		return shown ? shown.rowAt(drag ? y - drag.y + shown.yOf(drag.row) : y) : this.camera.focus;
	}

	/** Begin to drag the row at Y pixels. */
	grab(y) {
		this.drag = {row: this.row(y), y, moved: false};
	}

	/** Move the dragged row to Y pixels. frame() then requests a picture with this row there. */
	pull(y) {
		if (this.drag) Object.assign(this.drag, {y, moved: true});
	}

	/** End the drag. */
	drop() {
		this.drag = null;
		this.changed();
	}

	/**
	 * The parts [{x0, x1}] of the picture, in pixels, where a stream is unproven: mprofd copied
	 * these bytes after the guest had stopped, and no later copy confirmed them (tail.js).
	 */
	get unproven() {
		if (!this.shown) return [];
		const {window, tails} = this.shown;
		const left = this.camera.xOf(window.from);
		const stretch = (this.camera.xOf(window.to) - left) / window.width;

		return tails
			.map(({x0, x1}) => ({
				x0: Math.max(left + x0 * stretch, 0),
				x1: Math.min(left + x1 * stretch, this.camera.width),
			}))
			.filter(({x0, x1}) => x1 > x0);
	}

	/** Return the ticks of the ruler, at most 200: [{x, text}]. X is in pixels. */
	ticks() {
		const {camera} = this;
		const clock = this.hooks.clock();
		const {origin} = clock;
		const step = this.shown.gridNs;
		let every = step > 0n ? step : 1n;

		/*
		 * Widen EVERY, the distance of ticks in ns, until the text of a tick, which is to its
		 * right, ends before the next tick.
		 */
		for (let i = 0; !this.ticksFit(every); i++) every = clock.wider(every, i);
		/* Make EVERY a multiple of the grid's distance, so that each tick is at a grid line. */
		for (; every % step && step > 0n;) every += step - (every % step);
		const out = [];
		const past = (camera.from - origin) % every;
		let at = camera.from - past - (past < 0n ? every : 0n);
		for (; at <= camera.to && out.length < 200; at += every)
			if (at >= camera.start || clock.used !== "relative")
				out.push({x: camera.xOf(at), text: clock.tick(at, every)});
		return out;
	}

	/** Return true if the texts of ticks that are EVERY ns apart do not overlap. */
	ticksFit(every) {
		const {camera} = this;
		const clock = this.hooks.clock();
		const longest = clock.tick(camera.to - ((camera.to - clock.origin) % every), every);

		return every > camera.length(TICK_LEAST) && every > camera.length(longest.length * TICK_LETTER + TICK_GAP);
	}

	/** Draw the ruler, unless the same ruler is on the screen already. */
	paintRuler() {
		const palette = this.hooks.palette();
		const {width, from, to} = this.camera;
		const clock = this.hooks.clock();
		const unproven = this.unproven;
		const hatched = unproven.map(({x0, x1}) => `${x0}-${x1}`).join();
		const key = `${from} ${to} ${width} ${devicePixelRatio} ${palette.dark} ${this.shown?.gridNs} ${clock.used} ${clock.wall?.offsetNs} ${hatched}`;

		if (key === this.ruled) return;
		this.ruled = key;
		const ctx = fitted(this.ruler, width, RULER);

		ctx.fillStyle = palette.ruler;
		ctx.fillRect(0, 0, width, RULER);
		if (!this.shown) return;
		ctx.font = "11px system-ui, sans-serif";
		ctx.fillStyle = palette.rulerText;
		ctx.textAlign = "left";
		this.tickList = this.ticks();
		for (const {x, text} of this.tickList) {
			ctx.fillRect(Math.round(x), RULER - 10, 1, 10);
			if (x + 3 + ctx.measureText(text).width <= width) ctx.fillText(text, x + 3, RULER - 12);
		}
		if (!unproven.length) return;
		ctx.fillStyle = palette.tail;
		for (const {x0, x1} of unproven) ctx.fillRect(x0, RULER - UNPROVEN, x1 - x0, UNPROVEN);
		ctx.fillStyle = hatching(ctx, palette.tailLine);
		for (const {x0, x1} of unproven) ctx.fillRect(x0, RULER - UNPROVEN, x1 - x0, UNPROVEN);
	}

	/** Draw OVERLAY, the state for overlay.js, on the transparent canvas over the picture. */
	paintOverlay(overlay) {
		const {width, height} = this.camera;
		const was = this.over;
		const size = `${width} ${height} ${devicePixelRatio}`;

		/* Only marks of differences and names of waiting threads make way for labels. */
		if (this.shown && (overlay.marks?.length || overlay.chain.length))
			overlay.labels = this.shown.labels ??= labelPlaces(this.shown.marks);
		this.over = this.shown ? primitives(overlay, this.camera, (row) => this.y(row)) : [];
		/*
		 * Clearing a canvas takes time, and the overlay is mostly empty. If it was empty and is
		 * empty, leave the canvas as it is.
		 */
		if (!this.over.length && !was?.length && size === this.overSize) return;
		this.overSize = size;
		const ctx = fitted(this.canvas, width, height, true);
		paintOverlay(ctx, this.over, this.hooks.palette(), this.camera);
	}
}
