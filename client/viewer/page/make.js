/* Elements.  Texts go in as texts: what a guest wrote never becomes markup. */

/**
 * An element: PROPS are its properties (`className`, `textContent`), `on…` listeners, and attributes where the name has a dash or is a role.
 */
export function make(tag, props = {}, ...children) {
	const element = document.createElement(tag);

	for (const [key, value] of Object.entries(props)) {
		if (value === undefined || value === null) continue;
		if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
		else if (key === "role" || key === "for" || key.includes("-")) element.setAttribute(key, value);
		else element[key] = value;
	}
	element.append(...children.filter((child) => child !== null && child !== undefined));
	return element;
}

/** A button that says what it does also where only its sign is seen. */
export function button(sign, says, press, props = {}) {
	return make("button", {
		type: "button",
		textContent: sign,
		title: says,
		"aria-label": says,
		onclick: press,
		...props,
	});
}

/** At most N characters of a text, for a place that shows one line. */
export function short(text, n = 60) {
	const characters = Array.from(text.slice(0, 2 * n + 2));

	return characters.length > n ? `${characters.slice(0, n - 1).join("")}…` : characters.join("");
}

// What stands in place of a picture: what is under way, why nothing can be shown, what to do.

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
