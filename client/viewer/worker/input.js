/*
 * The input of one load in a worker: the bytes of its sources. The bytes are in the source itself,
 * in a Blob, or in an HTTP response of the page, which then sends them piece by piece.
 */
import {piecesOf} from "./unpack.js";

export class Input {
	#wanted = null; // function that takes the piece for which a source waits; null: none waits

	/**
	 * ID is that of the call that loads. POST sends a message to the page.
	 * @param {(message: object) => void} post
	 */
	constructor(id, post) {
		this.id = id;
		this.post = post;
		this.cancelled = false;
		this.bytes = 0; // bytes that were read so far, for the progress
	}

	/** Take PIECE, which the page sent; null: there are no more. */
	give(piece) {
		this.#wanted?.(piece);
		this.#wanted = null;
	}

	/** Cancel the load: its next check() throws. */
	cancel() {
		this.cancelled = true;
		this.give(null);
	}

	/** Throw if the page has cancelled the load. */
	check() {
		if (this.cancelled) throw new Error("Loading was cancelled.");
	}

	/**
	 * Send the progress to the page. PHASE is "reading" or "building". TOTAL is the number of all
	 * bytes, or null if unknown. Throw if the page has cancelled the load.
	 */
	report(phase, total) {
		this.check();
		this.post({id: this.id, progress: {phase, bytes: this.bytes, total}});
	}

	/** Yield the pieces of source I that the page sends, each after a request. */
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

	/** Yield the bytes of SOURCE, which is number I of the load, in pieces of any length. */
	async *pieces(source, i) {
		if (source.bytes) yield source.bytes;
		else if (source.blob) yield* piecesOf(source.blob.stream());
		else yield* this.#asked(i);
	}
}

/**
 * Return true if MESSAGE cancels a load or has a piece for one. Pass it to LOADING, an Input or
 * null, if it is about that load; otherwise drop it.
 */
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
