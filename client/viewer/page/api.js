/* The HTTP API. Every failure is thrown as a Problem, whose message is a sentence for people. */

const LIST_MOST = 1000;

export class Problem extends Error {
	/**
	 * STATUS is the HTTP status; 0 if no answer came. MEMBERS are further members of the server's
	 * problem document.
	 */
	constructor(sentence, status = 0, members = {}) {
		super(sentence);
		this.name = "Problem";
		this.status = status;
		this.members = members;
	}

	/** Whether the same request may succeed soon. */
	get passing() {
		return this.status === 0 || this.status === 503;
	}
}

async function problem(answer) {
	try {
		const body = await answer.json();

		return new Problem(String(body.detail).slice(0, 1000), answer.status, body);
	} catch {
		return new Problem(`mprofd-http answered ${answer.status} without a reason`, answer.status);
	}
}

/** Return the path of a guest, by its UUID or else by its name. */
export function guestPath(domain) {
	// A name of this form would be taken for a domid or a UUID without the prefix.
	const odd = /^(domid|name):|^[0-9a-f-]{36}$/i.test(domain.name);
	return `v1/domains/${encodeURIComponent(domain.uuid ?? (odd ? "name:" + domain.name : domain.name))}`;
}

export class Api {
	/** BASE is the URL above v1/. */
	constructor(base) {
		this.base = base;
	}

	/** Return the URL of PATH, which has no leading slash: "v1/domains". */
	url(path) {
		return new URL(path, this.base).href;
	}

	/**
	 * Send a request and return the Response. OPTIONS are those of fetch(). Throw a Problem if the
	 * status is not 2xx.
	 */
	async ask(path, options = {}) {
		let answer;

		try {
			answer = await fetch(this.url(path), {cache: "no-store", redirect: "error", ...options});
		} catch (error) {
			if (error.name === "AbortError") throw error;
			throw new Problem("mprofd-http does not answer; check that it runs, and try again");
		}
		if (!answer.ok) throw await problem(answer);
		return answer;
	}

	async json(path, options) {
		const answer = await this.ask(path, options);

		return answer.status === 204 ? null : answer.json();
	}

	/**
	 * Send METHOD to PATH with BODY as JSON. The server accepts changes only from its own pages.
	 */
	async change(method, path, body) {
		const options = {method, credentials: "same-origin"};

		if (body !== undefined)
			Object.assign(options, {body: JSON.stringify(body), headers: {"Content-Type": "application/json"}});
		return this.json(path, options);
	}

	/**
	 * Request a list and yield its pages as arrays. MEMBER is the name of the list in the answers.
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
	 * Return the bytes of a body. PROGRESS(received, total: 0 if unknown) is called while they
	 * come.
	 */
	async bytes(path, {progress, ...options} = {}) {
		const answer = await this.ask(path, options);
		/*
		 * If a body is compressed, Content-Length is its compressed size, which is not the total.
		 */
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
