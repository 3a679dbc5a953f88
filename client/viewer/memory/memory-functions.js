/*
 * The table of a profile's functions, sorted by name, by the bytes that a function allocates itself,
 * or by the bytes that it and its callees allocate. A row can be expanded to show the callers.
 */
import {shown} from "../page/guest-text.js";
import {make} from "../page/make.js";
import {amount, share} from "./memory-text.js";
import {count} from "../page/times.js";

const ROWS = 100; /* rows at first, and further rows for each press of the button */
const CALLERS = 20; /* most callers of an expanded row */
const COLUMNS = [
	["name", "Function", "Name of the function, and its place"],
	["self", "Self", "Bytes that it allocates itself"],
	["total", "Total", "Bytes that it and its callees allocate"],
];

export class Functions {
	/**
	 * HOOKS: changed(): the view changed, so write the address; show(name): show the function in
	 * the flame graph; error(bytes): return the error of an estimate as text.
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
						this.share("Self, share"),
						this.heads.get("total"),
						this.share("Total, share"),
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
	 * Show SPOTS, the functions of a profile (client/viewer/README.md). BYTES is the sum of the whole
	 * profile.
	 */
	show(spots, bytes) {
		this.spots = spots;
		this.bytes = bytes;
		this.fill();
	}

	wanted() {
		const text = this.find.value.toLowerCase();
		const all = this.spots.filter(
			(it) => !text || it.name.toLowerCase().includes(text) || (it.file ?? "").toLowerCase().includes(text),
		);
		const by = {
			self: (a, b) => b.self - a.self || b.total - a.total,
			total: (a, b) => b.total - a.total || b.self - a.self,
			name: (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
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
		return `${spot.name}\n${spot.file ?? ""}`;
	}

	rows(spot) {
		const key = this.key(spot);
		const open = this.open.has(key);
		const callers = spot.callers ?? [];
		const number = (text, lesser) =>
			make("td", {className: `mem-number${lesser ? " mem-lesser" : ""}`, textContent: text});
		const row = make(
			"tr",
			{},
			make(
				"th",
				{scope: "row"},
				callers.length ? this.handle(spot, key, open) : make("span", {className: "mem-handle"}),
				make("button", {
					type: "button",
					className: "mem-link",
					textContent: shown(spot.name),
					title: "Show it in the flame graph",
					onclick: () => this.hooks.show(spot.name),
				}),
				make("span", {className: "mem-quiet", textContent: ` ${this.where(spot)}`}),
			),
			number(amount(spot.self)),
			number(share(spot.self, this.bytes), true),
			number(amount(spot.total)),
			number(share(spot.total, this.bytes), true),
			number(this.hooks.error(spot.self), true),
		);

		return open ? [row, ...this.callersOf(spot)] : [row];
	}

	/** Return the text of a function's file and of the places in the file that allocate. */
	where({file, places = [], morePlaces = 0}) {
		return shown(
			`${file ?? ""}${places.length ? ` ${places.join(", ")}` : ""}${morePlaces > 0 ? ` and ${morePlaces} more` : ""}`,
			200,
		);
	}

	handle(spot, key, open) {
		return make("button", {
			type: "button",
			className: "mem-handle",
			textContent: open ? "▾" : "▸",
			"aria-expanded": String(open),
			"aria-label": `Callers of ${shown(spot.name, 60)}`,
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

	callersOf(spot) {
		const list = spot.callers;
		const rows = list.slice(0, CALLERS).map((it) => this.caller(spot, this.spots[it.spot], it));

		if (list.length > CALLERS)
			rows.push(
				make(
					"tr",
					{className: "mem-caller"},
					make("td", {colSpan: 6, textContent: `and ${count(list.length - CALLERS, "caller")} more`}),
				),
			);
		return rows;
	}

	/*
	 * Return the row of CALLER: one that calls the function directly ("called by"), or
	 * from a distance ("via").
	 */
	caller(spot, caller, {bytes, direct}) {
		const name = shown(caller?.name ?? "?");

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
					onclick: () => this.hooks.show(caller.name),
				}),
			),
			make("td", {className: "mem-number", textContent: amount(bytes)}),
			make("td", {className: "mem-number mem-lesser", textContent: `${share(bytes, spot.self)} of it`}),
			make("td", {
				className: "mem-number",
				textContent: direct && direct < bytes ? `${amount(direct)} directly` : "",
			}),
			make("td", {className: "mem-lesser"}),
			make("td", {className: "mem-number mem-lesser", textContent: this.hooks.error(bytes)}),
		);
	}
}
