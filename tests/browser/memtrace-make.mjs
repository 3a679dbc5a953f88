/*
 * Make memtrace streams whose heap is known to the byte: blocks without backtraces, sampled at a
 * rate at which each sampled word stands for a round number of bytes.
 *
 *     const more = writer(start);                                                       // start: BigInt, microseconds since the epoch
 *     info({start}), more([{at: us since START, bytes, until: us or absent}, …]), …     // concatenate them; bytes are multiples of GRAIN
 *
 * schema/memtrace.md, version 2, defines the layout.
 */
const MAGIC = 0xc1fc1fc1;
const HEAD = 66;
export const GRAIN = 8000; /* bytes that one sample stands for: a word of 8 at a rate of 1 in 1000 */

const bits = (time) => Number(time & 0x1ffffffn);

function vint(n) {
	const out = Buffer.alloc(5);

	if (n <= 252) return Buffer.from([n]);
	if (n <= 0xffff) {
		out[0] = 253;
		out.writeUInt16LE(n, 1);
		return out.subarray(0, 3);
	}
	out[0] = 254;
	out.writeInt32LE(n, 1);
	return out;
}

/**
 * Return a packet of events between FROM and TO. Its allocations have the numbers FIRST up to
 * LAST.
 */
function packet(body, from, to, first, last) {
	const head = Buffer.alloc(HEAD);

	head.writeUInt32LE(MAGIC, 0);
	head.writeUInt32LE((HEAD + body.length) * 8, 4);
	head.writeBigUInt64LE(from, 8);
	head.writeBigUInt64LE(to, 16);
	head.writeUInt16LE(2, 28);
	head.writeBigInt64LE(-1n, 30);
	head.writeUInt16LE(0xffff, 38);
	head.writeBigUInt64LE(BigInt(first), 50);
	head.writeBigUInt64LE(BigInt(last), 58);
	return Buffer.concat([head, body]);
}

function event(kind, time, ...parts) {
	const word = Buffer.alloc(4);

	word.writeUInt32LE((bits(time) | (kind << 25)) >>> 0, 0);
	return Buffer.concat([word, ...parts]);
}

/**
 * Return the first packet. START is in microseconds since the epoch (BigInt); the rest are
 * labels.
 */
export function info({start, rate = 1e-3, program = "mirage", host = "mirage_unikernel", context = ""}) {
	const head = Buffer.alloc(9);
	const text = (it) => Buffer.from(`${it}\0`);

	head.writeDoubleLE(rate, 0);
	head[8] = 64;
	return packet(
		Buffer.concat([
			event(0, start, head),
			text(program),
			text(host),
			text("v=0"),
			Buffer.alloc(8, 0xff),
			text(context),
		]),
		start,
		start,
		0,
		0,
	);
}

/**
 * Return a writer of later packets: `more(blocks)` returns the packets of BLOCKS, one for each
 * event. A block without `until` is never freed.
 */
export function writer(start) {
	let known = 0; /* allocations so far */

	return (blocks) => {
		const events = [...blocks]
			.sort((a, b) => a.at - b.at)
			.flatMap(({at, bytes, until}, i) => [
				{at, bytes, id: known + i},
				...(until === undefined ? [] : [{at: until, id: known + i}]),
			])
			.sort((a, b) => a.at - b.at || a.id - b.id);

		return Buffer.concat(
			events.map(({at, bytes, id}) => {
				const time = start + BigInt(at);
				if (bytes === undefined) return packet(event(4, time, vint(known - 1 - id)), time, time, known, known);
				known++;
				return packet(
					event(2, time, vint(bytes / GRAIN), vint(bytes / GRAIN), Buffer.from([1, 0, 0, 0])),
					time,
					time,
					id,
					id + 1,
				);
			}),
		);
	};
}
