/*
 * Ring files of OCaml 5's runtime events: the wasm translates such a file into a stream of packets
 * for each ring (client/trace/wasm/runtime-streams.h).
 */
import {OUT_OF_MEMORY} from "./wasm.js";

const HEADER_BYTES = 64;
const RINGS_MAX = 4096; /* MPROF_RUNTIME_RINGS_MAX */

/** Return true if BYTES, the beginning of a source, is the header of a ring file. */
function begins(wasm, bytes) {
	if (bytes.length < HEADER_BYTES) return false;
	return wasm.lend(HEADER_BYTES, (at) => {
		wasm.bytes.set(bytes.subarray(0, HEADER_BYTES), at);
		return Boolean(wasm.c.mprof_runtime_begins(at, HEADER_BYTES));
	});
}

/** Return one array of the bytes of FIRST and of all PIECES behind it. */
async function joined(first, pieces) {
	const all = [first];

	for await (const piece of pieces) all.push(piece);
	const bytes = new Uint8Array(all.reduce((sum, {length}) => sum + length, 0));
	let at = 0;
	for (const piece of all) {
		bytes.set(piece, at);
		at += piece.length;
	}
	return bytes;
}

/** Return the sources of the rings of the ring file BYTES. SOURCE is that of the file. */
function rings(wasm, source, bytes) {
	const {c} = wasm,
		sources = [],
		[seed] = crypto.getRandomValues(new BigUint64Array(1));
	const streams = wasm.lend(bytes.length, (at) => {
		wasm.bytes.set(bytes, at);
		return c.runtime_streams_new(at, bytes.length, seed) >>> 0;
	});

	if (!streams) throw new Error(OUT_OF_MEMORY);
	try {
		for (let ring = 0; (ring = c.runtime_streams_ring(streams, ring) >>> 0) < RINGS_MAX; ring++) {
			const at = c.runtime_streams_bytes(streams, ring) >>> 0;
			const packets = wasm.bytes.slice(at, at + (c.runtime_streams_size(streams, ring) >>> 0));
			sources.push({
				guest: 0,
				...source,
				name: `ring ${ring}`,
				blob: undefined,
				bytes: packets,
				size: packets.length,
			});
		}
	} finally {
		c.runtime_streams_free(streams);
	}
	if (!sources.length) throw new Error("This ring file of OCaml is cut, or has no events.");
	/* A single ring needs no name. */
	return sources.length > 1 ? sources : [{...sources[0], name: source.name}];
}

/**
 * Return a Promise of the sources that stand for SOURCE, whose unpacked bytes are PIECES: one for each
 * ring. They share SOURCE's guest, so a thread has one id in all of them. Return a Promise of null if
 * SOURCE is no ring file of OCaml.
 * @param {Wasm} wasm
 * @param {AsyncGenerator<Uint8Array>} pieces
 */
export async function runtimeSources(wasm, source, pieces) {
	const {value: first, done} = await pieces.next();

	if (done || !begins(wasm, first)) {
		await pieces.return?.();
		return null;
	}
	return rings(wasm, source, await joined(first, pieces));
}
