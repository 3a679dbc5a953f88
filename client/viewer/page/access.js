/*
 * Signing in and out. A server with access control answers 401 until one has signed in, and again
 * when the session has ended. Requests of api.js then wait here, the sign-in appears above the page,
 * and the requests are sent again, so each page goes on where it was.
 */
import {SignIn} from "./sign-in.js";

const AGAIN_MS = 3000; /* time until a server that did not answer is asked again, ms */

export class Access {
	/**
	 * API is from api.js; its requests pass here from now on.
	 *
	 * hooks:
	 * - away(): the sign-in appears; requests wait;
	 * - here(other): the server has said who one is. OTHER is true if the page must be opened again:
	 *   one has other rights than before, or had signed out.
	 */
	constructor(api, hooks) {
		Object.assign(this, {api, hooks});
		this.session = api.session;
		this.signIn = new SignIn(api);
		this.waiting = null; /* settles when one has signed in; null: nothing waits */
		this.turn = 0; /* number of sign-ins so far */
		this.left = false; /* one has signed out */
		this.known = null; /* resolves when the server's first answer on the session has been taken */
		api.access = this;
	}

	/**
	 * Ask for the session at the start. The page's requests are sent meanwhile, and api.js passes
	 * their answers on when `known` has resolved, so the page's buttons know what one may do.
	 */
	begin() {
		this.known = this.ask();
	}

	/**
	 * Ask the server who one is, and let the user sign in if that is necessary. If the server does
	 * not answer, ask again after AGAIN_MS; the page's own requests fail too, and the page says so.
	 */
	async ask() {
		clearTimeout(this.timer);
		try {
			this.take(await this.api.identity());
		} catch (error) {
			if (error.passing) this.timer = setTimeout(() => this.ask(), AGAIN_MS);
		}
	}

	/** Return a Promise that resolves when requests can be sent. Reject if SIGNAL aborts. */
	passes(signal) {
		if (!this.waiting) return;
		return new Promise((resolve, reject) => {
			this.waiting.then(resolve);
			if (signal?.aborted) reject(signal.reason);
			else signal?.addEventListener("abort", () => reject(signal.reason), {once: true});
		});
	}

	/**
	 * The server has answered 401 with PROBLEM to a request that was sent when `turn` was TURN. Show
	 * the sign-in, unless one has signed in since.
	 */
	refused(problem, turn) {
		if (turn !== this.turn || this.waiting) return;
		this.leave(this.session.known ? problem.message : "");
	}

	/** Show the sign-in, with SENTENCE as the reason; "" = none. */
	leave(sentence) {
		this.waiting = this.signIn.show(sentence).then((identity) => {
			this.turn++;
			this.waiting = null;
			this.take(identity);
		});
		this.hooks.away();
	}

	take(identity) {
		const other = this.left || (this.session.known && this.session.differs(identity));

		this.left = false;
		this.session.take(identity);
		this.hooks.here(other);
	}

	/** End the session, and show the sign-in. Reject with a Problem if the server did not end it. */
	async signOut() {
		try {
			await this.api.once("v1/session", {method: "DELETE"});
		} catch (error) {
			if (error.status !== 401) throw error; /* 401: it had ended */
		}
		this.left = true;
		if (!this.waiting) this.leave("You have signed out.");
	}
}
