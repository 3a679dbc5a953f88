/*
 * The meaning of a mark of a picture: the answers of engine.pointed(), for the tip at the pointer.
 */

export class Pointed {
	/** TRACE is a Trace of trace.js. */
	constructor(trace) {
		this.trace = trace;
	}

	/**
	 * Return the answer about the mark of KIND (draw/marks.js, or "counter") with the index ITEM, at
	 * TIME; null if there is none.
	 */
	of(kind, item, time) {
		if (["sleeping", "collection", "gap", "duration", "counter"].includes(kind)) return this[kind](item, time);
		return kind === "busy" ? {} : this.arrow(item);
	}

	/**
	 * Return {time, actor, other}: ACTOR did something to OTHER at TIME (ns). Both are threads as
	 * engine.thread() returns them.
	 */
	arrow(item) {
		const {trace} = this;
		const get = (name) => trace.item("interactions", "mprof_interaction", item, name);

		return {time: get("time"), actor: trace.thread(get("thread")), other: trace.thread(get("other"))};
	}

	/** Return the time of a band: {from, to} in ns. A gap also has the number of its PACKETS. */
	sleeping(item) {
		const get = (name) => this.trace.item("activations", "mprof_activation", item, name);

		return {from: get("start"), to: get("end")};
	}

	collection(item) {
		const get = (name) => this.trace.item("collections", "mprof_collection", item, name);
		const [to, duration] = [get("time"), get("duration_ns")];

		return {from: to > duration ? to - duration : 0n, to};
	}

	/** A duration also has its NAME and its THREAD. */
	duration(item) {
		const get = (name) => this.trace.item("durations", "mprof_duration", item, name);
		const [to, duration] = [get("time"), get("duration_ns")];

		return {
			from: to > duration ? to - duration : 0n,
			to,
			name: this.trace.text(get("name")),
			thread: this.trace.thread(get("thread")),
		};
	}

	gap(item) {
		const get = (name) => this.trace.item("gaps", "mprof_gap", item, name);

		return {from: get("from"), to: get("to"), packets: get("packets")};
	}

	/**
	 * Return the last sample of counter ITEM at or before TIME: {name, kind, value, time, before, from, to}.
	 * BEFORE is the value of the sample before it, or null. The counter has VALUE FROM its time TO
	 * that of the next sample, or to the end of its stream. Return null if there is no such sample.
	 */
	counter(item, time) {
		const {trace} = this;
		const {c, numbers} = trace.wasm;
		const counter = trace.counterAt(item);
		const scene = trace.scene.prepare();
		const sample = c.mprof_scene_sample(scene, item, time) >>> 0;
		const next = c.mprof_scene_sample_after(scene, item, time) >>> 0;
		const get = (i, name) => trace.item("samples", "mprof_sample", i, name);

		if (!counter || sample === numbers.MPROF_NONE) return null;
		const before = get(sample, "previous");
		const from = get(sample, "time");
		return {
			name: counter.name,
			kind: counter.kind,
			value: get(sample, "value"),
			time: from,
			from,
			to:
				next === numbers.MPROF_NONE
					? trace.item("streams", "mprof_model_stream", counter.stream, "end")
					: get(next, "time"),
			before: before === numbers.MPROF_NONE ? null : get(before, "value"),
		};
	}
}
