/*
 * The unproven tail of a trace: data that were copied when the guest stopped and that no later poll
 * could confirm. The server leaves out the invalid part of a tail, and says where the tail begins.
 * The picture marks the trace from there on as not proven.
 */
import {Engine} from "../engine/engine.js";

/* Bytes; a tail is not longer than a ring, so the newest packets of this size contain its begin. */
const LAST = String(4 << 20);
const RANGE = "bytes=0-65535"; /* first bytes to request; an event is shorter */

/** Return the first packet of PACKETS (oldest first) that has a tail, or null. */
export function tailed(packets) {
	return packets.find((it) => it.tail_bytes > it.cut) ?? null;
}

/** Return the time of the first event in BYTES of a stream, or null. */
async function firstTime(bytes) {
	const engine = await Engine.open();

	try {
		const {start, totals} = await engine.load([{bytes}]);
		return totals.events ? start : null;
	} finally {
		engine.close();
	}
}

/** Return the guest's time from which on STREAM of SOURCE is not proven, or null. */
export async function tailTime(source, stream, options) {
	/* The trace is in a single-file page, and mprofctl wrote the time into it. */
	if (stream.tail !== undefined) return stream.tail;
	if (!source.mayTail?.(stream)) return null;
	const {packets} = await source.api.json(source.packets(stream, {last: LAST, limit: 1000}), options);
	const packet = tailed(packets);

	if (!packet) return null;
	if (!packet.copied) return packet.first_timestamp === null ? null : BigInt(packet.first_timestamp);
	/* A part of the packet is proven: request only the bytes after it. */
	const first = `${source.ofRunNumber}.${stream.stream}.${packet.sequence}.${packet.copied.last.offset}`;
	const answer = await source.api.ask(source.ofRun(stream, {what: "trace", select: {first}}), {
		...options,
		headers: {Range: RANGE},
	});
	return firstTime(new Uint8Array(await answer.arrayBuffer()));
}

/** Mark the tails of SOURCE's streams in ENGINE. Return them as [{stream, time}]. */
export async function markTails(source, engine, options) {
	const tails = [];

	for (const [i, stream] of source.streams.entries()) {
		/* In a source of several guests, a stream belongs to another source. */
		const [of, own] = [stream.of ?? source, stream.own ?? stream];
		const time = await tailTime(of, own, options).catch((error) => {
			/* The archive may have deleted the packet. */
			if (error.status !== 404 && error.status !== 410) throw error;
			return null;
		});

		if (time === null) continue;
		tails.push({stream: i, time: time + (stream.offsetNs ?? 0n)});
		await engine.tail(i, tails.at(-1).time);
	}
	return tails;
}
