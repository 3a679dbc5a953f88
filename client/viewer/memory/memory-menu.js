/*
 * The menu of a box of the flame graph. A right click opens it, a long touch, or the key for menus.
 * The arrows move between its items, Escape closes it.
 */
import {make} from "../page/make.js";

export class BoxMenu {
	/** HOOKS: closed(): the menu closed by a key, so the graph gets the focus. */
	constructor(hooks) {
		this.hooks = hooks;
		this.element = make("div", {
			className: "mem-box-menu",
			role: "menu",
			hidden: true,
			onkeydown: (event) => this.key(event),
			onfocusout: ({relatedTarget}) => relatedTarget && !this.element.contains(relatedTarget) && this.close(),
		});
	}

	/** Open the menu called TITLE at X, Y of the browser's window. ITEMS are [[text, press]]. */
	open(title, items, x, y) {
		const {element} = this;

		element.setAttribute("aria-label", title);
		element.replaceChildren(
			...items.map(([textContent, press]) =>
				make("button", {
					type: "button",
					role: "menuitem",
					tabIndex: -1,
					textContent,
					onclick: () => {
						this.close();
						press();
					},
				}),
			),
		);
		element.hidden = false;
		element.style.left = `${Math.max(0, Math.min(x, innerWidth - element.offsetWidth - 4))}px`;
		element.style.top = `${Math.max(0, Math.min(y, innerHeight - element.offsetHeight - 4))}px`;
		element.firstElementChild.focus();
	}

	/** Close the menu. Return true if it was open. */
	close() {
		const {hidden} = this.element;

		this.element.hidden = true;
		return !hidden;
	}

	/**
	 * Close the menu at a press of the pointer outside of it. The AbortSignal LEAVING removes the
	 * listener.
	 */
	closes(leaving) {
		document.addEventListener("pointerdown", ({target}) => this.element.contains(target) || this.close(), {
			capture: true,
			signal: leaving,
		});
	}

	key(event) {
		const items = [...this.element.children];
		const at = items.indexOf(document.activeElement);
		const to = {
			ArrowDown: (at + 1) % items.length,
			ArrowUp: (at + items.length - 1) % items.length,
			Home: 0,
			End: items.length - 1,
		}[event.key];

		if (to !== undefined) items[to].focus();
		else if (event.key === "Escape" || event.key === "Tab") {
			this.close();
			this.hooks.closed();
		} else return;
		event.preventDefault();
		event.stopPropagation();
	}
}
