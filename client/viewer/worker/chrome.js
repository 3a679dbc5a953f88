/*
 * Write a loaded trace as Chrome's trace events, a JSON format that the Perfetto UI opens. This
 * runs in the worker, which has the model.
 *
 * The result has the layout of `mprofctl export --to chrome`. A stream of the trace is a process of
 * the JSON. Its track 1 has the threads as they run, and track 2 gaps, where packets are missing. Further tracks are
 * lanes of garbage collections and of durations: slices on a lane lie apart or inside of each other. Each thread is also an asynchronous track with its life, its labels
 * and what it did to other threads. The size of the JSON is limited.
 */

const CHROME_MOST = 4000000; // most items of the model; a page has no memory for the text of more
const GAPS = 2; // the track of gaps, and the first lane
const LANES = 3;
const CHROME_PIECE = 1 << 20; /* letters that are collected before they become bytes */

/* Return NS (a BigInt) as text in microseconds, the unit of the format. */
const chromeTime = (ns) => `${ns / 1000n}.${String(ns % 1000n).padStart(3, "0")}`;

/** Makes the texts of the JSON document of TRACE. */
class Chrome {
	/** @param {Trace} trace */
	constructor(trace) {
		this.trace = trace;
		this.names = new Map();
	}

	/**
	 * Yield the JSON document in pieces of text. Throw a sentence for the user if the trace is too
	 * large.
	 */
	*document() {
		const {trace} = this;
		const n = ["threads", "activations", "labels", "interactions", "samples"].reduce(
			(sum, name) => sum + trace.get(`n_${name}`),
			0,
		);

		if (n > CHROME_MOST)
			throw new Error(
				"The trace is too large to be converted in a page; save it, and use `mprofctl export --to perfetto`.",
			);
		yield '{"displayTimeUnit":"ns","traceEvents":[\n';
		let first = true;
		for (const event of this.events()) {
			yield (first ? "" : ",\n") + event;
			first = false;
		}
		yield "\n]}\n";
	}

	/** Yield each event as the text of a JSON object. */
	*events() {
		yield* this.streams();
		yield* this.threads();
		yield* this.activations();
		yield* this.interactions();
		yield* this.samples();
		yield* this.extras();
	}

	/**
	 * Yield [index, value of each of FIELDS] for each item of the model's array ARRAY, whose items
	 * are of STRUCT.
	 */
	*each(array, struct, ...fields) {
		const {trace} = this;
		const {wasm} = trace;
		const base = trace.get(array);
		const size = wasm.size(struct);

		for (let i = 0, n = trace.get(`n_${array}`); i < n; i++)
			yield [i, ...fields.map((field) => wasm.get(struct, base + i * size, field))];
	}

	/**
	 * Return the text of an event. PHASE is the letter `ph` of the format. TID is a track. MORE is
	 * the text of further members, with a comma before it.
	 */
	event(phase, stream, tid, ns, name, more = "") {
		return `{"ph":"${phase}","pid":${stream},"tid":${tid},"ts":${chromeTime(ns)},"name":${JSON.stringify(name)}${more}}`;
	}

	/** Return the name of the thread THREAD, an index: its first label, or its number. */
	name(thread) {
		const {trace} = this;
		let name = this.names.get(thread);

		if (name === undefined) {
			const label = trace.item("threads", "mprof_thread", thread, "first_label");
			name =
				label === trace.wasm.numbers.MPROF_NONE
					? String(trace.item("threads", "mprof_thread", thread, "id"))
					: trace.label(label);
			this.names.set(thread, name);
		}
		return name;
	}

	/** Return the index of the stream of the thread THREAD, an index. */
	stream(thread) {
		return this.trace.item("threads", "mprof_thread", thread, "stream");
	}

	/** Yield the names of the streams and of their tracks. */
	*streams() {
		for (const [i, name] of this.trace.names.entries()) {
			yield this.event("M", i, 1, 0n, "process_name", `,"args":{"name":${JSON.stringify(name || "guest")}}`);
			for (const [tid, text] of [
				[1, "running"],
				[GAPS, "gaps"],
			])
				yield this.event("M", i, tid, 0n, "thread_name", `,"args":{"name":"${text}"}`);
		}
	}

	/** Yield the begin and the end of each thread, and its labels. */
	*threads() {
		const {trace} = this;
		const {numbers, types} = trace.wasm;

		for (const [i, id, start, end, stream, type, flags, failure] of this.each(
			"threads",
			"mprof_thread",
			"id",
			"start",
			"end",
			"stream",
			"type",
			"flags",
			"failure",
		)) {
			if (flags & numbers.MPROF_THREAD_ROOT) continue;
			const of = `,"cat":"thread","id":"${i}"`;
			const failed = failure === numbers.MPROF_NONE ? "" : `,"failure":${JSON.stringify(trace.text(failure))}`;
			yield this.event(
				"b",
				stream,
				1,
				start,
				this.name(i),
				`${of},"args":{"thread":${id},"type":${JSON.stringify(types[type])}${failed}}`,
			);
			yield this.event("e", stream, 1, end, this.name(i), of);
		}
		for (const [i, time, thread] of this.each("labels", "mprof_label", "time", "thread"))
			yield this.event("n", this.stream(thread), 1, time, trace.label(i), `,"cat":"thread","id":"${thread}"`);
	}

	/** Yield the times in which threads ran. A root stands for the sleeping program. */
	*activations() {
		const {trace} = this;

		for (const [, start, end, thread] of this.each("activations", "mprof_activation", "start", "end", "thread")) {
			const root = trace.item("threads", "mprof_thread", thread, "flags") & trace.wasm.numbers.MPROF_THREAD_ROOT;
			yield this.event(
				"X",
				this.stream(thread),
				1,
				start,
				root ? "sleeping" : this.name(thread),
				`,"dur":${chromeTime(end - start)}`,
			);
		}
	}

	/*
	 * Yield what threads did to each other: an event in the track of the thread that acted. For a
	 * read also yield an arrow from the thread that was read, at its end or at the read if that is
	 * earlier, to the thread that read it.
	 */
	*interactions() {
		const {trace} = this;
		const {numbers} = trace.wasm;
		const names = ["resolves", "reads", "looks at", "signals"];

		for (const [i, time, thread, other, kind] of this.each(
			"interactions",
			"mprof_interaction",
			"time",
			"thread",
			"other",
			"kind",
		)) {
			const stream = this.stream(thread);
			yield this.event(
				"n",
				stream,
				1,
				time,
				`${names[kind]} ${this.name(other)}`,
				`,"cat":"thread","id":"${thread}"`,
			);
			if (kind !== numbers.MPROF_INTERACTION_READ) continue;
			const ended = trace.item("threads", "mprof_thread", other, "end");
			const of = `,"cat":"interaction","id":${i}`;
			yield this.event("s", this.stream(other), 1, ended < time ? ended : time, "reads", of);
			yield this.event("f", stream, 1, time, "reads", `${of},"bp":"e"`);
		}
	}

	/** Yield the values of the counters. */
	*samples() {
		const {trace} = this;
		const names = [];

		for (const [, time, value, counter] of this.each("samples", "mprof_sample", "time", "value", "counter")) {
			names[counter] ??= trace.text(trace.item("counters", "mprof_counter", counter, "name"));
			const stream = trace.item("counters", "mprof_counter", counter, "stream");
			yield this.event("C", stream, 1, time, names[counter], `,"args":{"value":${value}}`);
		}
	}

	/** Yield garbage collections, durations and gaps. */
	*extras() {
		for (const [, from, to, packets, stream] of this.each("gaps", "mprof_gap", "from", "to", "packets", "stream"))
			yield this.event("X", stream, GAPS, from, `${packets} packets missing`, `,"dur":${chromeTime(to - from)}`);
		const wholes = [...this.collections(), ...this.durations()];
		const lanes = new Map(); // by stream and kind: the lanes, each the ends of its open slices
		const tracks = new Map(); // by stream: the number of its lanes

		wholes.sort((a, b) => compareTimes(a.start, b.start) || compareTimes(b.end, a.end) || b.i - a.i);
		for (const {stream, kind, start, end, name, more} of wholes) {
			const key = `${stream} ${kind}`;
			if (!lanes.has(key)) lanes.set(key, []);
			const lane = laneOf(lanes.get(key), start, end);
			if (lane.tid === undefined) {
				const n = tracks.get(stream) ?? 0;
				tracks.set(stream, n + 1);
				lane.tid = LANES + n;
				const number = lanes.get(key).length;
				const text = number > 1 ? `${kind} ${number}` : kind;
				yield this.event("M", stream, lane.tid, 0n, "thread_name", `,"args":{"name":"${text}"}`);
			}
			yield this.event("X", stream, lane.tid, start, name, `,"dur":${chromeTime(end - start)}${more}`);
		}
	}

	/** Yield the garbage collections as slices. */
	*collections() {
		const fields = ["time", "duration_ns", "stream"];

		for (const [i, time, duration, stream] of this.each("collections", "mprof_collection", ...fields))
			yield {i, stream, kind: "gc", start: startOf(time, duration), end: time, name: "collection", more: ""};
	}

	/** Yield the durations as slices. */
	*durations() {
		const fields = ["time", "duration_ns", "thread", "name", "stream"];

		for (const [i, time, duration, thread, name, stream] of this.each("durations", "mprof_duration", ...fields)) {
			const by = this.trace.item("threads", "mprof_thread", thread, "id");
			const start = startOf(time, duration);
			yield {
				i,
				stream,
				kind: "durations",
				start,
				end: time,
				name: this.trace.text(name),
				more: `,"args":{"thread":${by}}`,
			};
		}
	}
}

const startOf = (time, duration) => (duration > time ? 0n : time - duration);
const compareTimes = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

/**
 * Return the first of LANES on which a slice from START to END lies apart from all others or inside of them, with END as the innermost
 * of its open slices. A new lane is added if there is none. Slices come by their start, an enclosing one first.
 */
function laneOf(lanes, start, end) {
	for (const lane of lanes) {
		while (lane.ends.length && lane.ends.at(-1) <= start) lane.ends.pop();
		if (!lane.ends.length || lane.ends.at(-1) >= end) {
			lane.ends.push(end);
			return lane;
		}
	}
	lanes.push({ends: [end]});
	return lanes.at(-1);
}

/**
 * Return the JSON document of TRACE (trace.js) as a Uint8Array of UTF-8. Throw a sentence for the
 * user if the trace is too large.
 */
export function chromeBytes(trace) {
	const encoder = new TextEncoder();
	const parts = [];
	let text = "",
		bytes = 0;
	const flush = () => {
		parts.push(encoder.encode(text));
		bytes += parts.at(-1).length;
		text = "";
	};

	for (const piece of new Chrome(trace).document()) {
		text += piece;
		if (text.length > CHROME_PIECE) flush();
	}
	flush();
	const whole = new Uint8Array(bytes);
	let at = 0;
	for (const part of parts) {
		whole.set(part, at);
		at += part.length;
	}
	return whole;
}
