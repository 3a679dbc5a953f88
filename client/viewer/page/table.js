/*
 * A table of rows. A click on a heading sorts it, a text filters it, and a button copies all of its
 * rows as CSV. It shows at most ROWS_SHOWN rows.
 */
import {button, make} from "./make.js";

const ROWS_SHOWN = 200;
const ROWS_COPIED = 100000; /* most rows of a copy */
const FILTER_FROM = 8; /* a table with fewer rows has no filter */

/** Return the CELLS of a line as CSV (RFC 4180), with the end of the line. */
function csvLine(cells) {
	const quoted = cells.map((it) => {
		const text = String(it ?? "");

		return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
	});

	return `${quoted.join(",")}\r\n`;
}

/**
 * Return the function `list` of a Table over ROWS, an array. COLUMNS are those of the table.
 */
export function listOf(rows, columns) {
	return ({key, descending, text, most}) => {
		const column = columns.find((it) => it.key === key);
		const wanted = text.toLowerCase();
		const found = rows.filter((row) =>
			columns.some(
				(it) =>
					!it.number &&
					String(it.value(row) ?? "")
						.toLowerCase()
						.includes(wanted),
			),
		);
		const up = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

		if (column) found.sort((a, b) => (descending ? -1 : 1) * up(column.value(a), column.value(b)));
		return {rows: found.slice(0, most), total: found.length};
	};
}

export class Table {
	/**
	 * - caption: its heading;
	 * - columns: [{key, title, unit, number, value(row), text(row), node(row), share(row)}]: VALUE
	 *   returns what is sorted and copied, in UNIT, and TEXT what is shown, if it differs; NODE returns a node instead of
	 *   a text; SHARE returns the length of a bar behind the text, 0 to 1; NUMBER: true aligns the
	 *   column to the right, and sorts it from the largest on at first;
	 * - list({key, descending, text, most}): return {rows, total, nothing}, or a Promise of it: the first MOST
	 *   rows that contain TEXT, sorted by the column KEY, the number of all of them, and the sentence of a table
	 *   without rows, if it is another one;
	 * - sort: {key, descending} at first;
	 * - kept: an object in which the table leaves itself by its caption, and finds the table that it replaces, of
	 *   which it takes the order and the filter;
	 * - save(text): save the text as a file, where the browser has no clipboard.
	 */
	constructor({caption, columns, list, sort, save, kept = {}}) {
		const former = kept[caption];

		Object.assign(this, {columns, list, save, sort: {...(former?.sort ?? sort)}});
		kept[caption] = this;
		this.text = former?.text ?? "";
		this.filter = make("input", {
			type: "search",
			className: "tl-table-filter",
			placeholder: "Filter",
			"aria-label": `Filter: ${caption}`,
			value: this.text,
			hidden: true,
			oninput: () => {
				this.text = this.filter.value;
				this.show();
			},
		});
		this.note = make("p", {className: "tl-quiet", role: "status"});
		this.heads = columns.map((column) => this.head(column));
		this.body = make("tbody");
		this.copied = button("Copy as CSV", `Copy as CSV: ${caption}`, () => this.copy());
		this.element = make(
			"section",
			{className: "tl-sheet", "aria-label": caption},
			make("div", {className: "tl-sheet-head"}, make("h3", {textContent: caption}), this.filter, this.copied),
			make(
				"div",
				{className: "tl-sheet-scroll", tabIndex: 0, role: "region", "aria-label": `${caption}, rows`},
				make("table", {className: "tl-table"}, make("thead", {}, make("tr", {}, ...this.heads)), this.body),
			),
			this.note,
		);
	}

	/** Return the heading of COLUMN, with a button that sorts by it. */
	head({key, title, number}) {
		const press = () => {
			const same = this.sort.key === key;

			this.sort = {key, descending: same ? !this.sort.descending : Boolean(number)};
			this.show();
		};

		return make(
			"th",
			{scope: "col", className: number ? "tl-number" : ""},
			make("button", {type: "button", className: "tl-sort", textContent: title, onclick: press}),
		);
	}

	/** Return the cell of COLUMN in ROW. */
	cell({number, value, text, node, share}, row, isFirst) {
		const cell = make(isFirst ? "th" : "td", {className: number ? "tl-number" : ""});
		const part = share?.(row);

		if (isFirst) cell.scope = "row";
		cell.append(node ? node(row) : String((text ?? value)(row) ?? ""));
		if (part > 0) {
			const bar = make("div", {className: "tl-bar-line", "aria-hidden": "true"});

			bar.style.width = `${Math.max(1, Math.min(1, part) * 100)}%`;
			cell.append(bar);
		}
		return cell;
	}

	/** Show the rows. If several calls wait, only the last one shows them. Resolve when they are shown. */
	async show() {
		const turn = (this.turn = {});
		const {rows, total, nothing} = await this.list({...this.sort, text: this.text, most: ROWS_SHOWN});

		if (this.turn !== turn) return;
		this.columns.forEach(({key}, i) => {
			const order = key !== this.sort.key ? "none" : this.sort.descending ? "descending" : "ascending";
			this.heads[i].setAttribute("aria-sort", order);
		});
		this.filter.hidden = !this.text && total < FILTER_FROM;
		this.body.replaceChildren(
			...rows.map((row) => make("tr", {}, ...this.columns.map((column, i) => this.cell(column, row, i === 0)))),
		);
		this.note.textContent =
			total > rows.length
				? `${rows.length} of ${total.toLocaleString("en")} rows; sort or filter to see others.`
				: total
					? ""
					: this.text
						? "No row contains this text."
						: (nothing ?? "There is nothing here.");
	}

	/** Copy all rows that the filter lets through to the clipboard, or save them. */
	async copy() {
		const {rows} = await this.list({...this.sort, text: this.text, most: ROWS_COPIED});
		const text =
			csvLine(this.columns.map(({title, unit}) => (unit ? `${title} (${unit})` : title))) +
			rows.map((row) => csvLine(this.columns.map(({value}) => value(row)))).join("");
		const n = `${rows.length.toLocaleString("en")} ${rows.length === 1 ? "row" : "rows"}`;

		try {
			/* A page over http that is not of this host has no clipboard. */
			await navigator.clipboard.writeText(text);
			this.note.textContent = `${n} copied.`;
		} catch {
			this.save(text);
			this.note.textContent = `${n} saved as a file: the browser lets this page use no clipboard.`;
		}
	}
}
