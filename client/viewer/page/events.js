/*
 * GET /v1/events, one for the page, however many listen: browsers give a page six connections.  EventSource connects again by itself and says what
 * it had last (Last-Event-ID), so nothing is lost; where the server cannot go on from there it says `reset`, and who listens reads everything anew.
 *
 *     const off = events.on("domain", ({change, domain}) => ...);   // and the other events of schema/http/openapi.yaml
 *     events.on("reload", () => ...)      // read the lists now: what comes from here on builds on them
 *     events.on("state", (state) => ...)  // "open", "lost" (it tries again by itself)
 */

const NAMES = [
	...["hello", "reset", "domain", "forgotten", "capture", "capture-deleted", "gap", "rates"],
	...["memtrace", "memtrace-growth", "memtrace-deleted"],
];
const AGAIN_MS = 5000;
const HIDDEN_MS = 3000; /* a page that nobody looks at gives its connection back: all pages of a host share six */

export class Events {
	constructor(url) {
		this.url = url;
		this.listeners = new Map();
		this.source = null;
		this.state = "closed";
		document.addEventListener("visibilitychange", () => this.seen());
		this.greeted = false; /* the server said from where on it tells everything; who comes later reads the lists at once */
	}

	/** Call CALL(data) for each event NAME, until the function that is returned is called. */
	on(name, call) {
		if (!this.listeners.has(name)) this.listeners.set(name, new Set());
		this.listeners.get(name).add(call);
		this.open();
		return () => this.listeners.get(name).delete(call);
	}

	/* The page is looked at, or no longer.  Who looks again is told to read everything anew. */
	seen() {
		clearTimeout(this.leaving);
		if (!document.hidden) return this.listeners.size ? this.open() : undefined;
		this.leaving = setTimeout(() => {
			this.source?.close();
			this.source = null;
		}, HIDDEN_MS);
	}

	open() {
		if (this.source || (document.hidden && this.greeted)) return;
		this.source = new EventSource(this.url);
		this.source.addEventListener("open", () => this.turn("open"));
		this.source.addEventListener("error", () => this.lost());
		for (const name of NAMES) this.source.addEventListener(name, (event) => this.take(name, event.data));
	}

	/* EventSource gives up where the answer was an error, such as 503 while the server starts. */
	lost() {
		this.turn("lost");
		if (this.source.readyState !== EventSource.CLOSED) return;
		this.source = null;
		setTimeout(() => this.open(), AGAIN_MS);
	}

	take(name, text) {
		let data;

		try {
			data = JSON.parse(text);
		} catch {
			return;
		}
		if (name === "hello" || name === "reset") {
			this.greeted = true;
			this.tell("reload", data);
		} else {
			this.tell(name, data);
		}
	}

	turn(state) {
		if (this.state !== state) {
			this.state = state;
			this.tell("state", state);
		}
	}

	tell(name, data) {
		for (const call of this.listeners.get(name) ?? []) call(data);
	}
}
