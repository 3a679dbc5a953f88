/*
 * The heap strip: the live memory of a guest over time, drawn above its threads with the same
 * window. It shows the memory profiles that were recorded during the trace. A click opens the page
 * of the memory profile at that moment. Dragging selects a range in the strip and in the trace.
 *
 *   const strip = new HeapStrip({state, services, camera, canvasView, selection, tooltip}, hooks);
 *   strip.begin();   strip.draw() at each frame;   strip.close();
 */
import {format} from "../page/address.js";
import {tells} from "./heap-strip-clock.js";
import {StripGestures} from "./heap-strip-gestures.js";
import {HEIGHT, layersOf, paint, primitives, scaleOf} from "./heap-strip-paint.js";
import {Tracks} from "./heap-strip-source.js";
import {button, make} from "../page/make.js";
import {bytes} from "../page/times.js";

export class HeapStrip {
	/**
	 * hooks: palette(), move(change: a function that moves the camera), mark(time, or undefined for
	 * the pointer's): begin or end a range, offered(is there a heap?, is it shown?),
	 * announce(sentence) to screen readers, settle(): write the URL, failed(error)
	 */
	constructor({state, services, camera, canvasView, selection, tooltip}, hooks) {
		Object.assign(this, {state, services, camera, canvasView, selection, tooltip, hooks});
		this.tracks = null;
		this.on = state.view.heap !== "off";
		this.peak = 1;
		this.canvas = make("canvas", {
			className: "tl-heap-canvas",
			tabIndex: 0,
			role: "slider",
			"aria-label": "Heap over time: arrows move, Enter opens the memory profile there",
			"aria-valuemin": "0",
			"aria-valuemax": "1000",
			"aria-valuenow": "0",
			"aria-valuetext": "no moment is chosen",
		});
		this.gestures = new StripGestures(this);
		this.says = make("span", {className: "tl-heap-says"});
		this.links = make("span", {});
		this.there = button("Show it", "Go where the memory profile is", () => this.goThere(), {hidden: true});
		this.element = make(
			"div",
			{className: "tl-heap", role: "group", "aria-label": "Heap", hidden: true},
			this.canvas,
			make(
				"div",
				{className: "tl-heap-head"},
				this.says,
				this.there,
				this.links,
				button("✕", "Hide the heap (h)", () => this.flip()),
			),
		);
	}

	/** Load the list of profiles of the guest, and show those that overlap the trace. */
	async begin() {
		const {
			services,
			state: {session},
		} = this;

		if (this.tracks || session.source.ofRunNumber === undefined) return;
		const failed = (error) => this.closed || this.hooks.failed(error);
		this.tracks = new Tracks(services, session, {changed: () => this.changed(), failed});
		await this.tracks.begin().catch(failed);
	}

	close() {
		this.closed = true;
		this.tracks?.close();
	}

	/** Show the strip if ON is true, else hide it. */
	set(on) {
		this.on = on;
		this.changed();
	}

	flip() {
		this.set(!this.on);
		this.hooks.announce(this.on ? "The heap is shown." : "The heap is hidden.");
		if (!this.on && this.element.contains(document.activeElement)) this.canvasView.canvas.focus();
		this.hooks.settle();
	}

	changed() {
		if (this.closed) return;
		this.offered();
		this.canvasView.changed();
	}

	/** Whether the strip has a track. */
	get shows() {
		return this.on && this.any;
	}

	/** Whether a profile overlaps the trace. If none does, the page offers no heap strip. */
	get any() {
		const {start, end} = this.camera;

		return this.tracks?.list.some((it) => it.meets(start, end)) ?? false;
	}

	offered() {
		const {any, shows} = this;

		this.hooks.offered(any, this.on);
		if (this.element.hidden === !shows) return;
		this.element.hidden = !shows;
		this.canvasView.retrack();
	}

	// Drawing.

	get drawable() {
		return !this.element.hidden && this.state.summary;
	}

	/** Draw the strip; called for each frame. */
	draw() {
		const {camera, tracks} = this;

		if (!tracks) return;
		if (this.extent !== `${camera.start} ${camera.end}`) {
			this.extent = `${camera.start} ${camera.end}`;
			this.offered();
		}
		if (!this.drawable) return;
		tracks.renew();
		const met = tracks.meeting(camera.from, camera.to);
		met.forEach((it) => it.look(camera.from, camera.to, camera.width));
		this.peak = scaleOf(Math.max(1, ...tracks.list.map((it) => it.info?.peak_bytes ?? 1)));
		const pointer = this.time ?? this.tooltip.time;
		this.shown = primitives(met, camera, this.peak, {pointer, range: this.selection.range}, this.height);
		paint(this.pen(camera.width), this.shown, this.hooks.palette(), camera.width, this.height);
		this.head(met);
	}

	/** Return the strip on the screen as layers of draw/paint.js, at Y in a picture. */
	layers(y) {
		return this.shown ? layersOf(this.shown, this.hooks.palette(), this.camera.width, this.height, y) : [];
	}

	/** Height of the strip, pixels. */
	get height() {
		return this.element.clientHeight || HEIGHT;
	}

	pen(width) {
		const {canvas} = this;
		const ratio = devicePixelRatio || 1;
		const height = this.height;
		const [w, h] = [Math.max(1, Math.round(width * ratio)), Math.round(height * ratio)];

		if (canvas.width !== w || canvas.height !== h) {
			canvas.width = w;
			canvas.height = h;
			canvas.style.width = `${width}px`;
			canvas.style.height = `${height}px`;
		}
		const ctx = canvas.getContext("2d", {alpha: false});
		ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
		return ctx;
	}

	/**
	 * Update the corner of the strip. MET are the tracks in the window. The corner has links to
	 * them, or a text.
	 */
	head(met) {
		const word = this.word(met);
		const ids = met.map(({id}) => id).slice(-3);

		if (this.headed === `${word} ${ids}`) return;
		this.headed = `${word} ${ids}`;
		this.says.textContent = word;
		this.there.hidden = met.length > 0;
		this.links.replaceChildren(
			...ids.map((id) =>
				make("a", {
					className: "tl-heap-link",
					href: format({memtrace: id}),
					textContent: `memory profile ${id}`,
				}),
			),
		);
	}

	word(met) {
		const {camera} = this;
		const one = met.at(-1);

		if (!one)
			return this.tracks.list.some((it) => it.extent.from > camera.to)
				? "heap: a memory profile began later"
				: "heap: the memory profile ended before";
		if (one.isLarge) return `heap: ${bytes(one.memtrace.bytes)} are too much to draw here`;
		if (one.state === "failed") return "heap: it could not be loaded";
		return one.steps ? "heap" : one.state === "ready" ? "heap: no data yet" : "heap: loading…";
	}

	/** Move the camera to the profile that is nearest to the window. */
	goThere() {
		const {camera, tracks} = this;
		const far = (it) =>
			Math.min(...[it.extent.from - camera.to, camera.from - it.extent.to].map((ns) => Math.abs(Number(ns))));
		const nearest = [...tracks.list]
			.filter((it) => it.meets(camera.start, camera.end))
			.sort((a, b) => far(a) - far(b))[0];

		if (!nearest) return;
		const {from, to} = nearest.extent;
		const margin = (to - from) / 16n + 1000000n;
		this.hooks.move(() => camera.show(from - margin, to + margin));
	}

	/** Return the newest track that has a value at the trace's TIME, or null. */
	trackAt(time) {
		return this.tracks?.list.filter((it) => it.state === "ready" && it.at(time) !== null).at(-1) ?? null;
	}

	/** The trace's time that is selected in the strip, or null. */
	get time() {
		return this.gestures.time;
	}

	// For the panels.

	/** Sentences on the places of the profiles on the time line. */
	get tells() {
		return this.any
			? this.tracks.list
					.filter((it) => it.place)
					.slice(-3)
					.flatMap((it) => tells(it.memtrace, it.place))
			: [];
	}

	/** Return elements for the panel of statistics: how the heap changed between the times FROM and TO. */
	async measured({from, to}) {
		const track = this.tracks?.list.filter((it) => it.state === "ready" && it.meets(from, to)).at(-1);
		const range =
			track && [track.us(from), track.us(to)].map((us) => Math.max(0, Math.min(Math.round(us), track.lasts)));

		if (!track || range[1] <= range[0]) return [];
		const [first, last] = await track.exactly(...range);
		const change = `${bytes(Math.abs(last - first))} ${last < first ? "less" : "more"}`;
		return [
			make("h3", {textContent: "Heap"}),
			make("p", {
				textContent: `${bytes(first)} lived at the beginning, ${bytes(last)} at the end: ${first === last ? "the same" : change}; estimated from samples.`,
			}),
			make(
				"p",
				{},
				make("a", {
					className: "tl-link",
					href: format({memtrace: track.id, during: {from: range[0], to: range[1]}}),
					textContent: "Allocations in this range",
				}),
			),
		];
	}
}
