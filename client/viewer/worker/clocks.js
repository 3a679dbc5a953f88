/*
 * The clocks of guests against dom0's, from the stamps of their packets (<mprof/clocks.h>). Runs in
 * the worker.
 */
import {UINT64_MAX, need} from "./wasm.js";

/** numbers per packet for wasm_clocks_packets() */
const NUMBERS = 9;

/**
 * Return the clock of one guest. STREAMS has the numbers of its packets in order. The caller frees
 * it.
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

/** Return the answer of engine.clocks(). LOCAL: for each guest, whether it is a program of this host. */
export function clocksOf(wasm, guests, local = []) {
	const all = [];

	try {
		for (const streams of guests) all.push(known(wasm, streams));
		all.forEach((clocks, i) => local[i] && wasm.c.mprof_clocks_host(clocks));
		/* If dom0 rebooted between them, the guests share no monotonic clock. */
		const realtime = all.some((one) => all.some((other) => wasm.c.mprof_clocks_rebooted(one, other)));
		return {realtime, guests: all.map((clocks) => told(wasm, clocks, realtime))};
	} finally {
		for (const clocks of all) wasm.c.free(clocks);
	}
}
