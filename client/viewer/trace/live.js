/*
 * Follow a run that goes on. Each step asks the server for new packets of every stream, in short
 * requests. No connection stays open, because a browser allows six for all pages of a host. The
 * answers are whole packets. The newest packets are kept, and the oldest are dropped.
 */
import {asLoaded, remarks} from "./source.js";

/** Most bytes of packets that are kept, of all streams together. */
export const KEPT_BYTES = 8 << 20;

/**
 * Return the position after the last packet of ANSWER, from its header Content-Location; null for a
 * stream that has ended.
 */
export function endOf(answer) {
	const place = answer.headers.get("Content-Location");

	return place ? new URL(place, "http://host/").searchParams.get("end") : null;
}

export class Live {
	constructor(source) {
		this.source = source;
		this.streams = source.streams.map((stream) => ({stream, end: null, parts: [], bytes: 0, over: false}));
		this.notes = [];
	}

	/** Load the newest part of each stream. */
	async begin(options) {
		await Promise.all(
			this.streams.map((it) =>
				this.read(it, {last: String(Math.floor(KEPT_BYTES / this.streams.length))}, options),
			),
		);
	}

	/** Read new packets. Return true if there were any. */
	async step(options) {
		const came = await Promise.all(
			this.streams
				.filter((it) => !it.over)
				.map((it) => this.read(it, it.end ? {first: it.end} : {last: String(KEPT_BYTES)}, options)),
		);

		return came.some(Boolean);
	}

	/** Whether every stream has ended. */
	get over() {
		return this.streams.every((it) => it.over);
	}

	async read(it, parts, options) {
		let answer;

		try {
			answer = await this.source.trace(it.stream, parts, options);
		} catch (error) {
			/* Status 410: the archive has deleted the packets at this position, so begin again. */
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
	 * Return the streams in the form for engine.load(). The bytes are copies, which the engine then
	 * owns.
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
