/*
 * The flame graph of a profile: a box for each function of a stack, as wide as its bytes. Hovering
 * shows the amounts of a box, a click zooms to a box, and the arrow keys select a box. The bar above
 * the graph selects the tree and its direction, and has the search. The canvas is as large as the
 * visible part of the graph and is painted again when the user scrolls.
 */
import {shown} from "../page/guest-text.js";
import {button, make} from "../page/make.js";
import {Layout, NONE, ROW, nodeAt, pathTo, search} from "./memory-layout.js";
import {BoxMenu} from "./memory-menu.js";
import {Names, paint, rowY} from "./memory-paint.js";
import {amount, share} from "./memory-text.js";
import {count} from "../page/times.js";

const PATH_SHOWN = 6; /* most functions in the path above the graph */
const TYPED_MS = 150; /* the search begins this long after the last key */

export class Flame {
	/**
	 * HOOKS: changed(): the view changed, so write the address; asked(): another profile is needed;
	 * filter(text): add a condition (memory-clauses.js); callers(name): show the callers of a function;
	 * tell(text): announce TEXT to screen readers; dark(): return true for dark colours;
	 * error(bytes): return the error of an estimate as text.
	 */
	constructor(hooks) {
		this.hooks = hooks;
		this.profile = null;
		/*
		 * Names from the root to the zoomed function. A filter may remove some of them from the
		 * tree; PATH keeps them, so that the zoom comes back without the filter.
		 */
		this.path = [];
		this.selected = null; /* node that the keys selected, or null */
		this.folded = new Set(); /* names of the functions whose callees are not drawn */
		this.hits = null; /* for each name 1 if the search found it; null without a search */
		this.bar();
		this.canvas = make("canvas", {className: "mem-flame-canvas"});
		this.space = make("div", {className: "mem-flame-space"}, this.canvas);
		this.scroller = make(
			"div",
			{
				className: "mem-flame",
				id: "mem-flame",
				tabIndex: 0,
				role: "application",
				"aria-label":
					"Flame graph. The arrows walk, Enter zooms, Escape goes back, o shows only a function, x hides it, c folds it, m opens its menu. The tab Functions has the same as a table.",
				"aria-describedby": "mem-flame-says",
			},
			this.space,
		);
		this.says = make("p", {className: "mem-says", id: "mem-flame-says"});
		this.trail = make("nav", {className: "mem-trail", "aria-label": "From the root to what is shown"});
		this.tip = make("div", {className: "mem-tip", hidden: true});
		this.menu = new BoxMenu({closed: () => this.scroller.focus()});
		this.leaving = new AbortController();
		this.menu.closes(this.leaving.signal);
		this.element = make("div", {}, this.tools, this.trail, this.scroller, this.says, this.tip, this.menu.element);
		this.listen();
		this.observer = new ResizeObserver(() => this.resize());
		this.observer.observe(this.scroller);
	}

	close() {
		this.observer.disconnect();
		this.leaving.abort();
		cancelAnimationFrame(this.frame);
		clearTimeout(this.typing);
		this.closed = true;
	}

	// The bar.

	bar() {
		const select = (label, options, change) =>
			make(
				"select",
				{"aria-label": label, onchange: (event) => change(event.target.value)},
				...options.map(([value, textContent]) => make("option", {value, textContent})),
			);
		const check = (text, title) => {
			const box = make("input", {type: "checkbox", onchange: () => this.hooks.asked()});

			return [box, make("label", {className: "mem-check", title}, box, text)];
		};

		this.treeChoice = select(
			"Direction of calls",
			[
				["callees", "From the root: callees"],
				["callers", "From the allocating functions: callers"],
			],
			() => this.turn(),
		);
		this.growChoice = select(
			"Direction of growth",
			[
				["up", "Upward (flame)"],
				["down", "Downward (icicle)"],
			],
			() => this.regrow(),
		);
		const [sites, sitesLabel] = check("Places", "Show the places of allocation below each function that allocates");
		const [recursion, recursionLabel] = check(
			"Recursion",
			"Keep every frame of a function that calls itself; without it, the function stands once on a stack",
		);
		this.sites = sites;
		this.recursion = recursion;
		this.find = make("input", {
			type: "search",
			id: "mem-find",
			placeholder: "Search",
			"aria-label": "Search functions by name (/)",
			maxLength: 200,
			autocomplete: "off",
			spellcheck: false,
			oninput: () => this.type(),
			onkeydown: (event) =>
				event.key === "Escape" &&
				this.find.value &&
				(event.stopPropagation(), (this.find.value = ""), this.type()),
		});
		this.found = make("output", {className: "mem-found", for: "mem-find"});
		this.tools = make(
			"div",
			{className: "mem-bar"},
			this.treeChoice,
			this.growChoice,
			sitesLabel,
			recursionLabel,
			make("span", {className: "mem-find"}, this.find, this.found),
		);
	}

	get tree() {
		return this.profile?.[this.treeChoice.value];
	}

	get up() {
		return this.growChoice.value === "up";
	}

	/** Show the tree that the list selects, without a zoom: paths differ between the trees. */
	turn() {
		this.path = [];
		this.selected = null;
		this.says.textContent = "";
		this.reset();
		this.hooks.changed();
	}

	regrow() {
		this.lay();
		this.hooks.changed();
	}

	type() {
		clearTimeout(this.typing);
		this.typing = setTimeout(() => {
			this.seek();
			this.draw();
			this.hooks.changed();
		}, TYPED_MS);
	}

	/* Find the text of the search field in the names. */
	seek() {
		const text = this.find.value;

		this.hits = null;
		this.found.textContent = "";
		if (!text || !this.tree) return;
		const {names, nodes, bytes} = search(this.tree, this.names, text);
		this.hits = names;
		this.found.textContent = nodes
			? `${count(nodes, "box", "boxes")}, ${amount(bytes)}, ${share(bytes, this.tree.total[0])}`
			: "No function has that in its name.";
	}

	// Drawing.

	/**
	 * Show PROFILE, an answer of heap.profile(), with the texts NAMES of heap.names. ROOTTEXT is
	 * the text of the root's box.
	 */
	show(profile, names, rootText) {
		this.profile = profile;
		this.names = names;
		this.shownNames = new Names(names);
		this.files = new Map(profile.spots.map((it) => [it.name, it.file ?? ""]));
		this.rootText = rootText;
		/*
		 * Keep the scroll distance from the root, because a growing recording gets a new profile
		 * every few seconds.
		 */
		const far = this.layout ? this.far : null;
		this.reset();
		if (far !== null && this.layout) this.scroller.scrollTop = this.up ? this.height - far : far;
	}

	/**
	 * Return the scroll distance from the root in pixels. If the tree grows upward, the root is at
	 * the bottom and the distance is counted from there.
	 */
	get far() {
		const {scrollTop} = this.scroller;

		return this.up ? this.height - scrollTop : scrollTop;
	}

	/* Zoom to PATH and select the selected path in a tree that is new. */
	reset() {
		if (!this.tree) return;
		const chosen = this.selected === null ? null : this.selectedPath;

		this.zoomed = nodeAt(this.tree, this.names, this.path);
		this.selected = chosen ? nodeAt(this.tree, this.names, chosen) : null;
		this.seek();
		this.lay();
	}

	get selectedPath() {
		return this.pathWas ?? [];
	}

	nameOf(node) {
		return node === 0 ? this.rootText : this.shownNames.text(this.tree.name[node]);
	}

	/** Return true if the boxes below NODE's are not drawn. */
	isFolded(node) {
		return node > 0 && this.folded.has(this.names[this.tree.name[node]]);
	}

	/** Return the text of a box: name, bytes, percent, error. */
	boxText(node) {
		const {total, self, allocs} = this.tree;
		const own = self[node] && self[node] !== total[node] ? `, ${amount(self[node])} of it itself` : "";
		const file = node ? this.files.get(this.names[this.tree.name[node]]) : "";

		return (
			`${this.nameOf(node)}: ${amount(total[node])} (${share(total[node], total[0])}) ${this.hooks.error(total[node])}${own}` +
			`${allocs[node] ? `, ${count(allocs[node], "sampled object")}` : ""}` +
			`${file ? `, in ${shown(file, 80)}` : ""}${this.isFolded(node) ? ", folded" : ""}`
		);
	}

	/* Compute the positions of all boxes, and paint them. */
	lay() {
		if (!this.tree || !this.width) return;
		const folded = this.folded.size ? Uint8Array.from(this.names, (it) => Number(this.folded.has(it))) : null;
		this.layout = new Layout(this.tree, this.zoomed, this.width, folded);
		/* The graph is as high as the whole tree, so zooming moves nothing else on the page. */
		const whole = this.zoomed ? new Layout(this.tree, 0, this.width, folded) : this.layout;
		this.height = Math.max(this.layout.depth, whole.depth) * ROW;
		this.space.style.height = `${this.height}px`;
		this.scroller.scrollTop = this.up ? this.height : 0;
		this.tip.hidden = true;
		this.follow();
		this.draw();
	}

	resize() {
		const width = this.scroller.clientWidth;
		const height = this.scroller.clientHeight;
		const ratio = devicePixelRatio || 1;

		if (!width || (width === this.width && height === this.tall)) return;
		this.width = width;
		this.tall = height;
		this.canvas.width = Math.round(width * ratio);
		this.canvas.height = Math.round(height * ratio);
		this.canvas.style.width = `${width}px`;
		this.canvas.style.height = `${height}px`;
		this.lay();
	}

	draw() {
		this.frame ||= requestAnimationFrame(() => {
			this.frame = 0;
			if (!this.closed && this.layout) this.paint();
		});
	}

	get how() {
		return {
			names: this.shownNames,
			rootText: this.rootText,
			hits: this.hits,
			selected: this.selected,
			up: this.up,
			dark: this.hooks.dark(),
		};
	}

	paint() {
		const ratio = devicePixelRatio || 1;
		const ctx = this.canvas.getContext("2d");

		ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
		this.painted = paint(
			ctx,
			this.layout,
			this.height,
			{from: this.scroller.scrollTop, height: this.tall},
			this.how,
		);
	}

	/*
	 * Show the path to the zoomed function above the graph. A long path is shortened in its middle.
	 */
	follow() {
		const nodes = [0, ...pathTo(this.tree, this.zoomed)];
		const left = nodes.length - PATH_SHOWN;
		const step = (node, last) =>
			last
				? make("span", {"aria-current": "location", textContent: shown(this.nameOf(node), 80)})
				: make("button", {
						type: "button",
						className: "mem-link",
						textContent: shown(this.nameOf(node), 80),
						onclick: () => this.zoom(node),
					});
		const list = left > 1 ? [nodes[0], null, ...nodes.slice(-PATH_SHOWN + 1)] : nodes;

		this.trail.hidden = nodes.length === 1;
		this.trail.replaceChildren(
			button("↥", "Zoom out to the caller (Escape)", () => this.out(), {className: "mem-out"}),
			...list.flatMap((node, i) => [
				i ? " › " : "",
				node === null ? `… ${left} more …` : step(node, node === this.zoomed),
			]),
		);
	}

	// Pointer.

	listen() {
		const {scroller} = this;

		scroller.addEventListener("scroll", () => this.draw());
		scroller.addEventListener("pointermove", (event) => this.hover(event));
		scroller.addEventListener("pointerleave", () => (this.tip.hidden = true));
		scroller.addEventListener("click", (event) => this.click(event));
		scroller.addEventListener("keydown", (event) => this.key(event));
		scroller.addEventListener("contextmenu", (event) => this.context(event));
	}

	/** Return the node under EVENT, or null. */
	under(event) {
		const area = this.scroller.getBoundingClientRect();
		const y = event.clientY - area.top + this.scroller.scrollTop;
		const row = this.up ? Math.floor((this.height - y) / ROW) : Math.floor(y / ROW);
		const i = this.layout ? this.layout.at(row, event.clientX - area.left) : -1;

		return i < 0 ? null : this.layout.nodes[i];
	}

	hover(event) {
		const node = event.pointerType === "touch" ? null : this.under(event);

		this.tip.hidden = node === null;
		this.scroller.style.cursor = node === null ? "" : "pointer";
		if (node === null) return;
		this.tip.textContent = this.boxText(node);
		const width = document.documentElement.clientWidth;
		const box = this.tip.getBoundingClientRect();
		const below = event.clientY + 18 + box.height < document.documentElement.clientHeight;
		this.tip.style.left = `${Math.max(4, Math.min(event.clientX + 12, width - box.width - 4))}px`;
		this.tip.style.top = `${below ? event.clientY + 18 : event.clientY - box.height - 8}px`;
	}

	click(event) {
		const node = this.under(event);

		if (node === null) return;
		/* Zoom out on a click on the zoomed box. */
		if (node === this.zoomed && node !== 0) this.out();
		else this.zoom(node);
	}

	// What one can do with a function.

	/** Open the menu of the box under EVENT, or of the selected box if a key caused EVENT. */
	context(event) {
		const byKey = event.button !== 2 && event.pointerType !== "touch";
		const node = byKey ? this.selected : this.under(event);

		if (!node) return;
		event.preventDefault();
		this.openMenu(node, event.clientX, event.clientY);
	}

	/** Open the menu of NODE's box at X, Y of the browser's window. */
	openMenu(node, x, y) {
		const name = this.names[this.tree.name[node]];
		const acts = this.acts(node);

		this.tip.hidden = true;
		this.menu.open(
			shown(name, 80),
			[
				["Zoom to it", () => this.zoom(node)],
				["Only show allocations inside of it (o)", acts.o],
				["Hide it (x)", acts.x],
				[this.isFolded(node) ? "Unfold it (c)" : "Fold what it calls (c)", acts.c],
				["Its callers", () => this.hooks.callers(name)],
			],
			x,
			y,
		);
	}

	/** Return what the keys do with the function of NODE: key -> function. */
	acts(node) {
		const name = this.names[this.tree.name[node]];
		const filter = (text) => () => {
			if (!this.hooks.filter(text)) this.hooks.tell("There are as many conditions as there can be.");
			this.scroller.focus();
		};

		return {o: filter(`inside:is:${name}`), x: filter(`hide:is:${name}`), c: () => this.fold(name)};
	}

	/** Fold or unfold the boxes of the function NAME. */
	fold(name) {
		if (!this.folded.delete(name)) this.folded.add(name);
		this.lay();
		this.scroller.focus();
		this.hooks.tell(this.folded.has(name) ? `${shown(name, 80)} is folded.` : `${shown(name, 80)} is unfolded.`);
		this.hooks.changed();
	}

	/** Zoom to NODE, so that its box is as wide as the graph. */
	zoom(node) {
		this.select(node);
		this.zoomed = node;
		this.path = this.pathWas;
		this.lay();
		this.hooks.changed();
	}

	out() {
		if (this.zoomed) this.zoom(this.tree.parent[this.zoomed]);
	}

	/** Zoom to the function at the end of PATH, a list of names. */
	go(path) {
		this.path = path;
		this.reset();
	}

	select(node) {
		this.selected = node;
		this.pathWas = pathTo(this.tree, node).map((it) => this.names[this.tree.name[it]]);
		this.says.textContent = this.boxText(node);
		this.hooks.tell(this.says.textContent);
	}

	// Keys.

	key(event) {
		const farther = this.up ? "ArrowUp" : "ArrowDown";
		const nearer = this.up ? "ArrowDown" : "ArrowUp";

		if (!this.layout || event.ctrlKey || event.altKey || event.metaKey) return;
		const node = this.selected ?? this.zoomed;
		if (event.key === farther) this.walk(this.selected === null ? node : this.child(node));
		else if (event.key === nearer) this.walk(node === this.zoomed ? NONE : this.tree.parent[node]);
		else if (event.key === "ArrowLeft" || event.key === "ArrowRight")
			this.walk(this.neighbour(node, event.key === "ArrowRight" ? 1 : -1));
		else if (event.key === "Home") this.walk(this.zoomed);
		else if (event.key === "Enter") this.zoom(node);
		else if (event.key === "Escape") this.out();
		else if (node && ["o", "x", "c"].includes(event.key)) this.acts(node)[event.key]();
		else if (node && event.key === "m") {
			const {left, top} = this.scroller.getBoundingClientRect();

			this.openMenu(node, left + 40, top + 40);
		} else return;
		event.preventDefault();
		event.stopPropagation();
	}

	walk(node) {
		if (node === NONE || node === undefined) return;
		this.select(node);
		const y = rowY(this.tree.depth[node] - this.tree.depth[this.zoomed], this.height, this.up);
		const {scrollTop} = this.scroller;
		if (y < scrollTop || y + ROW > scrollTop + this.tall) this.scroller.scrollTop = y - this.tall / 2;
		this.draw();
	}

	/**
	 * Return the heaviest child of NODE, or NONE if NODE has no child that is wide enough for a
	 * box.
	 */
	child(node) {
		const child = this.tree.first[node];

		return child !== NONE && this.tree.total[child] * this.layout.scale >= 0.5 ? child : NONE;
	}

	/** Return the node of the box to the right (BY 1) or left (-1) of the box of NODE. */
	neighbour(node, by) {
		const i = this.layout.boxOf(node);
		const row = i < 0 ? -1 : this.layout.rowOf(i);

		return i >= 0 && i + by >= this.layout.rows[row] && i + by < this.layout.rows[row + 1]
			? this.layout.nodes[i + by]
			: NONE;
	}
}
