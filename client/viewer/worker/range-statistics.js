/* The statistics of a range of time of a trace (<mprof/statistics.h>). */
import {COUNTERS_MAX, counterKind, need} from "./wasm.js";

const MARKED_MAX = 1000; /* most threads in the member `should_resolve` of an answer */

export class RangeStatistics {
	/** TRACE is a Trace (trace.js). */
	constructor(trace) {
		this.trace = trace;
		this.wasm = trace.wasm;
	}

	/**
	 * Return the counters with samples in the range: name -> its values. NUMBERS is the address of
	 * a struct mprof_statistics. BACK: the clock went back, so no counter has a rate.
	 */
	#counted(numbers, back) {
		const {wasm} = this,
			base = wasm.c.mprof_statistics_counters(numbers) >>> 0,
			size = wasm.size("mprof_statistics_counter"),
			counters = {};

		for (let i = 0; i < this.trace.get("n_counters") && i < COUNTERS_MAX; i++) {
			const {samples, first, last, min, max, sum, rate_per_s} = wasm.object(
				"mprof_statistics_counter",
				base + i * size,
			);
			const kind = counterKind(this.trace.item("counters", "mprof_counter", i, "kind"));

			if (samples)
				counters[this.#counterName(i)] = {
					first,
					last,
					min,
					max,
					samples: Number(samples),
					kind,
					...(kind === "amount" ? {sum} : {}),
					rate_per_s: back || Number.isNaN(rate_per_s) ? null : rate_per_s,
				};
		}
		return counters;
	}

	/** Return the name of counter I. */
	#counterName(i) {
		const of = (field) => this.trace.item("counters", "mprof_counter", i, field);

		return this.trace.counterName({name: of("name"), stream: of("stream")});
	}

	/** Return the N threads that ran longest in the range. NUMBERS is as in #counted(). */
	#busiest(numbers, n) {
		const {wasm} = this,
			base = wasm.c.mprof_statistics_busiest(numbers) >>> 0,
			size = wasm.size("mprof_statistics_thread");

		return Array.from({length: n}, (_, i) => {
			const {thread, label, running_ns} = wasm.object("mprof_statistics_thread", base + i * size);

			return {
				index: thread,
				of: this.trace.of(this.trace.item("threads", "mprof_thread", thread, "stream")),
				thread: this.trace.item("threads", "mprof_thread", thread, "id"),
				label: this.trace.text(label),
				type: wasm.types[this.trace.item("threads", "mprof_thread", thread, "type")],
				running_ns,
			};
		});
	}

	/**
	 * Return the threads of the whole trace that the program marked as to be resolved
	 * (`__should_resolve`), and whether they were.
	 */
	#marked() {
		const {numbers} = this.wasm;

		return this.trace
			.items("expectations", "mprof_expectation")
			.slice(0, MARKED_MAX)
			.map(({thread, final}) => ({
				index: final,
				thread: this.trace.item("threads", "mprof_thread", thread, "id"),
				label:
					this.trace.explanations.who(thread, 0n)?.label ??
					this.trace.explanations.who(final, 0n)?.label ??
					null,
				resolved: Boolean(
					this.trace.item("threads", "mprof_thread", final, "flags") & numbers.MPROF_THREAD_RESOLVED,
				),
			}));
	}

	/**
	 * Return the share of the range in which no thread ran. ALL is a struct mprof_statistics_totals. Return null if
	 * there is none: of several streams, each sleeps by itself, and if the times go back, the same time can come twice.
	 */
	#share({first_ns, last_ns, sleeping_ns}) {
		if (last_ns <= first_ns || sleeping_ns > last_ns - first_ns || this.trace.get("n_streams") > 1) return null;
		return Number(sleeping_ns) / Number(last_ns - first_ns);
	}

	/**
	 * Return the answer of engine.stats() for the time FROM to TO (ns). If that is the whole trace,
	 * the numbers of events are exact. For a part only the events that the model keeps are counted.
	 */
	stats(from, to) {
		const {wasm} = this,
			numbers = need(wasm.c.mprof_statistics_new(this.trace.model, from, to) >>> 0);

		try {
			const all = wasm.object("mprof_statistics_totals", wasm.c.mprof_statistics_totals(numbers) >>> 0),
				{totals, start, end} = this.trace.summary();
			const byType =
				from <= start && to >= end ? totals.events_by_type : this.trace.named(wasm.events, all.events_by_type);
			const types = wasm.types.slice(0, wasm.numbers.MPROF_THREAD_TYPES).concat("Unknown");

			return {
				events: Object.values(byType).reduce((a, b) => a + b, 0),
				events_by_type: byType,
				packets: totals.packets,
				lost_packets: totals.lost_packets,
				damages: totals.damages,
				unknown_texts: totals.unknown_texts,
				skipped_extras: totals.skipped_extras,
				unproven_events: totals.unproven_events,
				clock_back_ns: totals.clock_back_ns,
				bytes: totals.bytes,
				first_ns: String(all.first_ns),
				last_ns: String(all.last_ns),
				threads: Number(all.created + all.preexisting),
				threads_by_type: this.trace.named(types, all.threads_by_type),
				preexisting: Number(all.preexisting),
				labels: Number(all.labels),
				counters: this.#counted(numbers, totals.clock_back_ns > 0n),
				gcs: Number(all.collections),
				gc_ns: all.collecting_ns,
				gc_longest_ns: all.longest_ns,
				should_resolve: this.#marked(),
				busiest: this.#busiest(numbers, all.busiest),
				running_ns: all.running_ns,
				sleeping_ns: all.sleeping_ns,
				sleeping_share: totals.clock_back_ns ? null : this.#share(all),
			};
		} finally {
			wasm.c.mprof_statistics_free(numbers);
		}
	}
}
