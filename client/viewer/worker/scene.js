/* The scene of a trace: draws the pictures of its time line. */
import {caption} from "../draw/tracks.js";
import {Painter} from "../draw/painter.js";
import {trackPalette} from "../draw/theme.js";
import {OUT_OF_MEMORY, need} from "./wasm.js";

export class Scene {
	constructor(trace) {
		this.trace = trace;
		this.wasm = trace.wasm;
		this.scene = 0; // address of struct mprof_scene; 0 until there is a model
	}

	close() {
		if (this.scene) this.wasm.c.mprof_scene_free(this.scene);
		this.scene = 0;
	}

	/** Make the scene with its index, which takes time, unless it exists. Return its address. */
	prepare() {
		this.scene ||= need(this.wasm.c.mprof_scene_new(this.trace.model) >>> 0);
		return this.scene;
	}

	/**
	 * Call USE with the address of the scene, and the address of WINDOW copied to the memory of the
	 * wasm.
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
			return use(scene, at);
		});
	}

	/**
	 * Return rows with their places: the row at each pixel, and its neighbours, which may take no
	 * height. The page interpolates between them.
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
	 * Return the members of engine.frame()'s answer that can be sent to the page. With LOOK {dark,
	 * ratio} the picture is also painted.
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

	/** Return the picture of the tracks of the area NAME, as draw() does. */
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
	 * Return the picture that DRAW(out) writes: {marks, n, text, gridNs}. OUT is the address of a
	 * struct mprof_picture.
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

	#caption(index, name) {
		const it = this.trace.counterAt(index);

		return it ? caption(it) : name;
	}

	#marks(window) {
		const {c} = this.wasm;

		return this.#window(window, (scene, at) => ({
			...this.#picture((out) => c.mprof_scene_draw(scene, at, out)),
			table: this.#rowTable(scene, at, window),
		}));
	}

	near(window, x, y, reach) {
		const {c, numbers} = this.wasm;
		const thread = this.#window(window, (scene, at) => c.mprof_scene_near(scene, at, x, y, reach) >>> 0);
		return thread === numbers.MPROF_NONE ? null : thread;
	}

	/** Return the focus for which ROW is drawn at Y pixels. */
	focus(window, row, y) {
		return this.#window(window, (scene, at) => this.wasm.c.mprof_scene_focus(scene, at, row, y));
	}

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

	/** Highlight a thread and its aliases. With null, highlight nothing. */
	family(thread) {
		const {c} = this.wasm,
			scene = this.prepare();
		c.mprof_scene_highlight_none(scene);
		if (thread !== null && thread < this.trace.get("n_threads")) c.mprof_scene_highlight_aliases(scene, thread);
	}

	/** Show only threads that pass the filter of engine.filter(). */
	filter({types, label, unresolved, depends}) {
		const {wasm} = this,
			{c, numbers} = wasm,
			scene = this.prepare(),
			text = new TextEncoder().encode(label).subarray(0, numbers.MPROF_FILTER_LABEL_MAX),
			known = numbers.MPROF_THREAD_TYPES,
			/* All types that have no name are one. */
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

	/** From TIME on mark STREAM as not proven. */
	tail(stream, time) {
		this.wasm.c.mprof_scene_tail(this.prepare(), stream, time);
	}

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
