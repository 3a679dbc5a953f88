/*
 * A memory profile in the memory of mprof.wasm: its bytes, and passes over the bytes, which answer
 * questions (client/trace/wasm/scan.h).
 *
 * One pass over all objects reads the bytes as they come. A filter has a pass of its own, over the
 * bytes that are there when the pass begins. The passes of the newest two filters are kept. All
 * work is done in steps of a few milliseconds, so the caller can handle messages in between.
 */
import {OUT_OF_MEMORY, need} from "./wasm.js";

const STEP_BYTES = 64n << 10n;
const VIEWS_MAX = 2;
const TIME_MAX = Number.MAX_SAFE_INTEGER;
const RANGES = ["allocated", "live", "collected", "bytes", "lifetime"];
const HEAPS = ["minor", "major", "external"];

const whole = (number) => BigInt(Math.min(Math.max(Math.round(number), 0), TIME_MAX));

/** A filter and the hidden functions, copied to the memory of the wasm until close(). */
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

	close() {
		this.wasm.c.wasm_filter_free(this.at);
	}

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
 * Return a text that is equal for filters that select the same objects; "" if FILTER selects all.
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

/** A pass and its filter. */
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

	/** Continue the pass until TIME. Return true if it is complete. */
	step(time) {
		while (!this.done && performance.now() < time) this.done = stepped(this.wasm, this.at);
		return this.done;
	}
}

/** Do one step of the pass at the address PASS. Return true if it was the last one. */
function stepped({c, numbers}, pass) {
	const status = c.scan_step(pass, STEP_BYTES);

	if (status === numbers.MPROF_NOMEM) throw new Error(OUT_OF_MEMORY);
	return status === numbers.MPROF_END;
}

export class Recording {
	#views = []; // passes of filters (View), newest first
	#sorted = null; // View of all objects in the order of time; null until it is needed
	#followed = 0n; // number of bytes that the pass over all objects has read

	/** @param {Wasm} wasm @param {{seed?: bigint, recording?: number}} options */
	constructor(wasm, {seed, recording = 0} = {}) {
		this.wasm = wasm;
		this.seed = seed ?? crypto.getRandomValues(new BigUint64Array(1))[0];
		this.number = BigInt(recording);
		this.kept = need(wasm.c.recording_new() >>> 0);
		this.grows = true;
		this.base = this.#begin();
	}

	close() {
		const {c} = this.wasm;

		for (const view of this.#views.splice(0)) view.close();
		this.#sorted?.close();
		c.scan_free(this.base);
		c.recording_free(this.kept);
	}

	#begin() {
		const {c} = this.wasm;

		return need(c.wasm_scan(this.kept, this.seed, this.number, 0, 0n, true, false) >>> 0);
	}

	get bytes() {
		return this.wasm.c.recording_bytes(this.kept);
	}

	/** Append a copy of BYTES, a piece of any length. @param {Uint8Array} bytes */
	add(bytes) {
		const {c} = this.wasm;

		if (!this.grows) {
			// The pass has handled an end of the bytes, so begin the pass again.
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
	 * Handle the present end of the bytes as the end of the recording. add() can still append more.
	 */
	end() {
		this.wasm.c.scan_end(this.base);
		this.grows = false;
		this.#followed = -1n;
	}

	/** Continue the pass over all objects until TIME. Return true if it has read all bytes. */
	follow(time) {
		const {c} = this.wasm;

		while (this.#followed !== this.bytes) {
			if (performance.now() >= time) return false;
			if (stepped(this.wasm, this.base)) this.#followed = c.scan_bytes(this.base);
		}
		return !this.sorts || this.#sort(time);
	}

	#sort(time) {
		if (this.#sorted?.bytes !== this.bytes) {
			this.#sorted?.close();
			this.#sorted = null;
			this.#sorted = new View(this, "", null);
		}
		return this.#sorted.step(time);
	}

	sumsOf(pass) {
		const {c} = this.wasm;

		return this.wasm.object("mprof_profile_sums", c.mprof_profile_sums(c.scan_profile(pass)) >>> 0);
	}

	/**
	 * Whether the objects must be sorted by time. The events of several OCaml domains are in order
	 * only within each domain.
	 */
	get sorts() {
		return this.sumsOf(this.base).domains > 1n;
	}

	/** Whether the bytes so far are those of a memory profile. */
	get began() {
		return this.wasm.c.mprof_mem_info(this.wasm.c.scan_decoder(this.base)) !== 0;
	}

	get lastUs() {
		return this.sumsOf(this.base).last_us;
	}

	/** Address of the pass over all objects; valid after follow() returned true. */
	get all() {
		return this.sorts ? this.#sorted.at : this.base;
	}

	/**
	 * Return the View for FILTER. The caller calls its step() until it is done. LINE is {from, to,
	 * n} of a time line that needs sorted objects, as a text, or null.
	 */
	of(filter, line = null) {
		const key = keyOf(filter);

		if (line && this.sorts) return this.#view(`${key} ${line}`, key ? filter : null, line);
		return key ? this.#view(key, filter) : {at: this.all, step: () => true};
	}

	/**
	 * Return the View for KEY. A View that is not done continues with the bytes that were there
	 * when it began. So the questions about a growing recording get an answer, too.
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
