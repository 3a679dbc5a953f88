/*
 * Calls and structures of mprof.wasm; the only file that reads its memory.
 *
 * Offsets come from the wasm itself (wasm_layout), so no number of a structure stands here. What a trace says is hostile here too: an index is
 * used as the wasm gives it, which checked it, and every list that is made of it is bounded.
 *
 * The self-contained file has this and worker.js as one classic script: without import lines and without the word export.
 */

const MIB = 1 << 20;
const LABELS_MAX = 1000;
const TEXT_MAX = 4096;

const ANSWERS_MAX = 100;
const COUNTERS_MAX = 65536;
const UINT64_MAX = (1n << 64n) - 1n;
const decoder = new TextDecoder();

/** enum mprof_why_verdict in the words of `mprofctl why --json`. */
const VERDICTS = {
	resolved: "resolved",
	missed_signal: "missed-signal",
	missed_resolve: "missed-resolution",
	not_woken: "not-woken",
	signalled_since: "signalled-since",
	never_signalled: "never-signalled",
	never_resolved: "never-resolved",
	circle: "circle",
};

const OUT_OF_MEMORY = "The trace does not fit into the memory that a page may have; choose a shorter part of it.";

/** What libc would ask of a system, for messages that nobody reads: it is told that there is none. */
const wasi = {fd_close: () => 8, fd_seek: () => 8, fd_write: () => 8};

export class Wasm {
	/** @param {WebAssembly.Module} module */
	static async open(module) {
		const instance = await WebAssembly.instantiate(module, {wasi_snapshot_preview1: wasi});
		instance.exports._initialize();
		return new Wasm(instance.exports);
	}

	constructor(exports) {
		this.c = exports;
		this.structs = {};
		this.numbers = {};
		this.#readLayout();
		this.types = Array.from({length: 256}, (_, type) => this.cString(exports.wasm_thread_type(type) >>> 0));
		this.events = Array.from({length: this.numbers.MPROF_EVENT_IDS}, (_, id) =>
			this.cString(exports.wasm_event_name(id) >>> 0),
		);
	}

	#readLayout() {
		const text = this.c.wasm_layout() >>> 0;
		let struct;
		for (const line of this.cString(text).split("\n")) {
			const [kind, name, at, bytes] = line.split(" ");
			if (kind === "s") this.structs[name] = struct = {size: Number(at), fields: {}};
			else if (kind === "n") this.numbers[name] = Number(at);
			else if (kind) struct.fields[name] = {at: Number(at), bytes: Number(bytes), kind};
		}
		this.c.free(text);
	}

	get bytes() {
		return new Uint8Array(this.c.memory.buffer);
	}

	get view() {
		return new DataView(this.c.memory.buffer);
	}

	cString(at) {
		const bytes = this.bytes;
		return decoder.decode(bytes.subarray(at, bytes.indexOf(0, at)));
	}

	/** Room for SIZE bytes, to be freed. */
	alloc(size) {
		const at = this.c.malloc(size) >>> 0;
		if (!at) throw new Error(OUT_OF_MEMORY);
		return at;
	}

	/** Call USE with room for SIZE bytes that is freed behind it. */
	lend(size, use) {
		const at = this.alloc(size);
		try {
			return use(at);
		} finally {
			this.c.free(at);
		}
	}

	field(struct, name) {
		const field = this.structs[struct]?.fields[name];
		if (!field) throw new Error(`mprof.wasm has no ${struct}.${name}: it is of another version than the page.`);
		return field;
	}

	get(struct, at, name) {
		const field = this.field(struct, name),
			view = this.view,
			i = at + field.at;
		switch (field.kind + field.bytes) {
			case "u1":
				return view.getUint8(i);
			case "u2":
				return view.getUint16(i, true);
			case "i4":
				return view.getInt32(i, true);
			case "i8":
				return view.getBigInt64(i, true);
			case "u8":
				return view.getBigUint64(i, true);
			case "f4":
				return view.getFloat32(i, true);
			case "f8":
				return view.getFloat64(i, true);
			default:
				return field.bytes === 4 ? view.getUint32(i, true) : i; // a pointer; what is embedded: its place
		}
	}

	set(struct, at, name, value) {
		const field = this.field(struct, name),
			view = this.view,
			i = at + field.at;
		switch (field.kind + field.bytes) {
			case "u4":
				return view.setUint32(i, value, true);
			case "u8":
				return view.setBigUint64(i, value, true);
			case "f4":
				return view.setFloat32(i, value, true);
			case "f8":
				return view.setFloat64(i, value, true);
			default:
				throw new Error(`${struct}.${name} is not written`);
		}
	}

	/** All fields of a structure as an object. */
	object(struct, at) {
		return Object.fromEntries(
			Object.keys(this.structs[struct].fields).map((name) => [name, this.get(struct, at, name)]),
		);
	}

	size(struct) {
		return this.structs[struct].size;
	}
}

/** A name for people of what the enum's numbers call PREFIX_NAME. */
function names(wasm, prefix) {
	const found = [];
	for (const [name, value] of Object.entries(wasm.numbers))
		if (name.startsWith(prefix)) found[value] = name.slice(prefix.length).toLowerCase();
	return found;
}

/** A stream of kind "TWICE" must be held after all: everything is to be given once more, to a new trace. */
export class OutOfOrder extends Error {}

/** What went wrong in the wasm for good: it stands behind a trap, and nothing of it can be used again. */
export function asSentence(error) {
	if (error instanceof WebAssembly.RuntimeError || error instanceof RangeError)
		return new Error(
			`The trace could not be read: ${error.message}. Reload the page; if it happens again, keep the trace and report it.`,
		);
	return error;
}

export class Trace {
	/** @param {Wasm} wasm @param {{simplify?: boolean, seed?: bigint}} options */
	constructor(wasm, options = {}) {
		this.seed = options.seed ?? crypto.getRandomValues(new BigUint64Array(1))[0];
		this.wasm = wasm;
		this.names = [];
		this.loader = wasm.c.wasm_open(this.seed, options.simplify ?? true) >>> 0;
		if (!this.loader) throw new Error(OUT_OF_MEMORY);
		this.model = 0; // struct mprof_model_view, once it is finished
		this.scene = 0;
		this.why_ = 0;
		this.tale = 0;
		this.namesAt = 0;
	}

	/** Gives back all memory; the wasm keeps it for the next trace. */
	close() {
		const c = this.wasm.c;
		if (this.scene) c.mprof_scene_free(this.scene);
		c.mprof_tale_free(this.tale);
		c.mprof_why_free(this.why_);
		c.free(this.namesAt);
		c.loader_free(this.loader);
		this.loader = this.scene = this.model = this.tale = this.why_ = this.namesAt = 0;
	}

	/** One more stream, before the bytes of any; returns its index. KIND is one of enum intake_kind: "FILE", "TWICE", "HELD", "SERVED". */
	stream({name = "", guest, offsetNs = 0n, uncertaintyNs = 0n}, kind = "FILE") {
		const {c, numbers} = this.wasm;
		const i =
			c.wasm_stream(
				this.loader,
				guest ?? this.names.length,
				offsetNs,
				uncertaintyNs,
				numbers["INTAKE_" + kind],
			) >>> 0;

		if (i === numbers.MPROF_NONE) throw new Error(OUT_OF_MEMORY);
		this.names.push(name);
		return i;
	}

	expect(stream, bytes) {
		this.wasm.c.loader_expect(this.loader, stream, BigInt(bytes));
	}

	/** The next bytes of a stream, any cut; they are copied. Throws OutOfOrder. @param {Uint8Array} bytes */
	feed(stream, bytes) {
		const {c} = this.wasm;
		for (let from = 0; from < bytes.length; from += MIB) {
			const piece = bytes.subarray(from, from + MIB);
			const at = c.loader_room(this.loader, stream, piece.length) >>> 0;
			if (!at) throw new Error(OUT_OF_MEMORY);
			this.wasm.bytes.set(piece, at);
			this.#check(c.loader_came(this.loader, stream, piece.length));
		}
	}

	end(stream) {
		this.#check(this.wasm.c.loader_end(this.loader, stream));
	}

	#check(status) {
		if (status === this.wasm.numbers.MPROF_CORRUPT) throw new OutOfOrder();
		if (status !== this.wasm.numbers.MPROF_OK) throw new Error(OUT_OF_MEMORY);
	}

	/** All streams have ended: the model. */
	finish() {
		const {c} = this.wasm;
		this.#check(c.loader_finish(this.loader));
		this.model = c.mprof_model_view(c.loader_model(this.loader)) >>> 0;
		this.#scene(); // here, while somebody waits for it, and not with the first picture
	}

	get(name) {
		return this.wasm.get("mprof_model_view", this.model, name);
	}

	/** Field NAME of item I of the model's array ARRAY of STRUCT. */
	item(array, struct, i, name) {
		return this.wasm.get(struct, this.get(array) + i * this.wasm.size(struct), name);
	}

	items(array, struct) {
		const {wasm} = this,
			base = this.get(array),
			n = this.get("n_" + array),
			size = wasm.size(struct);
		return Array.from({length: n}, (_, i) => wasm.object(struct, base + i * size));
	}

	/** The damage that was met: sentences; the number of all. */
	damages() {
		const {wasm} = this,
			sentences = [];
		wasm.lend(256, (text) => {
			for (let i = 0; ; i++) {
				const stream = wasm.c.wasm_damage(this.loader, i, text, 256) >>> 0;
				if (stream === wasm.numbers.MPROF_NONE) break;
				sentences.push((this.names[stream] ? this.names[stream] + ": " : "") + wasm.cString(text));
			}
		});
		const all = this.counts().reduce((sum, counts) => sum + Number(counts.damages), 0);
		if (all > sentences.length) sentences.push("further damage is not listed");
		return sentences;
	}

	/** What was counted of each stream while it came. */
	counts() {
		const {wasm} = this;
		return this.names.map((name, i) =>
			wasm.lend(wasm.size("loader_counts"), (at) => {
				wasm.c.loader_counts(this.loader, i, at);
				const counts = wasm.object("loader_counts", at);
				counts.events_by_type = this.#named(wasm.events, counts.events_by_type);
				return counts;
			}),
		);
	}

	/** Of 64-bit numbers at AT those that are not 0, by name. */
	#named(names, at) {
		const numbers = new BigUint64Array(this.wasm.c.memory.buffer.slice(at, at + 8 * names.length));

		return Object.fromEntries(names.map((name, i) => [name, Number(numbers[i])]).filter(([, n]) => n));
	}

	/** What engine.load() answers. */
	summary() {
		const streams = this.items("streams", "mprof_model_stream").map((stream, i) => ({
			name: this.names[i],
			...stream,
		}));
		const seen = streams.filter((stream) => stream.events);
		const counts = this.counts();
		const sum = (key) => counts.reduce((total, one) => total + Number(one[key]), 0);
		const byType = {};
		for (const one of counts)
			for (const [name, n] of Object.entries(one.events_by_type)) byType[name] = (byType[name] ?? 0) + n;
		return {
			start: seen.reduce((least, {start}) => (start < least ? start : least), seen[0]?.start ?? 0n),
			end: seen.reduce((most, {end}) => (end > most ? end : most), 0n),
			rows: this.get("rows"),
			streams,
			counters: this.items("counters", "mprof_counter")
				.slice(0, COUNTERS_MAX)
				.map((counter, index) => ({
					index,
					name: this.text(counter.name),
					min: counter.min,
					max: counter.max,
					samples: counter.samples,
					stream: counter.stream,
				})),
			notes: this.wasm.object("mprof_model_notes", this.get("notes")),
			totals: {
				events: Object.values(byType).reduce((a, b) => a + b, 0),
				events_by_type: byType,
				packets: sum("packets"),
				lost_packets: sum("lost_packets"),
				damages: sum("damages"),
				skipped: sum("skipped"),
				bytes: sum("bytes"),
				threads: this.get("n_threads") - this.get("n_streams"),
			},
			damages: this.damages(),
			memory: this.wasm.c.memory.buffer.byteLength,
		};
	}

	/** String I of the model as it may be shown, cut where it is long; null for none. */
	text(i) {
		const {wasm} = this;
		if (i === wasm.numbers.MPROF_NONE) return null;
		const from = this.get("text") + this.item("strings", "mprof_string", i, "offset");
		const bytes = this.item("strings", "mprof_string", i, "bytes");
		return this.#printable(from, bytes);
	}

	#printable(from, bytes) {
		const {wasm} = this,
			kept = Math.min(bytes, TEXT_MAX);
		return wasm.lend(kept * 6 + 64, (out) => {
			const n = wasm.c.wasm_printable(out, kept * 6 + 64, from, kept) >>> 0;
			return decoder.decode(wasm.bytes.slice(out, out + n)) + (kept < bytes ? "…" : "");
		});
	}

	/** What stands at label I. */
	label(i) {
		const {wasm} = this;
		return wasm.lend(TEXT_MAX + 64, (at) => {
			const n = wasm.c.mprof_label_text(this.model, i, at, TEXT_MAX + 64) >>> 0;
			return this.#printable(at, Math.min(n, TEXT_MAX + 63)) + (n > TEXT_MAX + 63 ? "…" : "");
		});
	}

	#chain(array, struct, first, most) {
		const {wasm} = this,
			base = this.get(array),
			size = wasm.size(struct),
			list = [];
		for (let i = first; i !== wasm.numbers.MPROF_NONE && list.length < most;) {
			const item = wasm.object(struct, base + i * size);
			list.push({...item, index: i});
			i = item.next;
		}
		return list;
	}

	#threadOrNull(i) {
		return i === this.wasm.numbers.MPROF_NONE ||
			this.item("threads", "mprof_thread", i, "row") === this.wasm.numbers.MPROF_NONE
			? null
			: i;
	}

	/** How long a thread ran, and in how many pieces. */
	#ran(thread) {
		const {wasm} = this,
			base = this.get("activations"),
			size = wasm.size("mprof_activation"),
			view = wasm.view;
		const start = wasm.field("mprof_activation", "start").at,
			end = wasm.field("mprof_activation", "end").at;
		const next = wasm.field("mprof_activation", "next").at;
		let ran = 0n,
			activations = 0;
		for (let i = thread.first_activation; i !== wasm.numbers.MPROF_NONE; activations++) {
			const at = base + i * size;
			ran += view.getBigUint64(at + end, true) - view.getBigUint64(at + start, true);
			i = view.getUint32(at + next, true);
		}
		return {ran, activations};
	}

	/** What engine.thread() answers; null where there is no such thread. */
	thread(index) {
		const {wasm} = this;
		if (!Number.isInteger(index) || index < 0 || index >= this.get("n_threads")) return null;
		const thread = wasm.object("mprof_thread", this.get("threads") + index * wasm.size("mprof_thread"));
		const flags = names(wasm, "MPROF_THREAD_")
			.map((name, bit) => (thread.flags & bit ? name : null))
			.filter(Boolean);
		return {
			index,
			id: thread.id,
			type: wasm.types[thread.type],
			row: thread.row === wasm.numbers.MPROF_NONE ? null : thread.row,
			stream: thread.stream,
			start: thread.start,
			end: thread.end,
			created: thread.created,
			flags,
			labels: this.#chain("labels", "mprof_label", thread.first_label, LABELS_MAX).map(({time, index: i}) => ({
				time,
				text: this.label(i),
			})),
			creator: this.#threadOrNull(thread.creator),
			parent: this.#threadOrNull(thread.parent),
			becomes: this.#threadOrNull(thread.becomes),
			resolver: this.#threadOrNull(thread.resolver),
			failure: this.text(thread.failure),
			...this.#ran(thread),
			story: this.#told("mprof_tale_thread", index),
		};
	}

	// What is told.

	#need(at) {
		if (!at) throw new Error(OUT_OF_MEMORY);
		return at;
	}

	#why() {
		this.why_ ||= this.#need(this.wasm.c.mprof_why_new(this.model) >>> 0);
		return this.why_;
	}

	/** The names of several streams as C has them: pointers, and behind them the texts. */
	#names() {
		const texts = this.names.map((name, i) =>
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

	/** What one of libmprof's tales says of item I: a list of lines, each of pieces {text, link?}, where a link is a thread. */
	#told(teller, i) {
		const {wasm} = this,
			{c, numbers} = wasm;

		if (this.names.length > 1) this.namesAt ||= this.#names();
		this.tale ||= this.#need(c.mprof_tale_new(this.model, this.#why(), this.namesAt) >>> 0);
		this.#check(c[teller](this.tale, i));
		return wasm.lend(4, (count) => {
			const pieces = c.mprof_tale_pieces(this.tale, count) >>> 0,
				n = wasm.view.getUint32(count, true);
			const text = c.mprof_tale_text(this.tale) >>> 0,
				lines = [];

			for (let k = 0; k < n; k++) {
				const piece = wasm.object("mprof_tale_piece", pieces + k * wasm.size("mprof_tale_piece"));
				const from = text + piece.offset;

				(lines[piece.line] ??= []).push({
					text: decoder.decode(wasm.bytes.subarray(from, from + piece.bytes)),
					...(piece.thread === numbers.MPROF_NONE ? {} : {link: piece.thread}),
				});
			}
			return lines;
		});
	}

	/** Who a thread is, as `mprofctl why --json` says it, and its index; null for none and for a root. */
	#who(index, time) {
		const {wasm} = this,
			{numbers} = wasm;
		if (this.#threadOrNull(index) === null) return null;
		const label = wasm.c.mprof_why_label(this.#why(), index, time) >>> 0,
			stream = this.item("threads", "mprof_thread", index, "stream");

		return {
			index,
			thread: this.item("threads", "mprof_thread", index, "id"),
			type: wasm.types[this.item("threads", "mprof_thread", index, "type")],
			label: label === numbers.MPROF_NONE ? null : this.text(this.item("labels", "mprof_label", label, "text")),
			...(this.names.length > 1 ? {stream: this.names[stream]} : {}),
		};
	}

	#whoAt(index, time) {
		return {...this.#who(index, time), time_ns: String(time)};
	}

	#resolution(index) {
		const {numbers} = this.wasm;
		if (
			index === numbers.MPROF_NONE ||
			!(this.item("threads", "mprof_thread", index, "flags") & numbers.MPROF_THREAD_RESOLVED)
		)
			return null;
		const [resolver, end, failure] = ["resolver", "end", "failure"].map((name) =>
			this.item("threads", "mprof_thread", index, name),
		);

		return {...this.#whoAt(resolver, end), failure: this.text(failure)};
	}

	#chainOf(answer) {
		const {wasm} = this,
			{c} = wasm,
			chain = [];

		for (
			let i = 0, at = answer.thread;
			i < answer.links + answer.circle && i < wasm.numbers.MPROF_TALE_LINKS;
			i++
		) {
			const link = c.mprof_why_link(this.#why(), at) >>> 0,
				since = this.item("interactions", "mprof_interaction", link, "time");

			at = c.mprof_why_final(this.#why(), this.item("interactions", "mprof_interaction", link, "other")) >>> 0;
			chain.push({...this.#who(at, since), since_ns: String(since)});
		}
		return chain;
	}

	#root(answer) {
		const [creator, created, flags] = ["creator", "created", "flags"].map((name) =>
			this.item("threads", "mprof_thread", answer.root, name),
		);

		return {
			...this.#whoAt(answer.root, answer.since),
			creator: this.#who(creator, created),
			created_ns: String(created),
			preexisting: Boolean(flags & this.wasm.numbers.MPROF_THREAD_PREEXISTING),
			resolution: this.#resolution(answer.root),
		};
	}

	#signal(i) {
		if (i === this.wasm.numbers.MPROF_NONE) return null;
		return this.#whoAt(
			...["thread", "time"].map((name) => this.item("interactions", "mprof_interaction", i, name)),
		);
	}

	#ask(thread) {
		const {wasm} = this,
			{numbers} = wasm;
		const answer = wasm.lend(wasm.size("mprof_why_answer"), (at) => {
			wasm.c.mprof_why_ask(this.#why(), thread, at);
			return wasm.object("mprof_why_answer", at);
		});
		const [created, creator, flags, stream] = ["created", "creator", "flags", "stream"].map((name) =>
			this.item("threads", "mprof_thread", answer.thread, name),
		);
		const object = {
			...this.#who(answer.thread, created),
			asked: this.item("threads", "mprof_thread", thread, "id"),
			should_resolve: Boolean(flags & numbers.MPROF_THREAD_SHOULD_RESOLVE),
			created_ns: String(created),
			preexisting: Boolean(flags & numbers.MPROF_THREAD_PREEXISTING),
			creator: this.#who(creator, created),
			end_ns: String(this.item("streams", "mprof_model_stream", stream, "end")),
			verdict: VERDICTS[names(wasm, "MPROF_WHY_")[answer.verdict]],
			resolution: this.#resolution(answer.thread),
			story: this.#told("mprof_tale_why", thread),
		};

		if (answer.verdict === numbers.MPROF_WHY_RESOLVED) return object;
		const like =
			answer.like === numbers.MPROF_NONE
				? null
				: {...this.#who(answer.like, UINT64_MAX), resolution: this.#resolution(answer.like)};

		return {
			...object,
			links: answer.links + answer.circle,
			chain: this.#chainOf(answer),
			root: this.#root(answer),
			like,
			condition: this.#who(answer.condition, answer.since),
			missed: this.#signal(answer.lost),
			missed_signals: answer.lost_signals,
			first_since: this.#signal(answer.first_since),
			signals_since: answer.signals_since,
			last_signal: this.#signal(answer.last_signal),
			signals: answer.signals,
		};
	}

	/** Those that should have resolved and never did, each end of what they became once. */
	#expected() {
		const {numbers} = this.wasm,
			finals = new Set();

		return this.items("expectations", "mprof_expectation")
			.filter(({final}) => {
				const flags = this.item("threads", "mprof_thread", final, "flags");

				if (finals.has(final) || flags & (numbers.MPROF_THREAD_RESOLVED | numbers.MPROF_THREAD_ROOT))
					return false;
				finals.add(final);
				return true;
			})
			.map(({thread}) => thread)
			.sort((a, b) => a - b);
	}

	/** What engine.why() answers. */
	why(thread) {
		const asked = thread === null ? this.#expected() : thread < this.get("n_threads") ? [thread] : [];

		return {
			answers: asked.slice(0, ANSWERS_MAX).map((one) => this.#ask(one)),
			left_out: Math.max(0, asked.length - ANSWERS_MAX),
			should_resolve: this.get("n_expectations"),
			lost_packets: this.counts().reduce((sum, counts) => sum + Number(counts.lost_packets), 0),
			last: Array.from({length: this.get("n_streams")}, (_, i) => ({story: this.#told("mprof_tale_last", i)})),
		};
	}

	// What differs from another trace.

	/** What engine.diff() answers: this trace is the bad one. */
	diff(good) {
		const {wasm} = this,
			{c} = wasm,
			diff = this.#need(c.wasm_diff(good.model, this.model, this.seed) >>> 0);

		try {
			return new Diff(wasm, c.mprof_diff_view(diff) >>> 0, good, this).answer();
		} finally {
			c.mprof_diff_free(diff);
		}
	}

	/** Who a thread is, at the end of its life. */
	whoEver(index) {
		return this.#who(index, UINT64_MAX);
	}

	// What is counted.

	#counted(numbers) {
		const {wasm} = this,
			base = wasm.c.mprof_numbers_counters(numbers) >>> 0,
			size = wasm.size("mprof_numbers_counter"),
			counters = {};

		for (let i = 0; i < this.get("n_counters") && i < COUNTERS_MAX; i++) {
			const {samples, first, last, min, max, first_ns, last_ns} = wasm.object(
				"mprof_numbers_counter",
				base + i * size,
			);

			if (samples)
				counters[this.text(this.item("counters", "mprof_counter", i, "name"))] = {
					first,
					last,
					min,
					max,
					samples: Number(samples),
					rate_per_s: last_ns > first_ns ? (Number(last - first) / Number(last_ns - first_ns)) * 1e9 : null,
				};
		}
		return counters;
	}

	#busiest(numbers, n) {
		const {wasm} = this,
			base = wasm.c.mprof_numbers_busiest(numbers) >>> 0,
			size = wasm.size("mprof_numbers_busy");

		return Array.from({length: n}, (_, i) => {
			const {thread, label, running_ns} = wasm.object("mprof_numbers_busy", base + i * size);

			return {
				index: thread,
				thread: this.item("threads", "mprof_thread", thread, "id"),
				label: this.text(label),
				type: wasm.types[this.item("threads", "mprof_thread", thread, "type")],
				running_ns,
			};
		});
	}

	/** Those that should resolve, of the whole trace. */
	#marked() {
		const {numbers} = this.wasm;

		return this.items("expectations", "mprof_expectation")
			.slice(0, LABELS_MAX)
			.map(({thread, final}) => ({
				index: final,
				thread: this.item("threads", "mprof_thread", thread, "id"),
				label: this.#who(thread, 0n)?.label ?? this.#who(final, 0n)?.label ?? null,
				resolved: Boolean(this.item("threads", "mprof_thread", final, "flags") & numbers.MPROF_THREAD_RESOLVED),
			}));
	}

	/** What engine.stats() answers: of the whole trace the events as they were counted, of a part as far as the model knows them. */
	stats(from, to) {
		const {wasm} = this,
			numbers = this.#need(wasm.c.mprof_numbers_new(this.model, from, to) >>> 0);

		try {
			const all = wasm.object("mprof_numbers_all", wasm.c.mprof_numbers_of(numbers) >>> 0),
				{totals, start, end} = this.summary();
			const byType =
				from <= start && to >= end ? totals.events_by_type : this.#named(wasm.events, all.events_by_type);
			const types = wasm.types.slice(0, wasm.numbers.MPROF_THREAD_TYPES).concat("Unknown");

			return {
				events: Object.values(byType).reduce((a, b) => a + b, 0),
				events_by_type: byType,
				packets: totals.packets,
				lost_packets: totals.lost_packets,
				damages: totals.damages,
				bytes: totals.bytes,
				first_ns: String(all.first_ns),
				last_ns: String(all.last_ns),
				threads: Number(all.created + all.preexisting),
				threads_by_type: this.#named(types, all.threads_by_type),
				preexisting: Number(all.preexisting),
				labels: Number(all.labels),
				counters: this.#counted(numbers),
				gcs: Number(all.collections),
				gc_ns: all.collecting_ns,
				gc_longest_ns: all.longest_ns,
				should_resolve: this.#marked(),
				busiest: this.#busiest(numbers, all.busiest),
				running_ns: all.running_ns,
				sleeping_ns: all.sleeping_ns,
				sleeping_share:
					all.last_ns > all.first_ns ? Number(all.sleeping_ns) / Number(all.last_ns - all.first_ns) : null,
			};
		} finally {
			wasm.c.mprof_numbers_free(numbers);
		}
	}

	// What is drawn.

	#scene() {
		const {c} = this.wasm;
		if (!this.scene) this.scene = c.mprof_scene_new(this.model) >>> 0;
		if (!this.scene) throw new Error(OUT_OF_MEMORY);
		return this.scene;
	}

	/** Call USE with the scene and the window in memory. */
	#window(window, use) {
		const {wasm} = this,
			scene = this.#scene(),
			{numbers} = wasm;
		const flags =
			window.flags ?? numbers.MPROF_WINDOW_COUNTERS | numbers.MPROF_WINDOW_LABELS | numbers.MPROF_WINDOW_ARROWS;
		return wasm.lend(wasm.size("mprof_window"), (at) => {
			for (const name of ["from", "to", "focus", "width", "height", "letter"])
				wasm.set("mprof_window", at, name, window[name]);
			wasm.set("mprof_window", at, "flags", flags);
			return use(scene, at);
		});
	}

	/** The rows of the picture and where they are, for the page to go from one to the other: all near the focus, of the others some. */
	#rowTable(scene, at, window) {
		const {c} = this.wasm,
			rows = this.get("rows"),
			near = 256,
			some = 512,
			table = new Set([0, rows]);
		for (let i = Math.max(0, Math.floor(window.focus) - near); i <= Math.min(rows, window.focus + near); i++)
			table.add(i);
		for (let i = 0; i <= some; i++) table.add(Math.round((rows * i) / some));
		const sorted = Float64Array.from(table).sort();
		return {rows: sorted, ys: Float32Array.from(sorted, (row) => c.mprof_scene_y(scene, at, row))};
	}

	/** What engine.frame() answers, but for its functions. */
	draw(window) {
		const {wasm} = this,
			{c, numbers} = wasm;
		return this.#window(window, (scene, at) =>
			wasm.lend(wasm.size("mprof_picture"), (picture) => {
				const status = c.mprof_scene_draw(scene, at, picture);
				if (status !== numbers.MPROF_OK)
					throw new Error(
						status === numbers.MPROF_NOMEM ? OUT_OF_MEMORY : "There is no such window of time to be drawn.",
					);
				const p = wasm.object("mprof_picture", picture),
					{buffer} = c.memory;
				return {
					marks: buffer.slice(p.marks, p.marks + p.n_marks * wasm.size("mprof_mark")),
					n: p.n_marks,
					text: new Uint8Array(buffer.slice(p.text, p.text + p.text_bytes)),
					gridNs: p.grid_ns,
					table: this.#rowTable(scene, at, window),
				};
			}),
		);
	}

	near(window, x, y, reach) {
		const {c, numbers} = this.wasm;
		const thread = this.#window(window, (scene, at) => c.mprof_scene_near(scene, at, x, y, reach) >>> 0);
		return thread === numbers.MPROF_NONE ? null : thread;
	}

	/** The focus at which ROW is drawn at height Y. */
	focus(window, row, y) {
		return this.#window(window, (scene, at) => this.wasm.c.mprof_scene_focus(scene, at, row, y));
	}

	find(text) {
		const {wasm} = this,
			{c, numbers} = wasm,
			scene = this.#scene(),
			bytes = new TextEncoder().encode(text);
		c.mprof_scene_plain(scene);
		if (!bytes.length) return {threads: new Uint32Array(0)};
		return wasm.lend(bytes.length, (at) =>
			wasm.lend(8, (found) => {
				wasm.bytes.set(bytes, at);
				if (c.mprof_scene_find(scene, at, bytes.length, found, found + 4) !== numbers.MPROF_OK)
					throw new Error(OUT_OF_MEMORY);
				const [list, n] = new Uint32Array(c.memory.buffer, found, 2);
				const threads = new Uint32Array(c.memory.buffer.slice(list, list + 4 * n));
				for (const thread of threads) c.mprof_scene_highlight(scene, thread);
				return {threads};
			}),
		);
	}

	/** Highlight a thread and what it becomes; null: nothing. */
	family(thread) {
		const {c} = this.wasm,
			scene = this.#scene();
		c.mprof_scene_plain(scene);
		if (thread !== null && thread < this.get("n_threads")) c.mprof_scene_family(scene, thread);
	}

	counter(index, shown) {
		if (index >= 0 && index < this.get("n_counters")) this.wasm.c.mprof_scene_counter(this.#scene(), index, shown);
	}

	density(from, to, n) {
		const {wasm} = this,
			scene = this.#scene(),
			parts = Math.max(1, Math.min(65536, n));
		return wasm.lend(4 * parts, (at) => {
			wasm.c.mprof_scene_density(scene, from, to, at, parts);
			return new Uint32Array(wasm.c.memory.buffer.slice(at, at + 4 * parts));
		});
	}
}

/** What <mprof/diff.h> says of two traces, as objects: threads are indices, each in its own trace, null for none. */
class Diff {
	constructor(wasm, view, good, bad) {
		this.wasm = wasm;
		this.view = wasm.object("mprof_diff_view", view);
		this.traces = {good, bad};
		this.none = (i) => (i === wasm.numbers.MPROF_NONE ? null : i);
	}

	#list(name, struct, make) {
		const {wasm} = this,
			size = wasm.size(struct);

		return Array.from({length: this.view["n_" + name]}, (_, i) =>
			make(wasm.object(struct, this.view[name] + i * size)),
		);
	}

	#who(side, thread) {
		return this.none(thread) === null ? null : this.traces[side].whoEver(thread);
	}

	#both({good, bad}) {
		return {good: this.#who("good", good), bad: this.#who("bad", bad)};
	}

	#step(side, i) {
		const {wasm} = this;

		if (this.none(i) === null) return null;
		const step = wasm.object("mprof_diff_step", this.view.steps + i * wasm.size("mprof_diff_step")),
			trace = this.traces[side];

		return {
			step: names(wasm, "MPROF_STEP_")[step.kind],
			time: step.time,
			thread: step.thread,
			self: step.other === step.thread,
			other: this.#who(side, step.other),
			label: this.none(step.label) === null ? null : trace.label(step.label),
		};
	}

	#steps(side, from, n) {
		return Array.from({length: n}, (_, i) => this.#step(side, from + i));
	}

	#parting(it) {
		return {
			...this.#both(it),
			ns: it.ns,
			good_common: this.#step("good", it.good_common),
			bad_common: this.#step("bad", it.bad_common),
			good_next: this.#steps("good", it.good_next, it.good_n),
			bad_next: this.#steps("bad", it.bad_next, it.bad_n),
			good_later: this.#step("good", it.good_later),
			bad_later: this.#step("bad", it.bad_later),
		};
	}

	#outcome(it) {
		const {wasm} = this,
			kind = names(wasm, "MPROF_DIFF_")[it.kind].replace("_", "-"),
			side = kind.startsWith("bad") ? "bad" : "good";

		return {
			kind,
			...this.#both(it),
			good_ns: it.good_ns,
			bad_ns: it.bad_ns,
			threads: it.threads,
			should: it.should,
			root: this.#who(side, it.root),
			root_of: this.#who(side === "bad" ? "good" : "bad", it.root_of),
			condition: this.#who(side, it.condition),
			verdict: VERDICTS[names(wasm, "MPROF_WHY_")[it.verdict]],
			parting: this.none(it.parting),
		};
	}

	#counter(side, i) {
		const trace = this.traces[side];

		return this.none(i) === null
			? null
			: {index: i, name: trace.text(trace.item("counters", "mprof_counter", i, "name"))};
	}

	#matches(side) {
		const at = this.view[side + "_match"];

		return new Uint32Array(this.wasm.c.memory.buffer.slice(at, at + 4 * this.traces[side].get("n_threads")));
	}

	answer() {
		const {view} = this;

		return {
			matched: view.matched,
			good_threads: view.good_threads,
			bad_threads: view.bad_threads,
			undue: view.undue,
			alike: Boolean(view.alike),
			good_start: view.good_start,
			good_end: view.good_end,
			bad_start: view.bad_start,
			bad_end: view.bad_end,
			outcomes: this.#list("outcomes", "mprof_diff_outcome", (it) => this.#outcome(it)),
			all_outcomes: view.all_outcomes,
			slower: this.#list("slower", "mprof_diff_slower", (it) => ({
				...this.#both(it),
				good_ns: it.good_ns,
				bad_ns: it.bad_ns,
				followers: it.followers,
			})),
			all_slower: view.all_slower,
			lone: this.#list("lone", "mprof_diff_lone", (it) => ({
				...this.#both(it),
				good_n: it.good_n,
				bad_n: it.bad_n,
			})),
			all_lone: view.all_lone,
			counters: this.#list("counters", "mprof_diff_counter", (it) => ({
				good: this.#counter("good", it.good),
				bad: this.#counter("bad", it.bad),
			})),
			all_counters: view.all_counters,
			partings: this.#list("partings", "mprof_diff_parting", (it) => this.#parting(it)),
			all_partings: view.all_partings,
			first: this.none(view.first),
			good_match: this.#matches("good"),
			bad_match: this.#matches("bad"),
		};
	}
}
