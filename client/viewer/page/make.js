/* Elements, messages and the file picker. Texts of guests never become markup. */

/**
 * Return an element. PROPS are properties (`className`, `textContent`), `on…` listeners, and
 * attributes if the name has a dash or is a role.
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

/** Return a button with sign SIGN and label SAYS. */
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

/** Return at most N characters of a text. */
export function short(text, n = 60) {
	const characters = Array.from(text.slice(0, 2 * n + 2));

	return characters.length > n ? `${characters.slice(0, n - 1).join("")}…` : characters.join("");
}

// Messages in place of a picture: progress, errors and what to do.

/** Return TEXT with a full stop. */
export const ended = (text) => text.replace(/([^.!?])$/, "$1.");

/** Return a link with TEXT and label SAYS that lets a person choose a file for TAKE(file). */
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

	/** Show progress. PART is the share done, null if unknown; TEXT null: hide it. */
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
