/*
 * Unpack a stream of bytes. Only gzip can be unpacked. For another compression the error names it.
 */

const UNREADABLE = {xz: [0xfd, 0x37, 0x7a, 0x58, 0x5a], zstd: [0x28, 0xb5, 0x2f, 0xfd], bzip2: [0x42, 0x5a, 0x68]};
const GZIP = [0x1f, 0x8b];

function beginsWith(bytes, wanted) {
	return bytes.length >= wanted.length && wanted.every((byte, i) => bytes[i] === byte);
}

/** Return a ReadableStream of the pieces that a generator yields. */
function streamOf(pieces) {
	return new ReadableStream({
		async pull(out) {
			const {value, done} = await pieces.next();

			if (done) out.close();
			else out.enqueue(value);
		},
	});
}

/** Yield the pieces of STREAM. */
export async function* piecesOf(stream) {
	const reader = stream.getReader();

	for (;;) {
		const {value, done} = await reader.read();

		if (done) return;
		yield value;
	}
}

async function* unzipped(pieces) {
	let failure = null; // error of the source, to be told from damage of the packed data

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

/** Yield PIECES, unpacked if they are compressed. */
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
