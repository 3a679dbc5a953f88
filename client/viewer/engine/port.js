/*
 * The page's side of a worker with mprof.wasm: calls, answers, and the bytes that the worker
 * requests while it loads. worker.js and heap-worker.js document the messages. The wasm is compiled
 * once for all workers.
 */
let compiled = null;

/**
 * The error that a file of the viewer did not come from the server. The request may succeed later.
 */
export class Missing extends Error {
	passing = true;
}

function compileFetched() {
	compiled ??= WebAssembly.compileStreaming(fetch(new URL("../mprof.wasm", import.meta.url))).catch((error) => {
		compiled = null;
		throw new Missing(`mprof.wasm could not be loaded: ${error.message}`);
	});
	return compiled;
}

/** Return the compiled module of WASM: bytes, a module, or null for the file on the server. */
function moduleOf(wasm) {
	if (wasm instanceof WebAssembly.Module) return wasm;
	return wasm ? WebAssembly.compile(wasm) : compileFetched();
}

/**
 * Return the description of a source in the form that the worker takes. Append the buffers to
 * transfer to TRANSFER.
 */
function told({response, bytes, ...source}, transfer) {
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
	#waiting = new Map(); // calls without an answer, by id: {resolve, reject, progress, give}
	#last = 0;
	#lost = null; // function that makes the error with which calls are rejected; null while the worker runs
	#quiet = false; // the user closed the port: calls get no answer

	/**
	 * hooks: ended is the sentence for calls when the worker ends by itself; whole names the
	 * loaded thing in a sentence; lost() is called when no more calls will be answered; told()
	 * is called with each message before its call is answered.
	 * @param {Worker} worker
	 * @param {{ended: string, whole: string, lost?: (sentence: string) => void, told?: (message:
	 * object) => void}} hooks
	 */
	constructor(worker, hooks) {
		this.#worker = worker;
		this.#hooks = hooks;
		worker.addEventListener("message", ({data}) => this.#take(data));
		/*
		 * An error event without a message means that the worker's script could not be
		 * loaded.
		 */
		worker.addEventListener("error", ({message}) =>
			message === undefined
				? this.#lose("The viewer's worker could not be loaded", Missing)
				: this.#lose(hooks.ended),
		);
	}

	/**
	 * Send the worker its wasm: bytes, a module, or null for the file on the server. The wasm
	 * is compiled while the worker starts.
	 */
	async open(wasm) {
		return this.call("open", [await moduleOf(wasm)]);
	}

	/**
	 * Terminate the worker. With a SENTENCE reject all waiting calls. Without one the waiting
	 * calls and all later ones never settle.
	 */
	close(sentence = null) {
		this.#worker.terminate();
		this.#quiet = sentence === null;
		if (this.#quiet) this.#waiting.clear();
		else this.#lose(sentence);
	}

	/** Whether all calls were answered. */
	get idle() {
		return !this.#waiting.size;
	}

	#lose(sentence, Kind = Error) {
		this.#lost = () => new Kind(sentence);
		for (const {reject} of this.#waiting.values()) reject(this.#lost());
		this.#waiting.clear();
		this.#hooks.lost?.(sentence);
	}

	#take(message) {
		const {id, value, error, progress, want} = message;
		const waiting = this.#waiting.get(id);

		this.#hooks.told?.(message);
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
	 * Send a call and return a Promise of its answer. MORE is added to the message, and
	 * TRANSFER has the buffers to transfer. The other options are progress(progress) and
	 * give(source), called before the answer comes.
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
	 * Send the call "load" for SOURCES, {bytes | blob | response} each. ARGS makes the call's
	 * arguments from their descriptions.
	 * @param {(told: object[]) => any[]} args
	 * @param {{progress?: (progress: {phase: string, bytes: number, total: number | null}) => void,
	 * signal?: AbortSignal, more?: object}} options
	 */
	async load(sources, args, {progress, signal, more}) {
		const readers = sources.map(({response}) => response?.body?.getReader());
		const transfer = [];
		const give = (id, i) => this.#give(id, readers[i]);
		const answer = this.call("load", args(sources.map((it) => told(it, transfer))), {
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

	/** Send the next piece of a body to the worker. */
	async #give(id, reader) {
		try {
			const {value} = reader ? await reader.read() : {};

			this.#worker.postMessage({piece: value ?? null, of: id}, value ? [value.buffer] : []);
		} catch (error) {
			const {whole} = this.#hooks;

			this.#worker.postMessage({cancel: id});
			this.#waiting
				.get(id)
				?.reject(new Error(`The connection ended before the whole ${whole} was there: ${error.message}.`));
		}
	}
}
