/* What stands in place of a picture: what is under way, why nothing can be shown, what to do. */
import {make} from "./make.js";

/** TEXT with the full stop that it may lack. */
export const ended = (text) => text.replace(/([^.!?])$/, "$1.");

/** A link that lets a person choose a file, which SAYS says of it, for TAKE. */
export function picker(text, says, className, take) {
	const input = make("input", {
		type: "file",
		className: "unseen",
		"aria-label": says,
		onchange: () => input.files[0] && take(input.files[0]),
	});

	return make("label", {className}, text, input);
}

export class Message {
	constructor(className) {
		this.element = make("div", {className, hidden: true});
	}

	/** What is under way, PART of it done, null: nobody knows; TEXT null: nothing. */
	progress(text, part = null) {
		if (text === null) {
			this.element.hidden = true;
			return;
		}
		const bar = make("progress", {max: 1, "aria-label": "Loading"});
		if (part !== null) bar.value = part;
		this.say("status", make("p", {textContent: `${text}…`}), bar);
	}

	/** ROLE is how a screen reader tells it: "alert" or "status". */
	say(role, ...children) {
		this.element.hidden = false;
		this.element.setAttribute("role", role);
		this.element.replaceChildren(...children);
	}
}
