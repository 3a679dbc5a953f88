/*
 * Identity and rights of the page's user on the server (GET /v1/session, schema/http/openapi.yaml). The
 * page hides what the user may not do; the server decides.
 */
import {matches} from "./globs.js";

const ALL = {read: ["*"], context: ["*"], write: ["*"], metrics: true};

export class Session {
	constructor() {
		/* Until the server has answered, nothing is hidden. */
		this.identity = {name: "", kind: "open", scopes: ALL, tokens: false, expires: null, serves: "host"};
		this.known = false;
	}

	/** Take IDENTITY, an answer of the server. */
	take(identity) {
		this.identity = identity;
		this.known = true;
	}

	/** True if the server is the hub of a fleet, and not that of one host. */
	get isHub() {
		return this.identity.serves === "hub";
	}

	/** True if one has signed in by a browser, and can sign out. */
	get ends() {
		return this.identity.kind === "session";
	}

	/** Return true if IDENTITY is another person, or has other rights. */
	differs(identity) {
		const text = ({name, kind, scopes}) => JSON.stringify([name, kind, scopes]);

		return text(identity) !== text(this.identity);
	}

	/** Return true if SCOPE ("read", "context" or "write") is held for every guest. */
	all(scope) {
		return this.identity.scopes.read.includes("*") && this.identity.scopes[scope].includes("*");
	}

	/** Return true if SCOPE is held for some names. */
	some(scope) {
		return this.identity.scopes[scope].length > 0;
	}

	/**
	 * Return true if SCOPE is held for the guest NAME. Every scope needs the right to read, too.
	 * null is a guest without a name, which only the glob * matches.
	 */
	may(scope, name) {
		const {scopes} = this.identity;
		const held = (globs) =>
			globs.includes("*") || (typeof name === "string" && globs.some((glob) => matches(glob, name)));

		return held(scopes.read) && held(scopes[scope]);
	}
}
