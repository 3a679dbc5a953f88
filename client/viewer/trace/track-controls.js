/*
 * The controls of tracks: each has a button at its caption, which opens the track's menu and by
 * which the track is dragged, and an edge at its foot, by which it is resized. Keys and screen
 * readers find the same in the menu.
 */
import {make, short} from "../page/make.js";

const STILL = 4; /* most pixels that the pointer may move during a click */
const STEP = 16; /* pixels by which the menu resizes a track */

export class TrackControls {
	/**
	 * LAYOUT is a TrackLayout. hooks: ids() -> ids of all tracks in their usual order, displayed()
	 * -> [{id, name, pinned, collapsed, height, top, bottom}] from top to bottom, the last two in
	 * the page's coordinates, changed(): the layout changed, hide(id), more(id) -> [[text,
	 * press]]: further items of its menu, announce(sentence)
	 */
	constructor(layout, hooks) {
		Object.assign(this, {layout, hooks});
		this.heads = new Map(); /* by id: {button, edge} */
		this.line = make("div", {className: "tl-track-drop", hidden: true});
		this.menu = make("div", {className: "tl-track-menu", role: "menu", hidden: true});
		this.open = null; /* id of the track whose menu is open; null: none */
		this.menu.addEventListener("keydown", (event) => this.key(event));
		this.menu.addEventListener("focusout", ({relatedTarget}) => {
			if (relatedTarget && !this.menu.contains(relatedTarget)) this.close(false);
		});
	}

	/** Return the controls of the track ID, called NAME: [button, edge]. */
	of(id, name) {
		const head = this.heads.get(id) ?? this.made(id);
		const label = `Track: ${short(name, 80)}`;

		if (head.button.title !== label) {
			head.button.title = label;
			head.button.setAttribute("aria-label", label);
		}
		return [head.button, head.edge];
	}

	made(id) {
		const button = make("button", {
			type: "button",
			className: "tl-track-button",
			textContent: "⋮",
			"aria-haspopup": "menu",
			"aria-expanded": "false",
			"data-track": id,
		});
		const edge = make("div", {className: "tl-track-edge", "aria-hidden": "true", "data-track": id});
		const head = {button, edge};

		this.heads.set(id, head);
		this.drags(button, id);
		this.resizes(edge, id);
		return head;
	}

	/** Return the place of the track ID on the screen, as displayed() gives it. */
	place(id) {
		return this.hooks.displayed().find((it) => it.id === id);
	}

	// Dragging.

	drags(button, id) {
		let start = null;
		let moved = false;
		const stop = () => {
			start = null;
			this.line.hidden = true;
		};

		button.addEventListener("pointerdown", (event) => {
			if (event.button !== 0) return;
			button.setPointerCapture(event.pointerId);
			start = event.clientY;
			moved = false;
		});
		button.addEventListener("pointermove", (event) => {
			if (start === null || (!moved && Math.abs(event.clientY - start) < STILL)) return;
			moved = true;
			this.close(false);
			this.show(this.gap(event.clientY));
		});
		button.addEventListener("pointerup", (event) => {
			if (start !== null && moved) this.drop(id, this.gap(event.clientY));
			stop();
		});
		button.addEventListener("pointercancel", stop);
		button.addEventListener("keydown", (event) => {
			if (event.key === "Escape" && start !== null) stop();
		});
		button.addEventListener("click", () => {
			if (!moved) this.toggle(id);
			moved = false;
		});
	}

	/** Return the gap between tracks at Y: the number of tracks above it. */
	gap(y) {
		return this.hooks.displayed().filter(({top, bottom}) => y > (top + bottom) / 2).length;
	}

	/** Show GAP. */
	show(gap) {
		const tracks = this.hooks.displayed();
		const y = gap < tracks.length ? tracks[gap].top : tracks.at(-1).bottom;

		this.line.hidden = false;
		this.line.style.top = `${y - this.line.offsetParent.getBoundingClientRect().top - 1}px`;
	}

	/** Move the track ID to GAP. A track that is put above a pinned one is pinned, too. */
	drop(id, gap) {
		const tracks = this.hooks.displayed();
		const next = tracks.slice(gap).find((it) => it.id !== id);
		const before = tracks.slice(0, gap).findLast((it) => it.id !== id);
		const was = tracks.find((it) => it.id === id);
		const pinned = Boolean(next?.pinned || (was.pinned && (before?.pinned || !before)));

		this.layout.move(this.hooks.ids(), id, next && next.pinned === pinned ? next.id : this.after(before, id));
		this.layout.set(id, {pinned});
		this.hooks.changed();
	}

	/** Return the id of the track behind TRACK in the order of all tracks but ID, or null. */
	after(track, id) {
		const order = this.layout.order(this.hooks.ids()).filter((it) => it !== id);

		return (track && order[order.indexOf(track.id) + 1]) ?? null;
	}

	/** Move the track ID by one place up (BY -1) or down (1), among those that are pinned as it is. */
	step(id, by) {
		const tracks = this.hooks.displayed();
		const mine = tracks.filter((it) => it.pinned === this.place(id).pinned);
		const at = mine.findIndex((it) => it.id === id);
		const other = mine[at + by];

		if (!other) return;
		this.layout.move(this.hooks.ids(), id, by < 0 ? other.id : this.after(other, id));
		this.hooks.changed();
		this.hooks.announce(`${short(mine[at].name, 80)} is ${by < 0 ? "above" : "below"} ${short(other.name, 80)}.`);
	}

	// Resizing.

	resizes(edge, id) {
		let start = null;

		edge.addEventListener("pointerdown", (event) => {
			if (event.button !== 0) return;
			edge.setPointerCapture(event.pointerId);
			event.preventDefault();
			start = {y: event.clientY, height: this.place(id).height};
		});
		edge.addEventListener("pointermove", ({clientY}) => {
			if (start && clientY !== start.y) this.resize(id, start.height + clientY - start.y);
		});
		for (const name of ["pointerup", "pointercancel"]) edge.addEventListener(name, () => (start = null));
		edge.addEventListener("dblclick", () => this.resize(id, undefined));
	}

	/** Make the track ID HEIGHT pixels high; undefined: as high as usual. */
	resize(id, height) {
		this.layout.set(id, {height, collapsed: undefined});
		this.hooks.changed();
	}

	// The menu.

	/** Return the items of the menu of the track ID: [text, press, does the menu stay open?]. */
	items(id) {
		const {layout} = this;
		const {name, pinned, collapsed} = this.place(id);
		const change = (what, says) => () => {
			layout.set(id, what);
			this.hooks.changed();
			this.hooks.announce(`${short(name, 80)} ${says}.`);
		};

		return [
			...this.hooks.more(id),
			collapsed
				? ["Expand", change({collapsed: undefined}, "is expanded")]
				: ["Collapse", change({collapsed: true}, "is collapsed")],
			pinned
				? ["Unpin", change({pinned: undefined}, "is not pinned any more")]
				: ["Pin to the top", change({pinned: true}, "is pinned to the top")],
			["Move up", () => this.step(id, -1), true],
			["Move down", () => this.step(id, 1), true],
			["Higher", () => this.resize(id, this.place(id).height + STEP), true],
			["Lower", () => this.resize(id, this.place(id).height - STEP), true],
			...(layout.of(id).height === undefined ? [] : [["Usual height", () => this.resize(id, undefined)]]),
			["Hide", () => this.hooks.hide(id)],
		];
	}

	toggle(id) {
		if (this.open === id) return this.close();
		this.close(false);
		this.open = id;
		this.fill(id);
		const {button} = this.heads.get(id);
		button.setAttribute("aria-expanded", "true");
		this.menu.hidden = false;
		this.menu.setAttribute("aria-label", button.title);
		const box = button.getBoundingClientRect();
		const height = this.menu.offsetHeight;
		this.menu.style.right = `${Math.max(innerWidth - box.right, 0)}px`;
		this.menu.style.top = `${Math.max(Math.min(box.bottom, innerHeight - height - 4), 0)}px`;
		this.menu.firstElementChild.focus();
	}

	fill(id) {
		this.menu.replaceChildren(
			...this.items(id).map(([text, press, stays]) =>
				make("button", {
					type: "button",
					role: "menuitem",
					tabIndex: -1,
					textContent: text,
					onclick: () => {
						if (!stays) this.close();
						press();
					},
				}),
			),
		);
	}

	/** Close the menu. Return true if it was open. BACK: focus its button. */
	close(back = true) {
		const head = this.heads.get(this.open);
		const was = this.open !== null;

		this.open = null;
		this.menu.hidden = true;
		head?.button.setAttribute("aria-expanded", "false");
		if (back) head?.button.focus();
		return was;
	}

	/** Close the menu when the pointer is pressed outside of it, until the AbortSignal LEAVING. */
	closes(leaving) {
		document.addEventListener(
			"pointerdown",
			({target}) => {
				const mine = this.menu.contains(target) || this.heads.get(this.open)?.button.contains(target);
				if (!mine) this.close(false);
			},
			{capture: true, signal: leaving},
		);
	}

	key(event) {
		const items = [...this.menu.children];
		const at = items.indexOf(document.activeElement);
		const to = {ArrowDown: at + 1, ArrowUp: at - 1 + items.length, Home: 0, End: items.length - 1}[event.key];

		event.stopPropagation();
		if (event.key === "Escape") this.close();
		else if (event.key === "Tab") this.close();
		else if (to !== undefined) items[to % items.length].focus();
		else return;
		event.preventDefault();
	}
}

/**
 * Return a node that shows or hides each of TRACKS [{id, name}]. ISSHOWN(id) says which are shown.
 * FLIP(id) shows or hides one. EVERY(on): rows without a thread in view have height; ISEVERY: they
 * have now. USUAL(): make all tracks as they are at first.
 */
export function trackList(tracks, isShown, flip, every, isEvery, usual) {
	const rows = tracks.map(({id, name}) =>
		make(
			"li",
			{},
			make("input", {type: "checkbox", id: `tl-track-${id}`, checked: isShown(id), onchange: () => flip(id)}),
			make("label", {for: `tl-track-${id}`, textContent: short(name)}),
		),
	);

	const box = make("input", {
		type: "checkbox",
		id: "tl-every-row",
		checked: isEvery,
		onchange: () => every(box.checked),
	});
	rows.push(make("li", {}, box, make("label", {for: box.id, textContent: "Room for rows without a thread in view"})));

	return make(
		"div",
		{},
		make("p", {
			className: "tl-quiet",
			textContent:
				"The button ⋮ of a track collapses, pins, moves, resizes and hides it; drag the button to move it.",
		}),
		make("ul", {className: "tl-choice"}, ...rows),
		make("button", {type: "button", textContent: "Usual layout", onclick: usual}),
	);
}
