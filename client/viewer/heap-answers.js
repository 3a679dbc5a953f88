/*
 * In the worker of memory profiles: what a pass says, as the page has it. Amounts are bytes, names are numbers into one list of texts, which are
 * printable and bounded; README.md says what each answer is.
 */
import {OUT_OF_MEMORY, decoder, need} from "./wasm.js";

const TEXT_MAX = 4096;
const SPOTS_MAX = 20000;
const CALLERS_MAX = 20;
const FRAMES_MAX = 64;
/* As `mprofctl mem leaks`, which says why. */
const TOLD_PARTS = 3;
const SURENESS = [
	["sure", 7, 28],
	["likely", 5, 8],
];
const SOURCES = ["minor", "major", "external"];
const WEIGHTS = {all: 0, live: 1, peak: 2};
const U32 = 2 ** 32;

/** Texts by number, each once; those that the page was not told of yet are taken by fresh(). */
export class Names {
	#numbers = new Map();
	#told = 0;
	#list = [];

	number(text) {
		let number = this.#numbers.get(text);

		if (number === undefined) {
			number = this.#list.push(text) - 1;
			this.#numbers.set(text, number);
		}
		return number;
	}

	fresh() {
		const fresh = this.#list.slice(this.#told);

		this.#told = this.#list.length;
		return fresh;
	}
}

/** What SAMPLES of a selection stand for. */
const errorOf = (samples) => (samples ? 1 / Math.sqrt(samples) : 0);

/** The answers of one pass. */
export class Answers {
	#texts = new Map(); // strings of the decoder that were shown

	/** @param {Wasm} wasm @param {Names} names @param {number} pass its place */
	constructor(wasm, names, pass) {
		Object.assign(this, {wasm, names, pass});
		this.decoder = wasm.c.pass_decoder(pass) >>> 0;
		this.profile = wasm.c.pass_profile(pass) >>> 0;
		this.sums = wasm.object("mprof_profile_sums", wasm.c.mprof_profile_sums(this.profile) >>> 0);
		this.info = wasm.c.mprof_mem_info(this.decoder) >>> 0;
		this.scale = this.info ? this.get("mprof_mem_info", "word_bytes", this.info) / this.get("mprof_mem_info", "rate", this.info) : 0;
	}

	get(struct, name, at) {
		return this.wasm.get(struct, at, name);
	}

	/** N 64-bit numbers at AT. */
	#numbers(at, n) {
		return Array.from(new BigUint64Array(this.wasm.c.memory.buffer, at, n), Number);
	}

	#bySource(at) {
		const numbers = this.#numbers(at, SOURCES.length);

		return Object.fromEntries(SOURCES.map((name, i) => [name, numbers[i]]));
	}

	// ---- texts

	#printable(at, bytes) {
		const {wasm} = this;
		const kept = Math.min(bytes, TEXT_MAX);

		return wasm.lend(kept * 6 + 64, (out) => {
			const n = wasm.c.wasm_printable(out, kept * 6 + 64, at, kept) >>> 0;

			return decoder.decode(wasm.bytes.slice(out, out + n)) + (kept < bytes ? "…" : "");
		});
	}

	/** A text that ends with a NUL. */
	#terminated(at) {
		return this.#printable(at, this.wasm.bytes.indexOf(0, at) - at);
	}

	/** String I of the decoder. */
	string(i) {
		let text = this.#texts.get(i);

		if (text === undefined) {
			const {wasm} = this;

			text = wasm.lend(4, (bytes) => {
				const at = wasm.c.mprof_mem_string(this.decoder, i, bytes) >>> 0;

				return this.#printable(at, wasm.view.getUint32(bytes, true));
			});
			this.#texts.set(i, text);
		}
		return text;
	}

	#location(i) {
		const at = this.wasm.c.mprof_mem_location(this.decoder, i) >>> 0;

		return this.wasm.object("mprof_mem_location", at);
	}

	#place(i) {
		const {line, first, last} = this.#location(i);

		return `${line}:${first}-${last}`;
	}

	/** A code without a name. */
	#code(i) {
		const {numbers, c} = this.wasm;

		if (i === numbers.MPROF_NONE) return "all";
		if (i === numbers.MPROF_CODE_TRUNCATED) return "(truncated stack)";
		if (i === numbers.MPROF_CODE_UNKNOWN) return "(unknown stack)";
		const code = this.get("mprof_mem_code", "code", c.mprof_mem_code(this.decoder, i) >>> 0);

		return `$${BigInt.asIntN(63, code)}`;
	}

	// ---- trees

	/** The number of each node's name: of a function, a place of allocation, or what stands for a stack. */
	#nodeNames(words, n, stride, at) {
		const none = this.wasm.numbers.MPROF_NONE;
		const known = new Map();
		const out = new Uint32Array(n);

		for (let i = 0; i < n; i++) {
			const [name, location, code] = [words[i * stride + at.name], words[i * stride + at.location], words[i * stride + at.code]];
			const key = name !== none ? name : location !== none ? -1 - location : U32 + code;
			let number = known.get(key);

			if (number === undefined) {
				const text =
					name !== none
						? this.string(name)
						: location !== none
							? `${this.string(this.#location(location).file)}:${this.#place(location)}`
							: this.#code(code);

				number = this.names.number(text);
				known.set(key, number);
			}
			out[i] = number;
		}
		return out;
	}

	#tree(flame) {
		const {wasm, scale} = this;

		return wasm.lend(4, (count) => {
			const nodes = wasm.c.mprof_flame_nodes(flame, count) >>> 0;
			const n = wasm.view.getUint32(count, true);
			const stride = wasm.size("mprof_flame_node") / 4;
			const fields = Object.entries(wasm.structs.mprof_flame_node.fields);
			const at = Object.fromEntries(fields.map(([name, field]) => [name, field.at / 4]));
			const copied = wasm.c.memory.buffer.slice(nodes, nodes + n * stride * 4);
			const words = new Uint32Array(copied);
			const column = (field) => Uint32Array.from({length: n}, (_, i) => words[i * stride + field]);
			const bytes = (field) =>
				Float64Array.from({length: n}, (_, i) => (words[i * stride + field] + words[i * stride + field + 1] * U32) * scale);

			return {
				n,
				parent: column(at.parent),
				first: column(at.first_child),
				next: column(at.next_sibling),
				depth: column(at.depth),
				allocs: column(at.allocs),
				self: bytes(at.self),
				total: bytes(at.total),
				name: this.#nodeNames(words, n, stride, at),
			};
		});
	}

	/** Both trees. HIDING is a Filter or null. */
	#trees(weight, {sites = false, recursion = false}, hiding) {
		const {c} = this.wasm;
		const flame = need(c.wasm_flame(this.pass, weight, sites, recursion, hiding?.at ?? 0) >>> 0);

		try {
			const callers = need(c.mprof_flame_callers(flame, this.decoder) >>> 0);

			try {
				return {callees: this.#tree(flame), callers: this.#tree(callers)};
			} finally {
				c.mprof_flame_free(callers);
			}
		} finally {
			c.mprof_flame_free(flame);
		}
	}

	// ---- functions

	#callers({first_caller: first, n_callers: n}, callers) {
		const {wasm, scale} = this;
		const size = wasm.size("mprof_hotspot_caller");
		const list = [];

		for (let i = first; i < first + n && list.length < CALLERS_MAX; i++) {
			const {caller, samples} = wasm.object("mprof_hotspot_caller", callers + i * size);

			if (caller < SPOTS_MAX) list.push({spot: caller, bytes: Number(samples) * scale});
		}
		return list;
	}

	#spot(at, callers) {
		const {wasm, scale} = this;
		const {MPROF_NONE: none} = wasm.numbers;
		const spot = wasm.object("mprof_hotspot", at);
		const places = [...new Uint32Array(wasm.c.memory.buffer, spot.places, 3)].filter((it) => it !== none);

		return {
			name: spot.name === none ? this.#code(spot.code) : this.string(spot.name),
			file: spot.name === none ? "" : this.string(spot.file),
			places: places.map((it) => this.#place(it)),
			morePlaces: spot.n_places - places.length,
			self: Number(spot.self) * scale,
			total: Number(spot.total) * scale,
			callers: this.#callers(spot, callers),
		};
	}

	#spots(weight) {
		const {wasm} = this;
		const {c} = wasm;
		const spots = need(c.mprof_hotspots_new(this.profile, this.decoder, weight) >>> 0);

		try {
			return wasm.lend(4, (count) => {
				const callers = c.mprof_hotspots_callers(spots, count) >>> 0;
				const list = c.mprof_hotspots_list(spots, count) >>> 0;
				const n = Math.min(wasm.view.getUint32(count, true), SPOTS_MAX);
				const size = wasm.size("mprof_hotspot");

				return Array.from({length: n}, (_, i) => this.#spot(list + i * size, callers));
			});
		} finally {
			c.mprof_hotspots_free(spots);
		}
	}

	/** Objects and samples that WEIGHT counts. */
	#counted(weight) {
		const {sums} = this;
		const sum = (at) => this.#numbers(at, SOURCES.length).reduce((a, b) => a + b, 0);

		return [
			[sum(sums.allocs), sum(sums.samples)],
			[Number(sums.live_objects), Number(sums.live)],
			[Number(sums.peak_objects), Number(sums.peak)],
		][weight];
	}

	byFunctions({weight = "all", ...options}, hiding) {
		const number = WEIGHTS[weight] ?? 0;
		const [objects, samples] = this.#counted(number);

		return {
			objects,
			samples,
			bytes: samples * this.scale,
			relativeError: errorOf(samples),
			...this.#trees(number, options, hiding),
			spots: this.#spots(number),
		};
	}

	// ---- time

	line(from, to, n) {
		const {wasm} = this;

		return wasm.lend(8 * n, (out) => {
			wasm.c.pass_line(this.pass, BigInt(from), BigInt(to - from), out, n);
			return {bytes: new Float64Array(wasm.c.memory.buffer.slice(out, out + 8 * n))};
		});
	}

	// ---- leaks

	/** The stack that ends at NODE of the profile, the allocation first. */
	#stack(nodes, node) {
		const {wasm} = this;
		const {MPROF_NONE: none, MPROF_CODE_UNKNOWN: special} = wasm.numbers;
		const size = wasm.size("mprof_profile_node");
		const stack = [];

		for (; node !== none && stack.length < FRAMES_MAX; node = this.get("mprof_profile_node", "parent", nodes + node * size)) {
			const i = this.get("mprof_profile_node", "code", nodes + node * size);

			if (i === none) continue;
			const code = i < special ? wasm.object("mprof_mem_code", wasm.c.mprof_mem_code(this.decoder, i) >>> 0) : null;

			if (!code?.locations) stack.push(this.#code(i));
			for (let k = (code?.locations ?? 0) - 1; k >= 0; k--) {
				const {function: name, file, line} = this.#location(code.first_location + k);

				stack.push(`${this.string(name)} (${this.string(file)}:${line})`);
			}
		}
		return stack.slice(0, FRAMES_MAX);
	}

	#leak(at, nodes) {
		const {wasm, scale} = this;
		const leak = wasm.object("mprof_leak", at);
		const growth = Number(leak.growth);
		const stack = this.#stack(nodes, leak.node);

		return {
			text: stack[0] ?? "(no stack)",
			stack,
			live: Number(leak.live) * scale,
			growth: growth * scale,
			steady: leak.steady,
			parts: this.#numbers(leak.parts, wasm.numbers.MPROF_LEAK_PARTS).map((it) => it * scale),
			sure: SURENESS.find(([, steady, least]) => leak.steady >= steady && growth >= least)?.[0] ?? "possible",
		};
	}

	leaks() {
		const {wasm} = this;
		const {c} = wasm;
		const leaks = need(c.mprof_leaks_new(this.profile, this.decoder, c.pass_start(this.pass), this.sums.last_us) >>> 0);

		try {
			return wasm.lend(4, (count) => {
				const nodes = c.mprof_profile_nodes(this.profile, count) >>> 0;
				const list = c.mprof_leaks_list(leaks, count) >>> 0;
				const n = wasm.view.getUint32(count, true);
				const size = wasm.size("mprof_leak");
				const told = [];

				for (let i = 0; i < n && told.length < SPOTS_MAX; i++) {
					const at = list + i * size;

					if (this.get("mprof_leak", "steady", at) >= TOLD_PARTS && this.get("mprof_leak", "growth", at))
						told.push(this.#leak(at, nodes));
				}
				return told;
			});
		} finally {
			c.mprof_leaks_free(leaks);
		}
	}

	// ---- what it is

	about() {
		if (!this.info) return {program: "", host: "", context: "", parameters: "", pid: null, wordBytes: 8, rate: 0, version: 0};
		const info = this.wasm.object("mprof_mem_info", this.info);
		const text = (name) => this.#terminated(info[name]);

		return {
			program: text("program"),
			host: text("host"),
			context: text("context"),
			parameters: text("parameters"),
			pid: info.pid < 0n ? null : Number(info.pid),
			wordBytes: info.word_bytes,
			rate: info.rate,
			version: info.version,
		};
	}

	added() {
		const {sums, scale} = this;
		const [, samples] = this.#counted(0);
		const start = this.wasm.c.pass_start(this.pass);

		return {
			allocs: this.#bySource(sums.allocs),
			samples: this.#bySource(sums.samples),
			promotes: Number(sums.promotes),
			collects: Number(sums.collects),
			liveBytes: Number(sums.live) * scale,
			liveObjects: Number(sums.live_objects),
			peakBytes: Number(sums.peak) * scale,
			peakObjects: Number(sums.peak_objects),
			peakUs: sums.peak ? Number(sums.peak_us - start) : 0,
			totalBytes: samples * scale,
			relativeError: errorOf(samples),
		};
	}
}

/** The damage that a pass met: sentences. */
function damagesOf(wasm, pass, all) {
	const sentences = [];

	wasm.lend(256, (text) => {
		while (wasm.c.wasm_pass_damage(pass, sentences.length, text, 256)) sentences.push(wasm.cString(text));
	});
	if (all > sentences.length) sentences.push("further damage is not listed");
	return sentences;
}

const number = (n) => Number(n).toLocaleString("en");

/** What else is to be said. */
function notesOf(totals, sums, {number: chosen}) {
	const notes = [];
	const say = (n, sentence) => n && notes.push(sentence(number(n)));

	if (totals.recordings > 1n && !chosen)
		notes.push(`${number(totals.recordings)} recordings are joined here; this is the last of them.`);
	say(totals.clock, (n) => `The clock stepped back ${n} times; what came behind has the latest time before it.`);
	say(totals.truncated, (n) => `${n} stacks were cut by the writer: the place of the allocation is missing in them.`);
	say(totals.stackless, (n) => `Of ${n} allocations the stack is not known, because bytes were lost before them.`);
	say(totals.unnamed, (n) => `${n} names and places are past the limits of what is kept.`);
	say(sums.left_out, (n) => `Of ${n} samples the innermost frames are left out, since there are too many different stacks.`);
	say(sums.unknown, (n) => `${n} times an object was promoted or freed that was not there; they are passed over.`);
	say(sums.repeated, (n) => `${n} allocations are of objects that were there already; they are passed over.`);
	return notes;
}

/** What heap.load() answers. */
export function infoOf(recording, names) {
	const {wasm} = recording;
	const answers = new Answers(wasm, names, recording.all);
	const base = wasm.c.pass_decoder(recording.base) >>> 0;
	const totals = wasm.object("mprof_mem_totals", wasm.c.mprof_mem_totals(base) >>> 0);
	const start = wasm.c.pass_start(recording.base);
	const last = recording.lastUs;

	return {
		...answers.about(),
		startUs: start,
		endUs: last > start ? last : start,
		bytes: Number(recording.bytes),
		recordings: Number(totals.recordings),
		damages: damagesOf(wasm, recording.base, Number(totals.damages)),
		notes: notesOf(totals, answers.sums, recording),
		sums: answers.added(),
		memory: wasm.c.memory.buffer.byteLength,
	};
}
