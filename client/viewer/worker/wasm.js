/*
 * The calls and structures of mprof.wasm. Only this file knows how structures are laid out in its
 * memory.
 *
 * The wasm returns the offsets of its structures (wasm_layout). A trace can be hostile. So the wasm
 * checks all indices, and this file bounds the lists that it makes.
 *
 * On the single-file page this module and the modules that import it are one classic script; see
 * README.md.
 */

export const COUNTERS_MAX = 65536;
export const UINT64_MAX = (1n << 64n) - 1n;
export const decoder = new TextDecoder();

/** The values of enum mprof_why_verdict, as in `mprofctl why --json`. */
export const VERDICTS = {
	resolved: "resolved",
	missed_signal: "missed-signal",
	missed_resolve: "missed-resolution",
	not_woken: "not-woken",
	signalled_since: "signalled-since",
	never_signalled: "never-signalled",
	never_resolved: "never-resolved",
	cycle: "circle",
};

export const OUT_OF_MEMORY =
	"The trace does not fit into the memory that a page may have; choose a shorter part of it.";

/**
 * System calls of libc, which only writes messages. Each one fails, because nobody reads the
 * messages.
 */
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

	/** Allocate SIZE bytes in the wasm and return the address. The caller frees it. */
	alloc(size) {
		const at = this.c.malloc(size) >>> 0;
		if (!at) throw new Error(OUT_OF_MEMORY);
		return at;
	}

	/**
	 * Call USE(address) with SIZE bytes of the wasm's memory, and free them afterwards. Return what
	 * USE returns.
	 */
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
				/* A pointer; or the address of a structure that is a member. */
				return field.bytes === 4 ? view.getUint32(i, true) : i;
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
			case "p4":
				return view.setUint32(i, value, true);
			default:
				throw new Error(`${struct}.${name} is not written`);
		}
	}

	/** Return all fields of the STRUCT at the address AT as an object. */
	object(struct, at) {
		return Object.fromEntries(
			Object.keys(this.structs[struct].fields).map((name) => [name, this.get(struct, at, name)]),
		);
	}

	size(struct) {
		return this.structs[struct].size;
	}
}

/** Return a readable name for each value of the enum whose constants begin with PREFIX. */
export function names(wasm, prefix) {
	const found = [];
	for (const [name, value] of Object.entries(wasm.numbers))
		if (name.startsWith(prefix)) found[value] = name.slice(prefix.length).toLowerCase();
	return found;
}

/** Return the address AT. Throw if it is 0, which means out of memory. */
export function need(at) {
	if (!at) throw new Error(OUT_OF_MEMORY);
	return at;
}

/**
 * A stream of kind "TWICE" has packets out of order. The caller feeds all bytes again to a new
 * trace, as kind "HELD".
 */
export class OutOfOrder extends Error {}

/** Return ERROR as an Error with a sentence. After a trap the wasm cannot be used any more. */
export function asSentence(error) {
	if (error instanceof WebAssembly.RuntimeError || error instanceof RangeError)
		return new Error(
			`The trace could not be read: ${error.message}. Reload the page; if it happens again, keep the trace and report it.`,
		);
	return error;
}
