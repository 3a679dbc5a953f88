/*
 * The tail of a trace: data copied when the guest stopped, without a proof. The server cuts what
 * does not hold and says where the rest begins. The picture marks the trace from there.
 */
import {Engine} from "../engine/engine.js";

const LAST = String(4 << 20); /* a tail is not longer than a ring, and the newest packets name its begin */
const RANGE = "bytes=0-65535"; /* an event is shorter */

/** Return the first of PACKETS, oldest first, with a tail, or null. */
export function tailed(packets) {
	return packets.find((it) => it.tail_bytes > it.cut) ?? null;
}

/** Return the time of the first event in BYTES of a trace, or null. */
async function firstTime(bytes) {
	const engine = await Engine.open();

	try {
		const {start, totals} = await engine.load([{bytes}]);
		return totals.events ? start : null;
	} finally {
		engine.close();
	}
}

/** Return the guest's time from which STREAM of SOURCE is not proven, or null. */
export async function tailTime(source, stream, options) {
	/* mprofctl wrote the time into a single file. */
	if (stream.tail !== undefined) return stream.tail;
	if (!source.mayTail?.(stream)) return null;
	const {packets} = await source.api.json(source.packets(stream, {last: LAST, limit: 1000}), options);
	const packet = tailed(packets);

	if (!packet) return null;
	if (!packet.copied) return packet.first_timestamp === null ? null : BigInt(packet.first_timestamp);
	/* Part of the packet is proven: request only what follows. */
	const first = `${source.ofRunNumber}.${stream.stream}.${packet.sequence}.${packet.copied.last.offset}`;
	const answer = await source.api.ask(source.ofRun(stream, {what: "trace", select: {first}}), {
		...options,
		headers: {Range: RANGE},
	});
	return firstTime(new Uint8Array(await answer.arrayBuffer()));
}

/** Mark the tails of SOURCE's streams in ENGINE. Return them: [{stream, time}]. */
export async function markTails(source, engine, options) {
	const tails = [];

	for (const [i, stream] of source.streams.entries()) {
		/* A source of several guests has streams of other sources. */
		const [of, own] = [stream.of ?? source, stream.own ?? stream];
		const time = await tailTime(of, own, options).catch((error) => {
			/* The packet may be deleted by now. */
			if (error.status !== 404 && error.status !== 410) throw error;
			return null;
		});

		if (time === null) continue;
		tails.push({stream: i, time: time + (stream.offsetNs ?? 0n)});
		await engine.tail(i, tails.at(-1).time);
	}
	return tails;
}
