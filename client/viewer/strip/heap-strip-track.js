/*
 * A track: one memory profile in the strip, with its heap (heap.js), its place on the time line,
 * and its live bytes over time.
 */
import {Heap} from "../engine/heap.js";
import {placed, received} from "./heap-strip-clock.js";

const POINTS_PER_PIXEL = 4; /* values per pixel; with several a peak between two pixels is seen */
const POINTS_MAX = 32768;
const BEYOND = 1n; /* on each side of the visible window, this many windows are loaded */
const BYTES_MAX = 256 << 20; /* size of the largest profile that is loaded for a strip */
const WELL = new Set(["closed", "stopped"]); /* end reasons after which nothing of the profile is missing */
const GROW_MS = 1000; /* least ms between two reads of new bytes */

/* Return the index of the last of TIMES (ascending) that is not after T, or -1. */
function lastAt(times, t) {
	let [low, high] = [0, times.length];

	while (low < high) {
		const middle = (low + high) >> 1;
		if (times[middle] <= t) low = middle + 1;
		else high = middle;
	}
	return low - 1;
}

export class Track {
	/**
	 * hooks: changed(): draw again; failed(error). CLOCK is that of the trace: {known, offsetNs,
	 * uncertaintyNs}.
	 */
	constructor(api, memtrace, clock, hooks) {
		Object.assign(this, {api, memtrace, clock, hooks});
		this.state = "waiting"; /* "waiting", "loading", "ready" or "failed" */
		this.received = received(memtrace, clock);
		this.steps = null; /* {from, to (µs), times, values}: values[i] live bytes from times[i] on */
		this.abort = new AbortController();
	}

	get id() {
		return this.memtrace.id;
	}

	get isLarge() {
		return this.memtrace.bytes > BYTES_MAX;
	}

	/** Return the trace's time of the moment US of the profile. */
	time(us) {
		return this.place.base + BigInt(Math.round(us)) * 1000n;
	}

	/** Return the moment of the profile, µs since its start, at the trace's TIME. */
	us(time) {
		return Number(time - this.place.base) / 1000;
	}

	/** The part of the time line, {from, to}, in which the live bytes are known. */
	get extent() {
		if (this.state === "ready") return {from: this.time(0), to: this.time(this.holds)};
		const {from, to} = this.received;
		return {from, to: to ?? from};
	}

	/** µs from the beginning of the profile to its last event */
	get lasts() {
		return Number(this.info.endUs - this.info.startUs);
	}

	/**
	 * µs from the beginning until the time up to which the last live bytes are valid. If a profile
	 * ended normally, nothing changed between its last event and its end.
	 */
	get holds() {
		const {state, reason} = this.memtrace;
		const known = state === "ended" && WELL.has(reason) && this.received.to !== null;

		return known ? Math.max(this.lasts, this.us(this.received.to)) : this.lasts;
	}

	/**
	 * Return true if the profile overlaps the time FROM to TO. A profile that is being recorded has
	 * no end yet.
	 */
	meets(from, to) {
		const extent = this.extent;

		return extent.from <= to && (this.memtrace.state === "recording" || extent.to >= from);
	}

	async load() {
		if (this.state !== "waiting" || this.isLarge) return;
		this.state = "loading";
		try {
			this.heap = await Heap.open();
			const response = await this.api.ask(`v1/memtraces/${this.id}/data`, {signal: this.abort.signal});
			this.take(
				await this.heap.load({response, growing: this.memtrace.state === "recording"}, null, this.abort.signal),
			);
			this.state = "ready";
			this.hooks.changed();
			this.read = performance.now();
			this.grow();
		} catch (error) {
			this.state = "failed";
			this.heap?.close();
			if (this.closed) return;
			this.hooks.failed(error);
			this.hooks.changed(); /* the strip draws again and may load another track */
		}
	}

	take(info) {
		this.info = info;
		this.place = placed(this.memtrace, info, this.clock);
		this.stale = true;
	}

	/** Update the description of the profile with MEMTRACE, from the API. */
	update(memtrace) {
		this.memtrace = {...this.memtrace, ...memtrace};
		this.stand(this.clock);
		this.grow();
	}

	/** Place the profile by a new estimate of the trace's CLOCK. */
	stand(clock) {
		this.clock = clock;
		this.received = received(this.memtrace, clock);
		if (this.info) this.place = placed(this.memtrace, this.info, clock);
	}

	/** Release the bytes of the profile; it can be loaded again. */
	forget() {
		if (this.state !== "ready" || this.growing || this.asking) return;
		this.heap.close();
		Object.assign(this, {heap: null, steps: null, state: "waiting"});
	}

	/** Schedule a read of new bytes. */
	grow() {
		if (this.state !== "ready" || this.growing || this.closed || this.memtrace.bytes <= this.info.bytes) return;
		this.growing = true;
		this.timer = setTimeout(() => this.more(), Math.max(0, this.read + GROW_MS - performance.now()));
	}

	async more() {
		this.read = performance.now();
		try {
			const {bytes} = await this.api.bytes(`v1/memtraces/${this.id}/data`, {
				headers: {Range: `bytes=${this.info.bytes}-`},
				signal: this.abort.signal,
			});
			this.take(await this.heap.feed(bytes));
			this.hooks.changed();
		} catch (error) {
			/* Status 416 means that there are no new bytes. */
			if (!this.closed && error.status !== 416) this.hooks.failed(error);
		}
		this.growing = false;
		this.grow();
	}

	/** Compute STEPS for the window FROM to TO, WIDTH pixels wide, unless it has them already. */
	async look(from, to, width) {
		if (this.state !== "ready" || this.asking) return;
		const span = to - from;
		const least = Math.max(0, Math.floor(this.us(from - BEYOND * span)));
		const most = Math.min(this.lasts, Math.ceil(this.us(to + BEYOND * span)));
		const key = `${span} ${width}`;
		const within =
			this.steps &&
			this.steps.key === key &&
			this.steps.from <= Math.max(0, this.us(from)) &&
			this.steps.to >= Math.min(this.lasts, this.us(to));

		if (most <= least || (within && !this.stale)) return;
		this.asking = true;
		this.stale = false;
		try {
			const windows = (Number(BEYOND) * 2 + 1) * width;
			const n = Math.max(1, Math.min(most - least, windows * POINTS_PER_PIXEL, POINTS_MAX));
			const answer = await this.heap.timeline(null, least, most, n);
			if (answer) this.steps = {key, ...steps(answer.bytes, least, most)};
			this.hooks.changed();
		} catch (error) {
			if (!this.closed) this.hooks.failed(error);
		} finally {
			this.asking = false;
		}
	}

	/**
	 * Return the live bytes at the trace's TIME, or null if they are unknown. The time is exact to
	 * a fraction of a pixel.
	 */
	at(time) {
		const {steps: known} = this;
		const us = this.state === "ready" ? this.us(time) : -1;

		if (!known || us < 0 || us > this.holds) return null;
		const i = lastAt(known.times, us);
		return i < 0 ? null : known.values[i];
	}

	/** Return the exact live bytes at the times US (µs). */
	async exactly(...us) {
		const out = [];

		for (const one of us) {
			const at = Math.max(0, Math.min(Math.round(one), this.lasts));
			const answer = await this.heap.timeline(null, at, at, 1);
			out.push(answer ? answer.bytes[0] : this.at(this.time(at)));
		}
		return out;
	}

	close() {
		this.closed = true;
		this.abort.abort();
		clearTimeout(this.timer);
		this.heap?.close();
	}
}

/**
 * Return the steps of BYTES: {from, to, times, values}, with one item for each change. BYTES are
 * live bytes at times at equal distances after FROM up to TO (µs).
 */
export function steps(bytes, from, to) {
	const times = [];
	const values = [];

	for (let i = 0; i < bytes.length; i++)
		if (!i || bytes[i] !== bytes[i - 1]) {
			/*
			 * The bytes changed between this time and the one before. The step is drawn at this
			 * time, where the new value is known.
			 */
			times.push(i ? from + ((to - from) * (i + 1)) / bytes.length : from);
			values.push(bytes[i]);
		}
	return {from, to, times, values};
}
