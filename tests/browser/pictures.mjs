/*
 * Make the pictures of README.md and of the pages in docs. Every run of the tests makes each picture,
 * and writes it only if $MPROF_PICTURES names a directory:
 *
 *     MPROF_PICTURES=docs/pictures node tests/browser/run.mjs build/gcc build/browser /dev/null picture:
 */
import {execFileSync} from "node:child_process";
import {writeFileSync} from "node:fs";
import path from "node:path";

import {BUILD, ok, reference, sleep, test, until} from "./harness.mjs";
import {boxes, opened as profile, recorded} from "./memory-tools.mjs";
import {GRAIN, info, writer} from "./memtrace-make.mjs";
import {read} from "./png.mjs";
import {drawn, opened, settled} from "./timeline-tools.mjs";
import {server, story} from "./workload.mjs";

const WHERE = process.env.MPROF_PICTURES;
const SIZE = {width: 1200, height: 600};

async function picture(page, name) {
	await page.mouse.move(1, 1);
	const bytes = await page.screenshot({animations: "disabled", caret: "hide"});
	const {width, height} = read(bytes);

	ok(
		width === page.viewportSize().width && height === page.viewportSize().height,
		`a picture of ${width} x ${height}`,
	);
	if (WHERE) writeFileSync(path.join(WHERE, `${name}.png`), bytes);
}

/*
 * Have the memory of guest NAME profiled. Return a function that sends three seconds of it: a
 * heap that requests fill and collections empty.
 */
async function profiled(host, name) {
	const blocks = Array.from({length: 600}, (_, i) => ({
		at: i * 5000,
		bytes: GRAIN * (1 + ((i * 7) % 13)),
		until: i % 10 ? (Math.floor(i / 60) + 1) * 300000 : undefined,
	}));
	let start;
	const offer = await host.offered(() => {
		start = BigInt(Date.now()) * 1000n;
		return info({start, context: "requests"});
	});
	const answer = await fetch(`${host.url}/v1/domains/${name}/memtraces`, {
		method: "POST",
		headers: {"Content-Type": "application/json"},
		body: JSON.stringify({address: "127.0.0.1", port: offer.port}),
	});

	ok(answer.status === 201, await answer.text());
	return () => offer.send(writer(start)(blocks));
}

test("picture: a missed wake-up", async (t) => {
	const host = await t.host({archive: story("web", "bad"), collector: false});
	/* These microseconds hold the signal and the threads that begin to wait for it just after. */
	const page = await opened(t, host, "#domain=web&from=1000999000&to=1001020000&panel=why", SIZE);

	await page.locator(".tl-panel", {hasText: "missed wake-up"}).waitFor();
	await settled(page);
	await until(async () => (await drawn(page, "why")).length >= 3);
	ok((await drawn(page, "signal")).length >= 1, "the signal");
	await picture(page, "missed-wake-up");
});

/* The tutorial's guests, as its commands make them: the program with the mistake, and the mended one. */
async function tutorial(t) {
	const host = await t.host();

	for (const [name, how] of [
		["web", "bad"],
		["fixed", "good"],
	]) {
		execFileSync(path.join(BUILD, "tests/integration/story"), [how, path.join(host.rings, `${name}.ctf`)]);
		await until(async () => (await host.domain(name))?.state === "ended");
	}
	return host;
}

test("picture: the tutorial's guests", {long: true}, async (t) => {
	const host = await tutorial(t);
	const page = await t.open(host, "/", {...SIZE, height: 400});

	await page.getByRole("link", {name: "fixed"}).first().waitFor();
	for (const name of ["web", "fixed"])
		await page
			.getByLabel(new RegExp(`Tick ${name},? .*beside others`))
			.first()
			.check();
	await page.getByRole("link", {name: "Compare"}).waitFor();
	await picture(page, "tutorial-guests");
});

test("picture: the tutorial's time line", {long: true}, async (t) => {
	const host = await tutorial(t);
	const page = await opened(t, host, "#domain=web", SIZE);

	await until(async () => (await drawn(page, "thread")).length >= 5);
	await picture(page, "tutorial-time-line");
});

test("picture: the tutorial's comparison", {long: true}, async (t) => {
	const host = await tutorial(t);
	const page = await opened(t, host, "#domain=web&against=domain%3Afixed", {...SIZE, height: 760});

	await page.locator(".tl-panel-body", {hasText: "Here they part first"}).waitFor();
	await settled(page);
	await picture(page, "tutorial-comparison");
});

test("picture: the time line of a server", {long: true}, async (t) => {
	const host = await t.host({archive: server("web", 8), collector: false});
	const page = await opened(t, host, "#domain=web", SIZE);

	ok((await drawn(page, "thread")).length > 20, "threads");
	await picture(page, "time-line");
});

test("picture: the host's page", {long: true}, async (t) => {
	const context = Buffer.from(
		JSON.stringify({reason: "crash", console: "Fatal error: exception Not_found\n", console_complete: true}),
	).toString("hex");
	const host = await t.host({
		sink: true,
		archive: [
			...server("dns", 40).slice(0, -1),
			"run 2 xen db db - 9 ended crash",
			"stream 2 2 0 262144 4 0",
			...server("db", 60)
				.filter((it) => it.startsWith("piece"))
				.map((it) => it.replace("piece 1", "piece 2")),
			`capture 1 2 crash - ${context}`,
			"range 1 2 0 0 30",
			"capture 2 1 poweroff -",
			"range 2 1 0 0 30",
			"commit",
		],
	});
	for (const [name, rate] of [
		["web", "9000"],
		["mail", "700"],
	])
		host.guest(name, "--size", "1048576", "--rate", rate);
	await until(async () => (await host.domain("web"))?.state === "running");
	(await profiled(host, "web"))();
	const page = await t.open(host, "/", {...SIZE, height: 760});

	await page.getByText("Live", {exact: true}).waitFor();
	await until(async () => (await page.locator(".guests .rate", {hasText: "/s"}).count()) === 2);
	/* Wait until the guests have done something visible. */
	await page.waitForTimeout(WHERE ? 12000 : 500);
	await picture(page, "host");
});

test("picture: the heap above the threads", {long: true}, async (t) => {
	const host = await t.host({sink: true});

	host.guest("web", "--size", "1048576", "--rate", "400");
	await until(async () => (await host.domain("web"))?.state === "running");
	const send = await profiled(host, "web");
	await sleep(3100);
	send();
	await sleep(500);
	await host.guests[0].stop();
	await until(async () => (await host.domain("web")).state === "ended");
	const page = await opened(t, host, "#domain=web", SIZE);
	const strip = page.getByRole("slider", {name: /^Heap over time/});
	await strip.waitFor();
	await until(() =>
		page.evaluate(() =>
			document
				.getElementById("page")
				.timeline.heap.shown?.some(({kind, points}) => kind === "heap" && points.length > 40),
		),
	);
	await picture(page, "heap-strip");
});

test("picture: a memory profile", {long: true}, async (t) => {
	const host = await t.host({sink: true, collector: false});
	const {id} = await recorded(host, reference("memtrace/leaky.trace"));
	const page = await profile(t, host, id, "&weight=live&find=session", {width: 1200, height: 760});

	ok((await boxes(page)).length > 20, "boxes");
	await picture(page, "memory-profile");
});
