/*
 * Access to the functions and structures of mprof.wasm. Only this file knows how structures are
 * laid out in the memory of the wasm: the wasm itself tells the offsets of their members
 * (wasm_layout()).
 *
 * A guest can have written any bytes to a trace. So the wasm checks all indices, and the modules
 * here limit the lengths of lists.
 *
 * The single-file page joins this module and those that import it to one classic script; see
 * README.md.
 */

export const COUNTERS_MAX = 65536; /* most counters of a trace that are sent to the page */
/** Names of enum mprof_counter_kind, as in the answers of mprofctl. */
const COUNTER_KINDS = [null, "gauge", "total", "amount"];
export const counterKind = (kind) => COUNTER_KINDS[kind] ?? null;
export const UINT64_MAX = (1n << 64n) - 1n;
export const decoder = new TextDecoder();

export const OUT_OF_MEMORY =
	"The trace does not fit into the memory that a page may have; choose a shorter part of it.";

const BAD_DESCRIPTOR = 8; /* WASI's EBADF */
const TOO_LARGE = 22; /* WASI's EFBIG */
const refused = () => BAD_DESCRIPTOR;

/**
 * The system calls that the wasm's libc imports. libc prints messages, which nobody reads, and the exports of traces write to
 * descriptors of openOutput(); there are no files.
 */
class Wasi {
	#outputs = new Map(); // descriptor -> function that takes the bytes written to it
	#next = 3;

	/** Return a new descriptor whose bytes TAKE gets, which returns false if it takes no more. */
	open(take) {
		this.#outputs.set(this.#next, take);
		return this.#next++;
	}

	close(fd) {
		this.#outputs.delete(fd);
	}

	/** Return the functions to import. MEMORY() returns the memory of the instance. */
	imports(memory) {
		const write = (fd, vectors, n, written) => {
			const take = this.#outputs.get(fd);
			const view = new DataView(memory().buffer);
			let bytes = 0;

			if (!take) return BAD_DESCRIPTOR;
			for (let at = vectors; at < vectors + 8 * n; at += 8) {
				const length = view.getUint32(at + 4, true);

				if (!take(new Uint8Array(memory().buffer, view.getUint32(at, true), length))) return TOO_LARGE;
				bytes += length;
			}
			view.setUint32(written, bytes, true);
			return 0;
		};

		return {fd_close: refused, fd_fdstat_get: refused, fd_pread: refused, fd_seek: refused, fd_write: write};
	}
}

export class Wasm {
	#wasi;

	/**
	 * Return a Promise of a new instance of MODULE.
	 * @param {WebAssembly.Module} module
	 */
	static async open(module) {
		const wasi = new Wasi();
		const instance = await WebAssembly.instantiate(module, {
			wasi_snapshot_preview1: wasi.imports(() => instance.exports.memory),
		});

		instance.exports._initialize();
		return new Wasm(instance.exports, wasi);
	}

	/**
	 * EXPORTS are those of the instance, and WASI has its imports. After this, `c` has the functions, `structs` the layout of
	 * structures, `numbers` the constants, and `types` and `events` the names of thread types and
	 * event types by number.
	 */
	constructor(exports, wasi) {
		this.#wasi = wasi;
		this.c = exports;
		this.structs = {};
		this.numbers = {};
		this.#readLayout();
		this.types = Array.from({length: 256}, (_, type) => this.cString(exports.wasm_thread_type(type) >>> 0));
		this.events = Array.from({length: this.numbers.MPROF_EVENT_IDS}, (_, id) =>
			this.cString(exports.wasm_event_name(id) >>> 0),
		);
	}

	/**
	 * Read the layout of structures and the constants from the text that the wasm returns: lines "s
	 * NAME SIZE", then "KIND FIELD OFFSET BYTES" for each member; or "n NAME VALUE".
	 */
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

	/**
	 * The memory of the wasm. Get it again after each call of the wasm, which can enlarge the
	 * memory and so detach the old buffer.
	 */
	get bytes() {
		return new Uint8Array(this.c.memory.buffer);
	}

	get view() {
		return new DataView(this.c.memory.buffer);
	}

	/** Return the NUL-terminated text at the address AT. */
	cString(at) {
		const bytes = this.bytes;
		return decoder.decode(bytes.subarray(at, bytes.indexOf(0, at)));
	}

	/**
	 * Return the answer whose JSON is the text at AT, and free the text. Throw if AT is 0: there was no memory. REVIVER is of
	 * JSON.parse().
	 */
	answer(at, reviver) {
		const text = need(at >>> 0);

		try {
			return JSON.parse(this.cString(text), reviver);
		} finally {
			this.c.free(at);
		}
	}

	/**
	 * Allocate SIZE bytes in the memory of the wasm. Return their address. The caller frees them.
	 * Throw if there is no memory.
	 */
	alloc(size) {
		const at = this.c.malloc(size) >>> 0;
		if (!at) throw new Error(OUT_OF_MEMORY);
		return at;
	}

	/**
	 * Allocate SIZE bytes in the memory of the wasm, call USE(address), and free them. Return what
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

	/**
	 * Return the address of TEXT in the memory of the wasm, without its NULs and with one at its end. The caller frees it, or gives it
	 * to the wasm. Throw if there is no memory.
	 */
	newText(text) {
		const bytes = new TextEncoder().encode(text.replaceAll("\0", "") + "\0");
		const at = this.alloc(bytes.length);

		this.bytes.set(bytes, at);
		return at;
	}

	/**
	 * Return a descriptor to which the wasm can write. TAKE gets each piece of bytes, which are those of the memory of the wasm: TAKE
	 * copies them, must not call the wasm, and returns false if it takes no more, so that the write fails.
	 */
	openOutput(take) {
		return this.#wasi.open(take);
	}

	/** Close the descriptor FD of openOutput(). */
	closeOutput(fd) {
		this.#wasi.close(fd);
	}

	/**
	 * Return {at, bytes, kind} of the member NAME of STRUCT: offset, size, and "u", "i", "f" or "p"
	 * for its type. Throw if the wasm has no such member.
	 */
	field(struct, name) {
		const field = this.structs[struct]?.fields[name];
		if (!field) throw new Error(`mprof.wasm has no ${struct}.${name}: it is of another version than the page.`);
		return field;
	}

	/**
	 * Return the member NAME of the STRUCT at the address AT: a number; a BigInt if it has 64 bits
	 * and is no float.
	 */
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
				/*
				 * A pointer or a number of 32 bits; or for a member that is a structure, its
				 * address.
				 */
				return field.bytes === 4 ? view.getUint32(i, true) : i;
		}
	}

	/** Write VALUE to the member NAME of the STRUCT at the address AT. */
	set(struct, at, name, value) {
		const field = this.field(struct, name),
			view = this.view,
			i = at + field.at;
		switch (field.kind + field.bytes) {
			case "u4":
				return view.setUint32(i, value, true);
			case "i8":
				return view.setBigInt64(i, value, true);
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

	/** Return the STRUCT at the address AT as an object with all members. */
	object(struct, at) {
		return Object.fromEntries(
			Object.keys(this.structs[struct].fields).map((name) => [name, this.get(struct, at, name)]),
		);
	}

	/** Return the size of STRUCT in bytes. */
	size(struct) {
		return this.structs[struct].size;
	}
}

/** A reviver for answer(): times are BigInts. */
export const bigTimes = (key, it) => (key.endsWith("_ns") && typeof it === "string" ? BigInt(it) : it);

/** Return the address AT, which the wasm returned. Throw if AT is 0: the wasm has no memory. */
export function need(at) {
	if (!at) throw new Error(OUT_OF_MEMORY);
	return at;
}

/**
 * The packets of a stream are out of order, because its bytes are a copy of a ring that was
 * overwritten from its begin. The caller reads all bytes again into a new trace, as a stream of
 * kind "HELD".
 */
export class OutOfOrder extends Error {}

/**
 * Return ERROR with a message for the user. If the wasm has crashed (a trap), it cannot be used any
 * more, and the message says so.
 */
export function asSentence(error) {
	if (error instanceof WebAssembly.RuntimeError || error instanceof RangeError)
		return new Error(
			`The trace could not be read: ${error.message}. Reload the page; if it happens again, keep the trace and report it.`,
		);
	return error;
}
