/*
 * The page's side of the worker of memory profiles: requests and answers. Only the newest question
 * of a kind is answered. README.md documents it.
 *
 * One heap is one worker with one recording. Without a server (the single-file page) Heap.open()
 * takes both: {worker: Worker, wasm: bytes}.
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
		this.names = []; // texts by the number that trees use; a number never changes
		this.#port = new Port(worker, {
			ended: ENDED,
			whole: "recording",
			told: ({names = []}) => names.forEach((name) => this.names.push(name)),
		});
	}

	close() {
		this.#port.close("The recording was closed.");
	}

	/**
	 * Load a recording, and forget the one before.
	 * @param {{bytes?: Uint8Array | ArrayBuffer, blob?: Blob, response?: Response, growing?:
	 * boolean, recording?: number}} source the buffer of bytes is the heap's from now on; growing:
	 * more will be fed; recording: of several that are joined this one, from 1, in place of the
	 * last
	 * @param {(progress: {phase: string, bytes: number, total: number | null}) => void} [progress]
	 * @param {AbortSignal} [signal]
	 */
	load(source, progress, signal) {
		return this.#port.load([{growing: false, recording: 0, ...source}], (told) => told, {progress, signal});
	}

	/** Append new bytes; the heap takes the buffer. @param {Uint8Array} bytes */
	feed(bytes) {
		return this.#port.call("feed", [bytes], {transfer: [bytes.buffer]});
	}

	/**
	 * Return the live bytes at N times from FROM to TO; null if a newer question of the kind came.
	 */
	timeline(filter, from, to, n) {
		return this.#port.call("timeline", [{filter, from, to, n}]);
	}

	/** Return the profile by functions; null if a newer question of the kind came. */
	profile(question = {}) {
		return this.#port.call("profile", [question]);
	}

	leaks() {
		return this.#port.call("leaks", [{}]);
	}
}
