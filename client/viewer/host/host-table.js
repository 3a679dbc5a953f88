/* Parts of the tables of the host's page. */
import {make} from "../page/make.js";

/**
 * Return a table of class NAME with column TITLES and BODY. The heading with id NAME-title names
 * it.
 */
export function table(name, titles, body) {
	const head = titles.map((title) => make("th", {role: "columnheader", scope: "col", textContent: title}));

	return make(
		"table",
		{role: "table", className: `list ${name}`, "aria-labelledby": `${name}-title`},
		make("thead", {role: "rowgroup"}, make("tr", {role: "row"}, ...head)),
		body,
	);
}

/**
 * Return filter buttons. LIST maps a name to a list that begins with the title; "all" is pressed
 * first. SAYS is the group's label; SHOW(name) applies a filter.
 */
export function filters(list, says, show) {
	const buttons = Object.entries(list).map(([name, [title]]) =>
		make("button", {
			type: "button",
			textContent: title,
			"data-filter": name,
			"aria-pressed": String(name === "all"),
			onclick: () => show(name),
		}),
	);

	return make("div", {className: "filters", role: "group", "aria-label": says}, ...buttons);
}

// Order of rows. A moved row loses its focus and costs time, so few rows are moved.

/** Return the indices of a longest ascending subsequence of NUMBERS. */
export function ascending(numbers) {
	const ends = []; /* ends[k]: index of the least number that ends an ascending subsequence of length k + 1 */
	const before = new Array(numbers.length);

	numbers.forEach((number, i) => {
		let low = 0;
		let high = ends.length;

		while (low < high) {
			const middle = (low + high) >> 1;
			if (numbers[ends[middle]] < number) low = middle + 1;
			else high = middle;
		}
		before[i] = low ? ends[low - 1] : -1;
		ends[low] = i;
	});
	const part = [];
	for (let i = ends.at(-1) ?? -1; i >= 0; i = before[i]) part.push(i);
	return part.reverse();
}

/** Give BODY exactly ROWS, in this order. */
export function place(body, rows) {
	const wanted = new Set(rows);
	const focus = document.activeElement;
	const at = new Map();

	for (const row of [...body.children])
		if (wanted.has(row)) at.set(row, at.size);
		else row.remove();
	const there = rows.filter((row) => at.has(row));
	const stay = new Set(ascending(there.map((row) => at.get(row))).map((i) => there[i]));

	for (let i = rows.length - 1, next = null; i >= 0; next = rows[i--])
		if (!stay.has(rows[i])) body.insertBefore(rows[i], next);
	if (focus !== document.activeElement && focus?.isConnected && body.contains(focus))
		focus.focus({preventScroll: true});
}
