/*
 * The table of a profile's functions, sorted by name, by the bytes that a function allocates itself,
 * or by the bytes that it and its callees allocate. A row can be expanded to show the callers and the
 * functions that it calls itself.
 */
import {shown} from "../page/guest-text.js";
import {make} from "../page/make.js";
import {amount, change, share} from "./memory-text.js";
import {count} from "../page/times.js";

const ROWS = 100; /* rows at first, and further rows for each press of the button */
const CALLERS = 20; /* most callers, and most callees, of an expanded row */
const COLUMNS = [
	["name", "Function", "Name of the function, and its place"],
	["self", "Self", "Bytes that it allocates itself"],
	["total", "Total", "Bytes that it and its callees allocate"],
];

/**
 * Return what each function of TREE, a tree of callees, calls itself: name -> [{name, bytes}], the
 * largest first. BYTES is what the callee and its callees allocate when this function calls it. NAMES
 * are the texts of names; only those in FUNCTIONS, a Set, are functions. RECURSION: a function can
 * stand on a stack more than once.
 */
export function callees(tree, names, functions, recursion) {
	const out = new Map();

	for (let i = 1; i < tree.n; i++) {
		const parent = tree.parent[i];

		if (!parent || !tree.total[i] || (recursion && repeats(tree, i))) continue;
		const [caller, callee] = [names[tree.name[parent]], names[tree.name[i]]];
		if (!functions.has(callee)) continue;
		const list = out.get(caller) ?? new Map();
		list.set(callee, (list.get(callee) ?? 0) + tree.total[i]);
		out.set(caller, list);
	}
	return new Map(
		[...out].map(([caller, list]) => [
			caller,
			[...list].map(([name, bytes]) => ({name, bytes})).sort((a, b) => b.bytes - a.bytes),
		]),
	);
}

const LOOKED_UP = 256; /* most frames above a call in which the same call is looked for */

/**
 * Return true if the call to NODE's function from that of its parent stands above NODE, too: the
 * upper one has the bytes of both.
 */
function repeats(tree, node) {
	const name = tree.name[node];
	const caller = tree.name[tree.parent[node]];

	for (let i = tree.parent[node], n = 0; i > 0 && n < LOOKED_UP; i = tree.parent[i], n++)
		if (tree.name[i] === name && tree.parent[i] > 0 && tree.name[tree.parent[i]] === caller) return true;
	return false;
}

export class Functions {
	/**
	 * HOOKS: changed(): the view changed, so write the address; show(name): show the function in
	 * the flame graph; around(name): show what is above and below it; error(bytes): return the error of an estimate as text.
	 */
	constructor(hooks) {
		this.hooks = hooks;
		this.sort = "self";
		this.open = new Set();
		this.limit = ROWS;
		this.spots = [];
		this.find = make("input", {
			type: "search",
			placeholder: "Search",
			"aria-label": "Search functions and files",
			maxLength: 200,
			autocomplete: "off",
			spellcheck: false,
			oninput: () => {
				this.limit = ROWS;
				this.fill();
				hooks.changed();
			},
		});
		this.found = make("output", {className: "mem-found"});
		this.heads = new Map(COLUMNS.map((column) => [column[0], this.head(...column)]));
		this.body = make("tbody");
		this.more = make("button", {type: "button", hidden: true, onclick: () => this.further()});
		this.element = make(
			"div",
			{},
			make("div", {className: "mem-bar"}, make("span", {className: "mem-find"}, this.find, this.found)),
			make(
				"table",
				{className: "mem-table"},
				make(
					"thead",
					{},
					make(
						"tr",
						{},
						this.heads.get("name"),
						this.heads.get("self"),
						(this.selfShare = this.share("Self, share")),
						this.heads.get("total"),
						(this.totalShare = this.share("Total, share")),
						this.share(
							"Error",
							"Relative error of its own bytes: about one by the square root of its samples",
						),
					),
				),
				this.body,
			),
			this.more,
		);
		this.mark();
	}

	head(key, text, title) {
		return make(
			"th",
			{scope: "col", className: key === "name" ? "" : "mem-number"},
			make("button", {
				type: "button",
				className: "mem-link",
				title: `${title}; sort by it`,
				textContent: text,
				onclick: () => this.order(key),
			}),
		);
	}

	share(text, title) {
		return make("th", {scope: "col", className: "mem-number mem-lesser", textContent: text, title});
	}

	order(key) {
		this.sort = key;
		this.mark();
		this.fill();
		this.hooks.changed();
	}

	mark() {
		for (const [key, head] of this.heads)
			head.setAttribute("aria-sort", key !== this.sort ? "none" : key === "name" ? "ascending" : "descending");
	}

	/**
	 * Show the functions of VIEW, a ProfileView; its bytes, also if its graphs count objects.
	 * RECURSION: the stacks have each frame of a function that calls itself.
	 */
	show(view, recursion) {
		const {functions, profile, names} = view;

		this.spots = functions;
		this.bytes = profile.samples_bytes;
		this.compared = view.before !== null;
		this.selfShare.textContent = this.compared ? "Self, change" : "Self, share";
		this.totalShare.textContent = this.compared ? "Total, change" : "Total, share";
		this.calls = null;
		this.callees = () =>
			(this.calls ??= callees(profile.callees, names, new Set(functions.map((it) => it.function)), recursion));
		this.fill();
	}

	wanted() {
		const text = this.find.value.toLowerCase();
		const all = this.spots.filter(
			(it) => !text || it.function.toLowerCase().includes(text) || (it.file ?? "").toLowerCase().includes(text),
		);
		const compared = {
			self: (a, b) => b.self_bytes - b.selfBefore - (a.self_bytes - a.selfBefore) || b.self_bytes - a.self_bytes,
			total: (a, b) =>
				b.total_bytes - b.totalBefore - (a.total_bytes - a.totalBefore) || b.total_bytes - a.total_bytes,
		};
		const by = {
			self: (a, b) => b.self_bytes - a.self_bytes || b.total_bytes - a.total_bytes,
			total: (a, b) => b.total_bytes - a.total_bytes || b.self_bytes - a.self_bytes,
			name: (a, b) => (a.function < b.function ? -1 : a.function > b.function ? 1 : 0),
			...(this.compared ? compared : {}),
		}[this.sort];

		return all.sort(by);
	}

	further() {
		this.limit += ROWS;
		this.fill();
	}

	fill() {
		const all = this.wanted();

		this.body.replaceChildren(...all.slice(0, this.limit).flatMap((it) => this.rows(it)));
		this.more.hidden = all.length <= this.limit;
		this.more.textContent = `Show more of the ${all.length.toLocaleString("en")}`;
		this.found.textContent = this.find.value ? count(all.length, "function") : "";
		if (!all.length)
			this.body.append(
				make(
					"tr",
					{},
					make("td", {
						colSpan: 6,
						textContent: this.spots.length
							? "No function has that in its name or file."
							: "No chosen object was allocated.",
					}),
				),
			);
	}

	key(spot) {
		return `${spot.function}\n${spot.file ?? ""}`;
	}

	rows(spot) {
		const key = this.key(spot);
		const open = this.open.has(key);
		const {callers} = spot;
		const number = (text, lesser) =>
			make("td", {className: `mem-number${lesser ? " mem-lesser" : ""}`, textContent: text});
		const row = make(
			"tr",
			{},
			make(
				"th",
				{scope: "row"},
				callers.length || spot.total_bytes > spot.self_bytes
					? this.handle(spot, key, open)
					: make("span", {className: "mem-handle"}),
				make("button", {
					type: "button",
					className: "mem-link",
					textContent: shown(spot.function),
					title: "Show it in the flame graph",
					onclick: () => this.hooks.show(spot.function),
				}),
				" ",
				make("button", {
					type: "button",
					className: "mem-link mem-quiet",
					textContent: "⇅",
					title: "Show what is above and below it",
					"aria-label": `Show what is above and below ${shown(spot.function, 60)}`,
					onclick: () => this.hooks.around(spot.function),
				}),
				make("span", {className: "mem-quiet", textContent: ` ${this.where(spot)}`}),
			),
			number(amount(spot.self_bytes)),
			number(this.compared ? change(spot.selfBefore, spot.self_bytes) : share(spot.self_bytes, this.bytes), true),
			number(amount(spot.total_bytes)),
			number(
				this.compared ? change(spot.totalBefore, spot.total_bytes) : share(spot.total_bytes, this.bytes),
				true,
			),
			number(this.hooks.error(spot.self_bytes), true),
		);

		return open ? [row, ...this.callersOf(spot), ...this.calleesOf(spot)] : [row];
	}

	/** Return the text of a function's file and of the places in the file that allocate. */
	where({file, places, n_places: all}) {
		return shown(
			`${file ?? ""}${places.length ? ` ${places.join(", ")}` : ""}${all > places.length ? ` and ${all - places.length} more` : ""}`,
			200,
		);
	}

	handle(spot, key, open) {
		return make("button", {
			type: "button",
			className: "mem-handle",
			textContent: open ? "▾" : "▸",
			"aria-expanded": String(open),
			"aria-label": `Callers and callees of ${shown(spot.function, 60)}`,
			onclick: () => this.unroll(key),
			onkeydown: (event) => {
				if ((event.key === "ArrowRight" && !open) || (event.key === "ArrowLeft" && open)) this.unroll(key);
			},
		});
	}

	unroll(key) {
		const at = [...this.body.querySelectorAll("button.mem-handle")].indexOf(document.activeElement);

		this.open[this.open.has(key) ? "delete" : "add"](key);
		this.fill();
		this.body.querySelectorAll("button.mem-handle")[at]?.focus();
	}

	/** Return the rows of the functions that SPOT calls itself. */
	calleesOf(spot) {
		const list = this.callees().get(spot.function) ?? [];
		const rows = list.slice(0, CALLERS).map(({name, bytes}) =>
			make(
				"tr",
				{className: "mem-callee"},
				make(
					"th",
					{scope: "row"},
					"calls ",
					make("button", {
						type: "button",
						className: "mem-link",
						textContent: shown(name),
						title: "Show it in the flame graph",
						onclick: () => this.hooks.show(name),
					}),
				),
				make("td", {className: "mem-number"}),
				make("td", {className: "mem-lesser"}),
				make("td", {className: "mem-number", textContent: amount(bytes)}),
				make("td", {
					className: "mem-number mem-lesser",
					textContent: `${share(bytes, spot.total_bytes)} of it`,
				}),
				make("td", {className: "mem-number mem-lesser", textContent: this.hooks.error(bytes)}),
			),
		);

		if (list.length > CALLERS) rows.push(this.left(list.length - CALLERS, "function", "mem-callee"));
		return rows;
	}

	/** Return the row that says that N more of a KIND are left out. */
	left(n, kind, className) {
		return make("tr", {className}, make("td", {colSpan: 6, textContent: `and ${count(n, kind)} more`}));
	}

	callersOf(spot) {
		const list = spot.callers;
		const rows = list.slice(0, CALLERS).map((it) => this.caller(spot, this.spots[it.index], it));

		if (list.length > CALLERS) rows.push(this.left(list.length - CALLERS, "caller", "mem-caller"));
		return rows;
	}

	/*
	 * Return the row of CALLER: one that calls the function directly ("called by"), or
	 * from a distance ("via").
	 */
	caller(spot, caller, {samples_bytes: bytes, direct_bytes: direct}) {
		const name = shown(caller?.function ?? "?");

		return make(
			"tr",
			{className: "mem-caller"},
			make(
				"th",
				{scope: "row"},
				direct ? "called by " : "via ",
				make("button", {
					type: "button",
					className: "mem-link",
					textContent: name,
					title: "Show it in the flame graph",
					onclick: () => this.hooks.show(caller.function),
				}),
			),
			make("td", {className: "mem-number", textContent: amount(bytes)}),
			make("td", {className: "mem-number mem-lesser", textContent: `${share(bytes, spot.self_bytes)} of it`}),
			make("td", {
				className: "mem-number",
				textContent: direct && direct < bytes ? `${amount(direct)} directly` : "",
			}),
			make("td", {className: "mem-lesser"}),
			make("td", {className: "mem-number mem-lesser", textContent: this.hooks.error(bytes)}),
		);
	}
}
