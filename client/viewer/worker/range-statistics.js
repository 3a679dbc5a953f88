/* The statistics of a range of time of a trace (<mprof/statistics-report.h>). */

/** Return OBJECT with its members NAMES as BigInts, if it has them. */
function exactly(object, names) {
	const out = {...object};

	for (const name of names) if (name in out && out[name] !== null) out[name] = BigInt(out[name]);
	return out;
}

/**
 * Return the answer of engine.stats() about TRACE (trace.js) for the time FROM to TO (ns): that of `mprofctl stats --json`
 * (schema/answers/stats.json), with the numbers that can exceed 53 bits as BigInts.
 */
export function rangeStatistics(trace, from, to) {
	const {wasm} = trace,
		answer = wasm.answer(wasm.c.wasm_statistics(trace.loader, trace.explanations.streamNames(), from, to)),
		counters = Object.entries(answer.counters).map(([name, it]) => [
			name,
			exactly(it, ["first", "last", "min", "max", "sum"]),
		]);

	return {
		...exactly(answer, ["gc_ns", "gc_longest_ns", "running_ns", "sleeping_ns", "clock_back_ns"]),
		busiest: answer.busiest.map((it) => exactly(it, ["thread", "running_ns"])),
		should_resolve: answer.should_resolve.map((it) => exactly(it, ["thread"])),
		counters: Object.fromEntries(counters),
	};
}
