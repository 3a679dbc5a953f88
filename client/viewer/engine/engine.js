/*
 * The page's side of the worker: sends requests and receives answers. README.md documents the
 * calls. If several pictures are requested, only the newest request is answered with a picture.
 *
 * One engine is one worker with one trace. All engines share one compiled wasm. The single-file
 * page has no server, so it passes both to Engine.open(): {worker: Worker, wasm: bytes}.
 */
import {Port} from "./port.js";

const TURN_MS = 20; /* ms between two checks in retire(): the page may ask a further question after an answer */
/* Questions whose argument is the index of a thread, which is valid for one model only. */
const INDEXED = new Set(["thread", "family"]);
const ENDED = "The viewer's worker has ended; reload the page.";

/**
 * Return the value of TO at the place where VALUE is in FROM, an ascending array. Between two
 * entries, interpolate.
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
 * The questions about a trace. An Engine answers for its own trace, and engine.compared for the
 * second trace, to which the first is compared.
 */
export class Questions {
	#frame = null; // {window, look, resolve, reject}: the newest picture request, not sent yet
	#drawing = false;

	/** Reject the waiting requests with an Error of SENTENCE. */
	lose(sentence) {
		this.#frame?.reject(new Error(sentence));
		this.#frame = null;
	}

	/**
	 * Return a picture of WINDOW as marks, and with LOOK also as pixels. Return null if a newer
	 * request replaced this one.
	 */
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

	/** Show only threads that pass FILTER {types: [name], label, unresolved, depends: index or null}. */
	filter(filter) {
		return this.ask("filter", [filter]);
	}

	/** Return the names of the types of the trace's threads. */
	types() {
		return this.ask("types", []);
	}

	density(from, to, n) {
		return this.ask("density", [from, to, n]);
	}

	/** From TIME on draw stream STREAM (an index) as not proven. */
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
	#next = null; // the engine that replaced this one; set when this one has answered all questions

	/** @param {{worker?: Worker, wasm?: BufferSource | WebAssembly.Module}} options */
	static open(options = {}) {
		const {spare} = Engine;

		if (options.worker || options.wasm || !spare) return Engine.#open(options);
		Engine.spare = null;
		return spare;
	}

	/** Open an engine in advance; the first call of open() returns it. */
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
	 * Close this engine after it has answered the questions that wait, and those that the page
	 * asks because of these answers. NEXT is the engine that replaces it. Later questions are
	 * passed on to NEXT. A later question about a thread's index gets the answer null, because
	 * NEXT numbers its threads anew.
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
	 * Load a trace in place of the one before.
	 * @param {{name?: string, guest?: number, bytes?: Uint8Array | ArrayBuffer, blob?: Blob,
	 * response?: Response, offsetNs?: bigint, uncertaintyNs?: bigint}[]} sources the buffer of
	 * bytes is the engine's from now on
	 * @param {(progress: {phase: string, bytes: number, total: number | null}) => void} [progress]
	 * @param {AbortSignal} [signal]
	 */
	load(sources, progress, signal) {
		return this.#load(0, sources, progress, signal);
	}

	/**
	 * Load a second trace to compare the first one with: a run that went well. engine.compared
	 * answers questions about it.
	 */
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

	/**
	 * Return the differences between this trace, the bad one, and the second trace, the good
	 * one.
	 */
	diff() {
		return this.#port.call("diff", []);
	}

	#load(side, sources, progress, signal) {
		return this.#port.load(sources, (told) => [told, {}], {progress, signal, more: {side}});
	}
}
