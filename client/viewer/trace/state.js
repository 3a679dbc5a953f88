/* The state that the parts of a time line share: the loaded trace and its view. */
export class TraceState {
	/** VIEW: from address.js. */
	constructor(view) {
		this.view = view;
		this.session = null;
		this.counters = null; /* Counters of the loaded model; null before the first model */
		this.strips = []; /* strips of guests, from guest-strips.js */
		this.tails = []; /* unproven tails of the streams, from tail.js */
		this.chain = []; /* chain of waits, for overlay.js */
		this.closed = false;
	}

	/** The engine; null before the first model. */
	get engine() {
		return this.session?.engine ?? null;
	}

	/** The summary of the loaded model; null before the first. */
	get summary() {
		return this.session?.summary ?? null;
	}
}
