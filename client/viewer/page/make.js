/* Make elements, messages and the file picker. Text that a guest wrote never becomes markup. */

/**
 * Return a new element TAG. Members of PROPS are properties (`className`, `textContent`), listeners
 * (`onclick`), and attributes (`role`, `for`, and names with a dash). Members that are null or
 * undefined are left out, and so are such CHILDREN; the other children are nodes or strings.
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

/**
 * Return a button with the text SIGN. SAYS is its tooltip and its label for screen readers. PRESS
 * is called at a click. PROPS are further ones for make().
 */
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

/** Return TEXT, cut to N characters; a cut text ends with "…". */
export function short(text, n = 60) {
	const characters = Array.from(text.slice(0, 2 * n + 2));

	return characters.length > n ? `${characters.slice(0, n - 1).join("")}…` : characters.join("");
}

// Messages in place of a picture: progress, and errors with advice.

/** Return TEXT with a full stop at its end, unless it ends with ".", "!" or "?". */
export const ended = (text) => text.replace(/([^.!?])$/, "$1.");

/**
 * Return a link with TEXT. A click lets the user choose a file, and TAKE(file) is called with it.
 * SAYS is the label for screen readers.
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

/** A message in place of a picture. `element` is hidden while there is none. */
export class Message {
	constructor(className) {
		this.element = make("div", {className, hidden: true});
	}

	/**
	 * Show TEXT, what is being loaded, and a bar. PART is the part that is done, 0 to 1, or null if
	 * it is unknown. If TEXT is null, hide the message.
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

	/** Show TEXT: why there is nothing to show yet, and MORE nodes. The caller tries again later. */
	waits(text, ...more) {
		this.say(
			"status",
			make("p", {textContent: ended(text)}),
			make("p", {textContent: "Trying again…"}),
			make("p", {}, ...more),
		);
	}

	/**
	 * Show CHILDREN. ROLE says how screen readers read them: "alert" at once, "status" when they
	 * are idle.
	 */
	say(role, ...children) {
		this.element.hidden = false;
		this.element.setAttribute("role", role);
		this.element.replaceChildren(...children);
	}
}
