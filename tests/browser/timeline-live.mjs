/* Runs that go on, and runs that are too long to load at once. */
import {becomes, equal, ok, test, until} from "./harness.mjs";
import {camera, drawn, opened, settled} from "./timeline-tools.mjs";

const loaded = (page) =>
	page.evaluate(() => {
		const {session} = document.getElementById("page").timeline;
		return {
			from: String(session.loaded?.from ?? ""),
			to: String(session.loaded?.to ?? ""),
			bytes: session.summary.totals.bytes,
			all: session.overview?.bytes,
			events: session.summary.totals.events,
		};
	});

test("timeline: the page follows a running guest, pauses, and stays when the user looks back", async (t) => {
	const host = await t.host();
	const guest = host.guest("web", "--rate", "1000", "--packets", "64");
	await until(async () => (await host.domain("web"))?.streams[0]?.packets > 0);
	const page = await opened(t, host, "#domain=web");
	const first = await camera(page);
	const grown = await until(async () => {
		const it = await camera(page);
		return it.end > first.end + 500000000n && it;
	});

	ok(grown.to >= grown.end, "the window goes along");
	ok((await drawn(page, "thread")).length > 0, "threads");
	const pause = page.getByRole("button", {name: "Following"});
	await pause.click();
	await until(() => page.evaluate(() => !document.getElementById("page").timeline.session.stepping));
	const still = await camera(page);
	await new Promise((resolve) => setTimeout(resolve, 2000));
	equal((await camera(page)).end, still.end, "the end while it is paused");
	await page.getByRole("button", {name: "Jump to live"}).click();
	await until(async () => (await camera(page)).end > still.end);
	await page.focus("#tl-canvas");
	for (let i = 0; i < 6; i++) await page.keyboard.press("+");
	await page.keyboard.press("Home");
	const back = await camera(page);
	await until(async () => (await camera(page)).end > back.end + 500000000n);
	const now = await camera(page);
	equal([now.from, now.to], [back.from, back.to], "the window that the user went back to");
	await t.look(page, "live");
	await guest.stop();
	await page.locator(".tl-about", {hasText: "ended"}).waitFor();
	await becomes(() => page.getByRole("button", {name: /Following|Jump to live/}).count(), 0, "buttons to pause");
});

/*
 * Keep the workers in `__workers`. While one has a list `held`, it gets no question of the panels. The next model may be loading in one
 * of them meanwhile, so its calls pass.
 */
const workers = () => {
	globalThis.__workers = [];
	globalThis.Worker = class extends Worker {
		constructor(...args) {
			super(...args);
			globalThis.__workers.push(this);
		}

		postMessage(...args) {
			if (this.held && ["groups", "stats", "find"].includes(args[0].call)) this.held.push(args);
			else super.postMessage(...args);
		}
	};
};

test(
	"timeline: a search, the list and the numbers outlive the model that they were asked of",
	{long: true},
	async (t) => {
		const host = await t.host();
		host.guest("web", "--rate", "3000");
		await until(async () => (await host.domain("web"))?.streams[0]?.packets > 0);
		const page = await opened(t, host, "#domain=web", {init: workers});

		for (const [key, title] of [
			["t", "Threads in view"],
			["i", "In view"],
			["/", null],
		]) {
			/* The worker gets the questions only when the next model has replaced its own. */
			await page.evaluate(() => {
				const timeline = document.getElementById("page").timeline;

				globalThis.__first = timeline.session.engine;
				globalThis.__workers.forEach((worker) => (worker.held ??= []));
			});
			await page.focus("#tl-canvas");
			await page.keyboard.press(key);
			if (!title) await page.keyboard.type("1");
			await until(() =>
				page.evaluate(() => document.getElementById("page").timeline.session.engine !== globalThis.__first),
			);
			await page.evaluate(() =>
				globalThis.__workers.forEach((worker) => {
					const {held} = worker;

					worker.held = null;
					held?.forEach((args) => worker.postMessage(...args));
				}),
			);
			if (title) await page.locator(".tl-panel h2", {hasText: title}).waitFor();
			else await until(async () => /found/.test(await page.locator(".tl-count").textContent()));
			equal(await page.locator(".tl-alert").textContent(), "", "the alert");
		}
	},
);

test("timeline: of a running guest one goes back into the archive, and forward to now", async (t) => {
	const host = await t.host();
	const guest = host.guest("busy", "--size", "67108864", "--packets", "64", "--rate", "0", "--count", "1500000");
	await guest.ended;
	await until(async () => (await host.domain("busy"))?.state === "ended");
	const page = await opened(t, host, "#domain=busy");

	/*
	 * A guest that is gone stands in for one that runs: the page reads both in the same
	 * steps.
	 */
	await page.evaluate(async () => {
		const timeline = document.getElementById("page").timeline;
		const {session} = timeline;
		session.source.goesOn = async () => true;
		await session.readNewest();
		await session.beginLive();
		/*
		 * Its last bytes say that the run has ended. Without this property the first step
		 * would find that, however soon it comes.
		 */
		Object.defineProperty(session.live, "over", {value: false});
		session.follow(null);
	});
	await settled(page);
	const newest = await loaded(page);
	ok(newest.from !== "", "a part alone is loaded");
	/* The ruler and the grid count from the same time, though the model begins later. */
	const lines = (await drawn(page, "grid")).map(({x0}) => x0);
	const ticks = await page.evaluate(() =>
		document.getElementById("page").timeline.canvasView.tickList.map(({x}) => x),
	);
	ok(
		ticks.length > 0 && ticks.every((x) => x < 0 || lines.some((it) => Math.abs(it - x) < 1)),
		`ticks at ${ticks}, lines at ${lines}`,
	);
	await page.focus("#tl-canvas");
	for (let i = 0; i < 30; i++) await page.keyboard.press("+");
	await page.keyboard.press("Home");
	const {start} = await camera(page);
	await until(async () => BigInt((await loaded(page)).from) <= start);
	ok(await page.evaluate(() => document.getElementById("page").timeline.session.paused), "following waits");
	await page.evaluate(() => document.getElementById("page").timeline.session.pause(false));
	await until(async () => (await loaded(page)).from === newest.from);
	ok((await camera(page)).to >= (await camera(page)).end, "at the end again");
});

test("timeline: a server that was away for a moment leaves no message behind", {long: true}, async (t) => {
	const host = await t.host();
	host.guest("web", "--rate", "1000", "--packets", "64");
	await until(async () => (await host.domain("web"))?.streams[0]?.packets > 0);
	t.allow(/ERR_|Failed to load resource|503/);
	const page = await opened(t, host, "#domain=web");
	const alert = page.locator(".tl-alert");

	await host.stopServer();
	await until(async () => /mprofd-http|could not be loaded/.test(await alert.textContent()));
	const {end} = await camera(page);
	await host.startServer();
	await until(async () => (await camera(page)).end > end);
	await becomes(() => alert.textContent(), "", "the alert");

	/* The button says so, too, and that a drag stopped the following. */
	const button = page.locator(".tl-tools button").first();
	await becomes(() => button.textContent(), "Following", "the button of a page that follows");
	await page.focus("#tl-canvas");
	for (let i = 0; i < 6; i++) await page.keyboard.press("+");
	await page.keyboard.press("Home");
	await becomes(() => button.textContent(), "Jump to live", "the button after a move");
	await button.click();
	await until(async () => (await camera(page)).to >= (await camera(page)).end);
	await becomes(() => button.textContent(), "Following", "the button at the end again");
	await host.stopServer();
	await becomes(() => button.textContent(), "Not connected", "the button without a server");
	equal(await button.evaluate((it) => it.classList.contains("tl-live")), false, "green without a server");
	await host.startServer();
	await becomes(() => button.textContent(), "Following", "the button with a server again");

	/* Parts of the viewer that are missing at first: the page waits for them. */
	for (const part of [/mprof\.wasm$/, /\/worker\.js$/, /v1\/domains\/web/]) {
		const later = await page.context().newPage();

		t.watch(later, host);
		await later.route(part, (route) => route.abort());
		await later.goto(`${host.url}/#domain=web`);
		await later.locator(".tl-message", {hasText: "Trying again"}).waitFor();
		await later.unroute(part);
		await settled(later);
		ok((await drawn(later, "thread")).length > 0, `threads, after ${part}`);
		await later.close();
	}
});

test(
	"timeline: a running guest opens on its newest seconds, a dead one on its last activity",
	{long: true},
	async (t) => {
		const host = await t.host();
		const dead = host.guest("dead", "--size", "16777216", "--rate", "0", "--count", "60000");
		const guest = host.guest("alive", "--size", "1048576", "--rate", "300");

		await dead.ended;
		await until(async () => (await host.domain("dead"))?.state === "ended");
		const page = await opened(t, host, "#domain=dead");
		const is = await camera(page);
		ok(
			is.from > is.start + (is.end - is.start) / 2n && is.to > is.end,
			`${is.from} to ${is.to} of ${is.start} to ${is.end}`,
		);
		ok((await drawn(page, "thread")).length > 3, "threads");
		const [mark] = await drawn(page, "death");
		ok(
			mark.text === "ended" && mark.x0 > is.width * 0.9 && mark.x0 < is.width,
			`the end at ${mark.x0} of ${is.width}`,
		);
		await t.look(page, "dead");
		await page.keyboard.press("f");
		await until(async () => (await camera(page)).from <= is.start);

		const seconds = async () => {
			const {from, to} = await host.get("/v1/domains/alive/packets?stream=0&buckets=1");
			return from && Number(BigInt(to) - BigInt(from)) / 1e9;
		};
		await until(async () => (await seconds()) > 7);
		const live = await opened(t, host, "#domain=alive");
		const now = await camera(live);
		ok(
			now.to >= now.end && now.to - now.from < 6n * 10n ** 9n,
			`${now.to - now.from} ns of ${now.end - now.start}`,
		);
		equal((await drawn(live, "death")).length, 0, "ends of a guest that runs");
		await guest.stop();
		await until(async () => (await drawn(live, "death")).length === 1);
	},
);

test("timeline: the page loads a run that is too long for one model slice by slice", {long: true}, async (t) => {
	const host = await t.host();
	const guest = host.guest("long", "--size", "67108864", "--packets", "64", "--rate", "0", "--count", "2000000");
	await guest.ended;
	await until(async () => (await host.domain("long"))?.state === "ended");
	const page = await opened(t, host, "#domain=long");
	const newest = await loaded(page);
	const whole = await camera(page);

	ok(newest.from !== "", "a part alone is loaded");
	ok(newest.bytes < newest.all / 2, `${newest.bytes} of ${newest.all} bytes`);
	ok(
		BigInt(newest.from) > whole.start && BigInt(newest.to) >= whole.end - 1n,
		`the newest part: ${JSON.stringify(newest)} of ${whole.start} to ${whole.end}`,
	);
	/* A guest on a busy machine does not write its bytes evenly over time. */
	ok(whole.end - whole.start > BigInt(newest.to) - BigInt(newest.from), "the whole is on the strip");
	await page.locator(".tl-remarks", {hasText: "too long to load whole"}).waitFor();
	await page.keyboard.press("f");
	await becomes(async () => (await drawn(page, "unloaded")).length, 1, "parts that are told to be missing");
	await t.look(page, "long-fit");
	await page.focus("#tl-canvas");
	/* The user goes on while a part is being loaded: the page then loads the part in view. */
	let asked = 0;
	let release;
	const released = new Promise((resolve) => (release = resolve));
	await page.route(/\/trace\?/, async (route) => {
		asked++;
		await released;
		await route.continue();
	});
	for (let i = 0; i < 20; i++) await page.keyboard.press("+");
	await until(() => asked > 0);
	await page.keyboard.press("Home");
	await until(() =>
		page.evaluate(
			(start) => document.getElementById("page").timeline.camera.from <= BigInt(start),
			`${whole.start}`,
		),
	);
	release();
	await until(async () => BigInt((await loaded(page)).from) <= whole.start);
	await page.unroute(/\/trace\?/);
	await settled(page);
	const now = await camera(page);
	const lines = (await drawn(page, "thread")).filter((it) => it.x1 > 0 && it.x0 < now.width);
	ok(lines.length > 0, "threads of it");
	await t.look(page, "long-start");
	await until(() => page.url().includes(`from=${now.from}`));
	await page.reload();
	await settled(page);
	equal((await camera(page)).from, now.from, "after a reload");
	ok(BigInt((await loaded(page)).from) <= whole.start, "the part of the address is loaded");
});
