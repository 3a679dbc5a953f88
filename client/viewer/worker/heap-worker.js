/*
 * The worker of memory profiles: one mprof.wasm with one recording in its memory.
 *
 * In:  {id, call: "open" | "load" | "feed" | "timeline" | "profile" | "leaks", args}
 *      {cancel: id}       stop the load ID at its next piece
 *      {piece, of: id}    bytes that the load ID requested; null: the end
 * Out: {id, value, names}, {id, error}; during a load {id, progress}, and {id, want: 0}: more
 * bytes are wanted.
 *      NAMES are the new texts that the answer refers to.
 *
 * Work is done in turns of a few milliseconds, and messages are handled between two turns. A new
 * question replaces an older question of the same kind, which gets the answer null.
 */
import {Answers} from "./heap-answers.js";
import {infoOf} from "./heap-info.js";
import {Names} from "./heap-names.js";
import {Input, forLoading} from "./input.js";
import {Filter, Recording} from "./recording.js";
import {unpacked} from "./unpack.js";
import {Wasm, asSentence} from "./wasm.js";

const TURN_MS = 12;
const PIECE_BYTES = 1 << 20;
const POINTS_MAX = 65536;
const NONE = "No memory profile is loaded.";
const FOREIGN = "This is no memory profile: it does not begin as a memtrace stream does.";

/** Waits until the messages that have already come are handled. */
class Breath {
	#channel = new MessageChannel();
	#waiting = [];

	constructor() {
		this.#channel.port1.onmessage = () => this.#waiting.shift()?.();
	}

	take() {
		return new Promise((resolve) => {
			this.#waiting.push(resolve);
			this.#channel.port2.postMessage(0);
		});
	}
}

/** Loads one source: adds its bytes to the recording and counts them. */
class Loading extends Input {
	constructor(id, server) {
		super(id, server.post);
		this.server = server;
	}

	/**
	 * Yield the pieces of SOURCE. Large pieces are split, so that each one is handled in one or two
	 * turns.
	 */
	async *pieces(source, i) {
		for await (const piece of super.pieces(source, i))
			for (let at = 0; at < piece.length; at += PIECE_BYTES) yield piece.subarray(at, at + PIECE_BYTES);
	}

	async #follow(recording) {
		while (!recording.follow(performance.now() + TURN_MS)) {
			await this.server.breath.take();
			this.check();
		}
	}

	async run(recording, source) {
		for await (const piece of unpacked(this.pieces(source, 0))) {
			recording.add(piece);
			this.bytes += piece.length;
			await this.#follow(recording);
			this.report("reading", source.size);
			await this.server.breath.take();
		}
		this.report("building", source.size);
		if (!source.growing) recording.end();
		await this.#follow(recording);
		if (!source.growing && !recording.began) throw new Error(FOREIGN);
	}
}

class Server {
	/** @param {(message: object, transfer?: Transferable[]) => void} post */
	constructor(post) {
		this.post = post;
		this.names = new Names();
		this.breath = new Breath();
		this.recording = null;
		this.loading = null;
		this.feeds = []; // ids of the calls of feed() whose bytes are not counted yet
		this.questions = new Map(); // kind -> {id, args} of the newest question of this kind
		this.working = false;
	}

	#answer(id, value, transfer) {
		this.post({id, value, names: this.names.fresh()}, transfer);
	}

	#fail(id, error) {
		this.post({id, error: asSentence(error).message});
	}

	/** Answer all waiting questions by null, and all calls of feed() by an error. */
	#forget() {
		for (const id of this.feeds.splice(0)) this.#fail(id, new Error(NONE));
		for (const {id} of this.questions.values()) this.#answer(id, null);
		this.questions.clear();
		this.recording?.close();
		this.recording = null;
	}

	async #load(id, source) {
		const loading = new Loading(id, this);

		this.loading?.cancel();
		this.#forget();
		this.loading = loading;
		const recording = new Recording(this.wasm, source);

		try {
			await loading.run(recording, source);
			if (this.loading !== loading) throw new Error("Another recording was loaded meanwhile.");
			this.recording = recording;
			return infoOf(recording, this.names);
		} catch (error) {
			recording.close();
			throw error;
		} finally {
			if (this.loading === loading) this.loading = null;
		}
	}

	#ask(kind, id, args) {
		const older = this.questions.get(kind);

		if (older) this.#answer(older.id, null);
		this.questions.delete(kind); // A newer question goes to the end of the queue.
		this.questions.set(kind, {id, args});
		this.#work();
	}

	async #work() {
		if (this.working) return;
		this.working = true;
		while (this.recording && (this.feeds.length || this.questions.size)) {
			try {
				this.#turn(performance.now() + TURN_MS);
			} catch (error) {
				for (const id of this.feeds.splice(0)) this.#fail(id, error);
				for (const {id} of this.questions.values()) this.#fail(id, error);
				this.questions.clear();
			}
			await this.breath.take();
		}
		this.working = false;
	}

	#turn(time) {
		if (!this.recording.follow(time)) return;
		for (const id of this.feeds.splice(0)) this.#answer(id, infoOf(this.recording, this.names));
		const [next] = this.questions;

		if (next) this.#answerQuestion(...next, time);
	}

	#answerQuestion(kind, {id, args}, time) {
		try {
			const answered = this[kind](args, time);

			if (!answered) return;
			this.#answer(id, answered.value, answered.transfer);
		} catch (error) {
			this.#fail(id, error);
		}
		this.questions.delete(kind);
	}

	// Questions. Each returns {value, transfer}, or null if TIME came before the answer was complete.

	timeline({filter, from, to, n}, time) {
		const points = Math.max(1, Math.min(Math.round(n), POINTS_MAX));
		const start = Math.max(0, Math.round(from));
		const end = Math.max(start, Math.round(to));
		const view = this.recording.of(filter, [BigInt(start), BigInt(end - start), points]);

		if (!view.step(time)) return null;
		const value = new Answers(this.recording.wasm, this.names, view.at).line(start, end, points);

		return {value, transfer: [value.bytes.buffer]};
	}

	profile({filter, hidden, ...options}, time) {
		const view = this.recording.of(filter);

		if (!view.step(time)) return null;
		const hiding = hidden?.length ? new Filter(this.recording.wasm, {}, hidden) : null;

		try {
			const value = new Answers(this.recording.wasm, this.names, view.at).byFunctions(options, hiding);
			const columns = [value.callees, value.callers].flatMap((tree) =>
				Object.values(tree).filter(ArrayBuffer.isView),
			);

			return {value, transfer: columns.map((it) => it.buffer)};
		} finally {
			hiding?.close();
		}
	}

	leaks() {
		return {value: new Answers(this.recording.wasm, this.names, this.recording.all).leaks(), transfer: []};
	}

	// Messages.

	async #call({id, call, args}) {
		if (call === "open") {
			this.wasm = await Wasm.open(args[0]);
			this.#answer(id, null);
		} else if (call === "load") {
			this.#answer(id, await this.#load(id, args[0]));
		} else if (!this.recording) {
			throw new Error(NONE);
		} else if (call === "feed") {
			this.recording.add(args[0]);
			this.feeds.push(id);
			this.#work();
		} else {
			this.#ask(call, id, args[0]);
		}
	}

	async take(message) {
		if (forLoading(message, this.loading)) return;
		try {
			await this.#call(message);
		} catch (error) {
			this.#fail(message.id, error);
		}
	}
}

/** Run the worker on PORT: in a browser, or in a worker of node for tests. */
function serve(port) {
	const server = new Server((message, transfer = []) => port.postMessage(message, transfer));

	port.addEventListener("message", (event) => server.take(event.data));
}

if (typeof self !== "undefined") serve(self);
