/*
 * The state of a time line that several of its parts read: the loaded trace, and the view that the
 * URL names.
 */
import {Clock} from "./clock.js";

export class TraceState {
	/** VIEW is what the URL says (page/address.js). CAMERA is that of the picture. */
	constructor(view, camera) {
		this.view = view;
		this.clock = new Clock(camera); /* how moments of the trace are written */
		this.session = null; /* the Session (trace-session.js); null before the source is open */
		/* The Counters (counters.js) of the model; null before the first model. */
		this.counters = null;
		/* Rows and clock error of each guest, from guest-strips.js; empty for one guest. */
		this.strips = [];
		/*
		 * Unproven tails, from tail.js: {stream: index, time: ns from which on it is not proven}.
		 */
		this.tails = [];
		this.chain = []; /* threads that wait for each other, from why.js; the overlay draws them */
		this.closed = false; /* true after Timeline.close() */
	}

	/** The engine (engine.js) of the present model; null before the first model. */
	get engine() {
		return this.session?.engine ?? null;
	}

	/** The answer of engine.load() for the present model; null before the first model. */
	get summary() {
		return this.session?.summary ?? null;
	}
}
