/*
 * GET /v1/events, once per page, because browsers allow six connections to a host. EventSource
 * reconnects with Last-Event-ID, so nothing is lost. If the server cannot resume it sends `reset`,
 * and the listeners read everything again.
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
const HIDDEN_MS = 3000; /* a hidden page releases its connection: all pages of a host share six */

export class Events {
	constructor(url) {
		this.url = url;
		this.listeners = new Map();
		this.source = null;
		this.state = "closed";
		document.addEventListener("visibilitychange", () => this.seen());
		this.greeted = false; /* the server said from where on its events are complete */
	}

	/** Call CALL(data) for each event NAME. Return a function that stops it. */
	on(name, call) {
		if (!this.listeners.has(name)) this.listeners.set(name, new Set());
		this.listeners.get(name).add(call);
		this.open();
		return () => this.listeners.get(name).delete(call);
	}

	/* Handle a change of visibility. A page that is visible again reads everything. */
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

	/* EventSource gives up after an error answer, such as 503 while the server starts. */
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
