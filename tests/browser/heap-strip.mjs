/*
 * The heap beside the threads of the same guest: on the same clock, in the same window, with the
 * sums that the guest sent.
 */
import {spawn} from "node:child_process";
import {once} from "node:events";
import {readFileSync} from "node:fs";
import path from "node:path";

import {BUILD, equal, fail, ok, sleep, test, until} from "./harness.mjs";
import {info, writer} from "./memtrace-make.mjs";
import {read} from "./png.mjs";
import {box, settled} from "./timeline-tools.mjs";

const HOUR_NS = 3600n * 10n ** 9n;
const SHIFT = 5n * HOUR_NS; /* the guest's trace clock is this far ahead of the host's */
const WALL_US = 7200n * 1000000n; /* the guest's wall clock is this far ahead */
const KB = 1024;
const MB = 1024 * KB;
/*
 * [ms after the beginning, bytes, ms until the block is freed]. The sums are 8, 24, 8 and 40
 * million.
 */
const BLOCKS = [
	[100, 8000000, null],
	[300, 16000000, 700],
	[900, 32000000, null],
];

/* Ask the sink to record the OFFER of web. Return the ns in which the recording began. */
async function record(host, offer) {
	const asked = process.hrtime.bigint();
	const answer = await fetch(`${host.url}/v1/domains/web/memtraces`, {
		method: "POST",
		headers: {"Content-Type": "application/json"},
		body: JSON.stringify({address: "127.0.0.1", port: offer.port}),
	});

	equal(answer.status, 201, await answer.text());
	return process.hrtime.bigint() - asked;
}

/* Wait until N bytes of the newest profile have arrived. */
function arrived(host, n) {
	return until(async () => (await host.get("/v1/memtraces")).memtraces[0]?.bytes >= n);
}

/*
 * Run a guest that traces while its memory is profiled, until both have ended. Return when each
 * thing happened by the host's clock, and how long the sink took to begin, in ns.
 */
async function both(t, {more = {}} = {}) {
	const host = await t.host({sink: true});
	const program = spawn(
		path.join(BUILD, "tests/integration/shifted"),
		[path.join(host.rings, "web.ctf"), String(SHIFT), "1000000", "800"],
		{stdio: "ignore"},
	);
	const ended = once(program, "exit");
	let start, mono, write, first;
	t.later.push(async () => program.kill("SIGKILL"));
	const offer = await host.offered(() => {
		start = BigInt(Date.now()) * 1000n + WALL_US;
		mono = process.hrtime.bigint();
		write = writer(start);
		first = info({start, ...more});
		return first;
	});

	await until(async () => (await host.domain("web"))?.state === "running");
	const took = await record(host, offer);
	const blocks = BLOCKS.map(([at, bytes, until]) => ({
		at: at * 1000,
		bytes,
		...(until ? {until: until * 1000} : {}),
	}));
	while (process.hrtime.bigint() < mono + 1100000000n) await sleep(20);
	const rest = write(blocks);
	offer.send(rest);
	await arrived(host, first.length + rest.length);
	await fetch(`${host.url}/v1/memtraces/1/recording`, {method: "DELETE"});
	/* The threads go on for longer than the profile. */
	await sleep(400);
	program.kill("SIGTERM");
	await ended;
	await until(async () => (await host.domain("web")).state === "ended");
	return {host, mono, took};
}

const strip = (page) => page.getByRole("slider", {name: /^Heap over time/});
const inPage = (page, what, arg) => page.evaluate(what, arg);
const shown = (page) => page.evaluate(() => document.getElementById("page").timeline.heap.shown);
/* Return the trace time MS after the profile began, as the page draws it, as a string. */
const timeOf = (page, ms) =>
	inPage(page, (at) => String(document.getElementById("page").timeline.heap.tracks.list[0].time(at * 1000)), ms);

async function there(page) {
	await settled(page);
	await strip(page).waitFor();
	await until(async () => (await shown(page))?.some((it) => it.kind === "heap" && it.points.length));
}

/* Move the pointer to the strip, MS after the profile began. */
async function pointAt(page, ms) {
	const place = await strip(page).boundingBox();
	const x = await inPage(
		page,
		(at) => {
			const {camera, heap} = document.getElementById("page").timeline;
			return camera.xOf(heap.tracks.list[0].time(at * 1000));
		},
		ms,
	);

	await page.mouse.move(place.x + x, place.y + 40);
	return x;
}

const tip = (page) => page.locator(".tl-heap-tooltip").innerText();
/* Return how many µs a pointer position may be off: a click has whole pixels. */
const off = (page) =>
	inPage(page, () => 2000 + (2 * Number(document.getElementById("page").timeline.camera.length(1))) / 1000);

test("heap strip: the strip shows the sent profile on the clock of the threads", async (t) => {
	const {host, mono, took} = await both(t);
	const page = await t.open(host, "/#domain=web");

	await there(page);
	await t.look(page, "strip");
	/* Check the sums under the pointer and the times at which they change. */
	for (const [ms, said] of [
		[50, "0 bytes"],
		[200, "7.6 MB"],
		[400, "23 MB"],
		[800, "7.6 MB"],
		[1050, "38 MB"],
	]) {
		await until(async () => {
			await pointAt(page, ms);
			return (await tip(page)).startsWith(`${said} lived at +`) || fail(`after ${ms} ms: ${await tip(page)}`);
		});
	}
	await pointAt(page, 500);
	await t.look(page, "strip-tip");
	/* The strip draws no event earlier or later than its own bounds allow. */
	const place = await inPage(page, () => {
		const {earlierNs, laterNs} = document.getElementById("page").timeline.heap.tracks.list[0].place;
		return {earlier: String(earlierNs), later: String(laterNs)};
	});
	const drawn = BigInt(await timeOf(page, 300));
	const was = mono + 300000000n + SHIFT;
	ok(
		drawn - was <= BigInt(place.earlier) && was - drawn <= BigInt(place.later),
		`drawn ${drawn - was} ns late: or up to ${place.earlier} earlier, ${place.later} later`,
	);
	ok(
		drawn - was < 200000000n + took && was - drawn < 200000000n,
		`and mostly it is far better: ${drawn - was} ns, of which it took ${took} to begin`,
	);
	ok(
		/against the threads: here, up to [\d.]+ (µs|ms) earlier, or up to [\d.]+ (ns|µs|ms|s) later/.test(
			await tip(page),
		),
		await tip(page),
	);
	/* The strip draws the steps at their times, at the heights of their sums. */
	await settled(page);
	const picture = await shown(page);
	const {points} = picture.find(({kind}) => kind === "heap");
	const scale = picture.filter(({kind}) => kind === "scale");
	equal(
		scale.map(({text}) => text),
		["40 MB", "20 MB"],
	);
	const [whole, half] = scale.map(({y}) => y);
	const bytesAt = (y) => Math.round(20 * MB * (1 + (half - y) / (half - whole)));
	const heights = new Set(points.filter((_, i) => i % 2).map(bytesAt));
	for (const sum of [0, 8000000, 24000000, 40000000])
		ok(
			[...heights].some((it) => Math.abs(it - sum) < 2),
			`a height of ${sum} among ${[...heights]}`,
		);
	const x = await pointAt(page, 900);
	ok(
		points.some((at, i) => i % 2 === 0 && Math.abs(at - x) < 1.5),
		"a step where 32 MB came",
	);
	/* The panel describes the strip in words. */
	await page.getByRole("button", {name: "About"}).click();
	await page.locator(".tl-panel-body", {hasText: "Heap: memory profile"}).waitFor();
	const about = await page.locator(".tl-panel-body").textContent();
	ok(/Heap: memory profile 1 of mirage, drawn by the arrival of its first packet/.test(about), about);
	ok(/the guest's wall clock is 7200 s ahead of this host's/.test(about), about);
	await t.accessible(page);
});

test("heap strip: a saved picture has the strip", {long: true}, async (t) => {
	const {host} = await both(t);
	const page = await t.open(host, "/#domain=web");
	const save = async (item) => {
		await page.locator("summary", {hasText: "Save"}).click();
		const [download] = await Promise.all([
			page.waitForEvent("download"),
			page.getByRole("button", {name: item}).click(),
		]);

		return readFileSync(await download.path());
	};

	await there(page);
	const points = (await shown(page)).find(({kind}) => kind === "heap").points;
	const svg = (await save("The picture (SVG)")).toString();
	const curve = /<path class="heap" [^>]*d="([^"]*)"/.exec(svg);
	ok(
		curve && points.length > 4 && curve[1].startsWith(`M${Number(points[0].toFixed(2))} `),
		`a curve: ${curve?.[1].slice(0, 80)}`,
	);
	ok(/<g class="heap-number"[^]*?MB/.test(svg), "the scale's numbers");
	/* Its colour is nowhere else in the picture. */
	const png = read(await save("The picture (PNG)"));
	const heap = [0xa8, 0x4b, 0x00];
	let found = 0;
	for (let i = 0; i < png.data.length; i += png.data.length / png.width / png.height)
		found += heap.every((value, k) => Math.abs(png.data[i + k] - value) < 24);
	ok(found > 50, `${found} pixels of the curve`);
});

test("heap strip: the strip follows the camera to the pixel", {long: true}, async (t) => {
	const {host} = await both(t);
	const page = await t.open(host, "/#domain=web");

	await there(page);
	const aligned = async (what) => {
		await settled(page);
		/* The worker sends the steps of another window a moment later. */
		await until(async () => {
			const {x, points} = await inPage(page, () => {
				const {camera, heap} = document.getElementById("page").timeline;
				return {
					x: camera.xOf(heap.tracks.list[0].time(900000)),
					points: heap.shown.find(({kind}) => kind === "heap").points,
				};
			});
			const rise = points.findIndex(
				(y, i) => i % 2 && i > 1 && y < points[i - 2] - 15 && Math.abs(points[i - 1] - x) < 2,
			);
			return rise > 0 || fail(`${what}: the step at ${x} among ${points.slice(-40)}`);
		});
	};
	await aligned("at first");
	const place = await box(page);
	const at = await pointAt(page, 900);
	await page.mouse.move(place.x + at, place.y + 200);
	for (let i = 0; i < 8; i++) await page.mouse.wheel(0, -100);
	await aligned("zoomed by the wheel on the picture");
	await page.mouse.move(place.x + at, (await strip(page).boundingBox()).y + 30);
	for (let i = 0; i < 8; i++) await page.mouse.wheel(0, -100);
	await aligned("zoomed by the wheel on the strip");
	await t.look(page, "strip-close");
	await page.mouse.move(place.x + 500, place.y + 200);
	await page.mouse.down();
	await page.mouse.move(place.x + 620, place.y + 200, {steps: 5});
	await page.mouse.up();
	await aligned("dragged");
	await page.keyboard.press("f");
	await aligned("fitted");
	/* The pointer on the time line shows the value, too. */
	await page.mouse.move(place.x + at + 20, place.y + 200);
	await until(async () => (await shown(page)).some(({kind}) => kind === "dot"));
});

test("heap strip: a click opens the memory page at that moment, and the way back works", {long: true}, async (t) => {
	const {host} = await both(t);
	const page = await t.open(host, "/#domain=web");

	await there(page);
	await pointAt(page, 400);
	const by = await off(page);
	await page.mouse.down();
	await page.mouse.up();
	const [, id, at] = /^#memtrace=(\d+)&at=(\d+)/.exec(
		await page
			.waitForFunction(() => location.hash.startsWith("#memtrace") && location.hash)
			.then((it) => it.jsonValue()),
	);
	equal(id, "1");
	ok(Math.abs(Number(at) - 400000) < by, `at ${at} µs`);
	await page.goBack();
	await there(page);
});

test("heap strip: a drag measures threads and heap", {long: true}, async (t) => {
	const {host} = await both(t);
	const page = await t.open(host, "/#domain=web");

	await there(page);
	const y = (await strip(page).boundingBox()).y + 40;
	const left = (await strip(page).boundingBox()).x;
	const from = await pointAt(page, 200);
	await page.mouse.down();
	await page.mouse.move(left + from + 10, y, {steps: 3});
	await pointAt(page, 400);
	await page.mouse.up();
	await page.getByRole("heading", {name: "The selected range"}).waitFor();
	const by = await off(page);
	const says = await page.locator(".tl-panel-body").textContent();
	ok(/7\.6 MB lived at the beginning, 23 MB at the end: 15 MB more; estimated from samples/.test(says), says);
	const href = await page.getByRole("link", {name: "Allocations in this range"}).getAttribute("href");
	const [, a, b] = /^#memtrace=1&during=(\d+)-(\d+)$/.exec(href);
	ok(Math.abs(a - 200000) < by && Math.abs(b - 400000) < by, href);
	await until(async () => (await shown(page)).some(({kind}) => kind === "range"));
	await page.waitForFunction(() => /measure=/.test(location.hash));
	await t.look(page, "strip-measured");
	await t.accessible(page);
});

test("heap strip: the keyboard moves, hides and shows the strip, and the address says so", async (t) => {
	const {host} = await both(t);
	const page = await t.open(host, "/#domain=web");

	await there(page);
	await strip(page).focus();
	await page.keyboard.press("ArrowRight");
	const first = await strip(page).getAttribute("aria-valuetext");
	await page.keyboard.press("Shift+ArrowRight");
	const text = await strip(page).getAttribute("aria-valuetext");
	ok(/(lived at|the heap at) \+/.test(text) && text !== first, `${first}, then ${text}`);
	await until(async () => {
		await page.keyboard.press("Shift+ArrowLeft");
		return /^23 MB lived/.test(await strip(page).getAttribute("aria-valuetext"));
	});
	await page.keyboard.press("Enter");
	await page.waitForFunction(() => /^#memtrace=1&at=\d+/.test(location.hash));
	await page.goBack();
	await there(page);
	await page.locator("#tl-canvas").focus();
	await page.keyboard.press("h");
	await strip(page).waitFor({state: "hidden"});
	await page.waitForFunction(() => /heap=off/.test(location.hash));
	await page.reload();
	await settled(page);
	await page.getByRole("button", {name: "Heap", exact: true}).waitFor();
	ok(await strip(page).isHidden(), "it stays hidden");
	equal(await page.getByRole("button", {name: "Heap", exact: true}).getAttribute("aria-pressed"), "false");
	await page.getByRole("button", {name: "Heap", exact: true}).click();
	await there(page);
	await page.waitForFunction(() => !/heap=off/.test(location.hash));
	await page.getByRole("button", {name: "Hide the heap (h)"}).click();
	ok(await strip(page).isHidden(), "hidden by its own button");
});

test("heap strip: the strip of a running guest appears and grows on the open page", async (t) => {
	const host = await t.host({sink: true});

	host.guest("web", "--size", "65536", "--rate", "2000");
	await until(async () => (await host.domain("web"))?.state === "running");
	await sleep(1500);
	const page = await t.open(host, "/#domain=web");
	await settled(page);
	ok(await strip(page).isHidden(), "there is none yet");
	ok(await page.getByRole("button", {name: "Heap", exact: true}).isHidden(), "no button for it");
	let began, write;
	const offer = await host.offered(() => {
		const start = BigInt(Date.now()) * 1000n;
		began = process.hrtime.bigint();
		write = writer(start);
		return info({start});
	});
	await record(host, offer);
	await strip(page).waitFor();
	await page.getByText("heap: no data yet").waitFor();
	const us = () => Number(process.hrtime.bigint() - began) / 1000;
	for (const [bytes, sum] of [
		[8000000, 8],
		[16000000, 24],
		[32000000, 56],
	]) {
		const at = Math.round(us());
		offer.send(
			write([
				{at, bytes},
				{at: at + 1000, bytes: 8000},
			]),
		);
		await until(
			async () =>
				(await inPage(
					page,
					() => document.getElementById("page").timeline.heap.tracks.list.at(-1).steps?.values.at(-1) ?? 0,
				)) >=
				sum * 1000000,
		);
		/* The picture follows the camera a frame or more later. */
		await until(async () => (await shown(page)).some(({kind, points}) => kind === "heap" && points.length));
	}
	equal(
		await inPage(page, () =>
			Math.round(document.getElementById("page").timeline.heap.tracks.list.at(-1).steps.values.at(-1)),
		),
		56024000,
	);
	await t.look(page, "strip-live");
	/* The strip goes when the profile is deleted. */
	await fetch(`${host.url}/v1/memtraces/1/recording`, {method: "DELETE"});
	await fetch(`${host.url}/v1/memtraces/1`, {method: "DELETE"});
	await strip(page).waitFor({state: "hidden"});
});

test("heap strip: several profiles of one run stand at their times, and links lead there", {long: true}, async (t) => {
	const host = await t.host({sink: true});

	host.guest("web", "--size", "65536", "--rate", "2000");
	await until(async () => (await host.domain("web"))?.state === "running");
	await sleep(800);
	for (const size of [8000000, 16000000]) {
		const start = BigInt(Date.now()) * 1000n;
		const all = Buffer.concat([
			info({start}),
			writer(start)([
				{at: 1000, bytes: size},
				{at: 200000, bytes: 8000},
			]),
		]);
		const offer = await host.offered(all);
		await record(host, offer);
		await sleep(700);
		await arrived(host, all.length);
		const [{id}] = (await host.get("/v1/memtraces")).memtraces;
		await fetch(`${host.url}/v1/memtraces/${id}/recording`, {method: "DELETE"});
		await sleep(500);
	}
	await host.guests[0].stop();
	await until(async () => (await host.domain("web")).state === "ended");
	const page = await t.open(host, "/#domain=web");
	await there(page);
	await until(
		async () => (await shown(page)).filter(({kind, points}) => kind === "heap" && points.length).length === 2,
	);
	const [first, second] = (await shown(page)).filter(({kind}) => kind === "heap").map(({points}) => points);
	ok(first.at(-2) < second[0], `one after the other: until ${first.at(-2)}, from ${second[0]}`);
	await page.getByRole("link", {name: "memory profile 2"}).waitFor();
	await t.look(page, "strip-several");
	/* Before the profile there is nothing to draw, and a button leads to it. */
	await inPage(page, () => {
		const {timeline} = document.getElementById("page");
		const {camera} = timeline;
		timeline.move(() => camera.show(camera.start, camera.start + camera.span / 16n));
	});
	await page.getByText("heap: a memory profile began later").waitFor();
	await t.look(page, "strip-elsewhere");
	await page.getByRole("button", {name: "Go where the memory profile is"}).click();
	await until(async () => (await shown(page)).some(({kind, track}) => kind === "heap" && track === 1));
});

for (const [what, options] of Object.entries({dark: {dark: true}, narrow: {width: 360, height: 640, touch: true}}))
	test(`heap strip: hostile labels, axe-core finds no fault, ${what}`, {long: true}, async (t) => {
		const {host} = await both(t, {more: {program: "<img/src=x/onerror=alert(1)>\u202e", context: "</script>"}});
		const page = await t.open(host, "/#domain=web", options);

		await there(page);
		equal(await page.locator("#page img, #page script").count(), 0, "elements made by a guest's text");
		await pointAt(page, 400);
		await t.accessible(page);
		ok(
			await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
			"no element wider than the page",
		);
		await t.look(page, `strip-${what}`);
		await page.getByRole("button", {name: "About"}).click();
		await until(async () =>
			(await page.locator(".tl-panel-body").textContent()).includes("<img/src=x/onerror=alert(1)>\\u202e"),
		);
	});
