/*
 * The page's side of the worker of traces (worker/worker.js): it sends calls and receives answers.
 * README.md documents the calls.
 *
 * One engine is one worker, which holds one trace and maybe a second one to compare it with. All
 * engines share one compiled wasm. The single-file page has no server to load either from, so it
 * passes both: Engine.open({worker: Worker, wasm: bytes}).
 */
import {Port} from "./port.js";

/* Time between two checks of retire(), ms; an answer can make the page ask a further question. */
const TURN_MS = 20;
/* Calls whose argument is the index of a thread. An index is valid for one model only. */
const INDEXED = new Set(["thread", "family"]);
const ENDED = "The viewer's worker has ended; reload the page.";

/**
 * FROM and TO are arrays of equal length, and FROM ascends. Return the number that corresponds in
 * TO to VALUE in FROM. Between two entries, interpolate; outside of FROM, return the first or last
 * entry of TO.
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
 * The questions about one trace. Each returns a Promise of the answer. An Engine answers for its
 * own trace, and engine.compared for the trace that is compared with it. A subclass has ask(call,
 * args), which calls the worker.
 */
export class Questions {
	/*
	 * {window, look, resolve, reject}: the newest request of a picture, if it is not sent yet;
	 * null: none.
	 */
	#frame = null;
	#drawing = false; // true while the worker draws a picture

	/**
	 * Reject the request of a picture that is not sent yet. SENTENCE is the message of the Error.
	 */
	lose(sentence) {
		this.#frame?.reject(new Error(sentence));
		this.#frame = null;
	}

	/**
	 * Return a Promise of a picture of WINDOW, as marks. With LOOK {dark, ratio} the worker also
	 * paints the picture as pixels. If a newer request comes before this one is sent, the Promise
	 * is resolved with null.
	 */
	frame(window, look = null) {
		return new Promise((resolve, reject) => {
			this.#frame?.resolve(null);
			this.#frame = {window, look, resolve, reject};
			this.#draw();
		});
	}

	/** Send the newest request of a picture, unless the worker draws one now. */
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

	/**
	 * Return the index of the thread of WINDOW that is nearest to X, Y, or null if none is within
	 * REACH. X, Y and REACH are in pixels.
	 */
	near(window, x, y, reach = 16) {
		return this.ask("near", [window, x, y, reach]);
	}

	/**
	 * Return what the mark of KIND with the index ITEM stands for, as worker/pointed-marks.js says, or null.
	 * KIND is that of an arrow or a band (draw/marks.js), or "counter", at TIME (ns).
	 */
	pointed(kind, item, time) {
		return this.ask("pointed", [kind, item, time]);
	}

	/** Return the focus, a row, for which ROW is drawn at Y pixels. */
	focus(window, row, y) {
		return this.ask("focus", [window, row, y]);
	}

	/**
	 * Return {threads: Uint32Array}, the indices of the threads that TEXT finds, and highlight
	 * them.
	 */
	find(text) {
		return this.ask("find", [text]);
	}

	/**
	 * Highlight the thread and its aliases in place of other threads. If THREAD is null, highlight
	 * nothing.
	 */
	family(thread) {
		return this.ask("family", [thread]);
	}

	/**
	 * Draw only the threads that meet FILTER {types: [name], label, unresolved, depends}. An empty
	 * list or text, false and null are no condition. `depends` is the index of a thread.
	 */
	filter(filter) {
		return this.ask("filter", [filter]);
	}

	/** Return the names of the types of the trace's threads. */
	types() {
		return this.ask("types", []);
	}

	/**
	 * Return the number of events in each of N equal parts of the time FROM to TO (ns), a
	 * Uint32Array.
	 */
	density(from, to, n) {
		return this.ask("density", [from, to, n]);
	}

	/** Draw the stream STREAM, an index, as not proven from TIME (ns) on. */
	tail(stream, time) {
		return this.ask("tail", [stream, time]);
	}

	/** Return the description of the thread INDEX, or null if there is no such thread. */
	thread(index) {
		return this.ask("thread", [index]);
	}

	/**
	 * Return why THREAD waits; null asks for all threads that should have been resolved and never
	 * were.
	 */
	why(thread = null) {
		return this.ask("why", [thread]);
	}

	/**
	 * Return the trace as Chrome's trace events, a JSON document that Perfetto opens: {blob, refused}. NAME is the name of the trace in it.
	 * REFUSED is the number of events whose threads share one track, or whose counters are left out, since there are too many.
	 */
	chrome(name) {
		return this.ask("chrome", [name]);
	}

	/** Return the statistics of the time FROM to TO (ns). */
	stats(from, to) {
		return this.ask("stats", [from, to]);
	}

	/**
	 * Return the threads of an area in groups of one label and type, as schema/answers/area.json says,
	 * with BigInts for times. PLACE is {from, to, firstRow, lastRow}; without rows it is all rows.
	 * GROUPS has the first MOST groups that contain TEXT, sorted by KEY, a member of a group.
	 */
	groups(place, {key, descending, text, most}) {
		return this.ask("groups", [place, {key, descending, text, most}]);
	}

	/**
	 * Return the threads of GROUP, a member of an answer of groups() for the same PLACE, that waited
	 * longest, as the threads of schema/answers/area.json.
	 */
	groupThreads(place, group) {
		return this.ask("groupThreads", [place, group]);
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
	#next = null; // the engine that later questions go to; null until retire() has closed this one

	/**
	 * Return a Promise of an engine without a trace. Reject with a sentence for the user if the
	 * worker or the wasm cannot be loaded.
	 * @param {{worker?: Worker, wasm?: BufferSource | WebAssembly.Module}} options
	 */
	static open(options = {}) {
		const {spare} = Engine;

		if (options.worker || options.wasm || !spare) return Engine.#open(options);
		Engine.spare = null;
		return spare;
	}

	/**
	 * Open an engine in advance, so that its worker starts early. The next call of open() without
	 * options returns it.
	 */
	static warm() {
		Engine.spare ??= Engine.#open({});
		Engine.spare.catch(() => {}); // open() gives the error to its caller
	}

	static spare = null; // Promise of the engine of warm() that nobody uses yet; null: none

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

	/** Only open() calls this. */
	constructor(worker) {
		super();
		this.compared = new Compared(this);
		this.#port = new Port(worker, {
			ended: ENDED,
			whole: "trace",
			lost: (sentence) => [this, this.compared].forEach((it) => it.lose(sentence)),
		});
	}

	/**
	 * Terminate the worker. Open questions and later ones get no answer: their Promises never
	 * settle.
	 */
	close() {
		this.#port.close();
	}

	/**
	 * Close this engine when it has answered all open questions, and the questions that the page
	 * asks because of these answers. NEXT is the engine with the newer model, to which later
	 * questions go. A later question with the index of a thread is answered null, because NEXT has
	 * other indices.
	 */
	retire(next) {
		const rest = () => {
			if (!this.#port.idle) return setTimeout(rest, TURN_MS);
			this.#next = next;
			this.#port.close();
		};

		setTimeout(rest, TURN_MS);
	}

	/**
	 * Call the worker for the trace (SIDE 0) or for the compared one (SIDE 1). Return a Promise of
	 * the answer.
	 */
	ask(call, args, side = 0) {
		if (this.#next) return INDEXED.has(call) ? Promise.resolve(null) : this.#next.ask(call, args, side);
		return this.#port.call(call, args, {more: {side}});
	}

	/**
	 * Load a trace in place of the one that is loaded. Return a Promise of its summary (README.md).
	 * Reject with a sentence for the user. SIGNAL cancels the load.
	 * @param {{name?: string, guest?: number, bytes?: Uint8Array | ArrayBuffer, blob?: Blob,
	 *   response?: Response, offsetNs?: bigint, uncertaintyNs?: bigint}[]} sources one for each
	 *   stream. The engine takes the buffer of BYTES away from the caller. OFFSETNS is added to the
	 *   times of the stream
	 * @param {(progress: {phase: string, bytes: number, total: number | null}) => void} [progress]
	 * @param {AbortSignal} [signal]
	 */
	load(sources, progress, signal) {
		return this.#load(0, sources, progress, signal);
	}

	/**
	 * Load a second trace, of a run that went well, to compare the first one with. Arguments and
	 * result are those of load(). engine.compared answers questions about it.
	 */
	compare(sources, progress, signal) {
		return this.#load(1, sources, progress, signal);
	}

	/**
	 * Return how far the clocks of guests are from dom0's: {realtime, guests: [{known, offsetNs,
	 * uncertaintyNs | null, wall}]}. WALL is {known, offsetNs, uncertaintyNs | null} for dom0's
	 * wall clock. The other members are for dom0's monotonic clock, or for its wall clock too if
	 * REALTIME is true.
	 * @param {BigUint64Array[][]} guests for each guest and stream, the stamps of its packets
	 *   (trace/stamps.js)
	 * @param {boolean[]} local for each guest, true if it is a program of this host, which may use
	 *   the host's clock
	 */
	clocks(guests, local = []) {
		return this.#port.call("clocks", [guests, local]);
	}

	/**
	 * Return the differences between the first trace, in which something went wrong, and the second
	 * one, which went well. README.md lists the members.
	 */
	diff() {
		return this.#port.call("diff", []);
	}

	#load(side, sources, progress, signal) {
		return this.#port.load(sources, (parts) => [parts, {}], {progress, signal, more: {side}});
	}
}
