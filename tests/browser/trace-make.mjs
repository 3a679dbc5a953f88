/* Make traces that no real guest writes. */
const MAGIC = 0xc1fc1fc1;
const UUID = Buffer.from("05883b8d521a487bb397456ab150680c", "hex");
const HEADER = 30;

export const EVENTS = {
	creates: 0,
	read: 1,
	fulfills: 2,
	fails: 3,
	becomes: 4,
	label: 5,
	increase: 6,
	switch: 7,
	gc: 8,
	signal: 9,
	"try-read": 10,
	counter: 11,
	extra: 14,
};

/** Return the bytes of one event. PARTS: numbers and bigints of 64 bits, {u8}, texts, Buffers. */
export function event(time, name, ...parts) {
	const head = Buffer.alloc(9);

	head.writeBigUInt64LE(BigInt(time), 0);
	head.writeUInt8(EVENTS[name], 8);
	return Buffer.concat([
		head,
		...parts.map((part) => {
			if (typeof part === "string") return Buffer.concat([Buffer.from(part), Buffer.alloc(1)]);
			if (Buffer.isBuffer(part)) return part;
			if (typeof part === "object") return Buffer.from([part.u8]);
			const number = Buffer.alloc(8);
			number.writeBigInt64LE(BigInt(part));
			return number;
		}),
	]);
}

/** Return the event of a DURATION in ns of THREAD that ended at TIME, named in itself. */
export function duration(time, thread, ns, name) {
	const body = event(0, "extra", thread, ns, Buffer.alloc(4), name).subarray(9);
	const head = Buffer.from([0, 0, 1]); /* the length, and the kind DURATION */

	head.writeUInt16LE(body.length, 0);
	return event(time, "extra", head, body);
}

/** Return a trace of one packet for each list of events. COUNTS numbers the packets. */
export function trace(packets, counts = packets.map((_, i) => i)) {
	return Buffer.concat(
		packets.map((events, i) => {
			const content = Buffer.concat(events);
			const header = Buffer.alloc(HEADER);

			header.writeUInt32LE(MAGIC, 0);
			UUID.copy(header, 4);
			header.writeUInt32LE((HEADER + content.length) * 8, 20);
			header.writeUInt16LE(counts[i], 24);
			header.writeUInt32LE((HEADER + content.length) * 8, 26);
			return Buffer.concat([header, content]);
		}),
	);
}

/** Return lines for the archive's writer: EVENTS as packet SEQUENCE of STREAM. */
export function piece(stream, sequence, events) {
	const content = Buffer.concat(events);
	let end = HEADER;
	const ends = events.map((it) => (end += it.length));

	return `piece ${stream} ${sequence} ${HEADER} 1 65536 ${events[0].readBigUInt64LE(0)} ${ends.at(-1)} ${content.toString("hex")}`;
}
