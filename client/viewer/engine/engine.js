/*
 * The page's side of the worker: requests, answers, the newest picture wins. README.md says what it offers.
 *
 * One engine is one worker with one trace; the wasm is compiled once and shared. Where there is no server (the self-contained file) Engine.open() is
 * given both: {worker: Worker, wasm: bytes}.
 */
import {Port} from "./port.js";

const ENDED = "The viewer's worker has ended; reload the page.";

/** Where VALUE of the ascending FROM lies in TO, which goes with it point by point. */
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

/** What a trace is asked. An Engine is asked of its trace, engine.compared of the one that it is compared with. */
export class Questions {
	#frame = null; // {window, look, resolve, reject}: the newest picture that was asked for while one is made
	#drawing = false;

	/** Nothing will be answered any more. */
	lose(sentence) {
		this.#frame?.reject(new Error(sentence));
		this.#frame = null;
	}

	/** A picture, with LOOK as pixels too; null where a newer one was asked for before this one was begun. */
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

	counter(index, shown) {
		return this.ask("counter", [index, shown]);
	}

	density(from, to, n) {
		return this.ask("density", [from, to, n]);
	}

	/** What STREAM (its index) has from TIME on was not proven when it was copied: drawn as that. */
	tail(stream, time) {
		return this.ask("tail", [stream, time]);
	}

	thread(index) {
		return this.ask("thread", [index]);
	}

	why(thread = null) {
		return this.ask("why", [thread]);
	}

	/** The trace as Chrome's trace events, for Perfetto: the bytes of a JSON document. */
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

	/** @param {{worker?: Worker, wasm?: BufferSource | WebAssembly.Module}} options */
	static open(options = {}) {
		const {spare} = Engine;

		if (options.worker || options.wasm || !spare) return Engine.#open(options);
		Engine.spare = null;
		return spare;
	}

	/** Open one ahead of the first that will be asked for. */
	static warm() {
		Engine.spare ??= Engine.#open({});
		Engine.spare.catch(() => {}); // told to who asks for it
	}

	static spare = null; // an engine that nobody has asked for yet: a promise

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

	close() {
		this.#port.close("The trace was closed.");
	}

	/** A call of the trace, or of the one beside it. */
	ask(call, args, side = 0) {
		return this.#port.call(call, args, {more: {side}});
	}

	/**
	 * Load a trace, and forget the one before.
	 * @param {{name?: string, guest?: number, bytes?: Uint8Array | ArrayBuffer, blob?: Blob, response?: Response, offsetNs?: bigint,
	 * uncertaintyNs?: bigint}[]} sources the buffer of bytes is the engine's from now on
	 * @param {(progress: {phase: string, bytes: number, total: number | null}) => void} [progress]
	 * @param {AbortSignal} [signal]
	 */
	load(sources, progress, signal) {
		return this.#load(0, sources, progress, signal);
	}

	/** The same of a trace to compare it with, a run that went well; engine.compared answers for it. */
	compare(sources, progress, signal) {
		return this.#load(1, sources, progress, signal);
	}

	/**
	 * How the clocks of guests stand to dom0's.  Of each guest its streams, of each of those the stamps of its packets (multi-guest.js).
	 * @param {BigUint64Array[][]} guests
	 */
	clocks(guests) {
		return this.#port.call("clocks", [guests]);
	}

	/** What differs between the trace beside, the good one, and this one. */
	diff() {
		return this.#port.call("diff", []);
	}

	#load(side, sources, progress, signal) {
		return this.#port.load(sources, (told) => [told, {}], {progress, signal, more: {side}});
	}
}
