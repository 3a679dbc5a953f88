/*
 * One function with its callers in a graph that grows upward, and with the functions that it calls in
 * a graph that grows downward. Both count all stacks that have the function. A click on another function
 * shows that one.
 */
import {shown} from "../page/guest-text.js";
import {make} from "../page/make.js";
import {Graph} from "./memory-graph.js";
import {share} from "./memory-text.js";
import {around} from "./memory-trees.js";

const OFFERED = 300; /* most functions that the list offers while the user types */

/** One of the two graphs. */
class Half extends Graph {
	/** HOOKS: those of Graph, and chose(name): show that function. UP: the root is at the bottom. */
	constructor(hooks, id, label, up) {
		super(hooks, id, label);
		this.grows = up;
		this.tree = null;
	}

	get up() {
		return this.grows;
	}

	put(tree, view, rootText) {
		this.tree = tree;
		this.selected = null;
		this.objects = view.objects;
		this.setNames(view.names, view.files, rootText);
		this.reset();
	}

	zoom(node) {
		if (node) this.hooks.chose(this.names[this.tree.name[node]]);
	}
}

export class Sandwich {
	/** HOOKS: those of Graph, and bytes(): the amount of all counted objects. */
	constructor(hooks) {
		const halves = {...hooks, chose: (name) => this.go(name, true)};

		this.hooks = hooks;
		this.name = ""; /* name of the function; "": the largest one */
		this.view = null;
		this.callers = new Half(
			halves,
			"mem-callers",
			"Callers of the function, above it. The arrows walk, Enter shows a caller. The tab Functions has the same as a table.",
			true,
		);
		this.callees = new Half(
			halves,
			"mem-callees",
			"Callees of the function, below it. The arrows walk, Enter shows a callee. The tab Functions has the same as a table.",
			false,
		);
		this.list = make("datalist", {id: "mem-functions"});
		this.find = make("input", {
			type: "search",
			className: "mem-wide",
			"aria-label": "Function",
			placeholder: "Function",
			maxLength: 1024,
			autocomplete: "off",
			spellcheck: false,
			onchange: () => this.typed(),
		});
		this.find.setAttribute("list", this.list.id);
		this.says = make("p", {className: "mem-says", role: "status"});
		this.element = make(
			"div",
			{},
			make("div", {className: "mem-bar"}, make("span", {className: "mem-find"}, this.find, this.list), this.says),
			...[this.callers, this.callees].flatMap((it) => [it.scroller, it.says, it.tip]),
		);
	}

	close() {
		this.callers.close();
		this.callees.close();
	}

	draw() {
		this.callers.draw();
		this.callees.draw();
	}

	/** Show VIEW, a ProfileView. */
	show(view) {
		this.view = view;
		this.stale = true;
		const byTotal = [...view.functions].sort((a, b) => b.total_bytes - a.total_bytes).slice(0, OFFERED);
		this.list.replaceChildren(...byTotal.map((it) => make("option", {value: it.function})));
	}

	/** Compute the graphs, unless they are up to date. The page calls this when the tab is shown. */
	turn() {
		if (!this.stale || !this.view) return;
		this.stale = false;
		const {view} = this;
		const tree = view.callees;
		const name = this.name || this.largest();
		const number = view.names.indexOf(name);
		const both = number < 0 ? null : around(tree, number);

		this.find.value = name;
		for (const half of [this.callers, this.callees]) half.scroller.hidden = !both;
		if (!both) {
			this.says.textContent = view.functions.length
				? "No counted object was allocated inside of this function."
				: "No chosen object was allocated.";
			return;
		}
		const text = shown(name, 300);
		this.callers.put(both.callers, view, text);
		this.callees.put(both.callees, view, text);
		this.says.textContent = tree.before ? this.callees.amounts(0) : this.amounts(tree.total[0]);
	}

	/* Return the amounts of the function as text. WHOLE is the amount of all counted objects. */
	amounts(whole) {
		const {callees} = this;
		const {total, self} = callees.tree;
		const error = this.view.objects ? "" : ` ${this.hooks.error(total[0])}`;

		return `${callees.amountText(total[0])}${error}, ${share(total[0], whole)} of all; ${callees.amountText(self[0])} of it itself`;
	}

	/* Return the name of the function with the greatest amount of its own. */
	largest() {
		const best = (a, b) => (a && a.self_bytes >= b.self_bytes ? a : b);

		return this.view.functions.reduce(best, null)?.function ?? "";
	}

	typed() {
		const text = this.find.value;
		const {functions} = this.view ?? {functions: []};
		const name =
			functions.find((it) => it.function === text)?.function ??
			[...functions]
				.sort((a, b) => b.total_bytes - a.total_bytes)
				.find((it) => text && it.function.toLowerCase().includes(text.toLowerCase()))?.function;

		if (name) return this.go(name, false);
		this.says.textContent = "No function has that in its name.";
	}

	/** Show the function NAME. FOCUS: move the keyboard to its callees. */
	go(name, focus) {
		this.name = name;
		this.stale = true;
		this.turn();
		if (focus) this.callees.scroller.focus();
		this.hooks.tell(`${shown(name, 80)}: ${this.says.textContent}`);
		this.hooks.changed();
	}
}
