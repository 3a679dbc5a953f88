/*
 * The trace as Chrome's trace events, a JSON format that the Perfetto UI opens: that of `mprofctl export --to chrome`, whose code the
 * wasm has. It needs the bytes of the trace again, since a model does not keep all that they say.
 */
import {OUT_OF_MEMORY, need} from "./wasm.js";

const PIECE_BYTES = 1 << 20; /* most bytes that are copied to the wasm at once */
const KEPT_BYTES =
	4 << 20; /* bytes of the document in the worker's memory; a browser can put those of a Blob on the disk */
const DOCUMENT_BYTES = 1 << 30; /* most bytes of a document */

const TOO_LARGE =
	"The trace is too large to be converted in a page; save it, and convert it by `mprofctl export --to chrome`.";

/** The document of one export, as a Blob that grows. */
class Document {
	#blobs = [];
	#parts = [];
	#bytes = 0;
	#left;

	/** The document has at most MOST bytes. */
	constructor(most) {
		this.#left = most;
	}

	/** Append a copy of BYTES. Return false if the document would be too large. */
	put(bytes) {
		if (bytes.length > this.#left) return false;
		this.#parts.push(bytes.slice());
		this.#left -= bytes.length;
		this.#bytes += bytes.length;
		if (this.#bytes >= KEPT_BYTES) this.#flush();
		return true;
	}

	#flush() {
		this.#blobs.push(new Blob(this.#parts));
		this.#parts = [];
		this.#bytes = 0;
	}

	get blob() {
		this.#flush();
		return new Blob(this.#blobs, {type: "application/json"});
	}
}

/** Yield the pieces of BYTES, a generator, in pieces for the wasm, none of which is empty. */
async function* pieces(bytes) {
	for await (const piece of bytes)
		for (let at = 0; at < piece.length; at += PIECE_BYTES) yield piece.subarray(at, at + PIECE_BYTES);
}

/** Give the export X the bytes that it wants, until its document is complete. STREAMS are generators of pieces(). */
async function run(wasm, x, streams) {
	const {c, numbers} = wasm;
	let status;

	while ((status = c.chrome_export_step(x)) === numbers.MPROF_MORE) {
		const {value} = await streams[c.chrome_export_wants(x)].next();

		if (value) {
			const room = need(c.chrome_export_room(x, value.length) >>> 0);

			wasm.bytes.set(value, room);
		}
		c.chrome_export_came(x, value?.length ?? 0);
	}
	if (status !== numbers.MPROF_END) throw new Error(TOO_LARGE);
}

/**
 * Return a Promise of {blob, refused}: the JSON document of the trace NAME, and the number of events whose threads or counters are beyond the
 * limits (chrome_export_refused()). STREAMS are {name, offsetNs, kind, bytes}: KIND as of Trace.stream(), and BYTES a generator of the stream's
 * bytes. SEED is a number that no guest knows. Reject with a sentence for the user if there is no memory, or the document would have more than
 * MOST bytes.
 */
export async function chromeDocument(wasm, name, streams, seed, most = DOCUMENT_BYTES) {
	const {c, numbers} = wasm;
	const written = new Document(most);

	if (streams.length > numbers.CONSUMER_STREAMS_MAX)
		throw new Error(
			`The trace has ${streams.length} streams, and a file for Perfetto at most ${numbers.CONSUMER_STREAMS_MAX}.`,
		);
	const fd = wasm.openOutput((bytes) => written.put(bytes));
	let x = 0;

	try {
		x = need(c.chrome_export_new(wasm.newText(name), fd, seed) >>> 0);
		for (const {name, offsetNs = 0n, kind} of streams)
			if (
				c.chrome_export_stream(x, wasm.newText(name), offsetNs, numbers["INPUT_" + kind]) >>> 0 ===
				numbers.MPROF_NONE
			)
				throw new Error(OUT_OF_MEMORY);
		await run(
			wasm,
			x,
			streams.map(({bytes}) => pieces(bytes)),
		);
		return {blob: written.blob, refused: c.chrome_export_refused(x) >>> 0};
	} finally {
		c.chrome_export_free(x);
		wasm.closeOutput(fd);
	}
}
