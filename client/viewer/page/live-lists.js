/*
 * The life of a page that shows lists of the API and keeps them up to date: it listens to the events of the server,
 * reads its lists when they are due, waits, and says whether it is connected. After close() none of its calls is made.
 */
import {make} from "./make.js";

const FIRST_MS = 1500; /* ms to wait for the event `reload` before the lists are read */
const SAYS = {open: "Live", lost: "Not connected, trying again", closed: "Connecting…"};

export class Live {
	/** EVENTS: those of events.js. `element` says the state of the connection. */
	constructor(events) {
		this.events = events;
		this.element = make("p", {className: "live", "data-state": "wait", textContent: SAYS.closed});
		this.off = [];
		this.timers = new Set();
	}

	/** Call CALL(data) for each event NAME until close(). */
	on(name, call) {
		this.off.push(this.events.on(name, call));
	}

	/**
	 * Show the state of the connection from now on, and call LOAD() when all lists are to be read: now or soon, and at
	 * each `reload`. If the server does not answer for FIRST_MS and BEGUN() is false, LOAD() is called anyway.
	 */
	begin(load, begun) {
		this.on("state", (state) => this.connection(state));
		this.on("reload", load);
		this.connection(this.events.state);
		if (this.events.greeted) load();
		else this.after(FIRST_MS, () => begun() || load());
	}

	/** Call CALL() after MS ms. */
	after(ms, call) {
		const timer = setTimeout(() => {
			this.timers.delete(timer);
			call();
		}, ms);

		this.timers.add(timer);
	}

	connection(state) {
		this.element.textContent = SAYS[state];
		this.element.dataset.state = state;
	}

	close() {
		this.off.forEach((off) => off());
		this.timers.forEach(clearTimeout);
		document.querySelectorAll("dialog").forEach((dialog) => dialog.close());
	}
}
