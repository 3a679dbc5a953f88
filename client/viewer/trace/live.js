/*
 * Follow a run that goes on. Each step asks the server for the new packets of every stream, in one
 * short request for each. No connection stays open, because browsers open at most six to a host for
 * all its pages. An answer has whole packets. The newest KEPT_BYTES are kept, and older packets are
 * dropped.
 */
import {asLoaded, remarks} from "./source.js";

/** Most bytes of packets that are kept in memory, all streams together. */
export const KEPT_BYTES = 8 << 20;

/**
 * Return the position after the last packet of ANSWER, as text of the server; the next request
 * begins there. It is in the header Content-Location, and null if the stream has ended.
 */
export function endOf(answer) {
	const place = answer.headers.get("Content-Location");

	return place ? new URL(place, "http://host/").searchParams.get("end") : null;
}

export class Live {
	/** SOURCE is a Remote of source.js whose run goes on. */
	constructor(source) {
		this.source = source;
		this.streams = source.streams.map((stream) => ({stream, end: null, parts: [], bytes: 0, over: false}));
		this.notes = []; /* sentences on missing data, for the user */
	}

	/** Read the newest packets of each stream. OPTIONS are those of fetch(). */
	async begin(options) {
		await Promise.all(
			this.streams.map((it) =>
				this.read(it, {last: String(Math.floor(KEPT_BYTES / this.streams.length))}, options),
			),
		);
	}

	/** Read new packets of each stream. Return a Promise of true if there were any. */
	async step(options) {
		const came = await Promise.all(
			this.streams
				.filter((it) => !it.over)
				.map((it) => this.read(it, it.end ? {first: it.end} : {last: String(KEPT_BYTES)}, options)),
		);

		return came.some(Boolean);
	}

	/** True if every stream has ended. */
	get over() {
		return this.streams.every((it) => it.over);
	}

	/**
	 * Read packets of one stream, IT of this.streams. PARTS are members of the query: the last N
	 * bytes, or all from a position on. Return a Promise of true if there were new bytes.
	 */
	async read(it, parts, options) {
		let answer;

		try {
			answer = await this.source.trace(it.stream, parts, options);
		} catch (error) {
			/*
			 * Status 410: the archive has deleted the packets at this position. Read the newest
			 * packets at the next step.
			 */
			if (error.status !== 410) throw error;
			Object.assign(it, {end: null, parts: [], bytes: 0});
			return false;
		}
		const bytes = new Uint8Array(await answer.arrayBuffer());
		const end = endOf(answer);
		it.end = end ?? it.end;
		if (!bytes.length) return false;
		/* An answer without an end position is the last part of its stream. */
		it.over = end === null;
		this.notes = remarks(answer.headers, it.stream.name);
		it.parts.push(bytes);
		it.bytes += bytes.length;
		while (it.parts.length > 1 && it.bytes - it.parts[0].length > KEPT_BYTES / this.streams.length)
			it.bytes -= it.parts.shift().length;
		return true;
	}

	/**
	 * Return the kept packets in the form for engine.load(). The bytes are copies, because
	 * engine.load() takes the buffer away.
	 */
	sources() {
		return this.streams.map(({stream, parts, bytes}) => {
			const whole = new Uint8Array(bytes);
			let at = 0;

			for (const part of parts) {
				whole.set(part, at);
				at += part.length;
			}
			return {...asLoaded(stream), bytes: whole};
		});
	}
}
