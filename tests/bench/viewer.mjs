/*
 * Measure the viewer in Chromium: node viewer.mjs [--brief] [SCENARIO…]. MPROF_BUILD and
 * MPROF_BROWSER are as for tests/browser/run.mjs.
 *
 * Prints one JSON object a line. A scenario fails when the page does not show the trace or
 * reports a problem. Chromium renders in software here and shares the cores with the server and
 * with other programs, so processor times stand beside the clock times.
 */
import {renameSync, rmSync, writeFileSync} from "node:fs";
import {cpus, loadavg, tmpdir} from "node:os";
import path from "node:path";

import {close, equal, ok, run, until} from "../browser/harness.mjs";
import {drawn, opened, settled} from "../browser/timeline-tools.mjs";
import {event, trace} from "../browser/trace-make.mjs";
import {archive, guests, make, wide} from "./viewer-load.mjs";
import {blocked, cpu, part, processTime, tour, watchTasks} from "./viewer-page.mjs";

const brief = process.argv.includes("--brief");
const wanted = process.argv.slice(2).filter((it) => !it.startsWith("-"));
const EVENTS_BYTES = brief ? 8 << 20 : 250000000;
const STEPS = brief ? 30 : 400;
const WIDE = brief ? 3000 : 100000;
const GUESTS = brief ? 100 : 1000;
const DAY_PIECES = 16; /* as many packets as a ring may have */
const DAY_BYTES = brief ? 2 << 20 : 64 << 20; /* bytes of each packet */
const DAY_NS = 86400e9;
const NAMES = brief ? 20000 : 1000000;
const EVENT_BYTES = 25;

function line(name, ours, unit, aim = null) {
	console.log(
		JSON.stringify({
			name: `viewer-${name}`,
			ours: ours,
			peer: null,
			unit,
			ratio: null,
			aim,
			met: aim === null ? null : ours <= aim,
		}),
	);
}

const timeline = (page, what) => page.evaluate(what);
const scratch = (name) => path.join(tmpdir(), `mprof-bench-${process.pid}-${name}`);

/** Open FILE in a page of HOST. Return {page, picture: ms until its picture, cpu: processor ms}. */
async function file(t, host, name) {
	const page = await t.open(host, `/#file=${path.basename(name)}`, {init: watchTasks});

	await page.locator("input[type=file]").waitFor({state: "attached"});
	const loaded = await cpu(page, async () => {
		const began = await page.evaluate(() => performance.now());
		await page.locator("input[type=file]").setInputFiles(name);
		await until(() => page.evaluate(() => document.getElementById("page").timeline?.canvasView.first), 240000);
		return (await page.evaluate(() => document.getElementById("page").timeline.canvasView.first)) - began;
	});
	await settled(page);
	return {page, picture: loaded.answer, ...loaded};
}

async function tourLines(page, of) {
	const {work, gaps, frames, wall, cpu: longest, missed} = await tour(page, STEPS);

	ok(work.length >= STEPS / 2, `${work.length} frames`);
	line(`${of}frame-median`, part(work, 0.5), "ms of the page's own work a frame", 8);
	line(`${of}frame-99`, part(work, 0.99), "ms of the page's own work a frame", 16);
	line(
		`${of}frame-cpu-median`,
		part(frames, 0.5),
		"ms of the processor that the main thread takes a frame, with the browser's work",
		8,
	);
	line(
		`${of}frame-cpu-99`,
		part(frames, 0.99),
		"ms of the processor that the main thread takes a frame, with the browser's work",
		16,
	);
	line(
		`${of}task-cpu`,
		longest,
		`ms of the processor of the longest task of the main thread; ${wall.toFixed(0)} by the clock`,
		100,
	);
	line(`${of}frames-missed`, missed, `% of ${gaps.length} animation frames`, 1);
	line(`${of}blocked-moving`, await blocked(page), "ms at most that input waited (0: under 50)", 100);
	const fit = async () => {
		const {camera, canvasView} = document.getElementById("page").timeline;
		const began = performance.now();

		camera.fit();
		await canvasView.painted();
		return performance.now() - began;
	};
	await page.evaluate(fit);
	await blocked(page);
	const {answer, thread: spent, process} = await cpu(page, () => page.evaluate(fit));
	line(
		`${of}picture`,
		answer,
		`ms to a picture of all of it, ${Math.round(process)} of the processor, ${Math.round(spent)} of the main thread`,
	);
	line(`${of}blocked-picture`, await blocked(page), "ms at most that input waited (0: under 50)", 100);
}

/** Show ten million events of the archive slice by slice. */
async function slices(t, name, events) {
	const host = await t.host({collector: false});

	renameSync(name, path.join(host.rings, "bench.ctf"));
	await host.startCollector();
	await until(async () => (await host.domain("bench"))?.state === "ended", 240000);
	renameSync(path.join(host.rings, "bench.ctf"), name);
	const began = performance.now();
	const page = await opened(t, host, "#domain=bench", {init: watchTasks});
	const {bytes, painted, of, some} = await timeline(page, () => {
		const {session, canvasView} = document.getElementById("page").timeline;
		return {
			bytes: session.arrived,
			painted: canvasView.first,
			of: session.overview.bytes,
			some: session.summary.totals.events,
		};
	});

	ok(of > EVENTS_BYTES * 0.9 && (some < events || brief), `${some} of ${events} events, ${of} bytes`);
	line("first-picture", painted - bytes, "ms from the last byte of the newest slice", 1000);
	line("first-picture-all", painted, `ms from the address, ${Math.round(performance.now() - began)} until it rests`);
	line("blocked-opening", await blocked(page), "ms at most that input waited (0: under 50)", 100);
	return host;
}

/** Open the same events as one model, as the page opens a file, then zoom and pan through it. */
async function whole(t, host, name, events) {
	const {page, picture, process} = await file(t, host, name);
	const {all, memory} = await timeline(page, () => {
		const {totals, memory} = document.getElementById("page").timeline.session.summary;
		return {all: totals.events, memory};
	});

	equal(all, events, "the events of the whole");
	line("model", (picture * 1e7) / events, "ms for 10 million events, to the picture", 3000);
	line("model-cpu", (process * 1e7) / events, "ms of the processor for 10 million events");
	line("memory", memory / events, "bytes of the wasm's memory an event", 64);
	line("blocked-model", await blocked(page), "ms at most that input waited (0: under 50)", 100);
	await tourLines(page, "");
}

const scenarios = {
	async events(t) {
		const name = scratch("events.ctf");

		t.later.push(async () => rmSync(name, {force: true}));
		const events = make(name, EVENTS_BYTES);
		const host = await slices(t, name, events);
		await whole(t, host, name, events);
	},

	/* Show threads that are all alive at once, each in a row of its own. */
	async threads(t) {
		const name = scratch("wide.ctf");

		t.later.push(async () => rmSync(name, {force: true}));
		writeFileSync(name, wide(WIDE));
		const {page, picture} = await file(t, await t.host(), name);
		const {rows} = await timeline(page, () => ({
			rows: document.getElementById("page").timeline.session.summary.rows,
		}));
		ok(rows >= WIDE, `${rows} rows`);
		ok((await drawn(page, "thread")).length > 10, "threads that are drawn");
		line("threads", picture, `ms to the picture of ${WIDE} threads that live at once`, 1000);
		await tourLines(page, "threads-");
	},

	async domains(t) {
		const host = await t.host({collector: false, archive: guests(GUESTS)});
		const page = await t.open(host, "/", {init: watchTasks});
		const rows = () => page.locator(".guests tbody tr").count();

		await until(async () => (await rows()) === GUESTS);
		line(
			"domains",
			await page.evaluate(() => performance.now()),
			`ms from the address to a list of ${GUESTS}`,
			1000,
		);
		line("domains-blocked", await blocked(page), "ms at most that input waited (0: under 50)", 100);
		const {answer, thread} = await cpu(page, async () => {
			const began = performance.now();
			await page.getByRole("searchbox").first().fill("guest-77");
			await until(
				async () => (await page.locator(".guests tbody tr:visible").count()) === (GUESTS >= 1000 ? 11 : 1),
			);
			return performance.now() - began;
		});
		line("domains-find", answer, `ms to find some of them, ${Math.round(thread)} of the processor`);
		line("domains-find-blocked", await blocked(page), "ms at most that input waited (0: under 50)", 100);
	},

	/* Show a label of 10 MB, and a counter of its own in each event. */
	async odd(t) {
		const host = await t.host();
		const label = [event(1000n, "creates", 0, 1, {u8: 1}), event(1001n, "label", 1, "x".repeat(10 << 20))];
		const counters = [];

		for (let i = 0; i < NAMES; i++) {
			if (i % 20000 === 0) counters.push([event(1000n + 2n * BigInt(i), "creates", 0, i + 1, {u8: 1})]);
			counters.at(-1).push(event(1001n + 2n * BigInt(i), "counter", 1, i, `counter ${i}`));
		}
		for (const [what, packets] of Object.entries({label: [label], counters})) {
			const name = scratch(`${what}.ctf`);
			t.later.push(async () => rmSync(name, {force: true}));
			writeFileSync(name, trace(packets));
			const {page} = await file(t, host, name);
			line(`${what}-blocked`, await blocked(page), "ms at most that input waited (0: under 50)", 1000);
			await page.getByRole("button", {name: "Tracks", exact: true}).click();
			await page.getByRole("button", {name: "Tracks", exact: true}).click();
			line(`${what}-tracks-blocked`, await blocked(page), "ms at most that input waited (0: under 50)", 1000);
			await page.close();
		}
	},

	/* Show a day of a guest: 1 GiB of packets. */
	async day(t) {
		const name = scratch("day.ctf");
		const bytes = DAY_BYTES * DAY_PIECES;
		const host = await t.host({collector: false});

		t.later.push(async () => rmSync(name, {force: true}));
		make(name, DAY_BYTES, DAY_PIECES, Math.round(DAY_NS / (bytes / EVENT_BYTES)));
		await archive(host, "day", name, bytes);
		const page = await opened(t, host, "#domain=day", {init: watchTasks});
		const {painted, whole, of} = await timeline(page, () => {
			const {session, canvasView, camera} = document.getElementById("page").timeline;
			return {painted: canvasView.first, whole: Number(camera.end - camera.start), of: session.overview.bytes};
		});
		ok(whole > 0.8 * DAY_NS && of > 0.9 * bytes, `${whole / 3600e9} hours, ${of} bytes`);
		line(
			"day",
			painted,
			`ms from the address to the first picture of a day of ${Math.round(of / (1 << 20))} MiB`,
			1000,
		);
		line(
			"day-cpu",
			await processTime(page),
			"ms of the processor of the page's process, from its start until the page rests",
		);
		line("day-blocked", await blocked(page), "ms at most that input waited (0: under 50)", 100);
		const first = () => page.evaluate(() => Number(document.getElementById("page").timeline.session.loaded.from));
		const newest = await first();
		const back = await cpu(page, async () => {
			const began = performance.now();
			await page.focus("#tl-canvas");
			await page.keyboard.press("Home");
			await until(async () => (await first()) < newest);
			await settled(page);
			return performance.now() - began;
		});
		line(
			"day-back",
			back.answer,
			`ms to the picture of its beginning, ${Math.round(back.process)} of the processor`,
		);
	},
};

line("load", loadavg()[0], `processes that want one of ${cpus().length} cores; Chromium renders in software`);
for (const [name, body] of Object.entries(scenarios)) {
	if (wanted.length && !wanted.includes(name)) continue;
	const {verdict, reason} = await run({name, timeout: 900000, run: body});
	if (verdict !== "passed") {
		console.error(`${name}: ${reason}`);
		process.exitCode = 1;
	}
}
await close();
