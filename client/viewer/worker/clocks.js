/*
 * The offsets of guests' clocks to dom0's, computed from the stamps of their packets
 * (<mprof/clocks.h>). Runs in the worker.
 */
import {UINT64_MAX, need} from "./wasm.js";

/** Numbers per packet in the array for wasm_clocks_packets(). */
const NUMBERS = 9;

/**
 * Return the address of the clock (struct mprof_clocks) of one guest. STREAMS has an array of
 * numbers for each stream, its packets in order. The caller frees the clock.
 */
function known(wasm, streams) {
	const clocks = need(wasm.c.wasm_clocks() >>> 0);

	for (const numbers of streams) {
		wasm.c.mprof_clocks_stream(clocks);
		if (numbers.length)
			wasm.lend(numbers.byteLength, (at) => {
				wasm.bytes.set(new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength), at);
				wasm.c.wasm_clocks_packets(clocks, at, Math.floor(numbers.length / NUMBERS));
			});
	}
	return clocks;
}

function told(wasm, clocks, realtime) {
	return wasm.lend(16, (at) => {
		const is = Boolean(wasm.c.mprof_clocks_offset(clocks, realtime, at, at + 8));
		const most = wasm.view.getBigUint64(at + 8, true);

		return {known: is, offsetNs: wasm.view.getBigInt64(at, true), uncertaintyNs: most === UINT64_MAX ? null : most};
	});
}

/**
 * Return the answer of engine.clocks(). LOCAL has for each guest whether it is a program of this
 * host.
 */
export function clocksOf(wasm, guests, local = []) {
	const all = [];

	try {
		for (const streams of guests) all.push(known(wasm, streams));
		all.forEach((clocks, i) => local[i] && wasm.c.mprof_clocks_host(clocks));
		/*
		 * If dom0 rebooted between two guests, they have no CLOCK_MONOTONIC in common, and
		 * CLOCK_REALTIME is used.
		 */
		const realtime = all.some((one) => all.some((other) => wasm.c.mprof_clocks_rebooted(one, other)));
		return {realtime, guests: all.map((clocks) => told(wasm, clocks, realtime))};
	} finally {
		for (const clocks of all) wasm.c.free(clocks);
	}
}
