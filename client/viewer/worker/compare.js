/* The differences of two traces that are in the memory of one wasm. */
import {VERDICTS, names, need} from "./wasm.js";

/** The results of <mprof/diff.h> as objects. A thread is its index in its own trace; null: none. */
class Diff {
	constructor(wasm, view, good, bad) {
		this.wasm = wasm;
		this.view = wasm.object("mprof_diff_view", view);
		this.traces = {good, bad};
		this.none = (i) => (i === wasm.numbers.MPROF_NONE ? null : i);
	}

	#list(name, struct, make) {
		const {wasm} = this,
			size = wasm.size(struct);

		return Array.from({length: this.view["n_" + name]}, (_, i) =>
			make(wasm.object(struct, this.view[name] + i * size)),
		);
	}

	#who(side, thread) {
		return this.none(thread) === null ? null : this.traces[side].explanations.whoEver(thread);
	}

	#both({good, bad}) {
		return {good: this.#who("good", good), bad: this.#who("bad", bad)};
	}

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

	#steps(side, from, n) {
		return Array.from({length: n}, (_, i) => this.#step(side, from + i));
	}

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
			verdict: VERDICTS[names(wasm, "MPROF_WHY_")[it.verdict]],
			divergence: this.none(it.divergence),
		};
	}

	#counter(side, i) {
		const trace = this.traces[side];

		return this.none(i) === null
			? null
			: {index: i, name: trace.text(trace.item("counters", "mprof_counter", i, "name"))};
	}

	#matches(side) {
		const at = this.view[side + "_match"];

		return new Uint32Array(this.wasm.c.memory.buffer.slice(at, at + 4 * this.traces[side].get("n_threads")));
	}

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

/** Return the answer of engine.diff() for the traces GOOD and BAD. */
export function compare(good, bad) {
	const {c} = bad.wasm;
	const diff = need(c.wasm_diff(good.model, bad.model, bad.seed) >>> 0);

	try {
		return new Diff(bad.wasm, c.mprof_diff_view(diff) >>> 0, good, bad).answer();
	} finally {
		c.mprof_diff_free(diff);
	}
}
