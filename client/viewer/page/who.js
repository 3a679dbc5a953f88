/*
 * The identity of the user in the head of each page: a menu with the name on it, and with the rights and the
 * button to sign out in it. Without access control the head has no menu.
 */
import {shown} from "./guest-text.js";
import {ended, make} from "./make.js";

const KINDS = {
	user: "as a user of the host",
	certificate: "by a certificate",
	token: "by a token in each request",
	session: "with a token",
	remote: "as a remote user",
};

/** Return the rights of IDENTITY as [what, which, …]; a right for guests has a text for each glob. */
function rights({kind, scopes, expires}) {
	const guests = (globs) =>
		globs.includes("*") ? ["all guests"] : globs.length ? globs.map((it) => shown(it)) : ["none"];

	return [
		["Signed in", KINDS[kind] ?? shown(kind)],
		["Reads", ...guests(scopes.read)],
		["Reads consoles and XenStore", ...guests(scopes.context)],
		["Changes", ...guests(scopes.write)],
		["Metrics", scopes.metrics ? "yes" : "no"],
		["Until", expires ? `${expires.slice(0, 16).replace("T", " ")} UTC` : "without limit"],
	];
}

export class Who {
	/** SIGNOUT() ends the session and returns a Promise, which rejects with a sentence. */
	constructor(signOut) {
		this.signOut = signOut;
		this.name = make("span");
		this.summary = make("summary", {}, this.name);
		this.rights = make("dl");
		this.button = make("button", {type: "button", textContent: "Sign out", onclick: () => this.press()});
		this.wrong = make("p", {className: "bad", role: "alert"});
		this.menu = make(
			"details",
			{
				onkeydown: (event) => event.key === "Escape" && this.close(event),
				onfocusout: ({relatedTarget}) =>
					relatedTarget && !this.menu.contains(relatedTarget) && (this.menu.open = false),
			},
			this.summary,
			make("div", {}, this.rights, this.button, this.wrong),
		);
		this.element = make("div", {className: "who", hidden: true}, this.menu);
		document.addEventListener(
			"pointerdown",
			({target}) => this.menu.contains(target) || (this.menu.open = false),
			true,
		);
	}

	/** Show the identity of SESSION (session.js). */
	show({identity, ends}) {
		const list = rights(identity);

		this.element.hidden = identity.kind === "open";
		this.name.textContent = shown(identity.name, 40);
		this.summary.title = list.map(([what, ...which]) => `${what}: ${which.join(" ")}`).join("\n");
		this.rights.replaceChildren(
			...list.flatMap(([what, ...which]) => [
				make("dt", {textContent: what}),
				make("dd", {}, ...which.flatMap((it) => [make("span", {textContent: it}), " "])),
			]),
		);
		this.menu.open = false;
		this.button.hidden = !ends;
		this.wrong.textContent = "";
	}

	close(event) {
		if (!this.menu.open) return;
		event.stopPropagation();
		this.menu.open = false;
		this.summary.focus();
	}

	async press() {
		this.button.disabled = true;
		this.wrong.textContent = "";
		try {
			await this.signOut();
		} catch (error) {
			this.wrong.textContent = ended(error.message);
		}
		this.button.disabled = false;
	}
}
