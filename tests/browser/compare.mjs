/*
 * Several guests on one time line, and two traces one above the other: how a user opens them,
 * and what the page draws.
 */
import {spawn} from "node:child_process";
import {once} from "node:events";
import {readFileSync} from "node:fs";
import path from "node:path";

import {BUILD, becomes, equal, forms, ok, reference, sleep, test, until} from "./harness.mjs";
import {box, camera, drawn, opened, settled} from "./timeline-tools.mjs";
import {event, piece} from "./trace-make.mjs";

const HOUR = 3600n * 10n ** 9n;
const SHIFTS = {early: -40n * 10n ** 9n, late: 5n * HOUR + 123456789n};

/**
 * Start a guest whose clock is SHIFT ahead of the host's and who writes the host's time into its
 * labels.
 */
async function shifted(host, name, shift, events = 900, pause = 800) {
	const program = spawn(
		path.join(BUILD, "tests/integration/shifted"),
		[path.join(host.rings, `${name}.ctf`), String(shift), String(events), String(pause)],
		{stdio: "ignore"},
	);

	await once(program, "exit");
	equal(program.exitCode, 0, "the guest's exit code");
}

/** Start two guests that run at once and whose clocks are hours apart. */
async function two(t) {
	const host = await t.host();

	await Promise.all(Object.entries(SHIFTS).map(([name, shift]) => shifted(host, name, shift)));
	for (const name of Object.keys(SHIFTS)) await until(async () => (await host.domain(name))?.state === "ended");
	return host;
}

const inPage = (page, what) => page.evaluate(what);

test("compare: ticked guests with their own clocks share one time line, which shows the uncertainty of each", async (t) => {
	const host = await two(t);
	const page = await t.open(host);

	for (const name of Object.keys(SHIFTS))
		await page.getByLabel(`Tick ${name}, to show it beside others`).first().check();
	await t.look(page, "compare-ticked");
	await t.accessible(page);
	await page.getByRole("link", {name: "On one time line"}).click();
	await settled(page);
	const heads = await drawn(page, "guest");
	equal(
		heads.map((it) => it.text.split(" · ")[0]),
		["early", "late"],
		"the headings",
	);
	ok(
		heads.every((it) => /or up to [\d.]+ (µs|ms|s) earlier/.test(it.text)),
		heads.map((it) => it.text).join(),
	);
	ok(heads[0].y0 === 0 && heads[1].y0 > 50, "their places");
	ok(
		heads.every((it) => it.length >= 1),
		"whiskers",
	);
	/*
	 * Each label holds the time at which it was written. No event is drawn before that time, or
	 * later than the page's own bound.
	 */
	const facts = await inPage(page, async () => {
		const {session} = document.getElementById("page").timeline;
		const out = [];
		for (const [i, stream] of session.summary.streams.entries()) {
			const it = {
				name: stream.name,
				offset: String(stream.offset_ns),
				uncertainty: String(stream.uncertainty_ns),
				start: String(stream.start),
				end: String(stream.end),
				labels: [],
			};
			out.push(it);
			for (let index = 0; index < 400; index++) {
				const thread = await session.engine.thread(index);
				if (thread?.stream === i) it.labels.push(...thread.labels.map(({time, text}) => [String(time), text]));
			}
		}
		return out;
	});
	for (const it of facts) {
		const late = it.labels
			.filter(([, text]) => /^\d+$/.test(text))
			.map(([time, text]) => BigInt(time) - BigInt(text));
		ok(late.length > 20, `labels of ${it.name}`);
		ok(
			late.every((by) => by >= 0n && by <= BigInt(it.uncertainty)),
			`${it.name}: events stand where they can have been`,
		);
		ok(
			-SHIFTS[it.name] <= BigInt(it.offset) && -SHIFTS[it.name] >= BigInt(it.offset) - BigInt(it.uncertainty),
			`the offset of ${it.name}`,
		);
	}
	ok(BigInt(facts[0].start) < BigInt(facts[1].end) && BigInt(facts[1].start) < BigInt(facts[0].end), "both at once");
	/* The panels name the guest of each thread. */
	await page.keyboard.press("f");
	await page.keyboard.press("j");
	await until(async () => /^early: /.test(await page.locator("#tl-panel-title").textContent()));
	await page.getByRole("button", {name: "About"}).click();
	await page.locator(".tl-panel-body", {hasText: /late: its clock is .* ahead of dom0's/}).waitFor();
	await t.look(page, "compare-together");
	await t.accessible(page);
	const place = await box(page);
	await page.mouse.move(place.x + 500, place.y + 300);
	ok(await until(async () => (await drawn(page, "uncertain")).length), "the uncertainty at the pointer");
	/* The address alone restores the view. */
	const address = await page.evaluate(() => location.hash);
	const again = await opened(t, host, address);
	equal((await drawn(again, "guest")).length, 2, "headings by the address");
});

/**
 * Start a host with the good and the bad run of one program, and open the page that compares
 * them.
 */
async function pair(t, options) {
	const host = await t.host({rings: {good: reference("public/arp-good.ctf"), bad: reference("public/arp-bad.ctf")}});

	return {host, page: await opened(t, host, "#domain=bad&against=domain%3Agood", options)};
}

/** Return what the lower picture shows. */
async function below(page, ...kinds) {
	await settled(page);
	return page.evaluate(
		(wanted) =>
			document
				.getElementById("page")
				.timeline.comparison.painted.filter((it) => !wanted.length || wanted.includes(it.kind)),
		kinds,
	);
}

/** Return the screen position of the event at which each trace begins. */
const beginnings = (page) =>
	page.evaluate(() => {
		const {camera, session, comparison} = document.getElementById("page").timeline;

		return [camera.xOf(session.summary.start), comparison.camera.xOf(comparison.summary.start)];
	});

test("compare: the page compares two ticked captures, marks the differences in both pictures and lists them", async (t) => {
	const host = await t.host({rings: {good: reference("public/arp-good.ctf"), bad: reference("public/arp-bad.ctf")}});
	const page = await t.open(host);

	for (const name of ["good", "bad"])
		await page
			.locator("table.captures")
			.getByLabel(new RegExp(`Tick ${name} .*beside others`))
			.check();
	await page.getByRole("link", {name: "Compare"}).click();
	await settled(page);
	await below(page);
	const address = await page.evaluate(() => location.hash);
	ok(/capture=\d+&against=capture%3A\d+/.test(address), address);
	const panel = page.locator(".tl-panel-body");
	await until(async () => /Here they part first/.test(await panel.textContent()));
	ok(/Resolved (below|above) only/.test(await panel.textContent()), "an outcome in words");
	/* The page lays the marks over the picture one frame later. */
	const [above, under] = await until(async () => {
		const marks = [
			await drawn(page, "divergence", "outcome", "unmatched"),
			await below(page, "divergence", "outcome", "unmatched"),
		];
		return marks.every((list) => list.length) && marks;
	});
	for (const [where, marks] of [
		["above", above],
		["below", under],
	]) {
		ok(
			marks.some((it) => it.kind === "divergence" && it.text === "they part here"),
			`where they part, ${where}`,
		);
		ok(
			marks.some((it) => it.kind === "unmatched"),
			`threads without counterpart, ${where}`,
		);
	}
	ok(
		[...above, ...under].some((it) => it.kind === "outcome"),
		"what resolved in one only",
	);
	const [a, b] = await beginnings(page);
	ok(Math.abs(a - b) < 1, `aligned on the first events: ${a}, ${b}`);
	await t.look(page, "compare-compared");
	await t.accessible(page);
	await page.locator("summary", {hasText: "Save"}).click();
	const [download] = await Promise.all([
		page.waitForEvent("download"),
		page.getByRole("button", {name: "The picture (SVG)"}).click(),
	]);
	const saved = readFileSync(await download.path(), "utf8");
	equal([...saved.matchAll(/class="ruler"/g)].length, 2, "pictures in the SVG");
});

test("compare: two traces move together, align on a label or on threads, and both go to a difference", async (t) => {
	const {page} = await pair(t);
	const place = await page.locator("#tl-canvas-below").boundingBox();
	const link = () =>
		page.evaluate(() => {
			const {camera, comparison} = document.getElementById("page").timeline;
			return [
				String(camera.from - comparison.camera.from),
				String(camera.to - comparison.camera.to),
				String(comparison.shift),
				String(camera.to - camera.from),
			];
		});

	await below(page);
	/* Zooming in the lower picture also zooms the upper one. */
	const before = await camera(page);
	await page.mouse.move(place.x + 30, place.y + 100);
	for (let i = 0; i < 8; i++) await page.mouse.wheel(0, -500);
	await until(async () => (await camera(page)).to - (await camera(page)).from < (before.to - before.from) / 20n);
	await settled(page);
	await below(page);
	const [from, to, shift] = await link();
	equal([from, to], [shift, shift], "the distance between them");
	await page.keyboard.press("End");
	await below(page);
	const [moved] = await link();
	equal(moved, shift, "how far they are apart after moving above");
	/* A click on a difference moves both cameras there. */
	await page.keyboard.press("f");
	await page.getByRole("button", {name: /Resolved below only: 4452/}).click();
	await becomes(
		async () => [(await drawn(page, "selected")).length, (await below(page, "selected")).length],
		[1, 1],
		"selected in both",
	);
	/*
	 * The panel has changed: it is now about the two selected threads. The panel that is open is
	 * the old one.
	 */
	await page.keyboard.press("x");
	await page.locator(".tl-panel").waitFor({state: "hidden"});
	await page.keyboard.press("x");
	await page.getByRole("button", {name: "Align on the two threads that are selected"}).click();
	await until(() => page.evaluate(() => document.getElementById("page").timeline.comparison.how?.threads));
	await settled(page);
	const [x, y] = await page.evaluate(() => {
		const {camera, selection, comparison} = document.getElementById("page").timeline;
		return [camera.xOf(selection.thread.start), comparison.camera.xOf(comparison.thread.start)];
	});
	ok(Math.abs(x - y) < 0.01, `the threads: ${x}, ${y}`);
	/* Align on a label. The panel reports a label that does not exist. */
	await page.getByLabel("Align on the first label with").fill("TCP connect");
	await page.getByRole("button", {name: "Align", exact: true}).click();
	await until(async () => /first label with “TCP connect”/.test(await page.locator(".tl-panel-body").textContent()));
	const address = await until(() => page.evaluate(() => /align=label/.test(location.hash) && location.hash));
	await page.getByLabel("Align on the first label with").fill("no such label");
	await page.getByRole("button", {name: "Align", exact: true}).click();
	await until(async () => /The trace above lacks/.test(await page.locator(".tl-alert").textContent()));
	/* The address names the alignment. */
	await until(() => page.evaluate(() => !/align=/.test(location.hash)));
	await page.evaluate((hash) => (location.hash = hash), address);
	await until(() => page.evaluate(() => document.getElementById("page").timeline.comparison.how?.label));
});

test("compare: the dark theme, and a narrow page", {long: true}, async (t) => {
	for (const [name, options] of [
		["dark", {dark: true}],
		["narrow", {width: 480, height: 900}],
	]) {
		const {page} = await pair(t, options);

		await below(page);
		const size = await page.locator("#tl-canvas-below").boundingBox();
		ok(size.height > 80, `the height below, ${name}: ${size.height}`);
		await t.look(page, `compare-compared-${name}`);
		await t.accessible(page);
	}
});

test("compare: a sentence says why traces cannot be compared", async (t) => {
	const host = await t.host({rings: {good: reference("public/arp-good.ctf")}});

	t.allow(/404/);
	for (const hash of forms([
		"#domain=good&against=domain%3Anobody",
		"#together=domain%3Anobody&together=domain%3Agood",
	])) {
		const page = await t.open(host, `/${hash}`);
		await until(async () =>
			/nobody|no guest|no domain/i.test(await page.locator("[role=alert].tl-message").textContent()),
		);
	}
});

test("compare: the page follows running guests together", {long: true}, async (t) => {
	const host = await t.host();

	/*
	 * mprofd knows a clock from both sides once the ring has wrapped, which takes some seconds.
	 * Few events leave the page idle time.
	 */
	host.guest("one", "--size", "65536", "--rate", "500");
	host.guest("two", "--size", "131072", "--rate", "500");
	for (const name of ["one", "two"])
		await until(async () => (await host.domain(name))?.bytes !== 0 && (await host.domain(name)));
	await until(
		async () =>
			(await host.get("/v1/domains/one")).streams[0]?.bytes > 4096 &&
			(await host.get("/v1/domains/two")).streams[0]?.bytes > 4096,
	);
	const page = await opened(t, host, "#together=domain%3Aone&together=domain%3Atwo");
	const ends = () =>
		page.evaluate(() =>
			document.getElementById("page").timeline.session.summary.streams.map((it) => String(it.end)),
		);

	await page.getByRole("button", {name: "Following"}).waitFor();
	const first = await ends();
	await until(async () => (await ends()).every((end, i) => BigInt(end) > BigInt(first[i])));
	await becomes(async () => (await drawn(page, "guest")).length, 2, "headings");
	/* Both use the clock of this host. Their events were copied soon, so nothing is left to guess. */
	await until(async () => (await drawn(page, "guest")).every((it) => /on this host's clock/.test(it.text)));
	const clocks = await page.evaluate(() =>
		document
			.getElementById("page")
			.timeline.session.summary.streams.map((it) => [Number(it.offset_ns), Number(it.uncertainty_ns)]),
	);
	equal(
		clocks,
		[
			[0, 0],
			[0, 0],
		],
		"offsets and uncertainties",
	);
	await t.look(page, "compare-live");
	/*
	 * The page converts both clocks to the host's, so the newest events of both guests are
	 * equally new.
	 */
	await until(async () => {
		const [a, b] = (await ends()).map(BigInt);
		return (a > b ? a - b : b - a) < 5n * 10n ** 9n;
	});
});

test("compare: the page marks exactly the bytes that were not proven when a guest ended", {long: true}, async (t) => {
	const said = (from, n) => Array.from({length: n}, (_, i) => event(from + BigInt(i) * 1000n, "label", 1, `at ${i}`));
	const proven = [event(999000n, "creates", -1, 1, {u8: 2}), ...said(1000000n, 40)];
	const tail = said(1100000n, 20);
	const end = 30 + Buffer.concat(proven).length;
	const host = await t.host({
		collector: false,
		archive: [
			"begin",
			"run 1 xen a web - 3 ended crash",
			"stream 1 1 0 65536 4 0",
			piece(1, 0, proven),
			"capture 1 1 crash -",
			`range 1 1 0 0 ${end}`,
			`tail 1 1 0 ${end} 65536 999000 ${Buffer.concat(tail).toString("hex")}`,
			"capture 2 1 manual -",
			`range 2 1 0 0 ${end}`,
			"commit",
		],
	});

	for (const [hash, marked] of [
		["#capture=1", true],
		["#domain=web", true],
		["#capture=2", false],
	]) {
		const page = await opened(t, host, hash);
		if (!marked) {
			await sleep(500);
			equal((await drawn(page, "tail")).length, 0, `tails of ${hash}`);
			continue;
		}
		const [mark] = await until(async () => {
			const list = await drawn(page, "tail");
			return list.length && list;
		});
		const [from, to] = await page.evaluate(() => {
			const {camera} = document.getElementById("page").timeline;
			return [camera.xOf(1100000n), camera.xOf(1119000n)];
		});
		ok(
			Math.abs(mark.x0 - from) < 1 && Math.abs(mark.x1 - to) < 1,
			`${hash}: it lies from ${mark.x0} to ${mark.x1}, not from ${from} to ${to}`,
		);
		/*
		 * The unproven tail does not cover the threads. The page shows it as a line in the
		 * picture, a strip on the ruler, and a sentence in the tip.
		 */
		const layers = await page.evaluate(() =>
			document
				.getElementById("page")
				.timeline.canvasView.layers()
				.filter((it) => it.kind === "tail")
				.map(({shape, data}) => ({shape, wide: Math.max(...data.filter((_, i) => i % 4 === 2))})),
		);
		equal(layers, [{shape: "rect", wide: 1}], "what is painted of it");
		equal((await drawn(page, "band-name")).length, 0, "names of bands");
		const [strip] = await page.evaluate(() => document.getElementById("page").timeline.canvasView.unproven);
		ok(Math.abs(strip.x0 - from) < 1 && Math.abs(strip.x1 - to) < 1, "the strip on the ruler");
		const {x, y} = await box(page);
		await page.mouse.move(x + (from + to) / 2, y + 300);
		await page.locator(".tl-tooltip", {hasText: "not proven"}).waitFor();
		await page.mouse.move(x + from - 30, y + 300);
		await page.locator(".tl-tooltip", {hasNotText: "not proven"}).waitFor();
		await page.getByRole("button", {name: "About"}).click();
		await page.locator(".tl-panel", {hasText: "on, the trace is not proven"}).waitFor();
		await t.look(page, "compare-tail");
	}
});
