/*
 * The page's side of the worker of memory profiles (worker/heap-worker.js): it sends questions and
 * receives answers. README.md documents them. If the page asks a question again before it is
 * answered, the older one is answered null.
 *
 * One heap is one worker with one recording. The single-file page has no server to load either
 * from, so it passes both: Heap.open({worker: Worker, wasm: bytes}).
 */
import {Port} from "./port.js";

const ENDED = "The worker of memory profiles has ended; reload the page.";

export class Heap {
	#port;

	/**
	 * Return a Promise of a heap without a recording. Reject with a sentence for the user if the
	 * worker or the wasm cannot be loaded.
	 * @param {{worker?: Worker, wasm?: BufferSource | WebAssembly.Module}} options
	 */
	static async open({worker, wasm = null} = {}) {
		const heap = new Heap(
			worker ?? new Worker(new URL("../worker/heap-worker.js", import.meta.url), {type: "module"}),
		);

		try {
			await heap.#port.open(wasm);
		} catch (error) {
			heap.close();
			throw error;
		}
		return heap;
	}

	/** Only open() calls this. */
	constructor(worker) {
		/*
		 * Names of functions; trees have indices of this array, and names are only added at its
		 * end.
		 */
		this.names = [];
		this.#port = new Port(worker, {
			ended: ENDED,
			whole: "recording",
			received: ({names = []}) => names.forEach((name) => this.names.push(name)),
		});
	}

	/**
	 * Terminate the worker. Open questions and later ones get no answer: their Promises never
	 * settle.
	 */
	close() {
		this.#port.close();
	}

	/**
	 * Load a recording in place of the one that is loaded. Return a Promise of its info
	 * (README.md). Reject with a sentence for the user. SIGNAL cancels the load.
	 * @param {{bytes?: Uint8Array | ArrayBuffer, blob?: Blob, response?: Response, growing?:
	 *   boolean, recording?: number}} source the heap takes the buffer of BYTES away from the
	 *   caller. GROWING is true if feed() will add bytes. RECORDING is the number, from 1, of the
	 *   recording to load if several are joined in one stream; without it the last one is loaded
	 * @param {(progress: {phase: string, bytes: number, total: number | null}) => void} [progress]
	 * @param {AbortSignal} [signal]
	 */
	load(source, progress, signal) {
		return this.#port.load([{growing: false, recording: 0, ...source}], (parts) => parts, {progress, signal});
	}

	/**
	 * Append new bytes to the recording. Return a Promise of its info. The heap takes the buffer of
	 * BYTES away from the caller.
	 * @param {Uint8Array} bytes
	 */
	feed(bytes) {
		return this.#port.call("feed", [bytes], {transfer: [bytes.buffer]});
	}

	/**
	 * Return a Promise of {bytes: Float64Array}: the live bytes at N times, evenly from FROM to TO
	 * (µs since the recording's start), of the objects that FILTER selects. The answer is null if a
	 * newer timeline() replaced this one.
	 */
	timeline(filter, from, to, n) {
		return this.#port.call("timeline", [{filter, from, to, n}]);
	}

	/**
	 * Return a Promise of the profile by functions. QUESTION is {filter, hidden, weight, sites,
	 * recursion} (README.md). The answer is null if a newer profile() replaced this one.
	 */
	profile(question = {}) {
		return this.#port.call("profile", [question]);
	}

	/** Return a Promise of the answer of `mprofctl mem leaks`: allocations whose live bytes grow. */
	leaks() {
		return this.#port.call("leaks", [{}]);
	}
}
