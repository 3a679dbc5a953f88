/*
 * The names of functions, files and places in a recording, printable and bounded. Runs in the
 * worker of memory profiles.
 */
import {decoder} from "./wasm.js";

const TEXT_MAX = 4096;

/**
 * A list of texts, each stored once, with its number. fresh() returns the texts that the page does
 * not have yet.
 */
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

/** The printable texts of the strings that a decoder has. */
export class Texts {
	#known = new Map(); // number of a string -> its printable text

	/** DECODER is the address of the decoder. @param {Wasm} wasm @param {number} decoder */
	constructor(wasm, decoder) {
		Object.assign(this, {wasm, decoder});
	}

	printable(at, bytes) {
		const {wasm} = this;
		const kept = Math.min(bytes, TEXT_MAX);

		return wasm.lend(kept * 6 + 64, (out) => {
			const n = wasm.c.wasm_printable(out, kept * 6 + 64, at, kept) >>> 0;

			return decoder.decode(wasm.bytes.slice(out, out + n)) + (kept < bytes ? "…" : "");
		});
	}

	/** Return the NUL-terminated text at the address AT, printable. */
	terminated(at) {
		return this.printable(at, this.wasm.bytes.indexOf(0, at) - at);
	}

	/** Return string I of the decoder, printable. */
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

	location(i) {
		const at = this.wasm.c.mprof_mem_location(this.decoder, i) >>> 0;

		return this.wasm.object("mprof_mem_location", at);
	}

	place(i) {
		const {line, first, last} = this.location(i);

		return `${line}:${first}-${last}`;
	}

	/** Return a text for a code location that has no name. */
	code(i) {
		const {numbers, c} = this.wasm;

		if (i === numbers.MPROF_NONE) return "all";
		if (i === numbers.MPROF_CODE_TRUNCATED) return "(truncated stack)";
		if (i === numbers.MPROF_CODE_UNKNOWN) return "(unknown stack)";
		const code = this.wasm.get("mprof_mem_code", c.mprof_mem_code(this.decoder, i) >>> 0, "code");

		return `$${BigInt.asIntN(63, code)}`;
	}
}
