/* One memory profile of the strip: its heap (heap.js), where it lies on the time line, and how much lived when, as far as it was asked. */
import {Heap} from "../engine/heap.js";
import {placed, received} from "./heap-strip-clock.js";

const POINTS_PER_PIXEL = 4; /* so that what lived between two pixels is seen */
const POINTS_MAX = 32768;
const BEYOND = 1n; /* windows at each side that are asked for with the one that is shown */
const BYTES_MAX = 256 << 20; /* more is not fetched for a strip */
const WELL = new Set(["closed", "stopped"]); /* ends at which a guest has sent all that it had */
const GROW_MS = 1000; /* between two reads of what came */

/* The index of the last of TIMES (ascending) that is not after T; -1: none is. */
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
	/** hooks: changed(), failed(error).  CLOCK: of the trace, {known, offsetNs, uncertaintyNs}. */
	constructor(api, memtrace, clock, hooks) {
		Object.assign(this, {api, memtrace, clock, hooks});
		this.state = "waiting"; /* "loading", "ready", "failed" */
		this.received = received(memtrace, clock);
		this.steps = null; /* {from, to (µs), times, values}: how much lived from each time on */
		this.abort = new AbortController();
	}

	get id() {
		return this.memtrace.id;
	}

	get isLarge() {
		return this.memtrace.bytes > BYTES_MAX;
	}

	/** The trace's time of a moment US of the profile. */
	time(us) {
		return this.place.base + BigInt(Math.round(us)) * 1000n;
	}

	/** The moment of the profile, µs since its start, at TIME of the trace. */
	us(time) {
		return Number(time - this.place.base) / 1000;
	}

	/** {from, to} on the time line: until when something is known of it. */
	get extent() {
		if (this.state === "ready") return {from: this.time(0), to: this.time(this.holds)};
		const {from, to} = this.received;
		return {from, to: to ?? from};
	}

	/** µs from its beginning to its last event. */
	get lasts() {
		return Number(this.info.endUs - this.info.startUs);
	}

	/** µs until what its last event left is known to have lived on: one that ended well had nothing more to say. */
	get holds() {
		const {state, reason} = this.memtrace;
		const known = state === "ended" && WELL.has(reason) && this.received.to !== null;

		return known ? Math.max(this.lasts, this.us(this.received.to)) : this.lasts;
	}

	/** Does it reach into FROM up to TO?  One that is being recorded has no end. */
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
			this.hooks.changed(); /* another one may load now */
		}
	}

	take(info) {
		this.info = info;
		this.place = placed(this.memtrace, info, this.clock);
		this.stale = true;
	}

	/** MEMTRACE is so now. */
	update(memtrace) {
		this.memtrace = {...this.memtrace, ...memtrace};
		this.stand(this.clock);
		this.grow();
	}

	/** The trace's CLOCK stands otherwise, by what is known now. */
	stand(clock) {
		this.clock = clock;
		this.received = received(this.memtrace, clock);
		if (this.info) this.place = placed(this.memtrace, this.info, clock);
	}

	/** Its bytes are not needed for now. */
	forget() {
		if (this.state !== "ready" || this.growing || this.asking) return;
		this.heap.close();
		Object.assign(this, {heap: null, steps: null, state: "waiting"});
	}

	/** Read what came since, but not all the time. */
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
			/* 416: nothing came after all. */
			if (!this.closed && error.status !== 416) this.hooks.failed(error);
		}
		this.growing = false;
		this.grow();
	}

	/** See that the steps of the window FROM up to TO, WIDTH pixels wide, are there soon. */
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

	/** How many bytes lived at TIME of the trace, to a fraction of a pixel; null where nothing is known of it. */
	at(time) {
		const {steps: known} = this;
		const us = this.state === "ready" ? this.us(time) : -1;

		if (!known || us < 0 || us > this.holds) return null;
		const i = lastAt(known.times, us);
		return i < 0 ? null : known.values[i];
	}

	/** What lives at the times US (µs), exactly. */
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

/** BYTES lived at times from FROM to TO (µs), the first one step behind FROM: {from, to, times, values}, only where it changes. */
export function steps(bytes, from, to) {
	const times = [];
	const values = [];

	for (let i = 0; i < bytes.length; i++)
		if (!i || bytes[i] !== bytes[i - 1]) {
			/* It has changed somewhere since the time before; which is drawn where it is known to have. */
			times.push(i ? from + ((to - from) * (i + 1)) / bytes.length : from);
			values.push(bytes[i]);
		}
	return {from, to, times, values};
}
