/*
 * Open mprof.wasm for the tests: MPROF_WASM names it. Seeds are fixed, because node 18 has no
 * global crypto.
 */
import {readFileSync} from "node:fs";
import {Trace} from "../../client/viewer/worker/trace.js";
import {Wasm} from "../../client/viewer/worker/wasm.js";

export async function open() {
	const wasm = await Wasm.open(await WebAssembly.compile(readFileSync(process.env.MPROF_WASM)));

	/** Return a trace of one file, or of several streams, fed in pieces of PIECE bytes. */
	wasm.load = (files, {simplify = true, kind = "FILE", piece = 1 << 20, guest} = {}) => {
		const trace = new Trace(wasm, {simplify, seed: 42n});
		const streams = files.map((_, i) => trace.stream({name: files.length > 1 ? `s${i}` : "", guest}, kind));

		try {
			for (const [i, bytes] of files.entries()) {
				trace.expect(streams[i], bytes.length);
				for (let at = 0; at < bytes.length; at += piece) trace.feed(streams[i], bytes.subarray(at, at + piece));
				trace.end(streams[i]);
			}
			trace.finish();
		} catch (error) {
			trace.close();
			throw error;
		}
		return {trace};
	};
	return wasm;
}
