/*
 * The page's side of the worker of memory profiles: sends questions and receives answers. README.md
 * documents them. Of several questions of one kind only the newest is answered; the older ones get
 * null.
 *
 * One heap is one worker with one recording. The single-file page has no server, so it passes both
 * to Heap.open(): {worker: Worker, wasm: bytes}.
 */
import {Port} from "./port.js";

const ENDED = "The worker of memory profiles has ended; reload the page.";

export class Heap {
	#port;

	/** @param {{worker?: Worker, wasm?: BufferSource | WebAssembly.Module}} options */
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

	constructor(worker) {
		this.names = []; // names by the number that trees use; a name keeps its number
		this.#port = new Port(worker, {
			ended: ENDED,
			whole: "recording",
			told: ({names = []}) => names.forEach((name) => this.names.push(name)),
		});
	}

	close() {
		this.#port.close();
	}

	/**
	 * Load a recording in place of the one before.
	 * @param {{bytes?: Uint8Array | ArrayBuffer, blob?: Blob, response?: Response, growing?:
	 * boolean, recording?: number}} source the buffer of bytes is the heap's from now on.
	 * growing: feed() will add more bytes. recording: if several recordings are joined, the
	 * number of the one to load, from 1; without it the last
	 * @param {(progress: {phase: string, bytes: number, total: number | null}) => void} [progress]
	 * @param {AbortSignal} [signal]
	 */
	load(source, progress, signal) {
		return this.#port.load([{growing: false, recording: 0, ...source}], (told) => told, {progress, signal});
	}

	/**
	 * Append new bytes of the recording. The buffer is the heap's from now on. @param
	 * {Uint8Array} bytes
	 */
	feed(bytes) {
		return this.#port.call("feed", [bytes], {transfer: [bytes.buffer]});
	}

	/**
	 * Return the live bytes at N times from FROM to TO. Return null if a newer timeline()
	 * replaced this one.
	 */
	timeline(filter, from, to, n) {
		return this.#port.call("timeline", [{filter, from, to, n}]);
	}

	/** Return the profile by functions. Return null if a newer profile() replaced this one. */
	profile(question = {}) {
		return this.#port.call("profile", [question]);
	}

	leaks() {
		return this.#port.call("leaks", [{}]);
	}
}
