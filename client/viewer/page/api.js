/*
 * The HTTP API of mprofd-http (schema/http/openapi.yaml). A failed request throws a Problem, whose
 * message is a sentence for the user.
 */
import {Session} from "./session.js";

const LIST_MOST = 1000; /* items that a request of a list asks for */
const SAFE = new Set(["GET", "HEAD"]); /* methods that change nothing */

export class Problem extends Error {
	/**
	 * SENTENCE is for the user. STATUS is the HTTP status, or 0 if no answer came. MEMBERS are the
	 * members of the server's problem document.
	 */
	constructor(sentence, status = 0, members = {}) {
		super(sentence);
		this.name = "Problem";
		this.status = status;
		this.members = members;
	}

	/**
	 * True if the same request may succeed soon: no answer came, the server was busy, or one had too
	 * many requests in progress.
	 */
	get passing() {
		return this.status === 0 || this.status === 503 || this.status === 429;
	}
}

/* The end of a server's sentence that names a route for those who use the API by hand. */
const ROUTE = / See \/v1\/[^ ]*\.$/;

/** Return a Promise of a Problem for ANSWER, a Response that failed. */
async function problem(answer) {
	try {
		const body = await answer.json();

		return new Problem(String(body.detail).replace(ROUTE, "").slice(0, 1000), answer.status, body);
	} catch {
		return new Problem(`mprofd-http answered ${answer.status} without a reason`, answer.status);
	}
}

/**
 * Return the path of the guest DOMAIN {uuid, name}, by its UUID, or by its name if the UUID is
 * null; of a hub's guest {host, name}, by both.
 */
export function guestPath(domain) {
	if (domain.host) return `v1/domains/${encodeURIComponent(`${domain.host}/${domain.name}`)}`;
	// The server would take a name of this form for a domid or a UUID, so it gets the prefix
	// "name:".
	const odd = /^(domid|name):|^[0-9a-f-]{36}$/i.test(domain.name);
	return `v1/domains/${encodeURIComponent(domain.uuid ?? (odd ? "name:" + domain.name : domain.name))}`;
}

export class Api {
	/** BASE is the URL below which the paths "v1/…" are. */
	constructor(base) {
		this.base = base;
		this.session = new Session(); /* who one is, and may do */
		this.access = null; /* where requests wait until one has signed in (access.js) */
	}

	/** Return the URL of PATH, such as "v1/domains", without a slash at its begin. */
	url(path) {
		return new URL(path, this.base).href;
	}

	/**
	 * Send a GET request for PATH and return a Promise of the Response. OPTIONS are those of
	 * fetch(), and can change the method. If the server asks for a sign-in, wait for it, and send the
	 * request again. Reject with a Problem if the status is not 2xx or no answer comes.
	 */
	async ask(path, options = {}) {
		const answer = await this.insist(path, options);

		await this.access?.known;
		return answer;
	}

	/** Return a Promise of who one is for the server, from GET /v1/session. */
	async identity() {
		return (await this.insist("v1/session", {})).json();
	}

	/* Do what ask() does, also before the server has said who one is. */
	async insist(path, options) {
		for (;;) {
			await this.access?.passes(options.signal);
			const turn = this.access?.turn;
			try {
				return await this.once(path, options);
			} catch (error) {
				if (error.status !== 401 || !this.access) throw error;
				this.access.refused(error, turn);
			}
		}
	}

	/**
	 * Send one request, as ask() does, but reject with a Problem also if the server asks for a
	 * sign-in. All requests of the page to the API are sent here. With the cookie of a session the
	 * server takes a change only with the header Mprof-Request, which no page of another site can send.
	 */
	async once(path, options = {}) {
		const headers = new Headers(options.headers);
		let answer;

		if (!SAFE.has(options.method ?? "GET")) headers.set("Mprof-Request", "1");
		try {
			answer = await fetch(this.url(path), {cache: "no-store", redirect: "error", ...options, headers});
		} catch (error) {
			if (error.name === "AbortError") throw error;
			throw new Problem("mprofd-http does not answer; check that it runs, and try again");
		}
		if (!answer.ok) throw await problem(answer);
		return answer;
	}

	/**
	 * Send a request as ask() does. Return a Promise of the JSON of the answer; null for an answer
	 * without content (204).
	 */
	async json(path, options) {
		const answer = await this.ask(path, options);

		return answer.status === 204 ? null : answer.json();
	}

	/**
	 * Send a request that changes something: METHOD to PATH with BODY as JSON, or without a body if
	 * BODY is undefined. With TAG, the ETag of the resource as it was read, the server refuses (412)
	 * what somebody else has changed since. Return the result of json(). The server accepts such
	 * requests only from its own pages.
	 */
	async change(method, path, body, tag) {
		const options = {method, credentials: "same-origin", headers: {}};

		if (tag) options.headers["If-Match"] = tag;
		if (body !== undefined) {
			options.body = JSON.stringify(body);
			options.headers["Content-Type"] = "application/json";
		}
		return this.json(path, options);
	}

	/**
	 * Request the list at PATH page by page, and yield each page, an array. MEMBER is the name of
	 * the list in the answers.
	 */
	async *pages(path, member, options) {
		let cursor = null;

		do {
			const more = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
			const page = await this.json(`${path}${path.includes("?") ? "&" : "?"}limit=${LIST_MOST}${more}`, options);

			yield page[member];
			cursor = page.next;
		} while (cursor !== null);
	}

	/**
	 * Return a Promise of {bytes: Uint8Array, headers} of the answer for PATH. PROGRESS(received,
	 * total) is called with numbers of bytes while they come; TOTAL is 0 if it is unknown.
	 */
	async bytes(path, {progress, ...options} = {}) {
		const answer = await this.ask(path, options);
		/* Content-Length of a compressed body is its compressed size, which is not the total. */
		const total = answer.headers.get("Content-Encoding") ? 0 : Number(answer.headers.get("Content-Length") ?? 0);
		const parts = [];
		let received = 0;

		for (const reader = answer.body.getReader(); ;) {
			const {done, value} = await reader.read();

			if (done) break;
			parts.push(value);
			received += value.length;
			progress?.(received, total);
		}
		const whole = new Uint8Array(received);
		let at = 0;
		for (const part of parts) {
			whole.set(part, at);
			at += part.length;
		}
		return {bytes: whole, headers: answer.headers};
	}
}
