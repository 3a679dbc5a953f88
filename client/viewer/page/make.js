/* Make elements, messages and the file picker. Text of guests never becomes markup. */

/**
 * Return an element TAG with CHILDREN. PROPS are properties (`className`, `textContent`), listeners
 * (`onclick`), and attributes: `role` and names with a dash.
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

/** Return a button that shows SIGN. SAYS is its label and tooltip, and PRESS its click listener. */
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

/** Return TEXT, cut to N characters. */
export function short(text, n = 60) {
	const characters = Array.from(text.slice(0, 2 * n + 2));

	return characters.length > n ? `${characters.slice(0, n - 1).join("")}…` : characters.join("");
}

// Messages that are shown in place of a picture: progress, and errors with advice.

/** Return TEXT with a full stop at its end. */
export const ended = (text) => text.replace(/([^.!?])$/, "$1.");

/**
 * Return a link with TEXT that lets the user choose a file, and calls TAKE(file). SAYS is its label
 * for screen readers.
 */
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

	/**
	 * Show the progress TEXT and PART, the share that is done (null: unknown). If TEXT is null,
	 * hide the message.
	 */
	progress(text, part = null) {
		if (text === null) {
			this.element.hidden = true;
			return;
		}
		const bar = make("progress", {max: 1, "aria-label": "Loading"});
		if (part !== null) bar.value = part;
		this.say("status", make("p", {textContent: `${text}…`}), bar);
	}

	/** Show CHILDREN. ROLE is "alert" or "status". */
	say(role, ...children) {
		this.element.hidden = false;
		this.element.setAttribute("role", role);
		this.element.replaceChildren(...children);
	}
}
