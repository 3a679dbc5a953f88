/*
 * The scene of a trace: it makes the pictures of the time line with the functions of
 * <mprof/scene.h>, and paints them.
 */
import {caption} from "../draw/tracks.js";
import {Painter} from "../draw/painter.js";
import {trackPalette} from "../draw/theme.js";
import {OUT_OF_MEMORY, need} from "./wasm.js";

export class Scene {
	/** TRACE is a Trace (trace.js). Its model need not exist yet. */
	constructor(trace) {
		this.trace = trace;
		this.wasm = trace.wasm;
		this.scene = 0; // address of struct mprof_scene; 0 before prepare()
	}

	/** Free the memory of the scene. */
	close() {
		if (this.scene) this.wasm.c.mprof_scene_free(this.scene);
		this.scene = 0;
	}

	/**
	 * Return the address of the scene. The first call makes it, which takes long for a large trace.
	 * The trace must have a model.
	 */
	prepare() {
		this.scene ||= need(this.wasm.c.mprof_scene_new(this.trace.model) >>> 0);
		return this.scene;
	}

	/**
	 * Call USE(scene, window) with the address of the scene, and with the address of a copy of
	 * WINDOW as struct mprof_window. Return what USE returns.
	 */
	#window(window, use) {
		const {wasm} = this,
			scene = this.prepare(),
			{numbers} = wasm;
		const flags =
			window.flags ?? numbers.MPROF_WINDOW_COUNTERS | numbers.MPROF_WINDOW_LABELS | numbers.MPROF_WINDOW_ARROWS;
		return wasm.lend(wasm.size("mprof_window"), (at) => {
			for (const name of ["from", "to", "focus", "width", "height"])
				wasm.set("mprof_window", at, name, window[name]);
			wasm.set("mprof_window", at, "letter_width", window.letter);
			wasm.set("mprof_window", at, "flags", flags);
			wasm.set("mprof_window", at, "day_shift", BigInt.asUintN(64, window.dayShift ?? 0n));
			wasm.set("mprof_window", at, "origin", window.origin ?? 0n);
			return use(scene, at);
		});
	}

	/**
	 * Return {rows, ys}: some rows in rising order, and their y in pixels. They are the row at each
	 * pixel and the rows next to it; rows between them can have height 0. The page interpolates
	 * other rows.
	 */
	#rowTable(scene, at, window) {
		const {c} = this.wasm,
			rows = this.trace.get("rows"),
			table = new Set([0, rows]);
		for (let y = 0; y <= window.height; y++) {
			const row = Math.round(c.mprof_scene_row(scene, at, y));
			for (const it of [row - 1, row, row + 1]) table.add(Math.max(0, Math.min(rows, it)));
		}
		const sorted = Float64Array.from(table).sort();
		return {rows: sorted, ys: Float32Array.from(sorted, (row) => c.mprof_scene_y(scene, at, row))};
	}

	/**
	 * Return the answer of engine.frame() without its functions. With LOOK {dark, ratio} also paint
	 * the picture; RATIO is device pixels for a CSS pixel.
	 */
	draw(window, look = null) {
		const picture = this.#marks(window);

		if (look) {
			this.painter ??= new Painter();
			picture.bitmap = this.painter.paint(picture, window, look, (index, name) => this.#caption(index, name));
		}
		picture.areas = Object.fromEntries(
			Object.entries(window.tracks ?? {})
				.filter(([, {height}]) => height > 0)
				.map(([name, area]) => [name, this.#area(name, area, window, look)]),
		);
		return picture;
	}

	/**
	 * Return the picture of the area of tracks NAME: {marks, n, text, gridNs}, and with LOOK also
	 * `bitmap`, the painted picture. HEIGHT is its height in pixels. TRACKS are its tracks as
	 * {kind, item, top, height}; TOP and HEIGHT are in pixels.
	 */
	#area(name, {height, tracks}, window, look) {
		const {wasm} = this;
		const size = wasm.size("mprof_track");
		const part = {...window, height};
		const picture = this.#window(part, (scene, at) =>
			wasm.lend(Math.max(size * tracks.length, 1), (list) => {
				tracks.forEach((track, i) => {
					for (const [key, value] of Object.entries(track))
						wasm.set("mprof_track", list + i * size, key, value);
				});
				return this.#picture((out) => wasm.c.mprof_scene_tracks(scene, at, list, tracks.length, out));
			}),
		);

		if (look) {
			this.painters ??= {};
			this.painters[name] ??= new Painter();
			picture.bitmap = this.painters[name].paint(
				picture,
				part,
				look,
				(index, text, stream) => (index === null ? (this.trace.of(stream) ?? "") : this.#caption(index, text)),
				trackPalette(look.dark),
			);
		}
		return picture;
	}

	/**
	 * Call DRAW(out), which writes a struct mprof_picture to the address OUT, and return a copy of
	 * it: {marks, n, text, gridNs}.
	 */
	#picture(draw) {
		const {wasm} = this,
			{c, numbers} = wasm;
		return wasm.lend(wasm.size("mprof_picture"), (picture) => {
			const status = draw(picture);
			if (status !== numbers.MPROF_OK)
				throw new Error(
					status === numbers.MPROF_NOMEM ? OUT_OF_MEMORY : "This window of time cannot be drawn.",
				);
			const p = wasm.object("mprof_picture", picture),
				{buffer} = c.memory;
			return {
				marks: buffer.slice(p.marks, p.marks + p.n_marks * wasm.size("mprof_mark")),
				n: p.n_marks,
				text: new Uint8Array(buffer.slice(p.text, p.text + p.text_bytes)),
				gridNs: p.grid_ns,
			};
		});
	}

	/** Return the caption of the counter INDEX; NAME if the counter is not sent to the page. */
	#caption(index, name) {
		const it = this.trace.counterAt(index);

		return it ? caption(it) : name;
	}

	/** Return the picture of the threads in WINDOW, with the table of rows. */
	#marks(window) {
		const {c} = this.wasm;

		return this.#window(window, (scene, at) => ({
			...this.#picture((out) => c.mprof_scene_draw(scene, at, out)),
			table: this.#rowTable(scene, at, window),
		}));
	}

	/** Return the answer of engine.near(). */
	near(window, x, y, reach) {
		const {c, numbers} = this.wasm;
		const thread = this.#window(window, (scene, at) => c.mprof_scene_near(scene, at, x, y, reach) >>> 0);
		return thread === numbers.MPROF_NONE ? null : thread;
	}

	/** Return the answer of engine.focus(). */
	focus(window, row, y) {
		return this.#window(window, (scene, at) => this.wasm.c.mprof_scene_focus(scene, at, row, y));
	}

	/** Return the answer of engine.find(), and highlight the found threads. */
	find(text) {
		const {wasm} = this,
			{c, numbers} = wasm,
			scene = this.prepare(),
			bytes = new TextEncoder().encode(text);
		c.mprof_scene_highlight_none(scene);
		if (!bytes.length) return {threads: new Uint32Array(0)};
		return wasm.lend(bytes.length, (at) =>
			wasm.lend(8, (found) => {
				wasm.bytes.set(bytes, at);
				if (c.mprof_scene_find(scene, at, bytes.length, found, found + 4) !== numbers.MPROF_OK)
					throw new Error(OUT_OF_MEMORY);
				const [list, n] = new Uint32Array(c.memory.buffer, found, 2);
				const threads = new Uint32Array(c.memory.buffer.slice(list, list + 4 * n));
				for (const thread of threads) c.mprof_scene_highlight(scene, thread);
				return {threads};
			}),
		);
	}

	/**
	 * Highlight the thread THREAD and its aliases, the threads that it became and those that became
	 * it. If THREAD is null, highlight nothing.
	 */
	family(thread) {
		const {c} = this.wasm,
			scene = this.prepare();
		c.mprof_scene_highlight_none(scene);
		if (thread !== null && thread < this.trace.get("n_threads")) c.mprof_scene_highlight_aliases(scene, thread);
	}

	/** Draw only the threads that meet the filter of engine.filter(). */
	filter({types, label, unresolved, depends}) {
		const {wasm} = this,
			{c, numbers} = wasm,
			scene = this.prepare(),
			text = new TextEncoder().encode(label).subarray(0, numbers.MPROF_FILTER_LABEL_MAX),
			known = numbers.MPROF_THREAD_TYPES,
			/*
			 * Bit of a type in the filter's mask. The types without a name share all bits above the
			 * named ones.
			 */
			bits = (i) => (i < 0 ? 0 : i < known ? 2 ** i : 2 ** 32 - 2 ** known);
		const values = {
			types: types.reduce((sum, name) => (sum | bits(wasm.types.indexOf(name))) >>> 0, 0),
			unresolved: Number(unresolved),
			depends: depends ?? numbers.MPROF_NONE,
			bytes: text.length,
		};
		wasm.lend(Math.max(text.length, 1), (label) =>
			wasm.lend(wasm.size("mprof_thread_filter"), (at) => {
				wasm.bytes.set(text, label);
				for (const [name, value] of Object.entries({...values, label}))
					wasm.set("mprof_thread_filter", at, name, value);
				if (c.mprof_scene_filter(scene, at) !== numbers.MPROF_OK) throw new Error(OUT_OF_MEMORY);
			}),
		);
	}

	/** Draw the stream STREAM, an index, as not proven from TIME (ns) on. */
	tail(stream, time) {
		this.wasm.c.mprof_scene_tail(this.prepare(), stream, time);
	}

	/** Return the answer of engine.density(), for 1 to 65,536 parts. */
	density(from, to, n) {
		const {wasm} = this,
			scene = this.prepare(),
			parts = Math.max(1, Math.min(65536, n));
		return wasm.lend(4 * parts, (at) => {
			wasm.c.mprof_scene_density(scene, from, to, at, parts);
			return new Uint32Array(wasm.c.memory.buffer.slice(at, at + 4 * parts));
		});
	}
}
