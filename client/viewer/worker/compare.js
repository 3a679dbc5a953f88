/*
 * Compare two traces in the memory of one wasm (<mprof/diff-report.h>). In the trace "good" everything
 * went well; in the trace "bad" something went wrong.
 */
import {need} from "./wasm.js";

/**
 * Return the answer of engine.diff(): that of `mprofctl diff --json` (schema/answers/diff.json), with the index of the
 * counterpart of each thread, or MPROF_NONE. GOOD and BAD are Traces (trace.js) of the same wasm.
 */
export function compare(good, bad) {
	const {wasm} = bad,
		{c} = wasm,
		diff = need(c.wasm_diff(good.model, bad.model, bad.seed) >>> 0);

	try {
		const of = ({loader, explanations: it}) => [loader, it.streamNames(), it.sentences()],
			answer = wasm.answer(c.wasm_diff_answer(diff, ...of(good), ...of(bad))),
			view = c.mprof_diff_view(diff) >>> 0;
		const matches = (side, trace) => {
			const at = wasm.get("mprof_diff_view", view, side);

			return new Uint32Array(c.memory.buffer.slice(at, at + 4 * trace.get("n_threads")));
		};

		return {...answer, good_match: matches("good_match", good), bad_match: matches("bad_match", bad)};
	} finally {
		c.mprof_diff_free(diff);
	}
}
