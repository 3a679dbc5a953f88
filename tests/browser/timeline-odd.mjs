/* Traces that no sound guest writes: hostile, cut, with gaps, of several streams, late in time. */
import {readFileSync, writeFileSync} from "node:fs";
import path from "node:path";

import {BRIEF, equal, fail, forms, ok, reference, test, until} from "./harness.mjs";
import {camera, drawn, opened, settled} from "./timeline-tools.mjs";
import {duration, event, piece, trace} from "./trace-make.mjs";

const HOSTILE = [
	"<img src=x onerror=alert(1)>",
	"</script><script>alert(1)</script>",
	"a\u202egpj.exe",
	"\u0000\u001b[31mred",
	"javascript:alert(1)",
	"x".repeat(5000),
	"__proto__",
	"&amp;&lt;",
];

/** Open a file in a page of HOST as a user does. */
async function file(t, host, name, bytes) {
	const page = await t.open(host, `/#file=${name}`);

	await page.locator("input[type=file]").setInputFiles({name, mimeType: "", buffer: bytes});
	return page;
}

/**
 * Return events of threads with LABELS, one after the other, from time AT on, numbered from
 * FIRST.
 */
function labelled(labels, at = 1000n, first = 100) {
	return labels.flatMap((label, i) => {
		const time = at + BigInt(i) * 1000000n;
		return [
			event(time, "creates", 0, first + i, {u8: 1}),
			event(time + 1n, "label", first + i, label.replaceAll("\u0000", "")),
			event(time + 900000n, "fulfills", 0, first + i),
		];
	});
}

test("timeline: hostile labels stay text everywhere", async (t) => {
	const host = await t.host();
	const page = await file(t, host, "evil.ctf", trace([labelled(HOSTILE)]));
	let alerts = 0;

	page.on("dialog", (dialog) => (alerts++, dialog.dismiss()));
	await settled(page);
	await page.keyboard.press("t");
	await page.locator(".tl-sheet tbody tr").nth(HOSTILE.length).waitFor();
	for (let i = 0; i <= HOSTILE.length; i++) {
		await page.locator("body").press("j");
		await until(async () => (await page.locator(".tl-panel h2").textContent()).length > 0);
	}
	const text = await page.locator(".tl").innerText();
	ok(!/[\u202a-\u202e\u001b]/.test(text), "no character that turns text around");
	ok((await page.locator(".tl-panel").innerText()).length < 20000, "the text is bounded");
	await page.locator("summary", {hasText: "Save"}).click();
	const [download] = await Promise.all([
		page.waitForEvent("download"),
		page.getByRole("button", {name: "The picture (SVG)"}).click(),
	]);
	ok(download.suggestedFilename() === "evil.svg", "its name");
	equal(await page.locator(".tl img, .tl script, .tl iframe").count(), 0, "elements made by a guest's text");
	equal(alerts, 0, "alerts");
	await t.accessible(page);
});

test("timeline: of a label of 10 MB little is shown", {long: true}, async (t) => {
	const page = await file(t, await t.host(), "long.ctf", trace([labelled(["x".repeat(10 << 20), "short"])]));
	await settled(page);
	await page.locator("body").press("j");
	await page.locator(".tl-panel h2").waitFor();
	ok((await page.locator(".tl").innerText()).length < 100000, "the text is bounded");
});

test("timeline: of a million names of counters 200 are listed", {long: true}, async (t) => {
	const host = await t.host();
	const packets = [];

	for (let i = 0; i < 1000000; i++) {
		if (i % 20000 === 0) packets.push([event(1000n + 2n * BigInt(i), "creates", 0, i + 1, {u8: 1})]);
		packets.at(-1).push(event(1001n + 2n * BigInt(i), "counter", 1, i, `counter ${i}`));
	}
	const million = path.join(host.directory, "million.ctf");
	writeFileSync(million, trace(packets));
	const page = await t.open(host, "/#file=million.ctf");
	await page.locator("input[type=file]").setInputFiles(million);
	await until(() => page.evaluate(() => document.getElementById("page").timeline?.session?.summary));
	await settled(page);
	await page.getByRole("button", {name: "Tracks", exact: true}).click();
	await page.locator(".tl-sheet tbody tr").first().waitFor();
	equal(await page.locator(".tl-sheet tbody tr").count(), 200, "rows");
});

test("timeline: the list of many counters is bounded, and filtered", async (t) => {
	const events = [event(1000n, "creates", 0, 1, {u8: 1})];
	/* One counter, and the ten whose names begin with its name. */
	const [many, wanted] = BRIEF ? [5000, 471] : [50000, 4711];

	for (let i = 0; i < many; i++) events.push(event(2000n + BigInt(i), "counter", 1, i, `counter ${i}`));
	const host = await t.host();
	const page = await file(t, host, "counters.ctf", trace([events]));
	await settled(page);
	await page.getByRole("button", {name: "Tracks", exact: true}).click();
	await page.locator(".tl-sheet tbody tr").first().waitFor();
	equal(await page.locator(".tl-sheet tbody tr").count(), 200, "rows");
	await page.locator(".tl-panel input[aria-label='Filter: Counters']").fill(`counter ${wanted}`);
	await until(async () => (await page.locator(".tl-sheet tbody tr").count()) === 11);
});

test("timeline: the page draws a gap and describes it", async (t) => {
	const host = await t.host();
	const packet = (at) => labelled(["a", "b"], at);
	const page = await file(t, host, "gap.ctf", trace([packet(1000n), packet(50000000n)], [3, 9]));

	await settled(page);
	const gap = (await drawn(page, "gap"))[0];
	ok(gap && gap.x1 - gap.x0 > 100, "a band");
	ok(
		(await drawn(page, "band-name")).some((it) => /5/.test(it.text) && /(lost|missing)/.test(it.text)),
		"its name",
	);
	await page.locator(".tl-remarks", {hasText: "5 packets are missing"}).waitFor();
	await t.look(page, "gap");
});

test("timeline: the page draws the innermost duration on the processor's track, with its name", async (t) => {
	const host = await t.host();
	const at = (ms) => BigInt(ms) * 1000000n;
	const events = [
		event(at(1), "creates", -1, 5, {u8: 1}),
		event(at(1), "switch", 5),
		duration(at(40), 5, at(20), "inner"),
		duration(at(90), 5, at(80), "a request"),
		event(at(100), "switch", -1),
	];
	const page = await file(t, host, "durations.ctf", trace([events]));

	await settled(page);
	const bands = await drawn(page, "processor-duration");
	const names = (await drawn(page, "processor-band-name")).map((it) => it.text);

	equal(bands.length, 3, "pieces: the outer one, the inner one, and the outer one again");
	ok(
		bands.every((it, i) => i === 0 || it.x0 >= bands[i - 1].x1 - 1),
		"one after the other",
	);
	ok(names.includes("inner") && names.some((text) => text.startsWith("a request")), `names: ${names}`);
});

test("timeline: times past 2^53 are exact to the nanosecond", async (t) => {
	const at = (1n << 62n) + 1n;
	const host = await t.host();
	const page = await file(
		t,
		host,
		"late.ctf",
		trace([
			[
				event(at, "creates", 0, 1, {u8: 1}),
				event(at + 3n, "label", 1, "late"),
				event(at + 20n, "fulfills", 0, 1),
			],
		]),
	);

	await settled(page);
	const c = await camera(page);
	equal([c.start, c.end], [at, at + 20n], "the trace");
	await page.locator("body").press("k");
	const label = page.locator(".tl-labels li");
	await label.waitFor();
	ok(/\+3 ns late/.test(await label.textContent()), await label.textContent());
	equal(
		await label.locator(".tl-time").getAttribute("title"),
		"+3 ns (4611686018.427387908 s)".replace(
			"4611686018.427387908",
			`${(at + 3n) / 1000000000n}.${String((at + 3n) % 1000000000n).padStart(9, "0")}`,
		),
		"its time",
	);
	/* Wait until the page has painted the picture at the width that the panel leaves. */
	await until(async () => {
		const now = await camera(page);
		const want = (Number(at + 3n - now.from) / Number(now.to - now.from)) * now.width;
		const ticks = (await drawn(page, "tick")).map((it) => it.x0);
		return ticks.some((x) => Math.abs(x - want) < 1) || fail(`the label's tick among ${ticks}, ${want} is wanted`);
	});
});

test("timeline: the page shows a cut trace up to the cut", async (t) => {
	const host = await t.host();
	const whole = reference("small.ctf");

	for (const bytes of forms([1000, 0, 17, 31, 70000])) {
		const page = await file(t, host, `cut${bytes}.ctf`, whole.subarray(0, bytes));
		if (bytes > 30) await settled(page);
		const said = async () =>
			(await page.locator(".tl-remarks").textContent()) || (await page.locator(".tl-message").textContent());
		await until(async () => (await said()).length > 20 || fail(`${bytes} bytes: a sentence (${await said()})`));
		await page.close();
	}
});

test("timeline: the page reports a file's damage, and draws it at the skipped bytes", {long: true}, async (t) => {
	const host = await t.host();
	const bytes = reference("small.ctf");

	bytes.fill(0xff, 20000, 20040);
	const page = await file(t, host, "hurt.ctf", bytes);
	await settled(page);
	await page.locator(".tl-remarks", {hasText: "Damage"}).waitFor();
	const [gap] = await drawn(page, "gap");
	ok(gap, "a band");
	const place = await page.locator("#tl-canvas").boundingBox();
	await page.mouse.move(place.x + (gap.x0 + gap.x1) / 2, place.y + 300);
	const named = async () => (await drawn(page, "band-name")).some((it) => it.text === "damaged: skipped");
	for (let i = 0; i < 40 && !(await named()); i++) await page.mouse.wheel(0, -300);
	ok(await named(), "its name");
	await t.look(page, "damage");
});

test("timeline: a sentence refuses a file that is no trace", async (t) => {
	const host = await t.host();
	let seed = 1;

	for (const [name, bytes] of forms([
		[
			"picture.png",
			Buffer.from("\x89PNG\r\n\x1a\n not a trace at all, but long enough to be looked at".repeat(20)),
		],
		["page.html", Buffer.from("<!doctype html><html><body><p>Hello</p></body></html>\n")],
		["random", Buffer.from(Array.from({length: 20000}, () => (seed = (seed * 48271) % 2147483647) & 255))],
		["one", Buffer.from("x")],
		["none", Buffer.alloc(0)],
	])) {
		const page = await file(t, host, name, bytes);
		const message = page.locator(".tl-message[role=alert]");

		await message.waitFor();
		ok(new RegExp(`^${name} is no trace: [^.]*\\.`).test(await message.textContent()), await message.textContent());
		equal(await page.locator(".tl-remarks").isVisible(), false, "notes");
		equal(await page.evaluate(() => document.getElementById("page").timeline.canvasView.shown), null, "a picture");
		/* The same name again, and now it is a trace. */
		await page.locator("input[type=file]").setInputFiles({name, mimeType: "", buffer: reference("small.ctf")});
		await settled(page);
		ok((await drawn(page, "thread")).length > 100, "threads");
		await page.close();
	}
});

test("timeline: all streams of a guest on one time line, or one of them", async (t) => {
	const host = await t.host({
		collector: false,
		archive: [
			"begin",
			"run 1 xen a smp - 3 ended poweroff",
			"stream 1 1 0 65536 4 0 vcpu0",
			"stream 2 1 1 65536 4 0 vcpu1",
			piece(1, 0, labelled(["on the first", "once more"])),
			piece(2, 0, labelled(["on the second"], 500000n, 200)),
			"capture 1 1 poweroff -",
			"range 1 1 0 0 4096",
			"range 1 2 0 0 4096",
			"commit",
		],
	});
	const page = await opened(t, host, "#domain=smp");
	const labels = async () => (await drawn(page, "label")).map((it) => it.text);

	ok(
		(await labels()).some((it) => it.includes("on the first")) &&
			(await labels()).some((it) => it.includes("on the second")),
		`${await labels()}`,
	);
	equal(
		await page.evaluate(() =>
			document.getElementById("page").timeline.session.summary.streams.map((it) => it.name),
		),
		["vcpu0", "vcpu1"],
		"their names",
	);
	await page.locator("summary", {hasText: "Save"}).click();
	const [download] = await Promise.all([
		page.waitForEvent("download"),
		page.getByRole("button", {name: "The picture (SVG)"}).click(),
	]);
	const svg = readFileSync(await download.path(), "utf8");
	ok(svg.includes("vcpu0") && svg.includes("vcpu1"), "a saved picture names the tracks of both");
	await page.goto(`${host.url}/#domain=smp&stream=1`);
	await until(
		async () =>
			(await page.evaluate(() => document.getElementById("page").timeline?.session?.summary?.streams.length)) ===
			1,
	);
	await settled(page);
	ok(!(await labels()).some((it) => it.includes("on the first")), "the other stream alone");
	await page.goto(`${host.url}/#capture=1`);
	await until(() => page.locator(".tl-about", {hasText: "capture 1"}).count());
	await settled(page);
	ok(
		(await labels()).some((it) => it.includes("on the first")),
		"a capture has both",
	);
});

test(
	"timeline: an address that names nothing is told in the page's words, and no button does nothing",
	{long: true},
	async (t) => {
		const host = await t.host({rings: {web: reference("small.ctf")}});
		const usable = (page) =>
			page.locator(".tl-tools button:visible:enabled").evaluateAll((all) => all.map((it) => it.textContent));

		t.allow(/404/);
		for (const [hash, words] of [
			["#domain=none", "No guest none."],
			["#capture=99", "No such capture."],
			["#domain=web&run=99", "The guest has no such run."],
		]) {
			const page = await t.open(host, `/${hash}`);

			await page.getByRole("alert").getByText(words, {exact: true}).waitFor();
			ok(
				!(await page.locator(".tl-about").textContent()).includes("ended"),
				"nothing is said of a run that is none",
			);
			equal(await usable(page), ["About", "?"], `buttons at ${hash}`);
			await t.look(page, "address-of-nothing");
			await page.close();
		}
		const page = await t.open(host, "/#capture=abc");

		await page.getByRole("alert").getByText("This cannot be shown: the address ends with #capture=abc").waitFor();
		await page.getByRole("link", {name: "All guests"}).click();
		await page.getByRole("link", {name: "web", exact: true}).first().click();
		await settled(page);
		ok((await usable(page)).length >= 8, "buttons of a trace");
	},
);
