/*
 * The page's side of a worker that has an mprof.wasm: calls and their answers, and the bytes that the worker asks for while it loads. worker.js and
 * heap-worker.js say what goes either way; the wasm is compiled once for all of them.
 */
let compiled = null;

function compileFetched() {
	compiled ??= WebAssembly.compileStreaming(fetch(new URL("../mprof.wasm", import.meta.url))).catch((error) => {
		compiled = null;
		throw new Error(`mprof.wasm could not be loaded: ${error.message}. Reload the page.`);
	});
	return compiled;
}

/** The module of what a page was given as wasm: its bytes, a module, or nothing. */
function moduleOf(wasm) {
	if (wasm instanceof WebAssembly.Module) return wasm;
	return wasm ? WebAssembly.compile(wasm) : compileFetched();
}

/** What the worker is told of a source; what of it goes over is added to TRANSFER. */
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
	#waiting = new Map(); // by id: {resolve, reject, progress, give}
	#last = 0;
	#lost = null; // why nothing is answered any more

	/**
	 * @param {Worker} worker
	 * @param {{ended: string, whole: string, lost?: (sentence: string) => void, told?: (message: object) => void}} hooks the sentence where the worker
	 * ends by itself; what is loaded, in words; called when nothing will be answered any more; and of each message that comes, before its call is
	 * answered
	 */
	constructor(worker, hooks) {
		this.#worker = worker;
		this.#hooks = hooks;
		worker.addEventListener("message", ({data}) => this.#take(data));
		worker.addEventListener("error", () => this.#lose(hooks.ended));
	}

	/** Give the worker its wasm: bytes, a module, or null: what the server has. The worker starts while that still comes. */
	async open(wasm) {
		return this.call("open", [await moduleOf(wasm)]);
	}

	/** Nothing is answered any more, which SENTENCE says to who waits. */
	close(sentence) {
		this.#worker.terminate();
		this.#lose(sentence);
	}

	#lose(sentence) {
		this.#lost = sentence;
		for (const {reject} of this.#waiting.values()) reject(new Error(sentence));
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

	/** MORE goes with the message; WAITING: {progress, give}, called for what comes before the answer. */
	call(call, args, {transfer = [], more = {}, ...waiting} = {}) {
		const id = ++this.#last;

		if (this.#lost) return Promise.reject(new Error(this.#lost));
		return new Promise((resolve, reject) => {
			this.#waiting.set(id, {resolve, reject, ...waiting});
			this.#worker.postMessage({id, call, args, ...more}, transfer);
		});
	}

	/**
	 * The call "load" of SOURCES, {bytes | blob | response} each; ARGS makes the call's arguments of what the worker is told of them.
	 * @param {(told: object[]) => any[]} args
	 * @param {{progress?: (progress: {phase: string, bytes: number, total: number | null}) => void, signal?: AbortSignal, more?: object}} options
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

	/** The next piece of a body to the worker. */
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
