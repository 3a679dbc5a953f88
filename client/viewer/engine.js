/*
 * The page's side of the worker: requests, answers, the newest picture wins. README.md says what it offers.
 *
 * One engine is one worker with one trace; the wasm is compiled once and shared. Where there is no server (the self-contained file) Engine.open() is
 * given both: {worker: Worker, wasm: bytes}.
 */
const LOST = "The viewer's worker has ended; reload the page.";

let compiled = null;

function compileFetched() {
	compiled ??= WebAssembly.compileStreaming(fetch(new URL("mprof.wasm", import.meta.url))).catch((error) => {
		compiled = null;
		throw new Error(`mprof.wasm could not be loaded: ${error.message}. Reload the page.`);
	});
	return compiled;
}

/** Where VALUE of the ascending FROM lies in TO, which goes with it point by point. */
function interpolate(from, to, value) {
	let low = 0, high = from.length - 1;

	if (value <= from[low])
		return to[low];
	if (value >= from[high])
		return to[high];
	while (high - low > 1) {
		const middle = (low + high) >> 1;

		if (from[middle] <= value)
			low = middle;
		else
			high = middle;
	}
	return to[low] + ((to[high] - to[low]) * (value - from[low])) / (from[high] - from[low] || 1);
}

export class Engine {
	#port;
	#waiting = new Map(); // by id: {resolve, reject, progress, give}
	#last = 0;
	#frame = null; // {window, resolve, reject}: the newest picture that was asked for while one is made
	#drawing = false;

	/** @param {{worker?: Worker, wasm?: BufferSource | WebAssembly.Module}} options */
	static async open({worker, wasm} = {}) {
		const module = wasm instanceof WebAssembly.Module ? wasm : wasm ? await WebAssembly.compile(wasm) : await compileFetched();
		const engine = new Engine(worker ?? new Worker(new URL("worker.js", import.meta.url), {type: "module"}));

		engine.numbers = await engine.#call("open", [module]);
		return engine;
	}

	constructor(port) {
		this.#port = port;
		port.addEventListener("message", ({data}) => this.#take(data));
		port.addEventListener("error", () => this.#lose(LOST));
	}

	close() {
		this.#port.terminate();
		this.#lose("The trace was closed.");
	}

	#lose(sentence) {
		for (const {reject} of this.#waiting.values())
			reject(new Error(sentence));
		this.#waiting.clear();
		this.#frame?.reject(new Error(sentence));
		this.#frame = null;
	}

	#take({id, value, error, progress, want}) {
		const waiting = this.#waiting.get(id);

		if (!waiting)
			return;
		if (progress) {
			waiting.progress?.(progress);
		} else if (want !== undefined) {
			waiting.give(want);
		} else {
			this.#waiting.delete(id);
			if (error)
				waiting.reject(new Error(error));
			else
				waiting.resolve(value);
		}
	}

	#call(call, args, transfer = [], more = {}) {
		const id = ++this.#last;

		return new Promise((resolve, reject) => {
			this.#waiting.set(id, {resolve, reject, ...more, give: (i) => more.give?.(id, i)});
			this.#port.postMessage({id, call, args}, transfer);
		});
	}

	/**
	 * Load a trace, and forget the one before.
	 * @param {{name?: string, guest?: number, bytes?: Uint8Array | ArrayBuffer, blob?: Blob, response?: Response, offsetNs?: bigint,
	 * uncertaintyNs?: bigint}[]} sources the buffer of bytes is the engine's from now on
	 * @param {(progress: {phase: string, bytes: number, total: number | null}) => void} [progress]
	 * @param {AbortSignal} [signal]
	 */
	async load(sources, progress, signal) {
		const readers = sources.map(({response}) => response?.body?.getReader());
		const transfer = [];
		const plain = sources.map(({response, bytes, ...source}) => {
			if (response)
				return {...source, served: true, size: response.headers.has("content-encoding") ? null : Number(response.headers.get("content-length")) || null};
			if (source.blob)
				return {...source, size: source.blob.size};
			const view = bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes;

			transfer.push(view.buffer);
			return {...source, bytes: view, size: view.length};
		});
		const give = (id, i) => this.#give(id, readers[i]);
		const answer = this.#call("load", [plain, {}], transfer, {progress, give});
		const id = this.#last;
		const cancel = () => this.#port.postMessage({cancel: id});

		signal?.addEventListener("abort", cancel);
		if (signal?.aborted)
			cancel();
		try {
			return await answer;
		} finally {
			signal?.removeEventListener("abort", cancel);
			for (const reader of readers)
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
			this.#waiting.get(id)?.reject(new Error(`The connection ended before the whole trace was there: ${error.message}.`));
		}
	}

	/** A picture; null where a newer one was asked for before this one was begun. */
	frame(window) {
		return new Promise((resolve, reject) => {
			this.#frame?.resolve(null);
			this.#frame = {window, resolve, reject};
			this.#draw();
		});
	}

	async #draw() {
		const asked = this.#frame;

		if (this.#drawing || !asked)
			return;
		this.#frame = null;
		this.#drawing = true;
		try {
			const picture = await this.#call("draw", [asked.window]), {rows, ys} = picture.table;

			asked.resolve({
				...picture,
				window: asked.window,
				rowY: (row) => interpolate(rows, ys, row),
				rowAt: (y) => interpolate(ys, rows, y),
			});
		} catch (error) {
			asked.reject(error);
		}
		this.#drawing = false;
		this.#draw();
	}

	near(window, x, y, reach = 16) {
		return this.#call("near", [window, x, y, reach]);
	}

	focus(window, row, y) {
		return this.#call("focus", [window, row, y]);
	}

	find(text) {
		return this.#call("find", [text]);
	}

	family(thread) {
		return this.#call("family", [thread]);
	}

	counter(index, shown) {
		return this.#call("counter", [index, shown]);
	}

	density(from, to, n) {
		return this.#call("density", [from, to, n]);
	}

	thread(index) {
		return this.#call("thread", [index]);
	}

	why(thread = null) {
		return this.#call("why", [thread]);
	}

	/** The trace as Chrome's trace events, for Perfetto: the bytes of a JSON document. */
	chrome() {
		return this.#call("chrome", []);
	}

	stats(from, to) {
		return this.#call("stats", [from, to]);
	}
}
