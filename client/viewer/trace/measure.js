/* The numbers of an area, a range of time and of rows, as tables for the panel. */
import {make, short} from "../page/make.js";
import {Table, listOf} from "../page/table.js";
import {count, exact, rough, span} from "../page/times.js";
import {sentence} from "./panel.js";

const number = (n) => Number(n).toLocaleString("en");
const share = (part, whole) => (part !== null && whole > 0n ? Number((part * 10000n) / whole) / 10000 : 0);

/** Return a link with TEXT that calls PRESS. */
const link = (text, press) =>
	make("button", {type: "button", className: "tl-link", textContent: short(text, 60), onclick: press});

/** Return the column KEY of a Table for times in ns. WHOLE(row) is the time of a bar of full length. */
function timeColumn(key, title, whole) {
	return {
		key,
		title,
		unit: "ns",
		number: true,
		value: (row) => row[key],
		text: (row) => (row[key] === null ? "unknown" : rough(row[key])),
		share: whole && ((row) => share(row[key], whole())),
	};
}

/**
 * Return the table of the groups of threads in PLACE, and the node below it with the threads of the
 * group that the user chooses. HOOKS are those of measured().
 */
function groups(place, engine, clock, {select, sheet}) {
	const chosen = make("div", {"aria-live": "polite"});
	let totals = {alive_ns: 0n, running_ns: 0n, waiting_ns: 0n};
	const columns = [
		{
			key: "label",
			title: "label",
			value: (row) => row.label,
			node: (row) => link(row.label ?? `no label (${row.type})`, () => lead(row)),
		},
		{key: "type", title: "type", value: (row) => row.type},
		{
			key: "threads",
			title: "threads",
			number: true,
			value: (row) => row.threads,
			text: (row) => number(row.threads),
		},
		timeColumn("alive_ns", "alive", () => totals.alive_ns),
		timeColumn("alive_longest_ns", "longest life"),
		timeColumn("waiting_ns", "waiting", () => totals.waiting_ns),
		timeColumn("waiting_longest_ns", "longest wait"),
		timeColumn("running_ns", "running", () => totals.running_ns),
		timeColumn("running_longest_ns", "longest run"),
	];
	const table = new Table({
		caption: "Threads by label and type",
		columns,
		sort: {key: "waiting_ns", descending: true},
		...sheet("groups"),
		list: async (query) => {
			const answer = await engine.groups(place, query);

			totals = answer.totals;
			return {
				rows: answer.groups,
				total: answer.listed,
				nothing: answer.coverage ? "The trace has nothing here." : undefined,
			};
		},
	});
	/* Select the only thread of GROUP, or list its threads. */
	const lead = async (group) => {
		const threads = await engine.groupThreads(place, group.group);

		if (group.threads === 1 && threads.length === 1) select(threads[0].index);
		else await show(group, threads);
	};
	const show = async (group, threads) => {
		const own = [
			{
				key: "thread",
				title: "thread",
				value: (row) => BigInt(row.thread),
				node: (row) => link(String(row.thread), () => select(row.index)),
			},
			{
				key: "start_ns",
				title: "from",
				unit: "ns",
				number: true,
				value: (row) => row.start_ns,
				text: (row) => clock.at(row.start_ns),
			},
			timeColumn("waiting_ns", "waiting", () => group.waiting_longest_ns),
			timeColumn("running_ns", "running", () => group.running_longest_ns),
			timeColumn("alive_ns", "alive", () => group.alive_longest_ns),
		];
		const list = new Table({
			caption: short(group.label ?? `Threads without a label (${group.type})`),
			columns: own,
			sort: {key: "waiting_ns", descending: true},
			...sheet("threads"),
			list: listOf(threads, own),
		});

		await list.show();
		chosen.replaceChildren(
			list.element,
			...(group.threads > threads.length
				? [make("p", {className: "tl-quiet", textContent: `The ${threads.length} that waited longest.`})]
				: []),
		);
	};

	return {table, chosen};
}

/**
 * Return the table of how often threads waited how long, the WAITS of an answer of engine.groups(); null if none waited, or if
 * that is unknown.
 */
function waits(rows, sheet) {
	const most = Math.max(...(rows ?? []).map((row) => Number(row.waits)));
	const columns = [
		{
			key: "least_ns",
			title: "length",
			unit: "ns",
			value: (row) => row.least_ns,
			text: (row) => `from ${span(row.least_ns)}`,
		},
		{
			key: "waits",
			title: "number",
			number: true,
			value: (row) => Number(row.waits),
			text: (row) => number(row.waits),
			share: (row) => Number(row.waits) / most,
		},
	];

	if (!rows?.length) return null;
	return new Table({
		caption: "How long threads waited",
		columns,
		sort: {key: "least_ns", descending: false},
		...sheet("waits"),
		list: listOf(rows, columns),
	});
}

/** Return the table of STATS' counters, or null. */
function counters(stats, sheet) {
	const rows = Object.entries(stats.counters ?? {}).map(([name, it]) => ({name, ...it}));
	const value = (key, title) => ({
		key,
		title,
		number: true,
		value: (row) => row[key],
		text: (row) => number(row[key]),
	});
	const columns = [
		{key: "name", title: "counter", value: (row) => row.name},
		{key: "kind", title: "kind", value: (row) => row.kind ?? ""},
		value("samples", "samples"),
		{
			key: "sum",
			title: "sum",
			number: true,
			value: (row) => row.sum ?? 0n,
			text: (row) => (row.sum === undefined ? "" : number(row.sum)),
		},
		value("first", "first"),
		value("last", "last"),
		value("min", "least"),
		value("max", "greatest"),
		{
			key: "rate_per_s",
			title: "change per second",
			number: true,
			value: (row) => row.rate_per_s ?? 0,
			text: (row) => (row.rate_per_s === null ? "" : Number(row.rate_per_s.toPrecision(3)).toLocaleString("en")),
		},
	];

	return rows.length
		? new Table({
				caption: "Counters",
				columns,
				sort: {key: "name", descending: false},
				...sheet("counters"),
				list: listOf(rows, columns),
			})
		: null;
}

/** Return the table of the threads that ran longest, or null. CHOOSE(thread) is called at a click. */
function busiest(stats, choose, sheet) {
	const columns = [
		{
			key: "name",
			title: "thread",
			value: (row) => `${row.of ? `${row.of}: ` : ""}${row.label ?? row.thread}`,
			node: (row) => link(`${row.of ? `${row.of}: ` : ""}${row.label ?? row.thread}`, () => choose(row)),
		},
		{key: "type", title: "type", value: (row) => row.type},
		timeColumn("running_ns", "ran", () => stats.running_ns),
	];

	return stats.busiest.length
		? new Table({
				caption: "Busiest threads",
				columns,
				sort: {key: "running_ns", descending: true},
				...sheet("busiest"),
				list: listOf(stats.busiest, columns),
			})
		: null;
}

/** Return the table of OBJECT {name: number} with the heading WHAT, or null if it is empty. */
function counts(caption, what, object, sheet) {
	const rows = Object.entries(object ?? {}).map(([name, n]) => ({name, n}));
	const columns = [
		{key: "name", title: what, value: (row) => row.name},
		{key: "n", title: "number", number: true, value: (row) => row.n, text: (row) => number(row.n)},
	];

	return rows.length
		? new Table({
				caption,
				columns,
				sort: {key: "n", descending: true},
				...sheet(what),
				list: listOf(rows, columns),
			})
		: null;
}

/**
 * Return the choice of rows in PLACE: two numbers, counted from 1, and a button for all rows. SET is
 * called with the first and the last row, counted from 0, or without a number for all.
 */
function rowChoice({firstRow, lastRow, rows}, set) {
	const field = (label, value) =>
		make("input", {
			type: "number",
			className: "tl-row",
			min: 1,
			max: rows,
			value,
			"aria-label": label,
			onchange: () => set(Number(first.value || 1) - 1, Number(last.value || rows) - 1),
		});
	const first = field("First row", (firstRow ?? 0) + 1);
	const last = field("Last row", (lastRow ?? rows - 1) + 1);

	return make(
		"p",
		{className: "tl-rows"},
		"Rows ",
		first,
		" to ",
		last,
		` of ${rows.toLocaleString("en")} `,
		firstRow === undefined
			? null
			: make("button", {type: "button", className: "tl-link", textContent: "all rows", onclick: () => set()}),
	);
}

/** Return the sentence on the collections of STATS as a list of nodes, empty if there are none. */
function collections(stats, length) {
	const textContent =
		`${count(stats.gcs, "garbage collection")}: ${rough(stats.gc_ns)} in all, ` +
		`${(share(stats.gc_ns, length) * 100).toFixed(1)} % of the time, the longest ${rough(stats.gc_longest_ns)}.`;

	return stats.gcs ? [make("p", {textContent})] : [];
}

/** Return whether the hole C of an area can hide what runs there. A ring that only begins before hides threads that do nothing. */
const hidesRuns = (c) => Boolean(c) && !(c.hole === "begin" && c.from_ns === c.to_ns);

/**
 * Return a Promise of nodes with the numbers of PLACE {from, to: ns, firstRow, lastRow, rows}. ROWS
 * is the number of rows of the trace; firstRow and lastRow are absent for all rows. ENGINE answers,
 * CLOCK writes times, NAME names the clock of the trace.
 *
 * hooks:
 * - choose(thread), select(index): select a thread;
 * - rows(first, last): select rows;
 * - go: that of sentence() of panel.js;
 * - sheet(name): return {save, kept} for a Table; its copy is saved as the CSV file NAME.
 */
export async function measured(place, engine, clock, hooks, name = "the guest's clock") {
	const {from, to, firstRow, lastRow} = place;
	const length = to - from;
	const area = {from, to, firstRow, lastRow};
	const [stats, answer] = await Promise.all([
		engine.stats(from, to),
		engine.groups(area, {key: "waiting_ns", descending: true, text: "", most: 0}),
	]);
	const {table, chosen} = groups(area, engine, clock, hooks);
	const {sheet} = hooks;
	const tables = [
		waits(answer.waits, sheet),
		counters(stats, sheet),
		busiest(stats, hooks.choose, sheet),
		counts("Events", "event", stats.events_by_type, sheet),
		counts("Threads created", "type", stats.threads_by_type, sheet),
	].filter(Boolean);

	await Promise.all([table, ...tables].map((it) => it.show()));
	return [
		make("p", {}, make("strong", {textContent: span(length)}), ` from ${clock.at(from)} to ${clock.at(to)}.`),
		make("p", {
			className: "tl-quiet",
			textContent: `By ${name} ${exact(from)} to ${exact(to)}; ${rate(length)} if it repeats.`,
		}),
		make("p", {
			textContent:
				`${count(Number(stats.events), "event")} here` +
				(stats.sleeping_share === null || hidesRuns(answer.coverage) || answer.totals.lost_packets
					? "."
					: `; the guest slept ${(Number(stats.sleeping_share) * 100).toFixed(1)} % of the time.`),
		}),
		...collections(stats, length),
		...answer.missing.map((line) => sentence(line, hooks.go, clock)),
		rowChoice(place, hooks.rows),
		table.element,
		chosen,
		...tables.map((it) => it.element),
	];
}

/** Return how often something happens that takes LENGTH ns and repeats at once. */
function rate(length) {
	const perSecond = 1e9 / Number(length);

	return `${perSecond >= 10 ? Math.round(perSecond).toLocaleString("en") : Number(perSecond.toPrecision(3))} per second`;
}
