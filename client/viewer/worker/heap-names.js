/*
 * The names of functions, files and places of a memory profile, as texts for the user: unprintable
 * characters are escaped, and long texts are cut. This runs in the worker of memory profiles.
 */
import {decoder} from "./wasm.js";

const TEXT_MAX = 4096; /* most bytes of a text, before unprintable ones are escaped */

/** Numbers texts, so that an answer has a number for each name and the page gets each text once. */
export class Names {
	#numbers = new Map();
	#sent = 0;
	#list = [];

	/** Return the number of TEXT, from 0. A new text gets the next number. */
	number(text) {
		let number = this.#numbers.get(text);

		if (number === undefined) {
			number = this.#list.push(text) - 1;
			this.#numbers.set(text, number);
		}
		return number;
	}

	/** Return the texts that fresh() has not returned before, in the order of their numbers. */
	fresh() {
		const fresh = this.#list.slice(this.#sent);

		this.#sent = this.#list.length;
		return fresh;
	}
}

/** The strings of a decoder (<mprof/memtrace.h>) as texts for the user. */
export class Texts {
	#known = new Map(); // number of a string of the decoder -> its text for the user

	/**
	 * DECODER is the address of a struct mprof_mem.
	 * @param {Wasm} wasm
	 * @param {number} decoder
	 */
	constructor(wasm, decoder) {
		Object.assign(this, {wasm, decoder});
	}

	/**
	 * Return the text of BYTES bytes at the address AT, with unprintable characters escaped, cut to
	 * TEXT_MAX bytes.
	 */
	printable(at, bytes) {
		const {wasm} = this;
		const kept = Math.min(bytes, TEXT_MAX);

		return wasm.lend(kept * 6 + 64, (out) => {
			const n = wasm.c.wasm_printable(out, kept * 6 + 64, at, kept) >>> 0;

			return decoder.decode(wasm.bytes.slice(out, out + n)) + (kept < bytes ? "…" : "");
		});
	}

	/** Return string I of the decoder for the user; see printable(). */
	string(i) {
		let text = this.#known.get(i);

		if (text === undefined) {
			const {wasm} = this;

			text = wasm.lend(4, (bytes) => {
				const at = wasm.c.mprof_mem_string(this.decoder, i, bytes) >>> 0;

				return this.printable(at, wasm.view.getUint32(bytes, true));
			});
			this.#known.set(i, text);
		}
		return text;
	}

	/**
	 * Return location I of the decoder: {function, file, line, first, last}. FUNCTION and FILE are
	 * strings of the decoder.
	 */
	location(i) {
		const at = this.wasm.c.mprof_mem_location(this.decoder, i) >>> 0;

		return this.wasm.object("mprof_mem_location", at);
	}

	/** Return location I of the decoder as "line:first column-last column". */
	place(i) {
		const {line, first, last} = this.location(i);

		return `${line}:${first}-${last}`;
	}

	/**
	 * Return a text for code I of the decoder, which has no name: its address, or what MPROF_NONE
	 * and other special numbers mean.
	 */
	code(i) {
		const {numbers, c} = this.wasm;

		if (i === numbers.MPROF_NONE) return "all";
		if (i === numbers.MPROF_CODE_TRUNCATED) return "(truncated stack)";
		if (i === numbers.MPROF_CODE_UNKNOWN) return "(unknown stack)";
		const code = this.wasm.get("mprof_mem_code", c.mprof_mem_code(this.decoder, i) >>> 0, "code");

		return `$${BigInt.asIntN(63, code)}`;
	}
}
