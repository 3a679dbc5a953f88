/* Bytes as they come, in pieces: what is packed with gzip is unpacked, and what a page cannot unpack is named. */

const UNREADABLE = {xz: [0xfd, 0x37, 0x7a, 0x58, 0x5a], zstd: [0x28, 0xb5, 0x2f, 0xfd], bzip2: [0x42, 0x5a, 0x68]};
const GZIP = [0x1f, 0x8b];

function beginsWith(bytes, wanted) {
	return bytes.length >= wanted.length && wanted.every((byte, i) => bytes[i] === byte);
}

/** What a generator of pieces gives, as a stream that asks for one at a time. */
function streamOf(pieces) {
	return new ReadableStream({
		async pull(out) {
			const {value, done} = await pieces.next();

			if (done) out.close();
			else out.enqueue(value);
		},
	});
}

/** The pieces that STREAM gives. */
export async function* piecesOf(stream) {
	const reader = stream.getReader();

	for (;;) {
		const {value, done} = await reader.read();

		if (done) return;
		yield value;
	}
}

async function* unzipped(pieces) {
	let failure = null; // of the source, which is not to be called damage

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

/** The pieces as they are, or where they are compressed what they hold. */
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
