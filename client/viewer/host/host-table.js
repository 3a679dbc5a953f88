/* What the tables of the host's page have in common. */
import {make} from "../page/make.js";

/** A table of class NAME below the heading of id NAME-title, with TITLES over its columns, and BODY. */
export function table(name, titles, body) {
	const head = titles.map((title) => make("th", {role: "columnheader", scope: "col", textContent: title}));

	return make(
		"table",
		{role: "table", className: `list ${name}`, "aria-labelledby": `${name}-title`},
		make("thead", {role: "rowgroup"}, make("tr", {role: "row"}, ...head)),
		body,
	);
}

/** Buttons of which one is pressed: of FILTERS, each a list that begins with its title, "all" at first; SAYS what they choose, SHOW(name) does. */
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
