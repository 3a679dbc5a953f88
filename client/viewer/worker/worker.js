/*
 * The worker of traces: one mprof.wasm with the trace in its memory.
 *
 * In:  {id, call, args, side}   a call of the trace (side 0), or of the compared one (1)
 *      {cancel: id}             stop the load ID at its next piece
 *      {piece, of: id}          bytes that the load ID requested; null: the end
 * Out: {id, value}, {id, error}; during a load {id, progress}, and {id, want: i}: more bytes of
 * source I are wanted
 *
 * Calls are handled in order. Only during a load, other calls are handled between two pieces.
 */
import {chromeBytes} from "./chrome.js";
import {clocksOf} from "./clocks.js";
import {Input, forLoading} from "./input.js";
import {Trace} from "./trace.js";
import {unpacked} from "./unpack.js";
import {OutOfOrder, Wasm, asSentence} from "./wasm.js";

const NO_TRACE = "No trace is loaded.";

/** Loads the sources into a Trace and finishes it. */
class Loading extends Input {
	async #read(trace, stream, source, i, total) {
		let first = true;

		for await (const piece of unpacked(this.pieces(source, i))) {
			if (first && source.size && piece.length <= source.size) trace.expect(stream, source.size);
			first = false;
			trace.feed(stream, piece);
			this.bytes += piece.length;
			this.report("reading", total);
		}
		this.report("reading", total);
		trace.end(stream);
	}

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
	 * Load SOURCES into a trace that MAKE() returns. Sources are read without a buffer at first. If
	 * a stream is out of order, as that of a ring that has wrapped, everything is read again with a
	 * buffer.
	 */
	async run(make, sources) {
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

class Server {
	/** @param {(message: object, transfer?: Transferable[]) => void} post */
	constructor(post) {
		this.post = post;
		this.wasm = null;
		this.traces = [null, null];
		this.loading = null;
	}

	async open(module) {
		this.wasm = await Wasm.open(module);
		// The answer is sent first. The wasm warms up while the page requests bytes.
		setTimeout(() => this.wasm.c.wasm_warm_up());
		return [this.wasm.numbers];
	}

	/** Close the trace of SIDE. A new trace (side 0) also closes the compared one. */
	#forget(side) {
		for (const i of side ? [1] : [0, 1]) {
			this.traces[i]?.close();
			this.traces[i] = null;
		}
	}

	async load(id, side, sources, options) {
		const loading = new Loading(id, this.post);

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

	/** Return [the answer of a call, the buffers to transfer]. */
	#ask(call, args, side) {
		const trace = this.traces[side];

		if (!trace) throw new Error(NO_TRACE);
		if (call === "chrome") {
			const bytes = chromeBytes(trace);

			return [bytes, [bytes.buffer]];
		}
		const value = trace[call](...args);

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

	async #answer({id, call, args, side = 0}) {
		if (call === "open") return this.open(...args);
		if (call === "load") return this.load(id, side, ...args);
		if (call === "clocks") return [clocksOf(this.wasm, ...args)];
		if (call === "diff") return this.#diff();
		return this.#ask(call, args, side);
	}

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

/** Run the worker on PORT: in a browser, or in a worker of node for tests. */
function serve(port) {
	const server = new Server((message, transfer = []) => port.postMessage(message, transfer));

	port.addEventListener("message", (event) => server.take(event.data));
}

if (typeof self !== "undefined") serve(self);
