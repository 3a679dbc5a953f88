/*
 * Compute how far the clocks of guests are from dom0's (<mprof/clocks.h>). mprofd stamps each
 * packet with dom0's time of its copies, which bounds the time of the guest's events in it. This
 * runs in the worker.
 */
import {UINT64_MAX, need} from "./wasm.js";

/** Numbers for each packet in the array for wasm_clocks_packets(). */
const NUMBERS = 25;

/**
 * Return the address of a struct mprof_clocks with the packets of one guest. STREAMS has a
 * BigUint64Array for each stream, with NUMBERS numbers for each packet in order. The caller frees
 * the structure.
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

/**
 * Return {known, offsetNs, uncertaintyNs} of the guest at the address CLOCKS, relative to dom0's
 * CLOCK_REALTIME if REALTIME is true, else to its CLOCK_MONOTONIC. An uncertainty of null means
 * that it is unknown.
 */
function offset(wasm, clocks, realtime) {
	return wasm.lend(16, (at) => {
		const is = Boolean(wasm.c.mprof_clocks_offset(clocks, realtime, at, at + 8));
		const most = wasm.view.getBigUint64(at + 8, true);

		return {known: is, offsetNs: wasm.view.getBigInt64(at, true), uncertaintyNs: most === UINT64_MAX ? null : most};
	});
}

/**
 * Return the answer of engine.clocks(). GUESTS has the array STREAMS of known() for each guest.
 * LOCAL is true for each guest that is a program of this host.
 */
export function clocksOf(wasm, guests, local = []) {
	const all = [];

	try {
		for (const streams of guests) all.push(known(wasm, streams));
		all.forEach((clocks, i) => local[i] && wasm.c.mprof_clocks_host(clocks));
		/*
		 * CLOCK_MONOTONIC starts anew at each boot of dom0. If dom0 rebooted between two of the
		 * guests, compare all by CLOCK_REALTIME.
		 */
		const realtime = all.some((one) => all.some((other) => wasm.c.mprof_clocks_rebooted(one, other)));
		return {
			realtime,
			guests: all.map((clocks) => ({...offset(wasm, clocks, realtime), wall: offset(wasm, clocks, true)})),
		};
	} finally {
		for (const clocks of all) wasm.c.free(clocks);
	}
}
