/*
 * The connection to a worker with mprof.wasm: it sends calls, matches answers to them, and sends
 * the bytes that the worker wants while it loads. worker.js and heap-worker.js document the
 * messages.
 */
/* Promise of the compiled mprof.wasm of the server, for all workers; null before the first use. */
let compiled = null;

/** A file of the viewer, or the rest of a body, did not come from the server. The same request may succeed later. */
export class Missing extends Error {
	passing = true;
}

/**
 * Return a Promise of the compiled mprof.wasm of the server. After a failure the next call tries
 * again.
 */
function compileFetched() {
	compiled ??= WebAssembly.compileStreaming(fetch(new URL("../mprof.wasm", import.meta.url))).catch((error) => {
		compiled = null;
		throw new Missing(`mprof.wasm could not be loaded: ${error.message}`);
	});
	return compiled;
}

/**
 * Return WASM as a module, or a Promise of one. WASM is bytes, a module, or null for the file on
 * the server.
 */
function moduleOf(wasm) {
	if (wasm instanceof WebAssembly.Module) return wasm;
	return wasm ? WebAssembly.compile(wasm) : compileFetched();
}

/**
 * Return the description of a source {response | blob | bytes, …} as the worker takes it. SIZE is
 * its number of bytes, or null if that is unknown. Add the buffer of BYTES to TRANSFER. A response
 * stays here: the worker asks for its pieces.
 */
function packed({response, bytes, ...source}, transfer) {
	if (response) {
		const coded = response.headers.has("content-encoding");

		return {...source, served: true, size: coded ? null : Number(response.headers.get("content-length")) || null};
	}
	if (source.blob) return {...source, size: source.blob.size};
	const view = bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes;

	transfer.push(view.buffer);
	return {...source, bytes: view, size: view.length};
}

export class Port {
	#worker;
	#hooks;
	#waiting = new Map(); // id -> {resolve, reject, progress, give} of a call without an answer
	#last = 0; // id of the last call
	#lost = null; // null while the worker runs; then a function that makes the error for calls
	#quiet = false; // true: the page closed the worker, so calls get no answer

	/**
	 * hooks:
	 * - ended: the sentence with which calls are rejected if the worker ends by itself;
	 * - whole: what the worker loads, as a word in a sentence: "trace";
	 * - lost(sentence): called when the worker has ended by itself;
	 * - received(message): called with each message of the worker, before its call is answered.
	 * @param {Worker} worker
	 * @param {{ended: string, whole: string, lost?: (sentence: string) => void, received?: (message:
	 *   object) => void}} hooks
	 */
	constructor(worker, hooks) {
		this.#worker = worker;
		this.#hooks = hooks;
		worker.addEventListener("message", ({data}) => this.#take(data));
		/*
		 * An error event without a message says that the browser could not load the worker's
		 * script.
		 */
		worker.addEventListener("error", ({message}) =>
			message === undefined
				? this.#lose("The viewer's worker could not be loaded", Missing)
				: this.#lose(hooks.ended),
		);
	}

	/**
	 * Send the worker its WASM: bytes, a module, or null for the file on the server. The worker
	 * starts while the wasm is compiled. Return a Promise that resolves when the worker is ready.
	 */
	async open(wasm) {
		return this.call("open", [await moduleOf(wasm)]);
	}

	/**
	 * Terminate the worker. With a SENTENCE, reject all open calls with it. Without one, the
	 * Promises of open calls and of later ones never settle.
	 */
	close(sentence = null) {
		this.#worker.terminate();
		this.#quiet = sentence === null;
		if (this.#quiet) this.#waiting.clear();
		else this.#lose(sentence);
	}

	/** True if no call waits for an answer. */
	get idle() {
		return !this.#waiting.size;
	}

	/** Reject all open and later calls with a KIND of error, whose message is SENTENCE. */
	#lose(sentence, Kind = Error) {
		this.#lost = () => new Kind(sentence);
		for (const {reject} of this.#waiting.values()) reject(this.#lost());
		this.#waiting.clear();
		this.#hooks.lost?.(sentence);
	}

	/** Handle MESSAGE from the worker: progress, a request of bytes, or an answer. */
	#take(message) {
		const {id, value, error, progress, want} = message;
		const waiting = this.#waiting.get(id);

		this.#hooks.received?.(message);
		if (!waiting) return;
		if (progress) {
			waiting.progress?.(progress);
		} else if (want !== undefined) {
			waiting.give?.(id, want);
		} else {
			this.#waiting.delete(id);
			if (error) waiting.reject(new Error(error));
			else waiting.resolve(value);
		}
	}

	/**
	 * Send the call CALL with the list ARGS. Return a Promise of its answer. MORE has further
	 * members of the message. TRANSFER are the objects that the worker takes away from the page.
	 * Other options are functions for messages that come before the answer: progress(progress), and
	 * give(id, i), which sends the next piece of source I.
	 */
	call(call, args, {transfer = [], more = {}, ...waiting} = {}) {
		const id = ++this.#last;

		if (this.#quiet) return new Promise(() => {});
		if (this.#lost) return Promise.reject(this.#lost());
		return new Promise((resolve, reject) => {
			this.#waiting.set(id, {resolve, reject, ...waiting});
			this.#worker.postMessage({id, call, args, ...more}, transfer);
		});
	}

	/**
	 * Send the call "load" for SOURCES. ARGS(parts) makes the list of arguments from the
	 * descriptions PARTS of the sources. Return a Promise of the answer.
	 * @param {{bytes?: Uint8Array, blob?: Blob, response?: Response}[]} sources
	 * @param {(parts: object[]) => any[]} args
	 * @param {{progress?: (progress: {phase: string, bytes: number, total: number | null}) => void,
	 *   signal?: AbortSignal, more?: object}} options
	 */
	async load(sources, args, {progress, signal, more}) {
		const readers = sources.map(({response}) => response?.body?.getReader());
		const transfer = [];
		const give = (id, i) => this.#give(id, readers[i]);
		const answer = this.call("load", args(sources.map((it) => packed(it, transfer))), {
			transfer,
			more,
			progress,
			give,
		});
		const id = this.#last;
		const cancel = () => this.#worker.postMessage({cancel: id});

		signal?.addEventListener("abort", cancel);
		if (signal?.aborted) cancel();
		try {
			return await answer;
		} finally {
			signal?.removeEventListener("abort", cancel);
			for (const reader of readers) reader?.cancel().catch(() => {});
		}
	}

	/**
	 * Send the next piece of a response's body to the load ID; null if there is none. If the
	 * connection fails, reject the load.
	 */
	async #give(id, reader) {
		try {
			const {value} = reader ? await reader.read() : {};

			this.#worker.postMessage({piece: value ?? null, of: id}, value ? [value.buffer] : []);
		} catch (error) {
			const {whole} = this.#hooks;

			this.#worker.postMessage({cancel: id});
			this.#waiting
				.get(id)
				?.reject(new Missing(`The connection ended before the whole ${whole} was there: ${error.message}.`));
		}
	}
}
