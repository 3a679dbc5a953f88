/*
 * A trace in the memory of mprof.wasm: it takes the bytes, builds the model, and answers the
 * questions of engine.js about it. The model is the decoded trace: threads, what they did to each
 * other, counters, and rows.
 */
import {Pointed} from "./pointed-marks.js";
import {chromeDocument} from "./chrome-export.js";
import {compare} from "./compare.js";
import {Area} from "./area.js";
import {rangeStatistics} from "./range-statistics.js";
import {Scene} from "./scene.js";
import {Explanations} from "./explanations.js";
import {COUNTERS_MAX, OUT_OF_MEMORY, OutOfOrder, counterKind, decoder} from "./wasm.js";

const PIECE_BYTES = 1 << 20; /* most bytes that are copied to the wasm at once */
const TEXT_MAX = 4096; /* most bytes of a text in an answer, before unprintable ones are escaped */

export class Trace {
	/**
	 * Make an empty trace. SIMPLIFY is an option of the model. SEED starts its hash tables, so a
	 * guest cannot choose keys that collide; tests pass a fixed one.
	 * @param {Wasm} wasm
	 * @param {{simplify?: boolean, seed?: bigint}} options
	 */
	constructor(wasm, options = {}) {
		this.seed = options.seed ?? crypto.getRandomValues(new BigUint64Array(1))[0];
		this.wasm = wasm;
		this.names = [];
		this.streams = []; // {name, guest, offsetNs, kind, again} of each stream; see keep()
		this.loader = wasm.c.wasm_open(this.seed, options.simplify ?? true) >>> 0;
		if (!this.loader) throw new Error(OUT_OF_MEMORY);
		this.model = 0; // address of struct mprof_model_view; 0 before finish()
		this.explanations = new Explanations(this);
		this.area = new Area(this);
		this.scene = new Scene(this);
	}

	/** Free the memory of this trace in the wasm, which uses it for the next trace. */
	close() {
		const c = this.wasm.c;
		this.scene.close();
		this.explanations.close();
		this.area.close();
		c.loader_free(this.loader);
		this.loader = this.model = 0;
	}

	/**
	 * Add a stream. Return its index. Call it before the first feed() of any stream. GUEST is a
	 * number that the streams of a guest share. OFFSETNS is added to the times of the stream. KIND
	 * is a name of enum input_kind (client/trace/wasm/wasm-input.h), which says when packets are
	 * decoded:
	 * - "HELD": after all bytes came, so packets of a ring can be sorted;
	 * - "TWICE": as they come; feed() throws OutOfOrder if they are not in order;
	 * - "SERVED": as the first packet says, for bytes from mprofd;
	 * - "FILE": as they come, unless the bytes can be those of a ring.
	 */
	stream({name = "", guest, offsetNs = 0n, uncertaintyNs = 0n}, kind = "FILE") {
		const {c, numbers} = this.wasm;
		const i =
			c.wasm_stream(
				this.loader,
				guest ?? this.names.length,
				offsetNs,
				uncertaintyNs,
				numbers["INPUT_" + kind],
			) >>> 0;

		if (i === numbers.MPROF_NONE) throw new Error(OUT_OF_MEMORY);
		this.names.push(name);
		this.streams.push({name, guest: guest ?? i, offsetNs, kind, again: null});
		return i;
	}

	/**
	 * Tell the wasm that STREAM will have BYTES bytes in all, so that it allocates memory once.
	 * Call it before the first feed() of the stream.
	 */
	expect(stream, bytes) {
		this.wasm.c.loader_expect(this.loader, stream, BigInt(bytes));
	}

	/**
	 * Append a copy of BYTES, a piece of any length, to STREAM. Throw OutOfOrder if a stream of
	 * kind "TWICE" has packets out of order.
	 * @param {Uint8Array} bytes
	 */
	feed(stream, bytes) {
		const {c} = this.wasm;
		for (let from = 0; from < bytes.length; from += PIECE_BYTES) {
			const piece = bytes.subarray(from, from + PIECE_BYTES);
			const at = c.loader_room(this.loader, stream, piece.length) >>> 0;
			if (!at) throw new Error(OUT_OF_MEMORY);
			this.wasm.bytes.set(piece, at);
			this.check(c.loader_came(this.loader, stream, piece.length));
		}
	}

	/** Keep AGAIN, a function that returns a new generator of all bytes of STREAM, for the exports. */
	keep(stream, again) {
		this.streams[stream].again = again;
	}

	/** Note that STREAM has no more bytes. */
	end(stream) {
		this.check(this.wasm.c.loader_end(this.loader, stream));
	}

	/** Throw an error for STATUS, which a function of the wasm returned, unless it is MPROF_OK. */
	check(status) {
		if (status === this.wasm.numbers.MPROF_CORRUPT) throw new OutOfOrder();
		if (status !== this.wasm.numbers.MPROF_OK) throw new Error(OUT_OF_MEMORY);
	}

	/** Build the model. Call it after the end of all streams. */
	finish() {
		const {c} = this.wasm;
		this.check(c.loader_finish(this.loader));
		this.model = c.mprof_model_view(c.loader_model(this.loader)) >>> 0;
		this.scene.prepare(); // Made here, so that the first picture does not have to wait for it.
	}

	/** Return the member NAME of the model: a number, or the address of an array. */
	get(name) {
		return this.wasm.get("mprof_model_view", this.model, name);
	}

	/**
	 * Return the member NAME of item I of the model's array ARRAY, whose items are of STRUCT. I
	 * must be a valid index.
	 */
	item(array, struct, i, name) {
		return this.wasm.get(struct, this.get(array) + i * this.wasm.size(struct), name);
	}

	/**
	 * Return the items of the model's array ARRAY, whose items are of STRUCT, as objects; at most
	 * MOST.
	 */
	items(array, struct, most = Infinity) {
		const {wasm} = this,
			base = this.get(array),
			n = Math.min(this.get("n_" + array), most),
			size = wasm.size(struct);
		return Array.from({length: n}, (_, i) => wasm.object(struct, base + i * size));
	}

	/**
	 * Return sentences for the user on the damaged places of the trace. The last one says if there
	 * are more.
	 */
	damages() {
		const {wasm} = this,
			sentences = [];
		wasm.lend(256, (text) => {
			for (let i = 0; ; i++) {
				const stream = wasm.c.wasm_damage(this.loader, i, text, 256) >>> 0;
				if (stream === wasm.numbers.MPROF_NONE) break;
				sentences.push((this.names[stream] ? this.names[stream] + ": " : "") + wasm.cString(text));
			}
		});
		const all = this.counts().reduce((sum, counts) => sum + Number(counts.damages), 0);
		if (all > sentences.length) sentences.push("further damage is not listed");
		return sentences;
	}

	/**
	 * Return for each stream an object of counts: events by type, packets, lost packets, bytes and
	 * others (struct loader_counts).
	 */
	counts() {
		const {wasm} = this;
		return this.names.map((name, i) =>
			wasm.lend(wasm.size("loader_counts"), (at) => {
				wasm.c.loader_counts(this.loader, i, at);
				const counts = wasm.object("loader_counts", at);
				counts.events_by_type = this.named(wasm.events, counts.events_by_type);
				return counts;
			}),
		);
	}

	/**
	 * Return the numbers at the address AT, 64 bits each, as an object: NAMES[i] -> number i.
	 * Numbers that are 0 are left out.
	 */
	named(names, at) {
		const numbers = new BigUint64Array(this.wasm.c.memory.buffer.slice(at, at + 8 * names.length));

		return Object.fromEntries(names.map((name, i) => [name, Number(numbers[i])]).filter(([, n]) => n));
	}

	/** Return the answer of engine.load(). */
	summary() {
		const streams = this.items("streams", "mprof_model_stream").map((stream, i) => ({
			name: this.names[i],
			...stream,
		}));
		const seen = streams.filter((stream) => stream.events);
		const counts = this.counts();
		const sum = (key) => counts.reduce((total, one) => total + Number(one[key]), 0);
		const byType = {};
		const step = counts.reduce((most, one) => (one.step_ns > most.step_ns ? one : most), {
			steps: 0n,
			step_ns: 0n,
			step_at: 0n,
		});
		for (const one of counts)
			for (const [name, n] of Object.entries(one.events_by_type)) byType[name] = (byType[name] ?? 0) + n;
		return {
			start: seen.reduce((least, {start}) => (start < least ? start : least), seen[0]?.start ?? 0n),
			end: seen.reduce((most, {end}) => (end > most ? end : most), 0n),
			rows: this.get("rows"),
			streams,
			counters: this.items("counters", "mprof_counter", COUNTERS_MAX).map((counter, index) =>
				this.#counter(counter, index),
			),
			notes: this.wasm.object("mprof_model_notes", this.get("notes")),
			totals: {
				events: Object.values(byType).reduce((a, b) => a + b, 0),
				events_by_type: byType,
				packets: sum("packets"),
				lost_packets: sum("lost_packets"),
				damages: sum("damages"),
				unknown_texts: sum("unknown_texts"),
				skipped_extras: sum("skipped_extras"),
				unproven_events: sum("unproven"),
				// How often the clock of the stream with the largest step went back, by how much at most, and from which time it did that.
				clock_backs: Number(step.steps),
				clock_back_ns: step.step_ns,
				clock_back_at: step.step_at,
				skipped: sum("skipped"),
				bytes: sum("bytes"),
				threads: this.get("n_threads") - this.get("n_streams"),
			},
			damages: this.damages(),
			memory: this.wasm.c.memory.buffer.byteLength,
		};
	}

	/**
	 * Return string I of the model with unprintable characters escaped, cut to TEXT_MAX bytes.
	 * Return null if I is MPROF_NONE.
	 */
	text(i) {
		const {wasm} = this;
		if (i === wasm.numbers.MPROF_NONE) return null;
		const from = this.get("text") + this.item("strings", "mprof_string", i, "offset");
		const bytes = this.item("strings", "mprof_string", i, "bytes");
		return this.#printable(from, bytes);
	}

	/**
	 * Return the text of BYTES bytes at the address FROM, with unprintable characters escaped, cut
	 * to TEXT_MAX bytes.
	 */
	#printable(from, bytes) {
		const {wasm} = this,
			kept = Math.min(bytes, TEXT_MAX);
		return wasm.lend(kept * 6 + 64, (out) => {
			const n = wasm.c.wasm_printable(out, kept * 6 + 64, from, kept) >>> 0;
			return decoder.decode(wasm.bytes.slice(out, out + n)) + (kept < bytes ? "…" : "");
		});
	}

	/** Return COUNTER, a struct mprof_counter as an object, in the form of summary(). */
	#counter(counter, index) {
		const {min, max, sum, samples, stream, scale} = counter;
		const kind = counterKind(counter.kind);
		const [scaleMin, scaleMax] = ["min", "max"].map((it) => this.item("scales", "mprof_scale", scale, it));

		return {index, name: this.counterName(counter), min, max, scaleMin, scaleMax, samples, stream, kind, sum};
	}

	/** Return the counter INDEX in the form of summary(), or null if summary() does not list it. */
	counterAt(index) {
		const {wasm} = this;
		if (index >= Math.min(this.get("n_counters"), COUNTERS_MAX)) return null;
		return this.#counter(
			wasm.object("mprof_counter", this.get("counters") + index * wasm.size("mprof_counter")),
			index,
		);
	}

	/**
	 * Return the name of a counter. If the trace has several streams, the name of its stream stands
	 * before it.
	 */
	counterName({name, stream}) {
		const of = this.of(stream);

		return of === null ? this.text(name) : `${of}: ${this.text(name)}`;
	}

	/** Return the name of the stream STREAM, an index; null if the trace has only one stream. */
	of(stream) {
		return this.names.length > 1 ? this.names[stream] || `stream ${stream + 1}` : null;
	}

	/** Return I if it is the index of a thread with a row; else null. */
	threadOrNull(i) {
		return i === this.wasm.numbers.MPROF_NONE ||
			this.item("threads", "mprof_thread", i, "row") === this.wasm.numbers.MPROF_NONE
			? null
			: i;
	}

	/** Return the answer of engine.thread(); null if INDEX is not the index of a thread. */
	thread(index) {
		return Number.isInteger(index) && index >= 0 && index < this.get("n_threads")
			? this.explanations.thread(index)
			: null;
	}

	// Questions.

	/** Return the answer of engine.why(). */
	why(thread) {
		return this.explanations.why(thread);
	}

	/** Return the answer of engine.stats(). */
	stats(from, to) {
		return rangeStatistics(this, from, to);
	}

	/** Return the answer of engine.groups(). */
	groups(place, list) {
		return this.area.groups(place, list);
	}

	/** Return the answer of engine.groupThreads(). */
	groupThreads(place, group) {
		return this.area.threads(place, group);
	}

	/** Return what draw() of scene.js returns. */
	draw(window, look) {
		return this.scene.draw(window, look);
	}

	/** Return the answer of engine.pointed(). */
	pointed(kind, item, time) {
		return new Pointed(this).of(kind, item, time);
	}

	/** Return the answer of engine.chrome(), whose document has at most MOST bytes. */
	chrome(name, most) {
		const guests = new Set(this.streams.map(({guest}) => guest));
		const shared = guests.size < this.streams.length;

		return chromeDocument(
			this.wasm,
			name,
			this.streams.map(({kind, again, ...stream}) => ({...stream, kind: shared ? "HELD" : kind, bytes: again()})),
			this.seed,
			most,
		);
	}

	near(window, x, y, reach) {
		return this.scene.near(window, x, y, reach);
	}

	focus(window, row, y) {
		return this.scene.focus(window, row, y);
	}

	find(text) {
		return this.scene.find(text);
	}

	family(thread) {
		this.scene.family(thread);
	}

	filter(filter) {
		this.scene.filter(filter);
	}

	/** Return the names of the types that the trace's threads have, sorted. */
	types() {
		const {wasm} = this,
			{at} = wasm.field("mprof_thread", "type"),
			base = this.get("threads"),
			size = wasm.size("mprof_thread"),
			bytes = wasm.bytes,
			found = new Set();
		for (let i = 0; i < this.get("n_threads"); i++)
			if (this.threadOrNull(i) !== null) found.add(wasm.types[bytes[base + i * size + at]]);
		return [...found].sort();
	}

	tail(stream, time) {
		this.scene.tail(stream, time);
	}

	density(from, to, n) {
		return this.scene.density(from, to, n);
	}

	/**
	 * Return the answer of engine.diff(). In the trace GOOD everything went well; in this one
	 * something went wrong.
	 */
	diff(good) {
		return compare(good, this);
	}
}
