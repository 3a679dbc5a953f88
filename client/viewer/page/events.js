/*
 * The events that the server sends while the page is open (GET /v1/events,
 * schema/http/openapi.yaml). All listeners of the page share one connection, because browsers open
 * at most six to a host for all its pages. If the connection breaks, EventSource connects again and
 * names the last event, so no event is lost. If the server no longer has the later events, it sends
 * `reset`.
 *
 *     const off = events.on("domain", ({change, domain}) => ...);   // call off() to stop
 *     events.on("reload", () => ...)      // read all lists now; later events are changes to them
 *     events.on("state", (state) => ...)  // "open", or "lost": connecting again
 */

/* Names of the events that the server sends. */
const NAMES = [
	...["hello", "reset", "domain", "forgotten", "capture", "capture-deleted", "gap", "rates"],
	...["memtrace", "memtrace-growth", "memtrace-deleted"],
];
const AGAIN_MS = 5000; /* time until a new connection after the server refused one, ms */
/*
 * Time, ms, after which a hidden page closes its connection, so that other pages of the host can
 * use it.
 */
const HIDDEN_MS = 3000;

export class Events {
	/**
	 * URL is that of the events. The first on() connects. LOST() is called when a connection breaks:
	 * EventSource does not say whether that is because the session has ended.
	 */
	constructor(url, lost = () => {}) {
		this.url = url;
		this.whenLost = lost;
		this.paused = false; /* true: do not connect, because one must sign in first */
		this.listeners = new Map();
		this.source = null;
		this.state = "closed";
		document.addEventListener("visibilitychange", () => this.seen());
		this.greeted = false; /* true after the first `hello` or `reset` */
	}

	/** Call CALL(data) for each event NAME from now on. Return a function that stops this. */
	on(name, call) {
		if (!this.listeners.has(name)) this.listeners.set(name, new Set());
		this.listeners.get(name).add(call);
		this.open();
		return () => this.listeners.get(name).delete(call);
	}

	/*
	 * The page was hidden or shown. Close the connection of a hidden page after HIDDEN_MS. Connect
	 * again when the page is shown; the listeners then read all lists again.
	 */
	seen() {
		clearTimeout(this.leaving);
		if (!document.hidden) return this.listeners.size ? this.open() : undefined;
		this.leaving = setTimeout(() => {
			this.source?.close();
			this.source = null;
		}, HIDDEN_MS);
	}

	/**
	 * Connect, unless the page is connected. A hidden page connects only if it has never been
	 * connected.
	 */
	open() {
		if (this.source || this.paused || (document.hidden && this.greeted)) return;
		this.source = new EventSource(this.url);
		this.source.addEventListener("open", () => this.turn("open"));
		this.source.addEventListener("error", () => this.lost());
		for (const name of NAMES) this.source.addEventListener(name, (event) => this.take(name, event.data));
	}

	/*
	 * The connection broke. EventSource does not connect again after an error status, such as 503
	 * while the server starts, so do that after AGAIN_MS.
	 */
	lost() {
		this.turn("lost");
		this.whenLost();
		if (this.source?.readyState !== EventSource.CLOSED) return;
		this.source = null;
		setTimeout(() => this.open(), AGAIN_MS);
	}

	/** Close the connection, and stay without one until resume(). */
	pause() {
		this.paused = true;
		this.source?.close();
		this.source = null;
		this.turn("lost");
	}

	/** Connect again after pause(), if there are listeners. */
	resume() {
		if (!this.paused) return;
		this.paused = false;
		if (this.listeners.size) this.open();
	}

	/** Handle the event NAME with the JSON TEXT. Text that is no JSON is ignored. */
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

	/** Tell the listeners of "state" if STATE is new. */
	turn(state) {
		if (this.state !== state) {
			this.state = state;
			this.tell("state", state);
		}
	}

	/** Call the listeners of NAME. */
	tell(name, data) {
		for (const call of this.listeners.get(name) ?? []) call(data);
	}
}
