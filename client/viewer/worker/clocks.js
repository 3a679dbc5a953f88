/* In the worker: how the clocks of guests stand to dom0's, by the stamps of their packets.  libmprof draws the conclusions (<mprof/clocks.h>). */
import {UINT64_MAX, need} from "./wasm.js";

/** Numbers of a packet, as wasm_clocks_packets() takes them. */
const NUMBERS = 9;

/** STREAMS of one guest, each the numbers of its packets in their order: what is known of its clock; to be freed. */
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

/** What engine.clocks() answers. */
export function clocksOf(wasm, guests) {
	const all = [];

	try {
		for (const streams of guests) all.push(known(wasm, streams));
		/* Where dom0 has booted between them its monotonic clock is not one. */
		const realtime = all.some((one) => all.some((other) => wasm.c.mprof_clocks_apart(one, other)));
		return {realtime, guests: all.map((clocks) => told(wasm, clocks, realtime))};
	} finally {
		for (const clocks of all) wasm.c.free(clocks);
	}
}
