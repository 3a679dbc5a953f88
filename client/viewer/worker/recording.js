/*
 * The bytes of a memory profile (a recording) in the memory of mprof.wasm, and passes over the
 * bytes, which collect what the answers to questions need (client/trace/wasm/scan.h).
 *
 * One pass reads the bytes as they come and counts all objects. A question with a filter needs a
 * pass of its own, which reads the bytes that are there when it begins. The last VIEWS_MAX of these
 * passes are kept. A pass works in steps of a few milliseconds, so that the caller can handle
 * messages between them.
 */
import {OUT_OF_MEMORY, need} from "./wasm.js";

const STEP_BYTES = 64n << 10n; /* bytes that a pass reads in one step */
const VIEWS_MAX = 2; /* most passes that are kept beside the one over all objects */
const TIME_MAX = Number.MAX_SAFE_INTEGER; /* largest number that a limit of a filter can have */
/* Conditions of a filter that are a range {least, most} */
const RANGES = ["allocated", "live", "collected", "bytes", "lifetime"];
const HEAPS = ["minor", "major", "external"]; /* heaps in the order of their bits in the wasm */

/* Return NUMBER as a BigInt, rounded, from 0 to TIME_MAX. */
const whole = (number) => BigInt(Math.min(Math.max(Math.round(number), 0), TIME_MAX));

/**
 * A copy, in the memory of the wasm until close(), of a filter and of the names of functions that a
 * flame graph leaves out. README.md describes both (heap.profile()). The constructor throws a
 * sentence for the user if there are too many names.
 */
export class Filter {
	constructor(wasm, filter, hidden = []) {
		this.wasm = wasm;
		this.at = need(wasm.c.wasm_filter_new() >>> 0);
		for (const name of RANGES) if (filter[name]) this.#range(name, filter[name]);
		const heaps = HEAPS.reduce((set, name, i) => set | ((filter.heaps ?? []).includes(name) ? 1 << i : 0), 0);

		wasm.c.wasm_filter_heaps(this.at, heaps, Boolean(filter.never));
		for (const {name, whole, outside} of filter.clauses ?? [])
			this.#name(outside ? "OUTSIDE" : "INSIDE", name, whole);
		for (const {name, whole} of hidden) this.#name("HIDDEN", name, whole);
	}

	/** Free the copy. */
	close() {
		this.wasm.c.wasm_filter_free(this.at);
	}

	/** Set the range NAME of the filter. LEAST and MOST may be absent. */
	#range(name, {least, most}) {
		const {c, numbers} = this.wasm;
		const given = (end) => end !== undefined && end !== null;

		c.wasm_filter_range(
			this.at,
			numbers[`WASM_FILTER_${name.toUpperCase()}`],
			(given(least) ? 1 : 0) | (given(most) ? 2 : 0),
			whole(least ?? 0),
			whole(most ?? 0),
		);
	}

	/**
	 * Add the name of a function. KIND is "INSIDE", "OUTSIDE" or "HIDDEN". WHOLE: true compares the
	 * whole name, false a part of it.
	 */
	#name(kind, name, whole) {
		const {wasm} = this;
		const bytes = new TextEncoder().encode(name);
		const at = wasm.alloc(bytes.length + 1);

		wasm.bytes.set(bytes, at);
		wasm.bytes[at + bytes.length] = 0;
		if (!wasm.c.wasm_filter_name(this.at, wasm.numbers[`WASM_FILTER_${kind}`], at, Boolean(whole))) {
			this.close();
			throw new Error("A filter has at most eight names of functions, and as many can be hidden.");
		}
	}
}

/**
 * Return a text that is the same for filters with the same conditions; "" if FILTER has no
 * condition.
 */
function keyOf(filter) {
	const said = Object.entries(filter ?? {}).filter(
		([, value]) =>
			value &&
			(!Array.isArray(value) || value.length) &&
			(typeof value !== "object" || Object.keys(value).length),
	);

	return said.length ? JSON.stringify(said.sort(([a], [b]) => (a < b ? -1 : 1))) : "";
}

/**
 * A pass over the bytes that are there now. RECORDING is a Recording. KEY names the pass. FILTER
 * may be null. LINE is null, or the times of a time line as [from, length, n]: FROM and LENGTH in
 * µs (FROM since the start), and the number of times.
 */
class View {
	constructor(recording, key, filter, line) {
		const {c} = recording.wasm;
		const {kept, seed, number, lastUs} = recording;

		Object.assign(this, {wasm: recording.wasm, key, bytes: recording.bytes, done: false});
		this.filter = filter ? new Filter(recording.wasm, filter) : null;
		const of = [kept, seed, number, this.filter?.at ?? 0, lastUs];

		this.at = line ? c.wasm_scan_line(...of, ...line) : c.wasm_scan(...of, false, recording.sorts);
		this.at >>>= 0;
		need(this.at);
	}

	close() {
		this.wasm.c.scan_free(this.at);
		this.filter?.close();
	}

	/**
	 * Continue the pass until TIME (performance.now(), ms). Return true if it has read all its
	 * bytes.
	 */
	step(time) {
		while (!this.done && performance.now() < time) this.done = stepped(this.wasm, this.at);
		return this.done;
	}
}

/**
 * Do one step of the pass at the address PASS. Return true if it has read all bytes. Throw if there
 * is no memory.
 */
function stepped({c, numbers}, pass) {
	const status = c.scan_step(pass, STEP_BYTES);

	if (status === numbers.MPROF_NOMEM) throw new Error(OUT_OF_MEMORY);
	return status === numbers.MPROF_END;
}

export class Recording {
	#views = []; // passes with a filter (View), the newest first
	#sorted = null; // View of all objects, sorted by time; null until it is needed
	#followed = 0n; // bytes that the pass over all objects has read; -1n after end()

	/**
	 * Make an empty recording. RECORDING is the number, from 1, of the recording to choose if
	 * several are joined in the bytes; 0 chooses the last. SEED starts hash tables, so that a guest
	 * cannot choose keys that collide; tests pass a fixed one.
	 * @param {Wasm} wasm
	 * @param {{seed?: bigint, recording?: number}} options
	 */
	constructor(wasm, {seed, recording = 0} = {}) {
		this.wasm = wasm;
		this.seed = seed ?? crypto.getRandomValues(new BigUint64Array(1))[0];
		this.number = BigInt(recording);
		this.kept = need(wasm.c.recording_new() >>> 0);
		this.grows = true;
		this.base = this.#begin();
	}

	/** Free the bytes and all passes. */
	close() {
		const {c} = this.wasm;

		for (const view of this.#views.splice(0)) view.close();
		this.#sorted?.close();
		c.scan_free(this.base);
		c.recording_free(this.kept);
	}

	/** Return the address of a new pass over all objects. */
	#begin() {
		const {c} = this.wasm;

		return need(c.wasm_scan(this.kept, this.seed, this.number, 0, 0n, true, false) >>> 0);
	}

	/** Number of bytes so far, a BigInt. */
	get bytes() {
		return this.wasm.c.recording_bytes(this.kept);
	}

	/**
	 * Append a copy of BYTES, a piece of any length.
	 * @param {Uint8Array} bytes
	 */
	add(bytes) {
		const {c} = this.wasm;

		if (!this.grows) {
			// The pass took the end of the bytes for the end of the recording, so it must begin
			// again.
			c.scan_free(this.base);
			this.base = this.#begin();
			this.grows = true;
			this.#followed = 0n;
		}
		for (let from = 0; from < bytes.length;) {
			const at = need(c.recording_room(this.kept) >>> 0);
			const piece = bytes.subarray(from, from + (c.recording_room_bytes(this.kept) >>> 0));

			this.wasm.bytes.set(piece, at);
			c.recording_came(this.kept, piece.length);
			from += piece.length;
		}
	}

	/**
	 * Take the present end of the bytes for the end of the recording, so that an incomplete packet
	 * there counts as damage. add() can still append more.
	 */
	end() {
		this.wasm.c.scan_end(this.base);
		this.grows = false;
		this.#followed = -1n;
	}

	/**
	 * Continue the pass over all objects until TIME (performance.now(), ms). Return true if it has
	 * read all bytes.
	 */
	follow(time) {
		const {c} = this.wasm;

		while (this.#followed !== this.bytes) {
			if (performance.now() >= time) return false;
			if (stepped(this.wasm, this.base)) this.#followed = c.scan_bytes(this.base);
		}
		return !this.sorts || this.#sort(time);
	}

	/**
	 * Continue the pass that sorts all objects until TIME. Return true if it has read all bytes.
	 */
	#sort(time) {
		if (this.#sorted?.bytes !== this.bytes) {
			this.#sorted?.close();
			this.#sorted = null;
			this.#sorted = new View(this, "", null);
		}
		return this.#sorted.step(time);
	}

	/** Return the sums (struct mprof_profile_sums) of the pass at the address PASS. */
	sumsOf(pass) {
		const {c} = this.wasm;

		return this.wasm.object("mprof_profile_sums", c.mprof_profile_sums(c.scan_profile(pass)) >>> 0);
	}

	/**
	 * True if the objects must be sorted by time: the program has several OCaml domains, and the
	 * bytes have the events in order only within each domain.
	 */
	get sorts() {
		return this.sumsOf(this.base).domains > 1n;
	}

	/** True if the bytes so far begin like a memory profile. */
	get began() {
		return this.wasm.c.mprof_mem_info(this.wasm.c.scan_decoder(this.base)) !== 0;
	}

	/** Time of the last event, µs since the Unix epoch, a BigInt. */
	get lastUs() {
		return this.sumsOf(this.base).last_us;
	}

	/** Address of the pass over all objects. Complete only after follow() returned true. */
	get all() {
		return this.sorts ? this.#sorted.at : this.base;
	}

	/**
	 * Return the View for FILTER, which is null for all objects. The caller calls its step() until
	 * step() returns true, then reads the pass at its address `at`. LINE is the times of a time
	 * line as [from, length, n], or null. A time line of sorted objects needs a pass of its own,
	 * because the wasm must know the times before it begins.
	 */
	of(filter, line = null) {
		const key = keyOf(filter);

		if (line && this.sorts) return this.#view(`${key} ${line}`, key ? filter : null, line);
		return key ? this.#view(key, filter) : {at: this.all, step: () => true};
	}

	/**
	 * Return the kept View for KEY, or begin a new one. A complete View is kept only as long as it
	 * has read all bytes. An incomplete View goes on with the bytes that were there when it began;
	 * otherwise a question about a recording that grows would begin again and again.
	 */
	#view(key, filter, line) {
		const useful = (it) => (it.done ? it.bytes === this.bytes : it.key === key);
		const found = this.#views.find((it) => it.key === key && useful(it));

		if (found) return found;
		for (const view of this.#views.filter((it) => !useful(it))) view.close();
		this.#views = this.#views.filter(useful);
		while (this.#views.length >= VIEWS_MAX) this.#views.pop().close();
		const view = new View(this, key, filter, line);

		this.#views.unshift(view);
		return view;
	}
}
