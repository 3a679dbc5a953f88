/*
 * The worker of memory profiles: it holds one mprof.wasm, with one recording in its memory.
 * Messages:
 *
 * In:
 * - {id, call, args}: a call: "open", "load", "feed", "timeline", "profile" or "leaks";
 * - {cancel: id}: stop the load of the call ID at its next piece;
 * - {piece, of: id}: a piece of bytes that the load ID wanted; null: there are no more.
 *
 * Out:
 * - {id, value, names}: the answer of a call; NAMES are the names of functions that the page does
 *   not have yet;
 * - {id, error}: a sentence for the user;
 * - {id, progress}: progress of a load;
 * - {id, want: 0}: the load wants the next piece.
 *
 * The worker works in turns of a few milliseconds and handles messages between them. A new question
 * takes the place of an older one of the same kind, which is answered null.
 */
import {Answers} from "./heap-answers.js";
import {infoOf} from "./heap-info.js";
import {Names} from "./heap-names.js";
import {Input, forLoading} from "./input.js";
import {Filter, Recording} from "./recording.js";
import {unpacked} from "./unpack.js";
import {Wasm, asSentence} from "./wasm.js";

const TURN_MS = 12; /* longest work between two messages, ms */
const PIECE_BYTES = 1 << 20; /* most bytes that are added in one turn */
const POINTS_MAX = 65536; /* most times of an answer of timeline() */
const NONE = "No memory profile is loaded.";
const FOREIGN = "This is no memory profile: it does not begin as a memtrace stream does.";

/**
 * Lets the worker handle the messages that have come already: a message that it sends to itself
 * comes after them.
 */
class Breath {
	#channel = new MessageChannel();
	#waiting = [];

	constructor() {
		this.#channel.port1.onmessage = () => this.#waiting.shift()?.();
	}

	/** Return a Promise that resolves after these messages. */
	take() {
		return new Promise((resolve) => {
			this.#waiting.push(resolve);
			this.#channel.port2.postMessage(0);
		});
	}
}

/** One load: adds the bytes of a source to a recording, and lets the recording's pass read them. */
class Loading extends Input {
	constructor(id, server) {
		super(id, server.post);
		this.server = server;
	}

	/**
	 * Yield the bytes of SOURCE in pieces of at most PIECE_BYTES, so that a turn handles a piece.
	 */
	async *pieces(source, i) {
		for await (const piece of super.pieces(source, i))
			for (let at = 0; at < piece.length; at += PIECE_BYTES) yield piece.subarray(at, at + PIECE_BYTES);
	}

	/**
	 * Resolve when the pass of RECORDING has read all bytes. Reject if the page cancels the load.
	 */
	async #follow(recording) {
		while (!recording.follow(performance.now() + TURN_MS)) {
			await this.server.breath.take();
			this.check();
		}
	}

	/**
	 * Read SOURCE into RECORDING. Reject with a sentence for the user if it is no memory profile.
	 * If `source.growing` is true, the page will feed more bytes, so even an empty source is
	 * accepted.
	 */
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

/** The state of the worker, and its answers to messages. */
class Server {
	/** @param {(message: object, transfer?: Transferable[]) => void} post */
	constructor(post) {
		this.post = post;
		this.names = new Names();
		this.breath = new Breath();
		this.recording = null;
		this.loading = null;
		this.feeds = []; // ids of the calls "feed" whose bytes the pass has not read yet
		/* Kind of question -> {id, args} of its newest question without an answer. */
		this.questions = new Map();
		this.working = false; // true while #work() runs
	}

	/**
	 * Answer the call ID with VALUE. TRANSFER are buffers that are moved to the page instead of
	 * copied.
	 */
	#answer(id, value, transfer) {
		this.post({id, value, names: this.names.fresh()}, transfer);
	}

	/** Answer the call ID with the sentence of ERROR. */
	#fail(id, error) {
		this.post({id, error: asSentence(error).message});
	}

	/**
	 * Free the recording. Open questions about it are answered null, open calls "feed" with an
	 * error.
	 */
	#forget() {
		for (const id of this.feeds.splice(0)) this.#fail(id, new Error(NONE));
		for (const {id} of this.questions.values()) this.#answer(id, null);
		this.questions.clear();
		this.recording?.close();
		this.recording = null;
	}

	/**
	 * Load SOURCE. ID is that of the call. A load that is under way is cancelled. Return a Promise
	 * of the recording's info.
	 */
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
			return infoOf(recording);
		} catch (error) {
			recording.close();
			throw error;
		} finally {
			if (this.loading === loading) this.loading = null;
		}
	}

	/** Note a question of this KIND; an older one without an answer is answered null. */
	#ask(kind, id, args) {
		const older = this.questions.get(kind);

		if (older) this.#answer(older.id, null);
		/* The Map keeps the order of its keys, so the new question goes to the end of the queue. */
		this.questions.delete(kind);
		this.questions.set(kind, {id, args});
		this.#work();
	}

	/** Work in turns until all questions and calls "feed" are answered. */
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

	/**
	 * Work until TIME (performance.now(), ms): let the pass read new bytes, then continue the
	 * oldest question.
	 */
	#turn(time) {
		if (!this.recording.follow(time)) return;
		for (const id of this.feeds.splice(0)) this.#answer(id, infoOf(this.recording));
		const [next] = this.questions;

		if (next) this.#answerQuestion(...next, time);
	}

	/** Work on a question until TIME, and answer it if that is enough. */
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

	// The questions, as methods. Each works until TIME (performance.now(), ms). It returns {value,
	// transfer}: the answer, and buffers to move to the page; or null if the answer needs a further
	// turn.

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

	// Messages from the page.

	/** Handle a call. */
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

	/** Handle MESSAGE from the page. */
	async take(message) {
		if (forLoading(message, this.loading)) return;
		try {
			await this.#call(message);
		} catch (error) {
			this.#fail(message.id, error);
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
