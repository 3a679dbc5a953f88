/*
 * The viewer and a trace in one file, opened from a disk, without a server and without a
 * network.
 */
import {execFileSync, spawnSync} from "node:child_process";
import {mkdtempSync, readFileSync, rmSync, statSync, writeFileSync} from "node:fs";
import {tmpdir} from "node:os";
import path from "node:path";

import {BUILD, equal, forms, hasReference, ok, reference, test, until} from "./harness.mjs";
import {GRAIN, info, writer} from "./memtrace-make.mjs";
import {event, piece, trace} from "./trace-make.mjs";
import {box, camera, drawn, opened, settled} from "./timeline-tools.mjs";

const MPROFCTL = path.join(BUILD, "client/ctl/mprofctl");

function directory(t) {
	const made = mkdtempSync(path.join(tmpdir(), "mprof-file."));

	t.later.push(async () => rmSync(made, {recursive: true, force: true}));
	return made;
}

/** Export BYTES as NAME.html into a new directory. Return the directory. */
function exported(t, name, bytes, ...options) {
	const where = directory(t);

	writeFileSync(path.join(where, `${name}.ctf`), bytes);
	const done = spawnSync(MPROFCTL, [
		"export",
		path.join(where, `${name}.ctf`),
		"--to",
		"html",
		"-o",
		path.join(where, `${name}.html`),
		...options,
	]);
	ok(done.status === 0 || done.status === 3, `mprofctl: ${done.stderr}`);
	return where;
}

const from = (where) => ({url: `file://${where}`});
const openFile = (t, where, address, options) => opened(t, from(where), address, {offline: true, ...options});

/** Return what is painted but for the mark of the guest's end. The host knows more of that than a file. */
const alike = async (page) => (await drawn(page)).filter((it) => it.kind !== "death");

test("one file: the trace keeps dom0's wall time", {long: true}, async (t) => {
	const host = await t.host();
	const guest = host.guest("web", "--rate", "1000", "--packets", "64");
	const where = directory(t);
	const file = path.join(where, "web.html");
	const wall = (page) =>
		until(() =>
			page.evaluate(() => {
				const {clock} = document.getElementById("page").timeline.state;

				return clock.wall && {known: clock.wall.known, ns: String(clock.wall.offsetNs)};
			}),
		);

	await until(async () => (await host.domain("web"))?.streams[0]?.packets > 2);
	await guest.stop();
	await until(async () => (await host.domain("web"))?.state === "ended");
	execFileSync(MPROFCTL, ["--host", host.url, "export", "domain:web", "--to", "html", "-o", file]);
	const page = await openFile(t, where, "web.html#time=utc");
	const [here, there] = [await wall(page), await wall(await opened(t, host, "#domain=web"))];
	equal([here.known, there.known], [true, true]);
	const apart = Number(BigInt(here.ns) - BigInt(there.ns));
	ok(Math.abs(apart) < 1e6, `${apart} ns from the served page's`);
	await page
		.getByText(/Dom0's wall time on \d{4}-\d\d-\d\d, UTC/)
		.first()
		.waitFor();
	/* A file may claim any offset. */
	for (const claimed of [{offset_ns: "x"}, {offset_ns: 7}, {}, "wall", {offset_ns: "9".repeat(30)}]) {
		altered(file, (told) => (told.traces[0].wall = claimed));
		equal((await wall(await openFile(t, where, "web.html"))).known, claimed.offset_ns === 7);
	}
});

/**
 * Return what both pages paint. The host knows which part of a dead writer's ring is not proven;
 * a file does not.
 */
const common = async (page) => (await alike(page)).filter((it) => it.kind !== "tail");

test("one file: the page paints the same trace and window as the served page does", async (t) => {
	for (const name of forms(["small", "wrapped", "public/arp-bad"].filter((it) => hasReference(`${it}.ctf`)))) {
		const bytes = reference(`${name}.ctf`);
		const plain = path.basename(name);
		const host = await t.host({rings: {[plain]: bytes}});
		const served = await opened(t, host, `#domain=${plain}`);
		const page = await openFile(t, exported(t, plain, bytes), `${plain}.html`);
		const [a, b] = [await camera(served), await camera(page)];

		equal(b, a, "the window of all of it");
		equal(await common(page), await common(served), `what is drawn of ${name}`);
		const third = (a.end - a.start) / 3n;
		const hash = `from=${a.start + third}&to=${a.start + third + third / 4n}&row=${a.focus}`;
		await served.evaluate((it) => (location.hash = it), `domain=${plain}&${hash}`);
		await page.evaluate((it) => (location.hash = it), hash);
		for (const it of [served, page]) await until(async () => (await camera(it)).from === a.start + third);
		const marks = await common(page);
		ok(marks.length > 50, `${marks.length} marks`);
		equal(marks, await common(served), `what is drawn of a part of ${name}`);
		await t.look(page, `file-${plain}`);
	}
});

test("one file: all streams of a guest and of a capture", {long: true}, async (t) => {
	const life = (text, from) => [
		event(from, "creates", 0, 5, {u8: 0}),
		event(from + 50, "label", 5, text),
		event(from + 900, "fulfills", 0, 5),
	];
	const host = await t.host({
		collector: false,
		archive: [
			"begin",
			"run 1 xen a smp - 3 ended poweroff",
			"stream 1 1 0 65536 4 0 vcpu0",
			"stream 2 1 1 65536 4 0 vcpu1",
			piece(1, 0, life("on the first", 1000)),
			piece(2, 0, life("on the second", 1300)),
			"capture 1 1 poweroff -",
			"range 1 1 0 0 4096",
			"range 1 2 0 0 4096",
			"commit",
		],
	});
	const where = directory(t);

	for (const [what, hash] of [
		["domain:smp", "#domain=smp"],
		["capture:1", "#capture=1"],
	]) {
		execFileSync(MPROFCTL, [
			"--host",
			host.url,
			"export",
			what,
			"--to",
			"html",
			"-o",
			path.join(where, "smp.html"),
		]);
		const wide = {width: 1900}; /* wide enough that the text about a capture does not make the picture lower */
		const served = await opened(t, host, hash, wide);
		const page = await openFile(t, where, "smp.html", wide);
		const names = await page.evaluate(() =>
			document.getElementById("page").timeline.session.summary.streams.map((it) => it.name),
		);

		equal(names, ["vcpu0", "vcpu1"], "the streams");
		equal(await alike(page), await alike(served), `what is drawn of ${what}`);
		execFileSync(MPROFCTL, [
			"--host",
			host.url,
			"export",
			what,
			"--stream",
			"1",
			"--to",
			"html",
			"-o",
			path.join(where, "one.html"),
		]);
		const one = await openFile(t, where, "one.html");
		ok(!(await drawn(one, "label")).some((it) => it.text.includes("on the first")), "the second stream alone");
	}
});

/** Rewrite FILE with its contents passed through CHANGE. */
function altered(file, change) {
	const text = readFileSync(file, "utf8");
	const [all, head, contents] = /(<script type="application\/json" id="contents">)([^<]*)/.exec(text);
	const told = JSON.parse(Buffer.from(contents, "base64").toString());

	change(told);
	writeFileSync(file, text.replace(all, head + Buffer.from(JSON.stringify(told)).toString("base64")));
}

test(
	"one file: the page marks unproven bytes of a guest and of a capture as the served page does",
	{long: true},
	async (t) => {
		const said = (from, n) =>
			Array.from({length: n}, (_, i) => event(from + BigInt(i) * 1000n, "label", 1, `at ${i}`));
		const proven = said(1000000n, 40);
		const end = 30 + Buffer.concat(proven).length;
		const stream = (i) => [`stream ${i} 1 ${i - 1} 65536 4 0 vcpu${i - 1}`, piece(i, 0, proven)];
		const host = await t.host({
			collector: false,
			archive: [
				"begin",
				"run 1 xen a web - 3 ended crash",
				...stream(1),
				...stream(2),
				"capture 1 1 crash -",
				`range 1 1 0 0 ${end}`,
				`range 1 2 0 0 ${end}`,
				`tail 1 2 0 ${end} 65536 1000000 ${Buffer.concat(said(1100000n, 20)).toString("hex")}`,
				"capture 2 1 manual -",
				`range 2 1 0 0 ${end}`,
				`range 2 2 0 0 ${end}`,
				"commit",
			],
		});
		const where = directory(t);
		const file = path.join(where, "web.html");
		const wide = {width: 1900};
		const tails = (page) => drawn(page, "tail");
		/* The served page asks for the tail only after its first picture. */
		const all = (page) => until(async () => (await tails(page)).length && alike(page));

		for (const [what, hash] of [
			["domain:web", "#domain=web"],
			["capture:1", "#capture=1"],
		]) {
			execFileSync(MPROFCTL, ["--host", host.url, "export", what, "--to", "html", "-o", file]);
			const page = await openFile(t, where, "web.html", wide);
			equal(await all(page), await all(await opened(t, host, hash, wide)), `what is drawn of ${what}`);
			const [mark] = await tails(page);
			const [from, to] = await page.evaluate(() => {
				const {camera} = document.getElementById("page").timeline;
				return [camera.xOf(1100000n), camera.xOf(1119000n)];
			});
			ok(
				Math.abs(mark.x0 - from) < 1 && Math.abs(mark.x1 - to) < 1,
				`it lies from ${mark.x0} to ${mark.x1}, not from ${from} to ${to}`,
			);
			equal([mark.stream, (await tails(page)).length], [1, 1], "its stream");
			equal((await drawn(page, "death")).length, 1, "the guest's end");
			await t.look(page, "file-tail");
		}
		/* A file may claim anything about its tail. */
		for (const tail of ["1030000", "0x10", "9".repeat(21), String(1n << 64n), 1030000]) {
			altered(file, (told) => Object.assign(told.traces[0].streams[0], {tail}));
			const page = await openFile(t, where, "web.html", wide);
			await all(page);
			await settled(page);
			equal(
				(await tails(page)).map((it) => it.stream),
				tail === "1030000" ? [0, 1] : [1],
				`tails where a file says ${JSON.stringify(tail)}`,
			);
		}
		execFileSync(MPROFCTL, ["--host", host.url, "export", "capture:2", "--to", "html", "-o", file]);
		const page = await openFile(t, where, "web.html", wide);
		await settled(page);
		equal(await tails(page), [], "tails of proven bytes");
	},
);

test("one file: search, the panel, explanations, statistics and saving", async (t) => {
	const bytes = reference("public/arp-bad.ctf");
	const where = exported(t, "bad", bytes);
	const page = await openFile(t, where, "bad.html");
	const saved = async (name) => {
		await page.getByText("Save", {exact: true}).click();
		const waiting = page.waitForEvent("download");
		await page.getByRole("button", {name}).click();
		return readFileSync(await (await waiting).path());
	};

	await page.keyboard.press("y");
	await page.getByRole("heading", {name: "Why does it wait?"}).waitFor();
	await page.keyboard.press("i");
	await page.getByRole("heading", {name: "In view"}).waitFor();
	await page.keyboard.press("/");
	await page.keyboard.type("ARP");
	await until(async () => /^1 of \d+|^\d+ /.test(await page.locator(".tl-search").innerText()));
	const place = await box(page);
	await page.mouse.click(place.x + place.width / 2, place.y + place.height / 2);
	ok((await saved("The picture (SVG)")).toString().startsWith("<svg"), "the SVG");
	equal([...(await saved("The picture (PNG)")).subarray(1, 4)], [...Buffer.from("PNG")], "the PNG");
	const file = path.join(where, "saved.ctf");
	writeFileSync(file, await saved("The trace (CTF)"));
	const dump = (of) => execFileSync(MPROFCTL, ["dump", of], {maxBuffer: 1 << 28}).toString();
	ok(dump(file) === dump(path.join(where, "bad.ctf")), "the saved trace has all events");
	ok(JSON.parse(await saved("For Perfetto (JSON)")).traceEvents.length > 100, "the JSON");
	await page.getByRole("button", {name: "About"}).click();
	await page.getByText("mprofd-http shows them").first().waitFor();
	equal(await page.locator(".tl-back").count(), 0, "ways to a page of guests");
	await t.accessible(page);
});

test("one file: hostile names and labels stay text", async (t) => {
	const where = directory(t);
	const name = "</script><script>document.title='x'<!-- \u202e&amp;";
	const labels = ["</script><img src=x onerror=alert(1)>", "<!--", "-->\u2028"];
	const file = name.replaceAll("/", "∕");
	writeFileSync(path.join(where, file), trace([labels.map((text, i) => event(1000 + i, "label", i, text))]));
	execFileSync(MPROFCTL, [
		"export",
		`file:${path.join(where, file)}`,
		"--to",
		"html",
		"-o",
		path.join(where, "x.html"),
	]);
	const page = await openFile(t, where, "x.html");

	ok(
		(await page.title()).includes("\\u202e") || !(await page.title()).includes("\u202e"),
		"the title shows what deceives",
	);
	equal(await page.locator("img").count(), 0, "pictures");
	ok(
		(await drawn(page, "label")).some((it) => it.text.includes("</script><img")),
		"the label is drawn as it is",
	);
});

test("one file: two traces in one file", {long: true}, async (t) => {
	const where = directory(t);

	for (const name of ["arp-good", "arp-bad"])
		writeFileSync(path.join(where, `${name}.ctf`), reference(`public/${name}.ctf`));
	const env = {...process.env, BROWSER: "false", DISPLAY: "", WAYLAND_DISPLAY: ""};
	execFileSync(
		MPROFCTL,
		[
			"view",
			...["arp-good", "arp-bad"].map((it) => path.join(where, `${it}.ctf`)),
			"-o",
			path.join(where, "both.html"),
		],
		{env, stdio: "pipe"},
	);
	const page = await openFile(t, where, "both.html");
	const good = await drawn(page);

	await page.getByRole("link", {name: "arp-bad.ctf"}).click();
	await until(async () => (await page.title()).startsWith("arp-bad"));
	await settled(page);
	const bad = await drawn(page);
	ok(
		bad.some((it) => it.kind === "label" && it.text.includes("never resolved")),
		"the bad one",
	);
	ok(!good.some((it) => it.kind === "label" && it.text.includes("never resolved")), "the good one");
	await page.goBack();
	await until(async () => (await page.title()).startsWith("arp-good"));
	await t.look(page, "file-two");
});

test("one file: a memory profile, beside a trace", async (t) => {
	const where = directory(t);
	const name = "</script><script>document.title='x'<!--.trace".replaceAll("/", "∕");
	const start = 1_700_000_000_000_000n;
	const blocks = [
		{at: 1000, bytes: 3 * GRAIN},
		{at: 2000, bytes: 5 * GRAIN, until: 3000},
		{at: 4000, bytes: GRAIN},
	];
	const bytes = Buffer.concat([info({start, program: "<img src=x>"}), writer(start)(blocks)]);
	const shown = (page) =>
		until(() =>
			page.evaluate(
				() =>
					document.getElementById("page").memory?.profile !== undefined &&
					!document.querySelector(".mem[aria-busy]"),
			),
		);
	const env = {...process.env, BROWSER: "false", DISPLAY: "", WAYLAND_DISPLAY: ""};

	writeFileSync(path.join(where, name), bytes);
	writeFileSync(path.join(where, "small.ctf"), reference("small.ctf"));
	execFileSync(
		MPROFCTL,
		["view", path.join(where, name), path.join(where, "small.ctf"), "-o", path.join(where, "both.html")],
		{env, stdio: "pipe"},
	);
	const page = await t.open(from(where), "/both.html", {offline: true});
	await shown(page);
	const told = await page.evaluate(async () => {
		const {heap, info, profile, source} = document.getElementById("page").memory;
		const {bytes} = await heap.timeline(null, 0, 4000, 4);

		return {
			program: info.program,
			peak: info.peak_bytes,
			live: info.live_bytes,
			all: profile.samples_bytes,
			line: [...bytes],
			saved: source.saved.size,
		};
	});
	equal(
		told,
		{
			program: "<img src=x>",
			peak: 8 * GRAIN,
			live: 4 * GRAIN,
			all: 9 * GRAIN,
			line: [3, 8, 3, 4].map((it) => it * GRAIN),
			saved: bytes.length,
		},
		"the profile",
	);
	equal(await page.locator("img").count(), 0, "pictures");
	ok((await page.title()).includes("<script>document.title="), "the name is a text");
	await t.look(page, "file-memory");
	await page.getByRole("link", {name: "small.ctf"}).click();
	await until(async () => (await page.title()).startsWith("small"));
	await settled(page);
	ok((await drawn(page)).length > 50, "the trace");
	await page.getByRole("link", {name: "script"}).click();
	await shown(page);
	equal(await page.locator("h1").innerText(), name, "back at the profile");
	await t.accessible(page);
});

/**
 * Return a trace of at least SIZE bytes: threads that are created, named, run, and resolved by
 * the next thread.
 */
function long(size) {
	const packets = [];
	let bytes = 0;

	for (let id = 1; bytes < size;) {
		const events = [];
		for (const end = id + 2000; id < end; id++) {
			const time = id * 1000;
			events.push(
				event(time, "creates", id - 1, id, {u8: id % 11}),
				event(time + 100, "label", id, `request ${id}`),
				event(time + 200, "switch", id),
				event(time + 500, "counter", id, id % 1000, "requests"),
				event(time + 900, "fulfills", id, id - 1),
			);
		}
		packets.push(events);
		bytes += events.reduce((sum, it) => sum + it.length, 0);
	}
	return trace(packets);
}

test("one file: with 16 MB of trace in it", {long: true}, async (t) => {
	const bytes = long(16 << 20);
	const where = exported(t, "long", bytes);
	const size = statSync(path.join(where, "long.html")).size;
	const began = performance.now();
	const page = await openFile(t, where, "long.html");
	const {events} = await page.evaluate(() => document.getElementById("page").timeline.session.summary.totals);
	const {marks, memory} = await page.evaluate(() => {
		const it = document.getElementById("page").timeline;
		return {marks: it.painted.length, memory: it.session.summary.memory};
	});

	ok(events > 300000 && marks > 100, `${events} events, ${marks} marks`);
	console.log(
		`  ${(bytes.length / 1e6).toFixed(1)} MB of trace, ${events} events: a file of ${(size / 1e6).toFixed(1)} MB, open after ` +
			`${Math.round(performance.now() - began)} ms, ${(memory / 1e6).toFixed(0)} MB of model`,
	);
});

test("one file: a file that was cut short says so", async (t) => {
	const where = exported(t, "small", reference("small.ctf"));
	const bytes = readFileSync(path.join(where, "small.html"));

	writeFileSync(path.join(where, "cut.html"), bytes.subarray(0, bytes.length - 200));
	const page = await t.open(from(where), "/cut.html", {offline: true});
	await page.getByText("cut short").waitFor();
});

test("one file: the page reports a trace's damage", async (t) => {
	const page = await openFile(t, exported(t, "killed", reference("killed.ctf").subarray(0, 20000)), "killed.html");

	await page.getByRole("button", {name: "About"}).click();
	await page
		.getByText(/^Damage: /)
		.first()
		.waitFor();
});
