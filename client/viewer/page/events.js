/*
 * The events of GET /v1/events. The page has one connection for all listeners, because a browser
 * allows six connections to a host. EventSource reconnects with Last-Event-ID, so no event is lost.
 * If the server cannot resume, it sends `reset`, and the listeners read everything again.
 *
 *     const off = events.on("domain", ({change, domain}) => ...);   // events: schema/http/openapi.yaml
 *     events.on("reload", () => ...)      // read the lists now: later events build on them
 *     events.on("state", (state) => ...)  // "open", "lost" (it reconnects by itself)
 */

const NAMES = [
	...["hello", "reset", "domain", "forgotten", "capture", "capture-deleted", "gap", "rates"],
	...["memtrace", "memtrace-growth", "memtrace-deleted"],
];
const AGAIN_MS = 5000;
/* Ms; a page hidden for this time closes its connection, because all pages of a host share six. */
const HIDDEN_MS = 3000;

export class Events {
	constructor(url) {
		this.url = url;
		this.listeners = new Map();
		this.source = null;
		this.state = "closed";
		document.addEventListener("visibilitychange", () => this.seen());
		this.greeted = false; /* `hello` or `reset` came: all later events will come, too */
	}

	/** Call CALL(data) for each event NAME. Return a function that ends this. */
	on(name, call) {
		if (!this.listeners.has(name)) this.listeners.set(name, new Set());
		this.listeners.get(name).add(call);
		this.open();
		return () => this.listeners.get(name).delete(call);
	}

	/*
	 * Handle a change of visibility. When the page is visible again, the listeners read everything.
	 */
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

	/*
	 * EventSource does not reconnect after an error status, such as 503 while the server starts.
	 * Reconnect after a delay.
	 */
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
