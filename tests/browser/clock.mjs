/* The clocks by which a time line writes times: the switch, the ruler, the tips and the address. */
import {becomes, equal, fail, ok, reference, test, until} from "./harness.mjs";
import {camera, drawn, opened, settled} from "./timeline-tools.mjs";

const SECOND = 1000000000n;
const TRACE = "wrapped.ctf";
const OPTIONS = {timezoneId: "Asia/Kolkata"}; /* five and a half hours before UTC */

/** Return the texts of the ruler's ticks. */
async function ticks(page) {
	await settled(page);
	return page.evaluate(() => document.getElementById("page").timeline.canvasView.tickList.map(({text}) => text));
}

const clockBox = (page) => page.locator("select.tl-clock");

/** Return a host with the ended guest "web", whose ring is a file of this host. */
async function ended(t) {
	const host = await t.host();
	const guest = host.guest("web", "--rate", "1000", "--packets", "32");

	await until(async () => (await host.domain("web"))?.streams[0]?.packets > 2);
	await guest.stop();
	await until(async () => (await host.domain("web"))?.state === "ended");
	return host;
}

/** Return dom0's wall time, ns, by which the first packet of the guest "web" was copied. */
async function copied(host) {
	const {packets} = await host.get("/v1/domains/web/packets?limit=1");
	const [, text, fraction] = /^(.*)\.(\d{9})Z$/.exec(packets[0].copied.first.real);

	return {
		guest: BigInt(packets[0].first_timestamp),
		real: BigInt(Date.parse(`${text}Z`)) * 1000000n + BigInt(fraction),
	};
}

test("clock: a guest's events have dom0's wall time, in the zone of the browser", async (t) => {
	const host = await ended(t);
	const page = await opened(t, host, "#domain=web", OPTIONS);
	const first = await copied(host);

	equal(
		(await ticks(page)).every((text) => /^(0|\+\d.* .?s)$/.test(text)),
		true,
		"ticks since the start",
	);
	await clockBox(page).selectOption("wall");
	await until(async () => (await ticks(page)).every((text) => /^\d\d:\d\d(:\d\d(\.\d+)?)?$/.test(text)));
	await until(() => page.url().includes("time=wall"));
	const text = await page.locator("#tl-view").textContent();
	ok(/Dom0's wall time on \d{4}-\d\d-\d\d, UTC\+05:30; events happened then\./.test(text), text);

	/* The first event was copied soon after it happened, and not before. */
	const wall = await page.evaluate((time) => {
		const {clock} = document.getElementById("page").timeline.state;

		return clock.everywhere(BigInt(time));
	}, String(first.guest));
	const [, day, time, fraction] = /^(\S+) (\d\d:\d\d:\d\d)(?:\.(\d+))? UTC\+05:30 \(\+/.exec(wall) ?? fail(wall);
	const at =
		BigInt(Date.parse(`${day}T${time}+05:30`)) * 1000000n + BigInt((fraction ?? "").padEnd(9, "0").slice(0, 9));
	ok(at <= first.real && first.real - at < 10n * SECOND, `${wall} for an event copied at ${first.real}`);

	/* A tick stands where its text says: at a round time of day. */
	const grid = await page.evaluate(() => {
		const {canvasView, camera: view, state} = document.getElementById("page").timeline;

		return canvasView.tickList.map(({x, text: says}) => [says, state.clock.tick(view.timeAt(x + 0.01), 10n ** 6n)]);
	});
	for (const [says, there] of grid) ok(there.startsWith(says.slice(0, 7)), `the tick ${says} stands at ${there}`);
	const lines = (await drawn(page, "grid")).map(({x0}) => x0);
	const places = await page.evaluate(() =>
		document.getElementById("page").timeline.canvasView.tickList.map(({x}) => x),
	);
	for (const x of places.filter((it) => it > 0))
		ok(
			lines.some((it) => Math.abs(it - x) < 1),
			`no line at ${x}`,
		);

	await page.reload();
	await settled(page);
	await until(async () => /^\d\d:\d\d/.test((await ticks(page))[0]));
	equal(await clockBox(page).inputValue(), "wall", "the switch after a reload");
	await t.look(page, "clock-wall");
	await t.accessible(page);
});

test("clock: the key c goes through the clocks, and panels and tips follow", async (t) => {
	const host = await ended(t);
	const page = await opened(t, host, "#domain=web", OPTIONS);
	const {start} = await camera(page);
	const about = page.locator(".tl-panel");
	const secs = `${start / SECOND}.${String(start % SECOND).padStart(9, "0")} s`;

	await page.getByRole("button", {name: "About"}).click();
	await about.locator("tr", {hasText: /^Begins\+0 ns \(\d{4}-.* UTC\+05:30, /}).waitFor();
	for (const [kind, begins] of [
		["guest", new RegExp(`^Begins${secs.replace(".", "\\.")} \\(\\+0 ns, `)],
		["wall", /^Begins\d{4}-\d\d-\d\d \d\d:\d\d:\d\d.* UTC\+05:30 \(\+0 ns, /],
		["utc", /^Begins\d{4}-\d\d-\d\d \d\d:\d\d:\d\d.* UTC \(\+0 ns, /],
		["relative", /^Begins\+0 ns/],
	]) {
		await page.focus("#tl-canvas");
		await page.keyboard.press("c");
		await about.locator("tr", {hasText: begins}).waitFor();
		equal(await clockBox(page).inputValue(), kind, "the switch");
	}
	await until(() => !page.url().includes("time="));
	await clockBox(page).selectOption("guest");
	await until(async () => (await ticks(page)).every((text) => /^\d+(\.\d+)? s$/.test(text)));
	await page.keyboard.press("Escape");
	const canvas = await page.locator("#tl-canvas").boundingBox();
	const tip = page.locator(".tl-tooltip");
	await page.mouse.move(canvas.x + canvas.width / 2, canvas.y + canvas.height / 2);
	await tip.filter({hasText: /at \d+\.\d{9} s \(\+.* s, \d{4}-/}).waitFor();
});

test("clock: a file without stamps says that its wall time is unknown", {long: true}, async (t) => {
	const host = await t.host();
	const page = await t.open(host, "/", OPTIONS);

	await page
		.locator("input[type=file]")
		.first()
		.setInputFiles({
			name: TRACE,
			mimeType: "application/octet-stream",
			buffer: reference(TRACE),
		});
	await settled(page);
	await clockBox(page).selectOption("wall");
	await page.locator(".tl-alert", {hasText: `The file ${TRACE} does not say dom0's wall time`}).waitFor();
	equal(await clockBox(page).inputValue(), "relative", "the switch");
	ok(
		(await ticks(page)).every((text) => /^(0|\+)/.test(text)),
		"the ruler",
	);
	await clockBox(page).selectOption("guest");
	await becomes(
		async () => (await ticks(page)).every((text) => /^[\d.]+ .?s$/.test(text)),
		true,
		"the guest's clock",
	);
});
