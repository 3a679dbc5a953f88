/*
 * The tail of a trace: what was copied when the guest stopped and nobody could prove any more.  The server cuts what does not hold; of what is left it
 * says where it begins, and the picture marks it from there on.
 */
import {Engine} from "../engine/engine.js";

const LAST = String(4 << 20); /* no tail is longer than a ring, and the newest packets say where it begins */
const RANGE = "bytes=0-65535"; /* an event is shorter */

/** The first of PACKETS (oldest first) with a tail of which something is left, or null. */
export function tailed(packets) {
	return packets.find((it) => it.tail_bytes > it.cut) ?? null;
}

/** The time of the first event in BYTES of a trace, or null. */
async function firstTime(bytes) {
	const engine = await Engine.open();

	try {
		const {start, totals} = await engine.load([{bytes}]);
		return totals.events ? start : null;
	} finally {
		engine.close();
	}
}

/** The guest's time from which on STREAM of SOURCE (as of source.js) is not proven, or null. */
export async function tailTime(source, stream, options) {
	/* A file by itself was told by mprofctl. */
	if (stream.tail !== undefined) return stream.tail;
	if (!source.mayTail?.(stream)) return null;
	const {packets} = await source.api.json(source.packets(stream, {last: LAST, limit: 1000}), options);
	const packet = tailed(packets);

	if (!packet) return null;
	if (!packet.copied) return packet.first_timestamp === null ? null : BigInt(packet.first_timestamp);
	/* A part of the packet is proven: ask for what comes behind that alone. */
	const first = `${source.ofRunNumber}.${stream.stream}.${packet.sequence}.${packet.copied.last.offset}`;
	const answer = await source.api.ask(source.ofRun(stream, {what: "trace", select: {first}}), {
		...options,
		headers: {Range: RANGE},
	});
	return firstTime(new Uint8Array(await answer.arrayBuffer()));
}

/** Let the picture of ENGINE mark the tails of SOURCE's streams. */
export async function markTails(source, engine, options) {
	for (const [i, stream] of source.streams.entries()) {
		/* A source of several has the streams of others. */
		const [of, own] = [stream.of ?? source, stream.own ?? stream];
		const time = await tailTime(of, own, options).catch((error) => {
			/* What the tail hung on may be deleted by now. */
			if (error.status !== 404 && error.status !== 410) throw error;
			return null;
		});

		if (time !== null) await engine.tail(i, time + (stream.offsetNs ?? 0n));
	}
}
