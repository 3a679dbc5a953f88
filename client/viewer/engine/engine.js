/*
 * The page's side of the worker: requests and answers. Only the newest picture request is answered.
 * README.md documents it.
 *
 * One engine is one worker with one trace. All engines share one compiled wasm. Without a server
 * (the single-file page) Engine.open() takes both: {worker: Worker, wasm: bytes}.
 */
import {Port} from "./port.js";

const TURN_MS = 20; /* delay until the questions that follow an answer are asked */
const INDEXED = new Set(["thread", "family"]); /* questions with a thread's index, which is of one model */
const ENDED = "The viewer's worker has ended; reload the page.";

/**
 * Return the value in TO that corresponds to VALUE in the ascending FROM, linearly interpolated.
 */
function interpolate(from, to, value) {
	let low = 0,
		high = from.length - 1;

	if (value <= from[low]) return to[low];
	if (value >= from[high]) return to[high];
	while (high - low > 1) {
		const middle = (low + high) >> 1;

		if (from[middle] <= value) low = middle;
		else high = middle;
	}
	return to[low] + ((to[high] - to[low]) * (value - from[low])) / (from[high] - from[low] || 1);
}

/**
 * The questions about a trace. An Engine asks about its own trace, engine.compared about the one it
 * is compared with.
 */
export class Questions {
	#frame = null; // {window, look, resolve, reject}: the newest picture request that waits
	#drawing = false;

	/** Reject all waiting requests with SENTENCE. */
	lose(sentence) {
		this.#frame?.reject(new Error(sentence));
		this.#frame = null;
	}

	/** Return a picture, with LOOK also as pixels; null if a newer request came first. */
	frame(window, look = null) {
		return new Promise((resolve, reject) => {
			this.#frame?.resolve(null);
			this.#frame = {window, look, resolve, reject};
			this.#draw();
		});
	}

	async #draw() {
		const asked = this.#frame;

		if (this.#drawing || !asked) return;
		this.#frame = null;
		this.#drawing = true;
		try {
			const picture = await this.ask("draw", [asked.window, asked.look]),
				{rows, ys} = picture.table;

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
		return this.ask("near", [window, x, y, reach]);
	}

	focus(window, row, y) {
		return this.ask("focus", [window, row, y]);
	}

	find(text) {
		return this.ask("find", [text]);
	}

	family(thread) {
		return this.ask("family", [thread]);
	}

	density(from, to, n) {
		return this.ask("density", [from, to, n]);
	}

	/** Draw stream STREAM (an index) from TIME on as not proven. */
	tail(stream, time) {
		return this.ask("tail", [stream, time]);
	}

	thread(index) {
		return this.ask("thread", [index]);
	}

	why(thread = null) {
		return this.ask("why", [thread]);
	}

	/**
	 * Return the trace as Chrome's trace events, the bytes of a JSON document that Perfetto opens.
	 */
	chrome() {
		return this.ask("chrome", []);
	}

	stats(from, to) {
		return this.ask("stats", [from, to]);
	}
}

class Compared extends Questions {
	constructor(engine) {
		super();
		this.ask = (call, args) => engine.ask(call, args, 1);
	}
}

export class Engine extends Questions {
	#port;
	#next = null; // the engine that replaced this one, once this one has answered all questions

	/** @param {{worker?: Worker, wasm?: BufferSource | WebAssembly.Module}} options */
	static open(options = {}) {
		const {spare} = Engine;

		if (options.worker || options.wasm || !spare) return Engine.#open(options);
		Engine.spare = null;
		return spare;
	}

	/** Open the first engine before it is requested. */
	static warm() {
		Engine.spare ??= Engine.#open({});
		Engine.spare.catch(() => {}); // reported to the caller of open()
	}

	static spare = null; // promise of an engine that is not used yet

	static async #open({worker, wasm = null}) {
		const engine = new Engine(
			worker ?? new Worker(new URL("../worker/worker.js", import.meta.url), {type: "module"}),
		);

		try {
			engine.numbers = await engine.#port.open(wasm);
		} catch (error) {
			engine.close();
			throw error;
		}
		return engine;
	}

	constructor(worker) {
		super();
		this.compared = new Compared(this);
		this.#port = new Port(worker, {
			ended: ENDED,
			whole: "trace",
			lost: (sentence) => [this, this.compared].forEach((it) => it.lose(sentence)),
		});
	}

	/** Terminate the worker. Questions that wait, and later ones, are dropped: they never settle. */
	close() {
		this.#port.close();
	}

	/**
	 * Close the engine once it has answered the questions that wait, and those that follow from the
	 * answers. NEXT replaces it: it answers later questions, and says of a thread by index that
	 * there is none.
	 */
	retire(next) {
		const rest = () => {
			if (!this.#port.idle) return setTimeout(rest, TURN_MS);
			this.#next = next;
			this.#port.close();
		};

		setTimeout(rest, TURN_MS);
	}

	/** Call the worker for this trace (SIDE 0) or for the compared one (1). */
	ask(call, args, side = 0) {
		if (this.#next) return INDEXED.has(call) ? Promise.resolve(null) : this.#next.ask(call, args, side);
		return this.#port.call(call, args, {more: {side}});
	}

	/**
	 * Load a trace, and forget the one before.
	 * @param {{name?: string, guest?: number, bytes?: Uint8Array | ArrayBuffer, blob?: Blob,
	 * response?: Response, offsetNs?: bigint, uncertaintyNs?: bigint}[]} sources the buffer of
	 * bytes is the engine's from now on
	 * @param {(progress: {phase: string, bytes: number, total: number | null}) => void} [progress]
	 * @param {AbortSignal} [signal]
	 */
	load(sources, progress, signal) {
		return this.#load(0, sources, progress, signal);
	}

	/** Load a trace to compare with, a run that went well. engine.compared answers for it. */
	compare(sources, progress, signal) {
		return this.#load(1, sources, progress, signal);
	}

	/**
	 * Return how the clocks of guests differ from dom0's. GUESTS has the packet stamps of each
	 * stream of each guest (multi-guest.js).
	 * @param {BigUint64Array[][]} guests
	 * @param {boolean[]} local for each guest, whether it is a program of this host, which may use the
	 * host's clock
	 */
	clocks(guests, local = []) {
		return this.#port.call("clocks", [guests, local]);
	}

	/** Return the differences between the compared trace, the good one, and this one. */
	diff() {
		return this.#port.call("diff", []);
	}

	#load(side, sources, progress, signal) {
		return this.#port.load(sources, (told) => [told, {}], {progress, signal, more: {side}});
	}
}
