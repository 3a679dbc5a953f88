/*
 * The controls of the tracks. Each track has a button beside its caption: a click opens the track's
 * menu, and a drag moves the track. Each track has an edge at its bottom: a drag resizes the track.
 * The menu can do the same by keyboard and with a screen reader.
 */
import {make, short} from "../page/make.js";

/* greatest distance in pixels that the pointer moves in a click; farther is a drag */
const STILL = 4;
const STEP = 16; /* pixels by which the menu items "Higher" and "Lower" resize a track */

export class TrackControls {
	/**
	 * LAYOUT is the TrackLayout that keeps the user's changes.
	 *
	 * hooks:
	 * - ids(): return the ids of all tracks in their usual order;
	 * - displayed(): return the tracks on the screen from top to bottom: [{id, name, pinned,
	 *   collapsed, height, top, bottom}], the last three in pixels, TOP and BOTTOM from the top of
	 *   the browser's window;
	 * - changed(): called after LAYOUT changed;
	 * - hide(id): hide a track;
	 * - more(id): return further items for the track's menu: [[text, press]];
	 * - announce(sentence): tell the sentence to screen readers.
	 */
	constructor(layout, hooks) {
		Object.assign(this, {layout, hooks});
		this.heads = new Map(); /* id of a track -> its controls {button, edge} */
		/* line that shows where a dragged track will be */
		this.line = make("div", {className: "tl-track-drop", hidden: true});
		this.menu = make("div", {className: "tl-track-menu", role: "menu", hidden: true});
		this.open = null; /* id of the track whose menu is open, or null */
		this.menu.addEventListener("keydown", (event) => this.key(event));
		this.menu.addEventListener("focusout", ({relatedTarget}) => {
			if (relatedTarget && !this.menu.contains(relatedTarget)) this.close(false);
		});
	}

	/**
	 * Return the controls of the track ID as [button, edge], and make them at the first call. NAME
	 * is the track's name for the user.
	 */
	of(id, name) {
		const head = this.heads.get(id) ?? this.made(id);
		const label = `Track: ${short(name, 80)}`;

		if (head.button.title !== label) {
			head.button.title = label;
			head.button.setAttribute("aria-label", label);
		}
		return [head.button, head.edge];
	}

	/** Make the controls of the track ID. Return {button, edge}. */
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

	/** Return the track ID as an item of the hook displayed(); undefined if the track is hidden. */
	place(id) {
		return this.hooks.displayed().find((it) => it.id === id);
	}

	// Dragging.

	/** Let BUTTON move the track ID by dragging and open its menu by clicking. */
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

	/**
	 * Return the gap between two tracks that is nearest to Y (pixels from the top of the browser's
	 * window). A gap is the number of tracks above it; 0 is above the first track.
	 */
	gap(y) {
		return this.hooks.displayed().filter(({top, bottom}) => y > (top + bottom) / 2).length;
	}

	/** Show the line at GAP, which is the result of gap(). */
	show(gap) {
		const tracks = this.hooks.displayed();
		const y = gap < tracks.length ? tracks[gap].top : tracks.at(-1).bottom;

		this.line.hidden = false;
		this.line.style.top = `${y - this.line.offsetParent.getBoundingClientRect().top - 1}px`;
	}

	/** Move the track ID to GAP. The track becomes pinned if the track below GAP is pinned. */
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

	/**
	 * Return the id of the track that follows TRACK in the order of all tracks except ID. Return
	 * null if TRACK is the last.
	 */
	after(track, id) {
		const order = this.layout.order(this.hooks.ids()).filter((it) => it !== id);

		return (track && order[order.indexOf(track.id) + 1]) ?? null;
	}

	/**
	 * Move the track ID up by one place (BY is -1) or down by one (BY is 1). A pinned track moves
	 * only among pinned tracks, another only among the others.
	 */
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

	/**
	 * Let EDGE resize the track ID by dragging. A double click gives the track its usual height.
	 */
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

	/**
	 * Give the track ID the height HEIGHT in pixels, or its usual height if HEIGHT is undefined. A
	 * collapsed track is expanded.
	 */
	resize(id, height) {
		this.layout.set(id, {height, collapsed: undefined});
		this.hooks.changed();
	}

	// The menu.

	/**
	 * Return the items of the menu of the track ID: [text, function to call, true if the menu stays
	 * open].
	 */
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

	/** Open the menu of the track ID, or close it if it is open. */
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

	/** Put the items of the track ID into the menu. */
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

	/**
	 * Close the menu. Return true if it was open. If BACK is true, focus the button of its track.
	 */
	close(back = true) {
		const head = this.heads.get(this.open);
		const was = this.open !== null;

		this.open = null;
		this.menu.hidden = true;
		head?.button.setAttribute("aria-expanded", "false");
		if (back) head?.button.focus();
		return was;
	}

	/**
	 * Close the menu at a press of the pointer outside of it. The AbortSignal LEAVING removes the
	 * listener.
	 */
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

	/**
	 * Handle EVENT, a key press in the menu: arrows, Home and End move between the items, Escape
	 * and Tab close the menu.
	 */
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
 * Return a node with the check boxes and buttons that change the tracks [{id, name}] in TRACKS.
 * - isShown(id): return true if the track is shown;
 * - flip(id): show or hide the track;
 * - every(on): true gives height also to rows without a thread in view; isEvery is its present
 *   value;
 * - usual(): give all tracks their usual layout.
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
