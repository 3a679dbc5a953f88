/* The statistics of a range of time, as nodes for the panel. */
import {make, short} from "../page/make.js";
import {count, exact, rough, span} from "../page/times.js";

const ROWS_MAX = 50; /* most rows of a table */

/**
 * Return a table, or null if ROWS is empty. HEAD are the texts of the columns. A row is [string or
 * node, …].
 */
function table(caption, head, rows) {
	return rows.length
		? make(
				"table",
				{className: "tl-table"},
				make("caption", {textContent: caption}),
				make("thead", {}, make("tr", {}, ...head.map((text) => make("th", {scope: "col", textContent: text})))),
				make(
					"tbody",
					{},
					...rows
						.slice(0, ROWS_MAX)
						.map(([first, ...rest]) =>
							make(
								"tr",
								{},
								make("th", {scope: "row"}, first),
								...rest.map((text) => make("td", {className: "tl-number", textContent: String(text)})),
							),
						),
				),
			)
		: null;
}

const number = (n) => Number(n).toLocaleString("en");

/** Return the members of OBJECT {name: number} as rows, the largest number first. */
function byCount(object) {
	return Object.entries(object ?? {})
		.sort((a, b) => Number(b[1]) - Number(a[1]))
		.map(([name, n]) => [short(name), number(n)]);
}

/** Return the rows of the threads that ran longest. FIND is that of measured(). */
function busiest(stats, find) {
	return (stats.busiest ?? stats.busiest_threads ?? []).map((it) => {
		const name = `${it.of ? `${it.of}: ` : ""}${it.label ?? it.thread}`;

		return [
			make("button", {
				type: "button",
				className: "tl-link",
				textContent: short(name, 40),
				onclick: () => find(it),
			}),
			it.type,
			rough(BigInt(it.running_ns)),
		];
	});
}

/**
 * Return nodes with the statistics of RANGE {from, to}, ns. STATS is the answer of engine.stats(),
 * in the form of `mprofctl stats --json`. START is the first time of the trace, ns. FIND(thread) is
 * called when the user clicks a thread of STATS. CLOCK names the clock of the times.
 */
export function measured(range, stats, start, find, clock = "the guest's clock") {
	const length = range.to - range.from;
	const events = Number(stats.events ?? 0);
	const counters = Object.entries(stats.counters ?? {}).map(([name, c]) => [
		short(name),
		number(c.first),
		number(c.last),
		number(c.min),
		number(c.max),
	]);

	return [
		make(
			"p",
			{},
			make("strong", {textContent: span(length)}),
			` from +${span(range.from - start)} to +${span(range.to - start)}.`,
		),
		make("p", {
			className: "tl-quiet",
			textContent: `By ${clock} ${exact(range.from)} to ${exact(range.to)}; ${rate(length)} if it repeats.`,
		}),
		make("p", {
			textContent:
				`${count(events, "event")} here` +
				(stats.sleeping_share === undefined || stats.sleeping_share === null
					? "."
					: `; the guest slept ${(Number(stats.sleeping_share) * 100).toFixed(1)} % of the time.`),
		}),
		table("Busiest threads", ["thread", "type", "ran"], busiest(stats, find)),
		table("Counters", ["counter", "first", "last", "least", "most"], counters),
		table("Events", ["event", "number"], byCount(stats.events_by_type)),
		table("Threads created", ["type", "number"], byCount(stats.threads_by_type ?? stats.created_by_type)),
	].filter(Boolean);
}

/** Return how often something happens that takes LENGTH ns and repeats at once. */
function rate(length) {
	const perSecond = 1e9 / Number(length);

	return `${perSecond >= 10 ? Math.round(perSecond).toLocaleString("en") : Number(perSecond.toPrecision(3))} per second`;
}
