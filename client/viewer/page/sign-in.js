/*
 * The sign-in: a dialog with one field, for a token. The token goes to the server once, which answers
 * with a cookie that no script can read. The page keeps the token nowhere.
 */
import {ended, make} from "./make.js";

/* The browser did not keep the cookie of a session. */
const UNKEPT = {
	"http:":
		"The token is right, but this browser keeps no session of a page whose address begins with http:. " +
		"Open the page by https:, or use the token with mprofctl",
	"https:":
		"The token is right, but this browser keeps no session of this page. Allow its cookies, and sign in again",
};

/** The text below the field: what a token is, and where it comes from. */
function origin() {
	return make(
		"p",
		{className: "quiet", id: "sign-in-origin"},
		"A token is made on the host, by ",
		make("code", {textContent: "mprofctl token new NAME"}),
		". It goes to the server once, and this page does not keep it.",
	);
}

export class SignIn {
	/** API is from api.js. */
	constructor(api) {
		this.api = api;
		this.done = null; /* called with the identity when one has signed in; null: it is not shown */
		this.build();
		/* The user may have signed in by another window of this browser: the cookie is the same. */
		document.addEventListener("visibilitychange", () => this.done && !document.hidden && this.elsewhere());
	}

	build() {
		this.reason = make("p", {className: "sign-in-reason", role: "status"});
		this.field = make("input", {
			id: "sign-in-token",
			type: "password",
			autocomplete: "current-password",
			autocapitalize: "off",
			spellcheck: false,
			required: true,
			maxLength: 200,
			"aria-describedby": "sign-in-wrong sign-in-origin",
		});
		this.wrong = make("p", {className: "bad", id: "sign-in-wrong", role: "alert"});
		this.button = make("button", {type: "submit", textContent: "Sign in"});
		this.dialog = make(
			"dialog",
			{
				className: "sign-in",
				"aria-labelledby": "sign-in-title",
				oncancel: (event) => event.preventDefault(),
				onkeydown: (event) => event.stopPropagation(),
				/* A page that ends closes all dialogs, and Escape twice closes any. This one stays. */
				onclose: () => this.done && this.dialog.showModal(),
			},
			make("h1", {id: "sign-in-title", textContent: `Sign in to mprofd on ${location.hostname}`}),
			this.reason,
			make(
				"form",
				{onsubmit: (event) => this.submit(event)},
				make("label", {for: "sign-in-token", textContent: "Token"}),
				this.field,
				this.button,
				this.wrong,
			),
			origin(),
		);
	}

	/**
	 * Show the dialog, with SENTENCE as the reason; "" = none. Return a Promise of the identity when
	 * one has signed in.
	 */
	show(sentence) {
		document.body.append(this.dialog);
		this.field.value = "";
		this.say("");
		this.dialog.showModal();
		this.field.focus();
		this.reason.textContent = sentence && ended(sentence);
		return new Promise((resolve) => (this.done = resolve));
	}

	/** Close the dialog: one has signed in as IDENTITY. */
	finish(identity) {
		const {done} = this;

		this.done = null;
		this.dialog.close();
		this.dialog.remove();
		done(identity);
	}

	/** Show SENTENCE at the field; "" removes it. */
	say(sentence) {
		this.wrong.textContent = sentence && ended(sentence);
		this.field.setAttribute("aria-invalid", String(sentence !== ""));
	}

	/** Send the token in the field, which becomes empty. */
	async submit(event) {
		const token = this.field.value.trim();

		event.preventDefault();
		if (this.button.disabled) return;
		this.field.value = "";
		this.say("");
		this.button.disabled = true;
		try {
			this.finish(await this.send(token));
		} catch (error) {
			this.say(error.message);
			this.field.focus();
		}
		this.button.disabled = false;
	}

	/** Sign in with TOKEN. Return a Promise of the identity; reject with a sentence for the user. */
	async send(token) {
		await this.api.once("v1/session", {
			method: "POST",
			headers: {"Content-Type": "application/json"},
			body: JSON.stringify({token}),
		});
		/* Without the cookie the next request would fail. */
		try {
			return await this.who();
		} catch (error) {
			throw error.status === 401 ? new Error(UNKEPT[location.protocol]) : error;
		}
	}

	async who() {
		return (await this.api.once("v1/session")).json();
	}

	/** Close the dialog if one has signed in by another window. */
	async elsewhere() {
		const identity = await this.who().catch(() => null);

		if (identity && this.done) this.finish(identity);
	}
}
