/*
 * Unpack a stream of bytes. Browsers can unpack gzip. For another compression the user gets an
 * error with its name.
 */

/* First bytes of formats that are recognised and cannot be unpacked. */
const UNREADABLE = {xz: [0xfd, 0x37, 0x7a, 0x58, 0x5a], zstd: [0x28, 0xb5, 0x2f, 0xfd], bzip2: [0x42, 0x5a, 0x68]};
const GZIP = [0x1f, 0x8b];

/** Return true if BYTES begins with WANTED. */
function beginsWith(bytes, wanted) {
	return bytes.length >= wanted.length && wanted.every((byte, i) => bytes[i] === byte);
}

/** Return a ReadableStream of the pieces that the generator PIECES yields. */
function streamOf(pieces) {
	return new ReadableStream({
		async pull(out) {
			const {value, done} = await pieces.next();

			if (done) out.close();
			else out.enqueue(value);
		},
	});
}

/** Yield the pieces of STREAM, a ReadableStream. */
export async function* piecesOf(stream) {
	const reader = stream.getReader();

	for (;;) {
		const {value, done} = await reader.read();

		if (done) return;
		yield value;
	}
}

/**
 * Yield the bytes of PIECES, a generator of gzip. Throw the error of PIECES, or a sentence for the
 * user if the gzip is damaged.
 */
async function* unzipped(pieces) {
	/* The error that PIECES threw; null: none, so an error below means that the gzip is damaged. */
	let failure = null;

	async function* packed() {
		try {
			yield* pieces;
		} catch (error) {
			failure = error;
			throw error;
		}
	}
	const plain = piecesOf(streamOf(packed()).pipeThrough(new DecompressionStream("gzip")));

	for (;;) {
		const {value, done} = await plain.next().catch(() => {
			throw failure ?? new Error("The trace is compressed with gzip, and damaged or cut short.");
		});

		if (done) return;
		yield value;
	}
}

/**
 * Yield the bytes of PIECES, a generator of Uint8Arrays; unpack them if they are gzip. Throw a
 * sentence for the user if they have another compression.
 */
export async function* unpacked(pieces) {
	const {value: first, done} = await pieces.next();

	if (done) return;
	for (const [name, magic] of Object.entries(UNREADABLE))
		if (beginsWith(first, magic))
			throw new Error(
				`The trace is compressed with ${name}, which a page cannot read: unpack it first, or open it by \`mprofctl view\`.`,
			);
	async function* all() {
		yield first;
		yield* pieces;
	}
	yield* beginsWith(first, GZIP) ? unzipped(all()) : all();
}
