/* The threads of an area of the picture, in groups of one label and type (<mprof/area-report.h>). */
import {timed} from "./explanations.js";
import {bigTimes, need} from "./wasm.js";

const TEXT_BYTES = 256; /* most bytes of a filter */

export class Area {
	/** TRACE is a Trace (trace.js). */
	constructor(trace) {
		this.trace = trace;
		this.wasm = trace.wasm;
		this.area = 0; /* address of the struct mprof_area of PLACE; 0: none */
		this.place = null;
	}

	/** Free the memory in the wasm. */
	close() {
		this.wasm.c.mprof_area_free(this.area);
		this.area = 0;
		this.place = null;
	}

	/** Return the address of the struct mprof_area of a place; the last one is kept for the next call. */
	#of({from, to, firstRow, lastRow}) {
		const {c, numbers} = this.wasm;
		const place = `${from} ${to} ${firstRow} ${lastRow}`;

		if (this.place === place) return this.area;
		this.close();
		this.area = need(c.wasm_area(this.trace.model, from, to, firstRow ?? 0, lastRow ?? numbers.MPROF_NONE) >>> 0);
		this.place = place;
		return this.area;
	}

	/** Return the answer of engine.groups(). */
	groups(place, {key, descending, text, most}) {
		const {wasm, trace} = this;
		const sentences = trace.explanations.sentences();
		const names = trace.explanations.streamNames();
		const area = this.#of(place);
		const by = wasm.numbers[`MPROF_AREA_${key.replace(/_ns$/, "").toUpperCase()}`];
		const words = new TextEncoder().encode(text).subarray(0, TEXT_BYTES);

		const answer = wasm.lend(words.length + 1, (at) => {
			wasm.bytes.set(words, at);
			return wasm.answer(
				wasm.c.wasm_area_groups(trace.model, area, sentences, names, by, descending, at, words.length, most),
				bigTimes,
			);
		});

		return {...answer, missing: timed(answer.missing)};
	}

	/** Return the answer of engine.groupThreads(). */
	threads(place, group) {
		const {wasm, trace} = this;

		return wasm.answer(wasm.c.wasm_area_threads(trace.model, this.#of(place), group), bigTimes).threads;
	}
}
