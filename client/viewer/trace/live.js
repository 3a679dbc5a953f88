/*
 * A running run. Each step asks every stream for new packets in one short read. No connection is
 * held, because a browser has six for all pages of a host. Answers are whole packets; they are
 * kept, and the oldest are dropped.
 */
import {asLoaded, remarks} from "./source.js";

/** Bytes kept of all streams. */
export const KEPT_BYTES = 8 << 20;

/** Return the position behind ANSWER from its Content-Location. */
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

	/** Read new packets. Return whether there were any. */
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
			/* The position is older than the archive: begin again. */
			if (error.status !== 410) throw error;
			Object.assign(it, {end: null, parts: [], bytes: 0});
			return false;
		}
		const bytes = new Uint8Array(await answer.arrayBuffer());
		const end = endOf(answer);
		it.end = end ?? it.end;
		if (!bytes.length) return false;
		/* Only a growing stream has an end position: this was the last part. */
		it.over = end === null;
		this.notes = remarks(answer.headers, it.stream.name);
		it.parts.push(bytes);
		it.bytes += bytes.length;
		while (it.parts.length > 1 && it.bytes - it.parts[0].length > KEPT_BYTES / this.streams.length)
			it.bytes -= it.parts.shift().length;
		return true;
	}

	/** Return the streams as engine.load() takes them: copies, which the engine then owns. */
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
