/* Shared by the tests of a memory profile's page. */
import {equal, reference, until} from "./harness.mjs";

/** Return the oracle of reference trace NAME: {key: number}, and its sites by kind. */
export function oracle(name) {
	const out = {site: new Map(), live_site: new Map(), peak_site: new Map()};

	for (const line of reference(`memtrace/${name}.oracle.txt`).toString().split("\n")) {
		const [key, ...rest] = line.split(" ");

		if (out[key] instanceof Map) out[key].set(rest.slice(2).join(" "), Number(rest[0]));
		else if (rest.length) out[key] = Number.isNaN(Number(rest.at(-1))) ? rest.join(" ") : Number(rest.at(-1));
	}
	return out;
}

/**
 * Send BYTES to HOST's sink as a guest does. With OPEN the stream stays open. Return the number
 * of the recording.
 */
export async function recorded(host, bytes, open = false) {
	const before = (await host.get("/v1/memtraces")).memtraces.length;
	const guest = host.profiled(bytes);

	if (!open) guest.end();
	const it = await until(async () => {
		const [newest, ...rest] = (await host.get("/v1/memtraces")).memtraces;
		return newest && rest.length === before && (open ? newest.bytes > 0 : newest.state === "ended") ? newest : null;
	});
	return {id: it.id, guest};
}

/** Open the page of recording ID and wait until all its requests are answered. */
export async function opened(t, host, id, more = "", options = {}) {
	const page = await t.open(host, `/#memtrace=${id}${more}`, options);

	await settled(page);
	return page;
}

/** Wait until all answers are on the page. */
export async function settled(page) {
	await until(() =>
		page.evaluate(() => {
			const it = document.getElementById("page").memory;
			const alert = document.querySelector(".mem-message[role=alert]:not([hidden])");

			if (alert) throw new Error(alert.textContent);
			return (
				it?.profile &&
				it.chart.lines &&
				!it.element.hasAttribute("aria-busy") &&
				!it.filters.waiting &&
				!it.flame.frame &&
				!it.chart.frame
			);
		}),
	);
}

/** Return the page's totals: {bytes, objects, samples}. */
export async function counted(page) {
	await settled(page);
	return page.evaluate(() => {
		const {samples_bytes: bytes, objects, samples} = document.getElementById("page").memory.profile;

		return {bytes, objects, samples};
	});
}

/**
 * Wait until key KEY of the address has the value WANTED (undefined: the address lacks the key).
 * Return the value.
 */
export function addressed(page, key, wanted) {
	return until(async () => {
		const got = new URLSearchParams(new URL(page.url()).hash.slice(1)).getAll(key);

		equal(got, wanted === undefined ? [] : [wanted].flat(), `${key} in the address`);
		return true;
	});
}

/** Return the boxes of the flame graph: [{name, row, x, wide}], the zoomed box first. */
export async function boxes(page) {
	await settled(page);
	return page.evaluate(() => {
		const {layout, tree, names, zoomed} = document.getElementById("page").memory.flame;

		return layout.nodes.map((node, i) => ({
			name: node ? names[tree.name[node]] : "",
			row: tree.depth[node] - tree.depth[zoomed],
			x: layout.xs[i],
			wide: layout.wide(i),
			total: tree.total[node],
		}));
	});
}

/** Return the middle of BOX in the page's coordinates. */
export function middle(page, box) {
	return page.evaluate(({row, x, wide}) => {
		const {scroller, height, up} = document.getElementById("page").memory.flame;
		const area = scroller.getBoundingClientRect();
		const y = (up ? height - (row + 1) * 20 : row * 20) - scroller.scrollTop + 10;

		return {x: area.left + scroller.clientLeft + x + wide / 2, y: area.top + scroller.clientTop + y};
	}, box);
}

/**
 * Return the reference viewer's results for trace NAME: {numbers, filters: [{words, objects,
 * samples, most}], functions: [[name, samples]]}.
 */
export function viewer(name) {
	const out = {numbers: {}, filters: [], functions: []};

	for (const line of reference(`memtrace/${name}.viewer.txt`).toString().split("\n")) {
		const [kind, words, ...rest] = line.split("\t");
		const number = (key) => Number(rest.find((it) => it.startsWith(`${key} `))?.split(" ")[1]);

		if (kind === "filter")
			out.filters.push({
				words,
				objects: number("objects"),
				samples: number("samples"),
				most: number("timeline_max_samples"),
			});
		else if (kind === "function") out.functions.push([words, number("samples")]);
		else if (/^[a-z_]+ \d+$/.test(kind)) out.numbers[kind.split(" ")[0]] = Number(kind.split(" ")[1]);
	}
	return out;
}

/**
 * Return every allocation of trace NAME from the reference's dump: {us, samples, end (Infinity:
 * the block is never freed)}.
 */
export function allocated(name) {
	const all = new Map();

	for (const line of reference(`memtrace/${name}.dump.txt`).toString().split("\n")) {
		const [us, id, what, samples] = line.split(" ", 4);

		if (what?.startsWith("alloc")) all.set(id, {us: Number(us), samples: Number(samples), end: Infinity});
		else if (what === "collect") all.get(id).end = Number(us);
	}
	return [...all.values()];
}

const WORDS = [
	[/^live at peak$/, "live", "peak"],
	[/^live at end of trace$/, "live", "end"],
	[/^live at (\d+) us$/, "live", "at"],
	[/^on the (\w+) heap$/, "on", null],
	[/^not on the (\w+) heap$/, "off", null],
	[/^size at most (.*)$/, "size", "most"],
	[/^size at least (.*)$/, "size", "least"],
	[/^size between (.*) and (.*)$/, "size", "between"],
	[/^lifetime at most (.*)$/, "lifetime", "most"],
	[/^lifetime at least (.*)$/, "lifetime", "least"],
	[/^allocated at or before (.*)$/, "allocated", "most"],
	[/^collected at or after (.*)$/, "collected", "least"],
	[/^inside (?:a function whose name contains )?"(.*)"$/, "inside", "has"],
	[/^not inside a function whose name contains "(.*)"$/, "outside", "has"],
];

/**
 * Fill in the condition that the reference's file calls CLAUSE. It is part of WORDS, where "and"
 * separates two conditions or the ends of a range.
 */
export async function condition(page, clause, words) {
	const whole = /between/.test(clause) ? words : clause;
	const [[, ...texts], kind, how] = WORDS.map(([expression, ...rest]) => [expression.exec(whole), ...rest]).find(
		([match]) => match,
	) ?? [[]];

	if (!kind) return;
	await page.getByRole("button", {name: "Add a condition"}).click();
	const line = page.locator(".mem-clauses li").last();
	await line.getByLabel("Condition", {exact: true}).selectOption(kind);
	await line.getByLabel("How").selectOption(how ?? texts.shift());
	for (let i = 0; i < texts.length && how !== "peak" && how !== "end"; i++)
		await line
			.locator("input")
			.nth(i)
			.fill(/^\d+$/.test(texts[i]) ? `${texts[i]} us` : texts[i]);
	if (texts.length) await page.keyboard.press("Enter");
}

/** Return the offset at which each packet of a stream ends. */
export function packets(bytes) {
	const ends = [];

	for (let at = 0; at < bytes.length; ends.push(at)) at += bytes.readUInt32LE(at + 4) / 8;
	return ends;
}

/** Return BYTES with texts replaced by others of the same length: {old: new}. */
export function renamed(bytes, names) {
	const out = Buffer.from(bytes);

	for (const [old, name] of Object.entries(names)) {
		const text = Buffer.from(name);

		equal(text.length, old.length, "the length of a name");
		for (let at = out.indexOf(old); at >= 0; at = out.indexOf(old, at + 1)) text.copy(out, at);
	}
	return out;
}

/** Drop a file onto the element that SELECTOR finds. */
export async function drop(page, selector, name, bytes) {
	await page.evaluate(
		([where, called, text]) => {
			const transfer = new DataTransfer();
			transfer.items.add(new File([Uint8Array.from(atob(text), (it) => it.charCodeAt(0))], called));
			for (const kind of ["dragover", "drop"])
				document
					.querySelector(where)
					.dispatchEvent(new DragEvent(kind, {dataTransfer: transfer, bubbles: true, cancelable: true}));
		},
		[selector, name, bytes.toString("base64")],
	);
}
