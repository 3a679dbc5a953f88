/* What is loaded of a trace and which view of it the address names: shared by the parts of its time line. */
export class TraceState {
	/** VIEW: as address.js parses it. */
	constructor(view) {
		this.view = view;
		this.session = null;
		this.counters = null; /* of the model that is loaded */
		this.strips = []; /* of guests, as guest-strips.js makes them */
		this.chain = []; /* of waits, as overlay.js draws it */
		this.closed = false;
	}

	/** The engine that draws; null before the first model. */
	get engine() {
		return this.session?.engine ?? null;
	}

	/** The summary of the model that is loaded; null before the first. */
	get summary() {
		return this.session?.summary ?? null;
	}
}
