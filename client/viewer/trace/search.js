/*
 * The search box. It searches while the user types, shows the number of found threads, and steps
 * from one to the next.
 */
import {withKey} from "./keys.js";
import {button, make} from "../page/make.js";

export class Search {
	/**
	 * hooks:
	 * - find(text): search and highlight; return a Promise of {threads: indices};
	 * - go(index): select a thread and show it;
	 * - changed(text): called when a search begins;
	 * - leave(): focus the picture.
	 */
	constructor(hooks) {
		this.hooks = hooks;
		this.threads = []; /* indices of the found threads */
		this.at = -1; /* place in `threads` of the one that was selected last; -1: none */
		this.looking = false; /* true while a search runs */
		this.wanted = 0; /* step (1 or -1) that the user requested while the search runs; 0: none */
		this.turn = 0; /* number of the newest search */
		this.input = make("input", {
			type: "search",
			className: "tl-find",
			placeholder: "Search labels  /",
			"aria-label": "Search labels and thread numbers",
			spellcheck: false,
			autocomplete: "off",
			maxLength: 1024,
			oninput: () => this.search(this.input.value),
			onkeydown: (event) => this.key(event),
		});
		this.count = make("output", {className: "tl-count", "aria-live": "polite"});
		this.element = make(
			"div",
			{className: "tl-search", role: "search"},
			this.input,
			this.count,
			button("‹", withKey("Previous match", "previous"), () => this.step(-1)),
			button("›", withKey("Next match", "next"), () => this.step(1)),
		);
	}

	/** Handle a key press in the box: Enter steps, Escape clears the box and leaves it. */
	key(event) {
		if (event.key === "Enter") {
			this.step(event.shiftKey ? -1 : 1);
		} else if (event.key === "Escape") {
			if (this.input.value) this.set("");
			this.hooks.leave();
		} else {
			return;
		}
		event.preventDefault();
		event.stopPropagation();
	}

	/**
	 * Put TEXT into the box and search for it. Return a Promise that resolves when the search is
	 * done.
	 */
	set(text) {
		this.input.value = text;
		return this.search(text);
	}

	/** Clear the box and the list of found threads. The caller changes the highlights. */
	clear() {
		this.input.value = "";
		this.text = "";
		this.threads = [];
		this.say();
	}

	/** Search for TEXT; "" finds nothing. A newer search takes the place of an older one. */
	async search(text) {
		const turn = ++this.turn;

		this.text = text;
		this.looking = true;
		this.wanted = 0;
		this.hooks.changed(text);
		try {
			const found = await this.hooks.find(text);
			/* A newer search began meanwhile; drop this result. */
			if (this.turn !== turn) return;
			this.threads = text ? Array.from(found.threads) : [];
			this.at = -1;
			this.say();
		} finally {
			if (this.turn === turn) this.looking = false;
		}
		if (this.wanted) this.step(this.wanted);
	}

	/** Show the number of found threads. */
	say() {
		const n = this.threads.length.toLocaleString("en");

		if (!this.text) this.count.textContent = "";
		else if (!this.threads.length) this.count.textContent = "no match";
		else this.count.textContent = this.at < 0 ? `${n} found` : `${(this.at + 1).toLocaleString("en")} of ${n}`;
	}

	/** Select the next (BY is 1) or the previous (BY is -1) found thread. */
	step(by) {
		const n = this.threads.length;

		/* The search still runs; step when it is done. */
		if (this.looking) {
			this.wanted = by;
			return;
		}
		if (!n) return;
		this.at = this.at < 0 ? (by > 0 ? 0 : n - 1) : (this.at + by + n) % n;
		this.say();
		this.hooks.go(this.threads[this.at]);
	}
}
