/* The threads of an area of the picture, in groups of one label and type (<mprof/area.h>). */
import {need} from "./wasm.js";

/* Names of the page for the keys by which the groups are sorted -> constants. */
const KEYS = {
	label: "MPROF_AREA_LABEL",
	type: "MPROF_AREA_TYPE",
	threads: "MPROF_AREA_THREADS",
	alive: "MPROF_AREA_ALIVE",
	aliveLongest: "MPROF_AREA_ALIVE_LONGEST",
	running: "MPROF_AREA_RUNNING",
	runningLongest: "MPROF_AREA_RUNNING_LONGEST",
	waiting: "MPROF_AREA_WAITING",
	waitingLongest: "MPROF_AREA_WAITING_LONGEST",
};
const TEXT_BYTES = 256; /* most bytes of a filter */
const THREADS_MAX = 200; /* most threads of a group in an answer */

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

	/** Return the address of the struct mprof_area of PLACE; the last one is kept for the next call. */
	#of(place) {
		const {wasm} = this;
		const is = `${place.from} ${place.to} ${place.firstRow} ${place.lastRow}`;

		if (this.place === is) return this.area;
		this.close();
		this.area = wasm.lend(wasm.size("mprof_area_place"), (at) => {
			wasm.set("mprof_area_place", at, "from", BigInt.asUintN(64, place.from));
			wasm.set("mprof_area_place", at, "to", BigInt.asUintN(64, place.to));
			wasm.set("mprof_area_place", at, "first_row", place.firstRow ?? 0);
			wasm.set("mprof_area_place", at, "last_row", place.lastRow ?? wasm.numbers.MPROF_NONE);
			return need(wasm.c.mprof_area_new(this.trace.model, at) >>> 0);
		});
		this.place = is;
		return this.area;
	}

	/** Return the sums in the struct mprof_area_group or mprof_area_totals IT. */
	#sums(it) {
		const sum = (at, name) => this.wasm.get("mprof_area_sum", at, name);

		return Object.fromEntries(
			["alive", "running", "waiting"].flatMap((name) => [
				[name, sum(it[name], "total_ns")],
				[`${name}Longest`, sum(it[name], "longest_ns")],
			]),
		);
	}

	/** Return the answer of engine.groups(). */
	groups(place, {key, descending, text, most}) {
		const {wasm, trace} = this;
		const area = this.#of(place);
		const words = new TextEncoder().encode(text).subarray(0, TEXT_BYTES);
		const n = wasm.lend(words.length + 1, (at) => {
			wasm.bytes.set(words, at);
			return wasm.c.mprof_area_list(area, wasm.numbers[KEYS[key]], descending, at, words.length) >>> 0;
		});
		const order = wasm.c.mprof_area_order(area) >>> 0;
		const base = wasm.c.mprof_area_groups(area) >>> 0;
		const size = wasm.size("mprof_area_group");
		const totals = wasm.object("mprof_area_totals", wasm.c.mprof_area_totals(area) >>> 0);
		const waits = wasm.c.mprof_area_waits(area) >>> 0;

		return {
			groups: Array.from({length: Math.min(n, most)}, (_, i) => {
				const group = wasm.view.getUint32(order + 4 * i, true);
				const it = wasm.object("mprof_area_group", base + group * size);

				return {
					group,
					label: trace.text(it.label),
					type: wasm.types[it.type],
					threads: it.threads,
					first: it.first,
					...this.#sums(it),
				};
			}),
			total: n,
			totals: {...totals, ...this.#sums(totals)},
			waits: Array.from({length: wasm.numbers.MPROF_AREA_WAITS}, (_, i) =>
				wasm.view.getBigUint64(waits + 8 * i, true),
			),
		};
	}

	/** Return the answer of engine.groupThreads(). */
	threads(place, group) {
		const {wasm} = this;
		const area = this.#of(place);
		const size = wasm.size("mprof_area_thread");

		return wasm.lend(size * THREADS_MAX, (at) => {
			const n = wasm.c.mprof_area_threads(area, group, at, THREADS_MAX) >>> 0;

			return Array.from({length: n}, (_, i) => {
				const it = wasm.object("mprof_area_thread", at + i * size);

				return {
					index: it.thread,
					id: this.trace.item("threads", "mprof_thread", it.thread, "id"),
					start: this.trace.item("threads", "mprof_thread", it.thread, "start"),
					alive: it.alive_ns,
					running: it.running_ns,
					waiting: it.waiting_ns,
				};
			});
		});
	}
}
