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
 * Return a group of filter buttons. LIST maps the name of a filter to an array whose first item is
 * the button's text. The button "all" is shown as pressed at first. SAYS is the label of the group.
 * SHOW(name) is called when a button is pressed; it calls press().
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

/** Show the button NAME of the filters GROUP as pressed, and no other one. */
export function press(group, name) {
	for (const button of group.querySelectorAll("[data-filter]"))
		button.setAttribute("aria-pressed", String(button.dataset.filter === name));
}

// The order of rows. Moving a row takes time, and the row loses its focus, so as few rows as possible are moved.

/** Return the indices of a longest ascending subsequence of NUMBERS. */
export function ascending(numbers) {
	/*
	 * ends[k] belongs to the ascending subsequences of length k + 1 so far. Among these it is
	 * the index of the least last number.
	 */
	const ends = [];
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

/** Make ROWS the only children of BODY, in this order. */
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
