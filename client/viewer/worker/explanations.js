/*
 * Ask libmprof in the wasm about the threads of one trace: why a thread waits (<mprof/why.h>), and
 * sentences on threads for the user (<mprof/explanation.h>).
 */
import {UINT64_MAX, VERDICTS, decoder, names, need} from "./wasm.js";

const ANSWERS_MAX = 100; /* most threads that one answer of why() explains */

export class Explanations {
	/** TRACE is a Trace (trace.js). Its model need not exist yet. */
	constructor(trace) {
		this.trace = trace;
		this.wasm = trace.wasm;
		this.why_ = 0; // address of struct mprof_why; 0 until it is needed
		this.waits_ = 0; // address of struct mprof_waits; 0 until it is needed
		this.explanation = 0; // address of struct mprof_explanation; 0 until it is needed
		this.namesAt = 0; // address of the streams' names, see #names(); 0 until they are needed
	}

	/** Free the memory of the explanations in the wasm. */
	close() {
		const {c} = this.wasm;

		c.mprof_explanation_free(this.explanation);
		c.mprof_waits_free(this.waits_);
		c.mprof_why_free(this.why_);
		c.free(this.namesAt);
		this.explanation = this.waits_ = this.why_ = this.namesAt = 0;
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

	/** Return the groups of waiting threads that an answer shows: struct mprof_waits_group with the address AT. */
	#groups() {
		const {wasm} = this;
		const first = wasm.lend(4, (count) => wasm.c.mprof_waits_groups(this.#waits(), count) >>> 0);

		return Array.from({length: wasm.c.mprof_waits_shown(this.#waits()) >>> 0}, (_, i) => {
			const at = first + i * wasm.size("mprof_waits_group");

			return {...wasm.object("mprof_waits_group", at), at};
		});
	}

	/**
	 * Return libmprof's sentences on item I, which is a thread, a stream or the address of a structure.
	 * TELLER is the name of the C function that makes them. The result is a list of sentences, each a list of pieces
	 * {text, link?, time?}. LINK is the index of a thread, TIME is in ns.
	 */
	story(teller, i) {
		const {wasm} = this,
			{c, numbers} = wasm;

		if (this.trace.names.length > 1) this.namesAt ||= this.#names();
		this.explanation ||= need(c.mprof_explanation_new(this.trace.model, this.#why(), this.namesAt) >>> 0);
		this.trace.check(c[teller](this.explanation, i));
		return wasm.lend(4, (count) => {
			const pieces = c.mprof_explanation_pieces(this.explanation, count) >>> 0,
				n = wasm.view.getUint32(count, true);
			const text = c.mprof_explanation_text(this.explanation) >>> 0,
				lines = [];

			for (let k = 0; k < n; k++) {
				const piece = wasm.object("mprof_explanation_piece", pieces + k * wasm.size("mprof_explanation_piece"));
				const from = text + piece.offset;

				(lines[piece.line] ??= []).push({
					text: decoder.decode(wasm.bytes.subarray(from, from + piece.bytes)),
					...(piece.thread === numbers.MPROF_NONE ? {} : {link: piece.thread}),
					...(piece.time === UINT64_MAX ? {} : {time: piece.time}),
				});
			}
			return lines;
		});
	}

	/**
	 * Return the description of the thread INDEX as in `mprofctl why --json`, with `index`, and
	 * with the label that it had at TIME (ns). Return null for MPROF_NONE and for a root, the
	 * thread that stands for the sleeping program.
	 */
	who(index, time) {
		const {wasm} = this,
			{numbers} = wasm;
		if (this.trace.threadOrNull(index) === null) return null;
		const label = wasm.c.mprof_why_label(this.#why(), index, time) >>> 0,
			stream = this.trace.item("threads", "mprof_thread", index, "stream");

		return {
			index,
			thread: this.trace.item("threads", "mprof_thread", index, "id"),
			type: wasm.types[this.trace.item("threads", "mprof_thread", index, "type")],
			label:
				label === numbers.MPROF_NONE
					? null
					: this.trace.text(this.trace.item("labels", "mprof_label", label, "text")),
			...(this.trace.names.length > 1 ? {stream: this.trace.names[stream]} : {}),
		};
	}

	/** Return who(index, time) with the time. */
	#whoAt(index, time) {
		return {...this.who(index, time), time_ns: String(time)};
	}

	/** Return who resolved the thread INDEX, when, and the failure; null if it is not resolved. */
	#resolution(index) {
		const {numbers} = this.wasm;
		if (
			index === numbers.MPROF_NONE ||
			!(this.trace.item("threads", "mprof_thread", index, "flags") & numbers.MPROF_THREAD_RESOLVED)
		)
			return null;
		const [resolver, end, failure] = ["resolver", "end", "failure"].map((name) =>
			this.trace.item("threads", "mprof_thread", index, name),
		);

		return {...this.#whoAt(resolver, end), failure: this.trace.text(failure)};
	}

	/**
	 * Return the threads that the thread of ANSWER (struct mprof_why_answer) waits for, one after
	 * the other, each with the time since which the thread before waits for it.
	 */
	#chainOf(answer) {
		const {wasm} = this,
			{c} = wasm,
			chain = [];

		for (
			let i = 0, at = answer.thread;
			i < answer.links + answer.cycle && i < wasm.numbers.MPROF_EXPLANATION_LINKS;
			i++
		) {
			const link = c.mprof_why_link(this.#why(), at) >>> 0,
				since = this.trace.item("interactions", "mprof_interaction", link, "time");

			at =
				c.mprof_why_final(this.#why(), this.trace.item("interactions", "mprof_interaction", link, "other")) >>>
				0;
			chain.push({...this.who(at, since), since_ns: String(since)});
		}
		return chain;
	}

	/** Return the thread at the end of the chain of ANSWER. */
	#root(answer) {
		const [creator, created, flags] = ["creator", "created", "flags"].map((name) =>
			this.trace.item("threads", "mprof_thread", answer.root, name),
		);

		return {
			...this.#whoAt(answer.root, answer.since),
			creator: this.who(creator, created),
			created_ns: String(created),
			preexisting: Boolean(flags & this.wasm.numbers.MPROF_THREAD_PREEXISTING),
			resolution: this.#resolution(answer.root),
		};
	}

	/**
	 * Return the thread and the time of signal I, an interaction of the model; null if I is
	 * MPROF_NONE.
	 */
	#signal(i) {
		if (i === this.wasm.numbers.MPROF_NONE) return null;
		return this.#whoAt(
			...["thread", "time"].map((name) => this.trace.item("interactions", "mprof_interaction", i, name)),
		);
	}

	/**
	 * Return the holder of the last lock of the chain of ANSWER that the trace names, with that lock as
	 * `holds`; null without one.
	 */
	#holder(answer) {
		const {numbers} = this.wasm;

		if (this.trace.threadOrNull(answer.holder) === null) return null;
		const [end, flags] = ["end", "flags"].map((name) =>
			this.trace.item("threads", "mprof_thread", answer.holder, name),
		);

		return {
			...this.who(answer.holder, answer.since),
			holds: this.who(answer.held, answer.since),
			ended_ns: flags & numbers.MPROF_THREAD_RESOLVED ? String(end) : null,
			itself: answer.cycle > 0,
			outside: answer.outside > 0,
		};
	}

	/** Return why the thread THREAD waits, an item of `answers` in the answer of engine.why(). */
	#ask(thread) {
		const {wasm} = this,
			{numbers} = wasm;
		const answer = wasm.lend(wasm.size("mprof_why_answer"), (at) => {
			wasm.c.mprof_why_ask(this.#why(), thread, at);
			return wasm.object("mprof_why_answer", at);
		});
		const [created, creator, flags, stream] = ["created", "creator", "flags", "stream"].map((name) =>
			this.trace.item("threads", "mprof_thread", answer.thread, name),
		);
		const object = {
			...this.who(answer.thread, created),
			asked: this.trace.item("threads", "mprof_thread", thread, "id"),
			should_resolve: Boolean(flags & numbers.MPROF_THREAD_SHOULD_RESOLVE),
			created_ns: String(created),
			preexisting: Boolean(flags & numbers.MPROF_THREAD_PREEXISTING),
			creator: this.who(creator, created),
			end_ns: String(this.trace.item("streams", "mprof_model_stream", stream, "end")),
			verdict: VERDICTS[names(wasm, "MPROF_WHY_")[answer.verdict]],
			resolution: this.#resolution(answer.thread),
			story: this.story("mprof_explanation_why", thread),
		};

		if (answer.verdict === numbers.MPROF_WHY_RESOLVED) return object;
		const like =
			answer.similar === numbers.MPROF_NONE
				? null
				: {...this.who(answer.similar, UINT64_MAX), resolution: this.#resolution(answer.similar)};

		return {
			...object,
			links: answer.links + answer.cycle,
			chain: this.#chainOf(answer),
			root: this.#root(answer),
			like,
			holder: this.#holder(answer),
			condition: this.who(answer.condition, answer.since),
			missed: this.#signal(answer.lost_signal),
			missed_signals: answer.lost_signals,
			first_since: this.#signal(answer.first_signal_since),
			signals_since: answer.signals_since,
			last_signal: this.#signal(answer.last_signal),
			signals: answer.signals,
		};
	}

	/** Return the answer of engine.why() for a group of threads that wait, an item of #groups(). */
	#askGroup(group) {
		const {c} = this.wasm;
		const name = c.mprof_waits_name(group.kind) >>> 0;

		return {
			...this.#ask(group.thread),
			cause: name ? this.wasm.cString(name) : null,
			waiting: group.threads,
			waiting_marked: group.marked,
			story: this.story("mprof_explanation_group", group.at),
		};
	}

	/**
	 * Return the answer of engine.why(). THREAD is an index, or null for each thing that threads wait for
	 * once, the causes of a hang first.
	 */
	why(thread) {
		const guests = this.trace.items("streams", "mprof_model_stream").map(({guest}) => guest),
			first = [...guests.keys()].filter((i) => guests.indexOf(guests[i]) === i);
		const sum = (field) => this.trace.counts().reduce((all, counts) => all + Number(counts[field]), 0);
		const groups = thread === null ? this.#groups() : [];
		const named = thread !== null && thread < this.trace.get("n_threads") ? [this.#ask(thread)] : [];

		return {
			answers: [...named, ...groups.slice(0, ANSWERS_MAX).map((group) => this.#askGroup(group))],
			left_out: Math.max(0, groups.length - ANSWERS_MAX),
			rest: thread === null ? this.story("mprof_explanation_rest", this.#waits()) : [],
			should_resolve: this.trace.get("n_expectations"),
			lost_packets: sum("lost_packets"),
			damages: sum("damages"),
			unproven_events: sum("unproven"),
			last: first.map((i) => ({story: this.story("mprof_explanation_last", i)})),
		};
	}

	/** Return who() with the last label of the thread INDEX. */
	whoEver(index) {
		return this.who(index, UINT64_MAX);
	}
}
