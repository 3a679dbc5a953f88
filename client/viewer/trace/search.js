/*
 * The search box: it finds threads while the user types, shows their number, and steps to the next
 * one.
 */
import {button, make} from "../page/make.js";

export class Search {
	/**
	 * hooks: find(text) -> Promise of {threads: indices}, go(index of a thread), changed(text),
	 * leave(): put the focus back on the picture
	 */
	constructor(hooks) {
		this.hooks = hooks;
		this.threads = [];
		this.at = -1;
		this.looking = false; /* true while a search is under way */
		this.wanted = 0; /* step (1 or -1) that a key requested during the search; 0: none */
		this.turn = 0;
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
			button("‹", "Previous match (N)", () => this.step(-1)),
			button("›", "Next match (n)", () => this.step(1)),
		);
	}

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

	/** Put TEXT into the box and search for it. */
	set(text) {
		this.input.value = text;
		return this.search(text);
	}

	/** Clear the search. */
	clear() {
		this.input.value = "";
		this.text = "";
		this.threads = [];
		this.say();
	}

	async search(text) {
		const turn = ++this.turn;

		this.text = text;
		this.looking = true;
		this.wanted = 0;
		this.hooks.changed(text);
		try {
			const found = await this.hooks.find(text);
			/* A newer search is under way. */
			if (this.turn !== turn) return;
			this.threads = text ? Array.from(found.threads) : [];
			this.at = -1;
			this.say();
		} finally {
			if (this.turn === turn) this.looking = false;
		}
		if (this.wanted) this.step(this.wanted);
	}

	say() {
		const n = this.threads.length.toLocaleString("en");

		if (!this.text) this.count.textContent = "";
		else if (!this.threads.length) this.count.textContent = "no match";
		else this.count.textContent = this.at < 0 ? `${n} found` : `${(this.at + 1).toLocaleString("en")} of ${n}`;
	}

	/** Go to the next (BY 1) or previous (-1) match. */
	step(by) {
		const n = this.threads.length;

		/* If Enter comes during the search, step when the result is there. */
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
