/*
 * The flame graph of a profile: the boxes (memory-graph.js) of one of its trees. A click zooms to a
 * box. The bar above the graph selects the tree, its direction and what the widths count, and has the
 * search.
 */
import {shown} from "../page/guest-text.js";
import {button, make} from "../page/make.js";
import {Graph} from "./memory-graph.js";
import {pathTo, search} from "./memory-layout.js";
import {BoxMenu} from "./memory-menu.js";
import {share} from "./memory-text.js";
import {count} from "../page/times.js";

const PATH_SHOWN = 6; /* most functions in the path above the graph */
const TYPED_MS = 150; /* the search begins this long after the last key */

export class Flame extends Graph {
	/**
	 * HOOKS: those of Graph, and asked(): another profile is needed; filter(text): add a condition
	 * (memory-clauses.js); callers(name): show the callers of a function; around(name): show what is
	 * above and below a function.
	 */
	constructor(hooks) {
		super(
			hooks,
			"mem-flame",
			"Flame graph. The arrows walk, Enter zooms, Escape goes back, o shows only a function, x hides it, c folds it, m opens its menu. The tab Functions has the same as a table.",
		);
		this.view = null;
		this.bar();
		this.trail = make("nav", {className: "mem-trail", "aria-label": "From the root to what is shown"});
		this.menu = new BoxMenu({closed: () => this.scroller.focus()});
		this.leaving = new AbortController();
		this.menu.closes(this.leaving.signal);
		this.scroller.addEventListener("contextmenu", (event) => this.context(event));
		this.element = make("div", {}, this.tools, this.trail, this.scroller, this.says, this.tip, this.menu.element);
	}

	close() {
		super.close();
		this.leaving.abort();
		clearTimeout(this.typing);
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
		this.countChoice = select(
			"Unit of the widths",
			[
				["bytes", "Bytes"],
				["objects", "Sampled objects"],
			],
			() => this.hooks.asked(),
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
			this.countChoice,
			sitesLabel,
			recursionLabel,
			make("span", {className: "mem-find"}, this.find, this.found),
		);
	}

	get tree() {
		return this.view?.[this.treeChoice.value] ?? null;
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
			? `${count(nodes, "box", "boxes")}${this.tree.before ? "" : `, ${this.amountText(bytes)}`}, ${share(bytes, this.tree.total[0])}`
			: "No function has that in its name.";
	}

	// Drawing.

	/** Show VIEW, a ProfileView. */
	show(view) {
		this.view = view;
		this.objects = view.objects;
		this.setNames(view.names, view.files, view.rootText);
		/*
		 * Keep the scroll distance from the root, because a growing recording gets a new profile
		 * every few seconds.
		 */
		const far = this.layout ? this.far : null;
		this.reset();
		if (far !== null && this.layout) this.scroller.scrollTop = this.up ? this.height - far : far;
	}

	reset() {
		super.reset();
		if (!this.tree) return;
		this.seek();
		this.draw();
	}

	/*
	 * Show the path to the zoomed function above the graph. A long path is shortened in its middle.
	 */
	laid() {
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

	// The actions on a function.

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
		const withKey = (text, key) => [`${text} (${key})`, acts[key]];

		this.tip.hidden = true;
		this.menu.open(
			shown(name, 80),
			[
				["Zoom to it", () => this.zoom(node)],
				withKey("Only show allocations inside of it", "o"),
				withKey("Hide it", "x"),
				withKey(this.isFolded(node) ? "Unfold it" : "Fold what it calls", "c"),
				["Its callers", () => this.hooks.callers(name)],
				withKey("All that is above and below it", "s"),
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

		return {
			o: filter(`inside:is:${name}`),
			x: filter(`hide:is:${name}`),
			c: () => this.fold(name),
			s: () => this.hooks.around(name),
		};
	}

	/** Fold or unfold the boxes of the function NAME. */
	fold(name) {
		if (!this.folded.delete(name)) this.folded.add(name);
		this.lay();
		this.scroller.focus();
		this.hooks.tell(this.folded.has(name) ? `${shown(name, 80)} is folded.` : `${shown(name, 80)} is unfolded.`);
		this.hooks.changed();
	}

	// Keys.

	pressed(key, node) {
		if (super.pressed(key, node)) return true;
		if (!node) return false;
		if (key === "m") {
			const {left, top} = this.scroller.getBoundingClientRect();

			this.openMenu(node, left + 40, top + 40);
			return true;
		}
		const act = this.acts(node)[key];

		act?.();
		return act !== undefined;
	}
}
