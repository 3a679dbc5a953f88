/*
 * Ask libmprof in the wasm about the threads of one trace: why a thread waits (<mprof/why.h>), and
 * sentences on threads for the user (<mprof/explanation.h>).
 */
import {need} from "./wasm.js";

/** Return the sentences STORY of an answer with their times as BigInts. */
export const timed = (story) =>
	story.map((line) =>
		line.map(({time_ns: ns, ...piece}) => (ns === undefined ? piece : {...piece, time: BigInt(ns)})),
	);

export class Explanations {
	/** TRACE is a Trace (trace.js). Its model need not exist yet. */
	constructor(trace) {
		this.trace = trace;
		this.wasm = trace.wasm;
		this.why_ = 0; // address of struct mprof_why; 0 until it is needed
		this.waits_ = 0; // address of struct mprof_waits; 0 until it is needed
		this.threads_ = 0; // address of struct mprof_threads; 0 until it is needed
		this.explanation = 0; // address of struct mprof_explanation; 0 until it is needed
		this.namesAt = 0; // address of the streams' names, see #names(); 0 until they are needed
	}

	/** Free the memory of the explanations in the wasm. */
	close() {
		const {c} = this.wasm;

		c.mprof_explanation_free(this.explanation);
		c.mprof_threads_free(this.threads_);
		c.mprof_waits_free(this.waits_);
		c.mprof_why_free(this.why_);
		c.free(this.namesAt);
		this.explanation = this.threads_ = this.waits_ = this.why_ = this.namesAt = 0;
	}

	/**
	 * Return the address of the struct mprof_why, which answers why a thread waits. The first call
	 * makes it.
	 */
	#why() {
		this.why_ ||= need(this.wasm.c.mprof_why_new(this.trace.model) >>> 0);
		return this.why_;
	}

	/**
	 * Return the address of the streams' names for a C function: an array of pointers, then the
	 * NUL-terminated texts. The caller frees it.
	 */
	#names() {
		const texts = this.trace.names.map((name, i) =>
			new TextEncoder().encode((name || `stream ${i + 1}`).replaceAll("\0", "") + "\0"),
		);
		const at = this.wasm.alloc(texts.reduce((sum, text) => sum + text.length + 4, 0));
		let to = at + 4 * texts.length;

		for (const [i, text] of texts.entries()) {
			this.wasm.view.setUint32(at + 4 * i, to, true);
			this.wasm.bytes.set(text, to);
			to += text.length;
		}
		return at;
	}

	/** Return the address of the struct mprof_waits, the groups of threads that wait. */
	#waits() {
		this.waits_ ||= need(this.wasm.c.mprof_waits_new(this.trace.model, this.#why()) >>> 0);
		return this.waits_;
	}

	/** Return the address of the streams' names for a C function, which this object frees; 0 of a single stream. */
	streamNames() {
		if (this.trace.names.length > 1) this.namesAt ||= this.#names();
		return this.namesAt;
	}

	/** Return the address of the struct mprof_explanation, which makes sentences. */
	sentences() {
		this.streamNames();
		this.explanation ||= need(this.wasm.c.mprof_explanation_new(this.trace.model, this.#why(), this.namesAt) >>> 0);
		return this.explanation;
	}

	/**
	 * Return the answer of engine.thread() about the thread INDEX: an item of `mprofctl threads --json` with what only a page
	 * shows (schema/answers/threads.json), its times as BigInts.
	 */
	thread(index) {
		const {c} = this.wasm,
			sentences = this.sentences();

		this.threads_ ||= need(c.wasm_threads(this.trace.model, this.#why(), this.namesAt) >>> 0);
		const it = this.wasm.answer(c.wasm_thread(this.threads_, sentences, index));

		return {
			...it,
			id: BigInt(it.thread),
			start: BigInt(it.start_ns),
			end: BigInt(it.end_ns ?? it.start_ns),
			created: BigInt(it.created_ns),
			ran: BigInt(it.ran_ns),
			of: it.stream ?? null,
			stream: this.trace.item("threads", "mprof_thread", index, "stream"),
			labels: it.labels.map(({time_ns: ns, text}) => ({time: BigInt(ns), text})),
			story: timed(it.story),
		};
	}

	/**
	 * Return the answer of engine.why(). THREAD is an index, or null for each thing that threads wait for
	 * once, the causes of a hang first.
	 */
	why(thread) {
		const {c, numbers} = this.wasm,
			waits = thread === null ? this.#waits() : 0,
			explanation = this.sentences();
		const answer = this.wasm.answer(
			c.wasm_why(this.trace.loader, this.#why(), waits, explanation, this.namesAt, thread ?? numbers.MPROF_NONE),
		);

		for (const it of [...answer.answers, ...answer.last]) it.story = timed(it.story);
		return {...answer, rest: timed(answer.rest ?? [])};
	}
}
