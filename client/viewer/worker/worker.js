/*
 * The worker of traces: it holds one mprof.wasm, with a trace and maybe a second one in its memory.
 * Messages:
 *
 * In:
 * - {id, call, args, side}: a call about the trace (side 0) or the compared one (side 1);
 * - {cancel: id}: stop the load of the call ID at its next piece;
 * - {piece, of: id}: a piece of bytes that the load ID wanted; null: there are no more.
 *
 * Out:
 * - {id, value} or {id, error}: the answer of a call, or a sentence for the user;
 * - {id, progress}: progress of a load;
 * - {id, want: i}: the load wants the next piece of source I.
 *
 * Calls are answered in the order in which they come. Only while a load waits for a piece, other
 * calls are answered.
 */
import {clocksOf} from "./clocks.js";
import {Input, forLoading} from "./input.js";
import {Trace} from "./trace.js";
import {runtimeSources} from "./runtime.js";
import {unpacked} from "./unpack.js";
import {OutOfOrder, Wasm, asSentence} from "./wasm.js";

const NO_TRACE = "No trace is loaded.";

/** One load: reads the sources of a trace into a Trace, and builds its model. */
class Loading extends Input {
	/**
	 * ID and POST are those of Input.
	 * @param {Wasm} wasm
	 */
	constructor(id, post, wasm) {
		super(id, post);
		this.wasm = wasm;
	}

	/**
	 * Read SOURCE, which is number I, into the stream STREAM of TRACE. TOTAL is the number of bytes
	 * of all sources, or null if unknown.
	 */
	async #read(trace, stream, source, i, total) {
		const kept = source.bytes || source.blob ? null : []; // the page sends its pieces once
		let first = true;

		for await (const piece of unpacked(this.pieces(source, i))) {
			if (first && source.size && piece.length <= source.size) trace.expect(stream, source.size);
			first = false;
			kept?.push(piece);
			trace.feed(stream, piece);
			this.bytes += piece.length;
			this.report("reading", total);
		}
		this.report("reading", total);
		trace.end(stream);
		const again = kept ? {blob: new Blob(kept)} : source;
		trace.keep(stream, () => (kept ? this.pieces(again, i) : unpacked(this.pieces(again, i))));
	}

	/** Return SOURCES, with a source for each ring instead of a ring file of OCaml. */
	async #translated(sources) {
		const all = [];

		for (const [i, source] of sources.entries()) {
			const here = source.bytes || source.blob; // its bytes can be read twice
			const rings = here ? await runtimeSources(this.wasm, source, unpacked(this.pieces(source, i))) : null;

			this.check();
			all.push(...(rings ?? [source]));
		}
		return all;
	}

	/**
	 * Read all SOURCES into TRACE and build its model. REPEATABLE is the kind of stream (see
	 * Trace.stream()) for sources that do not come from the server.
	 */
	async #run(trace, sources, repeatable) {
		const total = sources.every(({size}) => size) ? sources.reduce((sum, {size}) => sum + size, 0) : null;
		const streams = sources.map((source) => trace.stream(source, source.served ? "SERVED" : repeatable));

		this.bytes = 0;
		for (const [i, source] of sources.entries()) await this.#read(trace, streams[i], source, i, total);
		this.report("building", total);
		trace.finish();
		return trace;
	}

	/**
	 * Read SOURCES into a new trace, which MAKE() returns. Return a Promise of it. Bytes are
	 * decoded as they come. If a stream turns out to be a copy of a ring whose packets are out of
	 * order, read everything again, and let the wasm keep all bytes and sort the packets before it
	 * decodes them. Bytes that a server sends can be read only once, so with such a source all
	 * bytes are kept from the start.
	 */
	async run(make, given) {
		const sources = await this.#translated(given);

		for (const kind of ["TWICE", "HELD"]) {
			const trace = make();

			try {
				return await this.#run(trace, sources, sources.some(({served}) => served) ? "HELD" : kind);
			} catch (error) {
				trace.close();
				if (!(error instanceof OutOfOrder)) throw error;
			}
		}
	}
}

/** The state of the worker, and its answers to messages. */
class Server {
	/** @param {(message: object, transfer?: Transferable[]) => void} post */
	constructor(post) {
		this.post = post;
		this.wasm = null;
		this.traces = [null, null];
		this.loading = null;
	}

	/** Prepare the wasm. Return its constants, by their names in C. */
	async open(module) {
		this.wasm = await Wasm.open(module);
		// The wasm runs a small trace, so that the browser optimises its code. This is done after
		// the answer was sent, while the page requests bytes.
		setTimeout(() => this.wasm.c.wasm_warm_up());
		return [this.wasm.numbers];
	}

	/** Free the trace of SIDE. With the trace (side 0) also free the compared one. */
	#forget(side) {
		for (const i of side ? [1] : [0, 1]) {
			this.traces[i]?.close();
			this.traces[i] = null;
		}
	}

	/**
	 * Load SOURCES as the trace of SIDE. ID is that of the call. A load that is under way is
	 * cancelled. Return a Promise of [summary].
	 */
	async load(id, side, sources, options) {
		const loading = new Loading(id, this.post, this.wasm);

		this.loading?.cancel();
		this.#forget(side);
		this.loading = loading;
		try {
			const trace = await loading.run(() => new Trace(this.wasm, options), sources);

			this.#forget(side);
			this.traces[side] = trace;
			return [trace.summary()];
		} finally {
			if (this.loading === loading) this.loading = null;
		}
	}

	/**
	 * Answer the call CALL about the trace of SIDE, a method of Trace. Return [answer, objects that
	 * are moved to the page instead of copied], a Promise.
	 */
	async #ask(call, args, side) {
		const trace = this.traces[side];

		if (!trace) throw new Error(NO_TRACE);
		const value = await trace[call](...args);

		switch (call) {
			case "draw":
				return [
					value,
					[
						value.marks,
						value.text.buffer,
						value.table.rows.buffer,
						value.table.ys.buffer,
						...(value.bitmap ? [value.bitmap] : []),
						...Object.values(value.areas).flatMap((it) => [
							it.marks,
							it.text.buffer,
							...(it.bitmap ? [it.bitmap] : []),
						]),
					],
				];
			case "find":
				return [value, [value.threads.buffer]];
			case "density":
				return [value, [value.buffer]];
			default:
				return [value, []];
		}
	}

	#diff() {
		const [bad, good] = this.traces;

		if (!bad || !good) throw new Error("A comparison needs two traces.");
		return [bad.diff(good)];
	}

	/** Answer a call. Return a Promise of [answer, objects to move]. */
	async #answer({id, call, args, side = 0}) {
		if (call === "open") return this.open(...args);
		if (call === "load") return this.load(id, side, ...args);
		if (call === "clocks") return [clocksOf(this.wasm, ...args)];
		if (call === "diff") return this.#diff();
		return this.#ask(call, args, side);
	}

	/** Handle MESSAGE from the page. */
	async take(message) {
		if (forLoading(message, this.loading)) return;
		try {
			const [value, transfer = []] = await this.#answer(message);

			this.post({id: message.id, value}, transfer);
		} catch (error) {
			this.post({id: message.id, error: asSentence(error).message});
		}
	}
}

/**
 * Answer the messages that come on PORT: that of the worker in a browser, or of a worker of node in
 * tests.
 */
function serve(port) {
	const server = new Server((message, transfer = []) => port.postMessage(message, transfer));

	port.addEventListener("message", (event) => server.take(event.data));
}

if (typeof self !== "undefined") serve(self);
