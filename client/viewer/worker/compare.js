/*
 * Compare two traces in the memory of one wasm (<mprof/diff.h>). In the trace "good" everything
 * went well; in the trace "bad" something went wrong.
 */
import {names, need} from "./wasm.js";

/**
 * Copies the results of <mprof/diff.h> to objects. VIEW is the address of a struct mprof_diff_view.
 * A thread is its index in its own trace; null: none.
 */
class Diff {
	constructor(wasm, view, good, bad) {
		this.wasm = wasm;
		this.view = wasm.object("mprof_diff_view", view);
		this.traces = {good, bad};
		this.none = (i) => (i === wasm.numbers.MPROF_NONE ? null : i);
	}

	/** Return MAKE(item) for each item of the results' array NAME, whose items are of STRUCT. */
	#list(name, struct, make) {
		const {wasm} = this,
			size = wasm.size(struct);

		return Array.from({length: this.view["n_" + name]}, (_, i) =>
			make(wasm.object(struct, this.view[name] + i * size)),
		);
	}

	/**
	 * Return the description of the thread THREAD (an index) of the trace SIDE, "good" or "bad";
	 * null if THREAD is MPROF_NONE.
	 */
	#who(side, thread) {
		return this.none(thread) === null ? null : this.traces[side].explanations.whoEver(thread);
	}

	/** Return the descriptions of two threads that correspond to each other. */
	#both({good, bad}) {
		return {good: this.#who("good", good), bad: this.#who("bad", bad)};
	}

	/**
	 * Return step I: what a thread of the trace SIDE did, and when (ns). null if I is MPROF_NONE.
	 */
	#step(side, i) {
		const {wasm} = this;

		if (this.none(i) === null) return null;
		const step = wasm.object("mprof_diff_step", this.view.steps + i * wasm.size("mprof_diff_step")),
			trace = this.traces[side];

		return {
			step: names(wasm, "MPROF_STEP_")[step.kind],
			time: step.time,
			thread: step.thread,
			self: step.other === step.thread,
			other: this.#who(side, step.other),
			label: this.none(step.label) === null ? null : trace.label(step.label),
		};
	}

	/** Return N steps from step FROM on. */
	#steps(side, from, n) {
		return Array.from({length: n}, (_, i) => this.#step(side, from + i));
	}

	/**
	 * Return IT, where two corresponding threads begin to differ: their last common steps, and the
	 * next steps of each.
	 */
	#divergence(it) {
		return {
			...this.#both(it),
			ns: it.ns,
			good_common: this.#step("good", it.good_common),
			bad_common: this.#step("bad", it.bad_common),
			good_next: this.#steps("good", it.good_next, it.good_n),
			bad_next: this.#steps("bad", it.bad_next, it.bad_n),
			good_later: this.#step("good", it.good_later),
			bad_later: this.#step("bad", it.bad_later),
		};
	}

	/**
	 * Return IT, a difference between two corresponding threads, such as that only one was
	 * resolved.
	 */
	#outcome(it) {
		const {wasm} = this,
			kind = names(wasm, "MPROF_DIFF_")[it.kind].replace("_", "-"),
			side = kind.startsWith("bad") ? "bad" : "good";

		return {
			kind,
			...this.#both(it),
			good_ns: it.good_ns,
			bad_ns: it.bad_ns,
			threads: it.threads,
			should: it.should_resolve,
			root: this.#who(side, it.root),
			root_of: this.#who(side === "bad" ? "good" : "bad", it.root_match),
			condition: this.#who(side, it.condition),
			verdict: wasm.cString(wasm.c.mprof_why_verdict_name(it.verdict) >>> 0),
			divergence: this.none(it.divergence),
		};
	}

	/** Return {index, name} of counter I of the trace SIDE; null if I is MPROF_NONE. */
	#counter(side, i) {
		const trace = this.traces[side];

		return this.none(i) === null
			? null
			: {index: i, name: trace.text(trace.item("counters", "mprof_counter", i, "name"))};
	}

	/**
	 * Return for each thread of the trace SIDE the index of the corresponding thread, or
	 * MPROF_NONE.
	 */
	#matches(side) {
		const at = this.view[side + "_match"];

		return new Uint32Array(this.wasm.c.memory.buffer.slice(at, at + 4 * this.traces[side].get("n_threads")));
	}

	/** Return the answer of engine.diff(). */
	answer() {
		const {view} = this;

		return {
			matched: view.matched,
			good_threads: view.good_threads,
			bad_threads: view.bad_threads,
			undue: view.not_due,
			alike: Boolean(view.alike),
			good_start: view.good_start,
			good_end: view.good_end,
			bad_start: view.bad_start,
			bad_end: view.bad_end,
			outcomes: this.#list("outcomes", "mprof_diff_outcome", (it) => this.#outcome(it)),
			all_outcomes: view.all_outcomes,
			slower: this.#list("slower", "mprof_diff_slower", (it) => ({
				...this.#both(it),
				good_ns: it.good_ns,
				bad_ns: it.bad_ns,
				followers: it.followers,
			})),
			all_slower: view.all_slower,
			unmatched: this.#list("unmatched", "mprof_diff_unmatched", (it) => ({
				...this.#both(it),
				good_n: it.good_n,
				bad_n: it.bad_n,
			})),
			all_unmatched: view.all_unmatched,
			counters: this.#list("counters", "mprof_diff_counter", (it) => ({
				good: this.#counter("good", it.good),
				bad: this.#counter("bad", it.bad),
			})),
			all_counters: view.all_counters,
			divergences: this.#list("divergences", "mprof_diff_divergence", (it) => this.#divergence(it)),
			all_divergences: view.all_divergences,
			first: this.none(view.first),
			good_match: this.#matches("good"),
			bad_match: this.#matches("bad"),
		};
	}
}

/** Return the answer of engine.diff(). GOOD and BAD are Traces (trace.js) of the same wasm. */
export function compare(good, bad) {
	const {c} = bad.wasm;
	const diff = need(c.wasm_diff(good.model, bad.model, bad.seed) >>> 0);

	try {
		return new Diff(bad.wasm, c.mprof_diff_view(diff) >>> 0, good, bad).answer();
	} finally {
		c.mprof_diff_free(diff);
	}
}
