/* The numbers of an area of the time line as tables: groups of threads, waits, counters. */
import {execFileSync} from "node:child_process";
import {writeFileSync} from "node:fs";
import {tmpdir} from "node:os";
import path from "node:path";

import {BUILD, becomes, equal, ok, reference, test, until} from "./harness.mjs";
import {box, camera, drawn as shown, opened, settled} from "./timeline-tools.mjs";

const GROUPS = "Threads by label and type";

/** Open the reference trace NAME as an ended guest, with the panel of numbers. */
async function numbers(t, name, more = "", options = {}) {
	const host = await t.host({rings: {[name]: reference(`${name}.ctf`)}});
	const page = await opened(t, host, `#domain=${name}&panel=stats${more}`, options);

	await sheet(page, GROUPS).waitFor();
	return page;
}

/** Return the table with CAPTION. */
const sheet = (page, caption) => page.getByRole("region", {name: caption, exact: true});

/** Return the texts of the rows of the table with CAPTION. */
const rows = (page, caption) =>
	sheet(page, caption)
		.locator("tbody tr")
		.evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.innerText.trim())));

/** Return the answer of the page's engine for the groups of PLACE. */
const groups = (page, place = {}) =>
	page.evaluate(
		async ([from, to, firstRow, lastRow]) => {
			const {engine, summary} = document.getElementById("page").timeline.state;
			const answer = await engine.groups(
				{
					from: from === null ? summary.start : BigInt(from),
					to: to === null ? summary.end : BigInt(to),
					firstRow,
					lastRow,
				},
				{key: "threads", descending: true, text: "", most: 1e6},
			);

			return JSON.parse(JSON.stringify(answer, (_, it) => (typeof it === "bigint" ? String(it) : it)));
		},
		[place.from ?? null, place.to ?? null, place.firstRow, place.lastRow],
	);

test("area: the groups are those of mprofctl's threads", async (t) => {
	const page = await numbers(t, "small");
	const file = path.join(tmpdir(), `mprofd-area-${process.pid}.ctf`);

	writeFileSync(file, reference("small.ctf"));
	const {threads} = JSON.parse(
		execFileSync(path.join(BUILD, "client/ctl/mprofctl"), ["threads", file, "--json"], {maxBuffer: 1 << 26}),
	);
	const {start, end} = await camera(page);

	for (const [from, to] of [
		[start, end],
		[start + (end - start) / 3n, start + (end - start) / 2n],
	]) {
		const wanted = new Map();
		for (const it of threads) {
			const [begin, stop] = [BigInt(it.start_ns), BigInt(it.end_ns)];
			if (begin > to || stop < from) continue;
			const key = `${it.label ?? ""}|${it.type}`;
			const group = wanted.get(key) ?? {threads: 0, alive: 0n, longest: 0n};
			const lives = (stop < to ? stop : to) - (begin > from ? begin : from);
			wanted.set(key, {
				threads: group.threads + 1,
				alive: group.alive + lives,
				longest: lives > group.longest ? lives : group.longest,
			});
		}
		const answer = await groups(page, {from: String(from), to: String(to)});
		/* The page draws these types from their wake-up on, and mprofctl counts from the creation on. */
		const late = /^(Bind|Map|Try|On_|Ignore_result)/;
		const plain = (list) =>
			list
				.filter(([, type]) => from === start || !late.test(type))
				.map(([label, type, n, ...times]) => [label, type, n, ...(late.test(type) ? [] : times)].join(" "))
				.sort();
		equal(
			plain(answer.groups.map((it) => [it.label ?? "", it.type, it.threads, it.alive_ns, it.alive_longest_ns])),
			plain([...wanted].map(([key, it]) => [...key.split("|"), it.threads, it.alive, it.longest])),
			"groups",
		);
		const running = await page.evaluate(
			async (times) =>
				String(
					(await document.getElementById("page").timeline.state.engine.stats(...times.map(BigInt)))
						.running_ns,
				),
			[String(from), String(to)],
		);
		const sum = (name) => answer.groups.reduce((all, it) => all + BigInt(it[name]), 0n);
		equal(String(sum("running_ns")), running, "running");
		ok(sum("waiting_ns") <= sum("alive_ns") && sum("alive_ns") <= sum("waiting_ns") + sum("running_ns"), "waiting");
		equal(
			answer.waits.reduce((all, {waits}) => all + waits, 0),
			answer.totals.waits,
			"waits",
		);
	}
});

test("area: a table sorts, filters, copies as CSV and leads to its threads", async (t) => {
	const page = await numbers(t, "small", "", {permissions: ["clipboard-read", "clipboard-write"]});
	const table = sheet(page, GROUPS);
	const column = async (i) => (await rows(page, GROUPS)).map((row) => row[i]);

	equal(
		await table
			.locator("th[aria-sort=descending]")
			.innerText()
			.then((text) => text.trim()),
		"waiting",
		"sorted by",
	);
	await table.getByRole("button", {name: "threads", exact: true}).click();
	await table.locator("th[aria-sort=descending]", {hasText: "threads"}).waitFor();
	const counts = (await column(2)).map(Number);
	equal(
		counts,
		[...counts].sort((a, b) => b - a),
		"from the largest on",
	);
	await table.getByRole("button", {name: "threads", exact: true}).press("Enter");
	await table.locator("th[aria-sort=ascending]", {hasText: "threads"}).waitFor();
	const up = (await column(2)).map(Number);
	equal(
		up,
		[...up].sort((a, b) => a - b),
		"from the smallest on",
	);
	await table.getByRole("button", {name: "label", exact: true}).click();
	await table.locator("th[aria-sort=ascending]", {hasText: "label"}).waitFor();
	const labels = await column(0);

	await table.getByRole("searchbox").fill("REQUEST");
	await becomes(async () => (await column(0)).every((text) => /request/i.test(text)), true, "the filtered labels");
	ok((await column(0)).length > 0 && (await column(0)).length < labels.length, "some");
	const listed = await rows(page, GROUPS);
	await table.getByRole("button", {name: `Copy as CSV: ${GROUPS}`}).click();
	await table.getByText(/rows? copied\./).waitFor();
	const csv = (await page.evaluate(() => navigator.clipboard.readText())).split("\r\n");
	equal(
		csv[0],
		"label,type,threads,alive (ns),longest life (ns),waiting (ns),longest wait (ns),running (ns),longest run (ns)",
		"the first line",
	);
	equal(csv.length, listed.length + 2, "lines");
	ok(/^[^,]*request[^,]*,\w+,\d+(,\d+){6}$/i.test(csv[1]), csv[1]);

	/* A row leads to the threads of the group, and those lead to the picture. */
	await table.getByRole("searchbox").fill("sleep");
	await table.getByRole("button", {name: "threads", exact: true}).click();
	await table.locator("th[aria-sort=descending]", {hasText: "threads"}).waitFor();
	const [name, , n] = (await rows(page, GROUPS))[0];
	ok(Number(n) > 1, `${n} threads of the largest group`);
	await table.locator("tbody .tl-link").first().click();
	const members = sheet(page, name);
	await members.waitFor();
	equal((await rows(page, name)).length, Number(n), "threads of the group");
	await t.look(page, "area");
	await t.accessible(page);
	const id = (await rows(page, name))[0][0];
	await members.locator("tbody .tl-link").first().click();
	await page.locator(".tl-panel tr", {hasText: `Number${id}`}).waitFor();
	await until(async () => (await shown(page, "selected")).length === 1);

	await page.keyboard.press("Escape");
	await page.focus("#tl-canvas");
	await page.keyboard.press("t");
	await sheet(page, "Threads").waitFor();
	ok((await rows(page, "Threads")).length > 8, "threads in view");
	await sheet(page, "Threads").getByRole("searchbox").fill("request");
	await becomes(
		async () => (await rows(page, "Threads")).every(([text]) => /request/.test(text)),
		true,
		"the filtered threads",
	);
	/* Another picture renews the rows, and the filter and the focus stay. */
	const field = sheet(page, "Threads").getByRole("searchbox");
	await page.evaluate(() => document.getElementById("page").timeline.tell());
	equal(await field.inputValue(), "request", "the filter after another picture");
	ok(await field.evaluate((it) => it === document.activeElement), "the focus");
	ok(
		(await rows(page, "Threads")).every(([text]) => /request/.test(text)),
		"the filtered rows",
	);
});

test("area: a drag with Shift selects time and rows, and the address has them", {long: true}, async (t) => {
	const page = await numbers(t, "small");
	const place = await box(page);
	const all = (await groups(page)).totals.threads;
	const drag = async (y0, y1) => {
		await page.keyboard.down("Shift");
		await page.mouse.move(place.x + 60, place.y + y0);
		await page.mouse.down();
		await page.mouse.move(place.x + 400, place.y + y1, {steps: 5});
		await page.mouse.up();
		await page.keyboard.up("Shift");
	};

	await page.keyboard.press("Escape");
	await drag(30, 200);
	await page.locator(".tl-panel h2", {hasText: "The selected area"}).waitFor();
	/* The address may have been written during the drag: wait for that of the whole area. */
	await until(() =>
		page.evaluate(() => {
			const {range, rows} = document.getElementById("page").timeline.selection;
			const {hash} = location;

			return (
				hash.includes(`measure=${range.from}-${range.to}`) && hash.includes(`area=${rows.first}-${rows.last}`)
			);
		}),
	);
	const [, first, last] = /area=(\d+)-(\d+)/.exec(page.url());
	ok(Number(last) > Number(first), `rows ${first} to ${last}`);
	const [range] = await shown(page, "range");
	ok(range.y0 > 0 && range.y1 < 260, `the area is drawn from ${range.y0} to ${range.y1}`);
	equal(await page.getByLabel("First row").inputValue(), String(Number(first) + 1), "the first row");
	const [, from, to] = /measure=(\d+)-(\d+)/.exec(page.url());
	const some = await groups(page, {from, to, firstRow: Number(first), lastRow: Number(last)});
	ok(some.totals.threads > 0 && some.totals.threads < all, `${some.totals.threads} of ${all} threads`);
	await becomes(
		async () => (await rows(page, GROUPS)).reduce((sum, row) => sum + Number(row[2]), 0),
		some.totals.threads,
		"the table's threads",
	);

	await page.reload();
	await settled(page);
	await becomes(
		async () => (await rows(page, GROUPS)).reduce((sum, row) => sum + Number(row[2]), 0),
		some.totals.threads,
		"after a reload",
	);

	/* Rows can be chosen without a pointer. */
	await page.getByLabel("Last row").fill(String(Number(first) + 1));
	await page.getByLabel("Last row").press("Enter");
	await until(() => page.url().includes(`area=${first}-${first}`));
	await page.getByRole("button", {name: "all rows"}).click();
	await until(() => !/area=/.test(page.url()));

	/* A drag that hardly goes up or down selects time alone. */
	await page.keyboard.press("Escape");
	await page.keyboard.press("Escape");
	await page.focus("#tl-canvas");
	await drag(200, 220);
	await page.locator(".tl-panel h2", {hasText: "The selected range"}).waitFor();
	await until(() => /measure=/.test(page.url()) && !/area=/.test(page.url()));
	await page.keyboard.press("Escape");
	await page.keyboard.press("Escape");
	await until(() => !/measure=/.test(page.url()));
});
