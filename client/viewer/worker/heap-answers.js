/*
 * Make the answers to questions about a memory profile from a complete pass over its bytes
 * (recording.js). This runs in the worker of memory profiles. The profile has samples of the
 * program's allocations; amounts in bytes are estimated from them. An answer names a function by
 * its number in heap.names. README.md documents the answers.
 */
import {Texts} from "./heap-names.js";
import {need} from "./wasm.js";

const LEAKS_MAX = 20000; /* most leaks in an answer */
const FRAMES_MAX = 64; /* most functions of a leak's stack in an answer */
/* How sure a leak is, by enum mprof_sureness; the first is no leak. */
const SURENESS = ["none", "possible", "likely", "sure"];
/* Heaps of an allocation, in the order of the wasm. */
const SOURCES = ["minor", "major", "external"];
/* Which objects an answer counts -> enum mprof_weight. */
const WEIGHTS = {all: 0, live: 1, peak: 2};
const U32 = 2 ** 32;

/**
 * Return the relative error of an estimate from SAMPLES samples, 1 / sqrt(SAMPLES); 0 without
 * samples.
 */
export const errorOf = (samples) => (samples ? 1 / Math.sqrt(samples) : 0);

/** The answers that one pass gives. */
export class Answers {
	/**
	 * PASS is the address of a complete pass. NAMES collects the names of functions for the page.
	 * @param {Wasm} wasm
	 * @param {Names} names
	 * @param {number} pass
	 */
	constructor(wasm, names, pass) {
		Object.assign(this, {wasm, names, pass});
		this.decoder = wasm.c.scan_decoder(pass) >>> 0;
		this.texts = new Texts(wasm, this.decoder);
		this.profile = wasm.c.scan_profile(pass) >>> 0;
		this.sums = wasm.object("mprof_profile_sums", wasm.c.mprof_profile_sums(this.profile) >>> 0);
		this.info = wasm.c.mprof_mem_info(this.decoder) >>> 0;
		this.scale = wasm.c.mprof_mem_scale(this.decoder);
	}

	/** Return the member NAME of the STRUCT at the address AT. */
	get(struct, name, at) {
		return this.wasm.get(struct, at, name);
	}

	/** Return the N numbers of 64 bits at the address AT as an array of Numbers. */
	#numbers(at, n) {
		return Array.from(new BigUint64Array(this.wasm.c.memory.buffer, at, n), Number);
	}

	/** Return the numbers at the address AT, one for each heap: {minor, major, external}. */
	bySource(at) {
		const numbers = this.#numbers(at, SOURCES.length);

		return Object.fromEntries(SOURCES.map((name, i) => [name, numbers[i]]));
	}

	// Trees.

	/**
	 * Return the number in heap.names of each of the N nodes of a tree, a Uint32Array. A node is a
	 * function, a place of allocation, or a stack that is unknown. WORDS are the nodes as 32-bit
	 * words, STRIDE words each; AT has the place of each member in a node.
	 */
	#nodeNames(words, n, stride, at) {
		const none = this.wasm.numbers.MPROF_NONE;
		const known = new Map();
		const out = new Uint32Array(n);

		for (let i = 0; i < n; i++) {
			const [name, location, code] = [
				words[i * stride + at.name],
				words[i * stride + at.location],
				words[i * stride + at.code],
			];
			/* Names, places and codes get different keys. */
			const key = name !== none ? name : location !== none ? -1 - location : U32 + code;
			let number = known.get(key);

			if (number === undefined) {
				const text =
					name !== none
						? this.texts.string(name)
						: location !== none
							? `${this.texts.string(this.texts.location(location).file)}:${this.texts.place(location)}`
							: this.texts.code(code);

				number = this.names.number(text);
				known.set(key, number);
			}
			out[i] = number;
		}
		return out;
	}

	/**
	 * Return the tree at the address FLAME with an array for each member of its nodes; README.md
	 * describes it.
	 */
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
				Float64Array.from(
					{length: n},
					(_, i) => (words[i * stride + field] + words[i * stride + field + 1] * U32) * scale,
				);

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

	/**
	 * Return both trees of a flame graph: `callees` has the outermost callers below its root,
	 * `callers` the allocating functions. WEIGHT is a number of WEIGHTS. SITES: true adds a node
	 * for each place of allocation. RECURSION: true keeps each call of a recursive function, false
	 * only the outermost. HIDING is a Filter with the names of functions to leave out, or null.
	 */
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

	/** Return [number of objects, number of samples] that WEIGHT, a number of WEIGHTS, counts. */
	counted(weight) {
		const {sums} = this;
		const sum = (at) => this.#numbers(at, SOURCES.length).reduce((a, b) => a + b, 0);

		return [
			[sum(sums.allocs), sum(sums.samples)],
			[Number(sums.live_objects), Number(sums.live)],
			[Number(sums.peak_objects), Number(sums.peak)],
		][weight];
	}

	/** Return the answer of heap.profile(). HIDING is that of #trees(). */
	byFunctions({weight = "all", ...options}, hiding) {
		const number = WEIGHTS[weight] ?? 0;
		const answer = this.wasm.answer(this.wasm.c.wasm_hotspots(this.pass, number));
		const samples = Number(answer.samples);

		return {...answer, samples, relativeError: errorOf(samples), ...this.#trees(number, options, hiding)};
	}

	// Time.

	/** Return the answer of heap.timeline() for N times from FROM to TO, µs since the start. */
	line(from, to, n) {
		const {wasm} = this;

		return wasm.lend(8 * n, (out) => {
			wasm.c.scan_line(this.pass, BigInt(from), BigInt(to - from), out, n);
			return {bytes: new Float64Array(wasm.c.memory.buffer.slice(out, out + 8 * n))};
		});
	}

	// Leaks.

	/**
	 * Return the functions of the stack that ends at NODE, the allocating function first, as texts
	 * with file and line. NODES is the address of the nodes of the profile.
	 */
	#stack(nodes, node) {
		const {wasm} = this;
		const {MPROF_NONE: none, MPROF_CODE_UNKNOWN: special} = wasm.numbers;
		const size = wasm.size("mprof_profile_node");
		const stack = [];

		for (
			;
			node !== none && stack.length < FRAMES_MAX;
			node = this.get("mprof_profile_node", "parent", nodes + node * size)
		) {
			const i = this.get("mprof_profile_node", "code", nodes + node * size);

			if (i === none) continue;
			const code =
				i < special ? wasm.object("mprof_mem_code", wasm.c.mprof_mem_code(this.decoder, i) >>> 0) : null;

			if (!code?.locations) stack.push(this.texts.code(i));
			for (let k = (code?.locations ?? 0) - 1; k >= 0; k--) {
				const {function: name, file, line} = this.texts.location(code.first_location + k);

				stack.push(`${this.texts.string(name)} (${this.texts.string(file)}:${line})`);
			}
		}
		return stack.slice(0, FRAMES_MAX);
	}

	/**
	 * Return the leak (struct mprof_leak) at the address AT; README.md describes it. NODES is that
	 * of #stack().
	 */
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
			sure: SURENESS[leak.sureness],
		};
	}

	/** Return the answer of heap.leaks(), the largest growth first. */
	leaks() {
		const {wasm} = this;
		const {c} = wasm;
		const leaks = need(
			c.mprof_leaks_new(this.profile, this.decoder, c.scan_start(this.pass), this.sums.last_us) >>> 0,
		);

		try {
			return wasm.lend(4, (count) => {
				const nodes = c.mprof_profile_nodes(this.profile, count) >>> 0;
				const list = c.mprof_leaks_list(leaks, count) >>> 0;
				const n = wasm.view.getUint32(count, true);
				const size = wasm.size("mprof_leak");
				const found = [];

				for (let i = 0; i < n && found.length < LEAKS_MAX; i++) {
					const at = list + i * size;

					if (this.get("mprof_leak", "sureness", at)) found.push(this.#leak(at, nodes));
				}
				return found;
			});
		} finally {
			c.mprof_leaks_free(leaks);
		}
	}
}
