/*
 * The page's side of the worker of memory profiles: requests, answers, the newest question of a kind wins. README.md says what it offers.
 *
 * One heap is one worker with one recording. Where there is no server (the self-contained file) Heap.open() is given both: {worker: Worker, wasm: bytes}.
 */
const LOST = "The worker of memory profiles has ended; reload the page.";

let compiled = null;

function compileFetched() {
	compiled ??= WebAssembly.compileStreaming(fetch(new URL("mprof.wasm", import.meta.url))).catch((error) => {
		compiled = null;
		throw new Error(`mprof.wasm could not be loaded: ${error.message}. Reload the page.`);
	});
	return compiled;
}

/** What the worker is told of a source, and what of it goes over. */
function plain({response, blob, bytes, growing = false, recording = 0}) {
	if (response) {
		const coded = response.headers.has("content-encoding");

		return [{growing, recording, size: coded ? null : Number(response.headers.get("content-length")) || null}, []];
	}
	if (blob) return [{growing, recording, blob, size: blob.size}, []];
	const view = bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes;

	return [{growing, recording, bytes: view, size: view.length}, [view.buffer]];
}

export class Heap {
	#port;
	#waiting = new Map(); // by id: {resolve, reject, progress, give}
	#last = 0;
	#lost = null; // why nothing is answered any more

	/** @param {{worker?: Worker, wasm?: BufferSource | WebAssembly.Module}} options */
	static async open({worker, wasm} = {}) {
		const module =
			wasm instanceof WebAssembly.Module ? wasm : wasm ? await WebAssembly.compile(wasm) : await compileFetched();
		const heap = new Heap(worker ?? new Worker(new URL("heap-worker.js", import.meta.url), {type: "module"}));

		try {
			await heap.#call("open", [module]);
		} catch (error) {
			heap.close();
			throw error;
		}
		return heap;
	}

	constructor(port) {
		this.#port = port;
		this.names = []; // texts that trees name by their number; they stay
		port.addEventListener("message", ({data}) => this.#take(data));
		port.addEventListener("error", () => this.#lose(LOST));
	}

	close() {
		this.#port.terminate();
		this.#lose("The recording was closed.");
	}

	#lose(sentence) {
		this.#lost ??= sentence;
		for (const {reject} of this.#waiting.values()) reject(new Error(sentence));
		this.#waiting.clear();
	}

	#take({id, value, error, progress, want, names = []}) {
		const waiting = this.#waiting.get(id);

		for (const name of names) this.names.push(name);
		if (!waiting) return;
		if (progress) {
			waiting.progress?.(progress);
		} else if (want) {
			waiting.give?.(id);
		} else {
			this.#waiting.delete(id);
			if (error) waiting.reject(new Error(error));
			else waiting.resolve(value);
		}
	}

	#call(call, args, transfer = [], more = {}) {
		const id = ++this.#last;

		if (this.#lost) return Promise.reject(new Error(this.#lost));
		return new Promise((resolve, reject) => {
			this.#waiting.set(id, {resolve, reject, ...more});
			this.#port.postMessage({id, call, args}, transfer);
		});
	}

	/**
	 * Load a recording, and forget the one before.
	 * @param {{bytes?: Uint8Array | ArrayBuffer, blob?: Blob, response?: Response, growing?: boolean, recording?: number}} source the buffer of bytes
	 * is the heap's from now on; growing: more will be fed; recording: of several that are joined this one, from 1, in place of the last
	 * @param {(progress: {phase: string, bytes: number, total: number | null}) => void} [progress]
	 * @param {AbortSignal} [signal]
	 */
	async load(source, progress, signal) {
		const reader = source.response?.body?.getReader();
		const [told, transfer] = plain(source);
		const answer = this.#call("load", [told], transfer, {progress, give: (id) => this.#give(id, reader)});
		const id = this.#last;
		const cancel = () => this.#port.postMessage({cancel: id});

		signal?.addEventListener("abort", cancel);
		if (signal?.aborted) cancel();
		try {
			return await answer;
		} finally {
			signal?.removeEventListener("abort", cancel);
			reader?.cancel().catch(() => {});
		}
	}

	/** The next piece of a body to the worker. */
	async #give(id, reader) {
		try {
			const {value} = reader ? await reader.read() : {};

			this.#port.postMessage({piece: value ?? null, of: id}, value ? [value.buffer] : []);
		} catch (error) {
			this.#port.postMessage({cancel: id});
			this.#waiting
				.get(id)
				?.reject(new Error(`The connection ended before the whole recording was there: ${error.message}.`));
		}
	}

	/** What came since; the buffer is the heap's from now on. @param {Uint8Array} bytes */
	feed(bytes) {
		return this.#call("feed", [bytes], [bytes.buffer]);
	}

	/** What lives at N times from FROM to TO; null where a newer such question overtook it. */
	timeline(filter, from, to, n) {
		return this.#call("timeline", [{filter, from, to, n}]);
	}

	/** By functions; null where a newer such question overtook it. */
	profile(question = {}) {
		return this.#call("profile", [question]);
	}

	leaks() {
		return this.#call("leaks", [{}]);
	}
}
