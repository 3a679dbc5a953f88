/*
 * The announcer: one line with the latest news, which screen readers read when they are idle (a
 * polite live region). It shows one sentence at a time and at most one per interval. If many things
 * of a kind happen at once, it shows only their number.
 */
import {make} from "../page/make.js";

const EVERY_MS = 3000;
const NAMED = 2;

export class Announcer {
	constructor() {
		this.element = make("p", {className: "news", role: "status"});
		this.waiting = [];
		this.timer = null;
	}

	/**
	 * Announce SENTENCE. WHAT names the group in which sentences are counted: "started", "ended", …
	 */
	say(what, sentence) {
		this.waiting.push({what, sentence});
		if (this.waiting.length > 10000) this.waiting.splice(0, 5000);
		this.timer ??= setTimeout(() => this.tell(), this.element.textContent ? EVERY_MS : 100);
	}

	tell() {
		const groups = new Map();

		for (const {what, sentence} of this.waiting)
			(groups.get(what) ?? groups.set(what, []).get(what)).push(sentence);
		this.element.textContent = [...groups]
			.map(([what, all]) => (all.length <= NAMED ? all.join(" ") : `${all.length} guests ${what}.`))
			.join(" ");
		this.waiting = [];
		this.timer = null;
	}

	close() {
		clearTimeout(this.timer);
	}
}
