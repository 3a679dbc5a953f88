/*
 * The input of one load: the bytes of its sources, in the pieces that the page sends. Runs in a
 * worker.
 */
import {piecesOf} from "./unpack.js";

export class Input {
	#wanted = null; // function that resolves the Promise of the next piece; null: none is wanted

	/** @param {(message: object) => void} post */
	constructor(id, post) {
		this.id = id;
		this.post = post;
		this.cancelled = false;
		this.bytes = 0;
	}

	give(piece) {
		this.#wanted?.(piece);
		this.#wanted = null;
	}

	cancel() {
		this.cancelled = true;
		this.give(null);
	}

	/** Throw if the page has cancelled the load. */
	check() {
		if (this.cancelled) throw new Error("Loading was cancelled.");
	}

	report(phase, total) {
		this.check();
		this.post({id: this.id, progress: {phase, bytes: this.bytes, total}});
	}

	async *#asked(i) {
		for (;;) {
			const piece = await new Promise((resolve) => {
				this.#wanted = resolve;
				this.post({id: this.id, want: i});
			});

			if (!piece) return;
			yield piece;
		}
	}

	/** Yield the bytes of SOURCE in pieces. I is the index of the source. */
	async *pieces(source, i) {
		if (source.bytes) yield source.bytes;
		else if (source.blob) yield* piecesOf(source.blob.stream());
		else yield* this.#asked(i);
	}
}

/** Pass MESSAGE to LOADING, which may be null. Return true if MESSAGE is about a load. */
export function forLoading(message, loading) {
	if ("cancel" in message) {
		if (loading?.id === message.cancel) loading.cancel();
		return true;
	}
	if ("piece" in message) {
		if (loading?.id === message.of) loading.give(message.piece);
		return true;
	}
	return false;
}
