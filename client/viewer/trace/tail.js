/*
 * The unproven tail of a stream: bytes that mprofd copied after the guest had stopped, so no later
 * copy could confirm them; the guest may have been writing an event when it stopped. The server
 * leaves out bytes that are no valid event, and says where the tail begins. The picture is hatched
 * from this time on.
 */
import {Engine} from "../engine/engine.js";

/*
 * The packets with the last 4 MiB of a stream are asked for. A tail is not longer than the guest's
 * ring, so they contain the begin of the tail.
 */
const LAST = String(4 << 20);
const RANGE = "bytes=0-65535"; /* HTTP range: the first event of a tail is in the first 64 KiB */

/**
 * Return the first packet with a tail in PACKETS, the answer of the server from the oldest to the
 * newest; null if none has one.
 */
export function tailed(packets) {
	return packets.find((it) => it.tail_bytes > 0) ?? null;
}

/**
 * Return a Promise of the time of the first event in BYTES of a stream, ns, or of null if there is
 * no event.
 */
async function firstTime(bytes) {
	const engine = await Engine.open();

	try {
		const {start, totals} = await engine.load([{bytes}]);
		return totals.events ? start : null;
	} finally {
		engine.close();
	}
}

/**
 * Return a Promise of the time, in ns of the guest's clock, from which on STREAM of SOURCE is not
 * proven, or of null. OPTIONS are those of fetch().
 */
export async function tailTime(source, stream, options) {
	/* In a single-file page there is no server; mprofctl wrote this time into the page. */
	if (stream.tail !== undefined) return stream.tail;
	if (!source.mayTail?.(stream)) return null;
	const {packets} = await source.api.json(source.packets(stream, {last: LAST, limit: 1000}), options);
	const packet = tailed(packets);

	if (!packet) return null;
	if (!packet.copied) return packet.first_timestamp === null ? null : BigInt(packet.first_timestamp);
	/*
	 * The begin of the packet is proven. Request only the bytes after it, to find the first event
	 * there.
	 */
	const first = `${source.ofRunNumber}.${stream.stream}.${packet.sequence}.${packet.copied.last.offset}`;
	const answer = await source.api.ask(source.ofRun(stream, {what: "trace", select: {first}}), {
		...options,
		headers: {Range: RANGE},
	});
	return firstTime(new Uint8Array(await answer.arrayBuffer()));
}

/**
 * Mark the unproven tails of SOURCE's streams in ENGINE. Return a Promise of the tails: [{stream:
 * index, time: ns of the picture}].
 */
export async function markTails(source, engine, options) {
	const tails = [];

	for (const [i, stream] of source.streams.entries()) {
		/*
		 * A source of several guests joins the streams of other sources: `of` is such a source,
		 * `own` its stream.
		 */
		const [of, own] = [stream.of ?? source, stream.own ?? stream];
		const time = await tailTime(of, own, options).catch((error) => {
			/* Status 404 or 410: the archive has deleted the packet meanwhile. */
			if (error.status !== 404 && error.status !== 410) throw error;
			return null;
		});

		if (time === null) continue;
		tails.push({stream: i, time: time + (stream.offsetNs ?? 0n)});
		await engine.tail(i, tails.at(-1).time);
	}
	return tails;
}
