/*
 * Make the answers to questions about a memory profile from a complete pass over its bytes
 * (recording.js). This runs in the worker of memory profiles. The profile has samples of the
 * program's allocations; amounts in bytes are estimated from them. An answer names a function by
 * its number in heap.names. README.md documents the answers.
 */
import {Texts} from "./heap-names.js";
import {need} from "./wasm.js";

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
		this.scale = wasm.c.mprof_mem_scale(this.decoder);
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

	/** Return the answer of heap.leaks(). */
	leaks() {
		return this.wasm.answer(this.wasm.c.wasm_leaks(this.pass));
	}
}
