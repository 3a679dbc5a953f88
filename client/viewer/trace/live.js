/*
 * A run that goes on.  Each step asks every stream for what came since, in one short read: no connection is held, since a browser has six
 * for all of a host's pages.  Each answer is whole packets, so they are kept as they came, and the oldest are let go.
 */
import {asLoaded, remarks} from "./source.js";

/** Bytes of all streams that are kept. */
export const KEPT_BYTES = 8 << 20;

/** The position behind ANSWER, as its Content-Location says. */
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

	/** The newest part of each stream, to begin with. */
	async begin(options) {
		await Promise.all(
			this.streams.map((it) =>
				this.read(it, {last: String(Math.floor(KEPT_BYTES / this.streams.length))}, options),
			),
		);
	}

	/** What came since; true where anything did. */
	async step(options) {
		const came = await Promise.all(
			this.streams
				.filter((it) => !it.over)
				.map((it) => this.read(it, it.end ? {first: it.end} : {last: String(KEPT_BYTES)}, options)),
		);

		return came.some(Boolean);
	}

	/** Has every stream come to its end? */
	get over() {
		return this.streams.every((it) => it.over);
	}

	async read(it, parts, options) {
		let answer;

		try {
			answer = await this.source.trace(it.stream, parts, options);
		} catch (error) {
			/* What was kept is older than what the archive still has: begin anew. */
			if (error.status !== 410) throw error;
			Object.assign(it, {end: null, parts: [], bytes: 0});
			return false;
		}
		const bytes = new Uint8Array(await answer.arrayBuffer());
		const end = endOf(answer);
		it.end = end ?? it.end;
		if (!bytes.length) return false;
		/* What still grows says where it was: this was the last of it. */
		it.over = end === null;
		this.notes = remarks(answer.headers, it.stream.name);
		it.parts.push(bytes);
		it.bytes += bytes.length;
		while (it.parts.length > 1 && it.bytes - it.parts[0].length > KEPT_BYTES / this.streams.length)
			it.bytes -= it.parts.shift().length;
		return true;
	}

	/** The streams as engine.load() takes them: copies, which become the engine's. */
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
