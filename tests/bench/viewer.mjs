/*
 * The time line in Chromium: node viewer.mjs EVENTS.  MPROF_BUILD and MPROF_BROWSER as for tests/browser/run.mjs.
 *
 * Prints one JSON object a line.  Wrong is: a page that does not show the trace, or one that says that something is amiss.
 */
import {close, equal, ok, run, until} from "../browser/harness.mjs";
import {box, opened, settled} from "../browser/timeline-tools.mjs";

const events = Number(process.argv[2]);

function line(name, ours, unit, aim) {
	console.log(JSON.stringify({name, ours, peer: null, unit, ratio: null, aim, met: aim === null ? null : ours <= aim}));
}

const part = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];

/** From the last byte of what is loaded first to its picture. */
async function firstPicture(page) {
	const {bytes, painted} = await page.evaluate(() => {
		const {session, stage} = document.getElementById("page").timeline;
		return {bytes: session.arrived, painted: stage.first};
	});

	line("viewer-first-picture", painted - bytes, "ms from the last byte", 1000);
}

/** A hand that zooms and pans for a while: this thread's work, and the frames that it misses. */
async function frames(page) {
	const place = await box(page);

	await page.mouse.move(place.x + 400, place.y + 300);
	await page.evaluate(() => {
		document.getElementById("page").timeline.stage.work.length = 0;
		window.frames_ = [];
		let last = performance.now();
		const tick = (now) => {
			window.frames_.push(now - last);
			last = now;
			requestAnimationFrame(tick);
		};
		requestAnimationFrame(tick);
	});
	for (let i = 0; i < 120; i++)
		await page.mouse.wheel(0, i % 40 < 24 ? -50 : 50);
	await page.mouse.down();
	for (let i = 0; i < 200; i++)
		await page.mouse.move(place.x + 400 + 2 * Math.round(200 * Math.sin(i / 30)), place.y + 300 + (i % 90));
	await page.mouse.up();
	await settled(page);
	const {work, gaps} = await page.evaluate(() => ({work: document.getElementById("page").timeline.stage.work, gaps: window.frames_}));
	work.sort((a, b) => a - b);
	gaps.sort((a, b) => a - b);
	ok(work.length > 50, `${work.length} frames`);
	line("viewer-frame-median", part(work, 0.5), "ms of the main thread", 8);
	line("viewer-frame-99", part(work, 0.99), "ms of the main thread", 16);
	line("viewer-frames-missed", (100 * gaps.filter((it) => it > 25).length) / gaps.length, "% of frames", 1);
	line("viewer-blocked", gaps.at(-1), "ms at most", 100);
}

/** All of the run as one model, as a file of that size would be. */
async function whole(page, n) {
	const {ms, memory, all} = await page.evaluate(async () => {
		const {Engine} = await import("./viewer/engine.js");
		const bytes = await (await fetch("v1/domains/bench/trace")).arrayBuffer();
		const engine = await Engine.open();
		const began = performance.now();
		const summary = await engine.load([{name: "", guest: 0, bytes}]);
		const ms = performance.now() - began;
		engine.close();
		return {ms, memory: summary.memory, all: summary.totals.events};
	});

	equal(all, n, "the events of the whole");
	line("viewer-model", (ms * 1e7) / n, "ms for 10 million events", 3000);
	line("viewer-memory", memory / n, "bytes of memory an event", 64);
}

const {verdict, reason} = await run({
	name: "viewer",
	timeout: 300000,
	run: async (t) => {
		const host = await t.host();
		const guest = host.guest("bench", "--size", String(240 << 20), "--packets", "64", "--rate", "0", "--count", String(events));
		await guest.ended;
		await until(async () => (await host.domain("bench"))?.state === "ended", 120000);
		const page = await opened(t, host, "#domain=bench");
		await firstPicture(page);
		await frames(page);
		await whole(page, events);
	},
});

await close();
if (verdict !== "passed") {
	console.error(reason);
	process.exitCode = 1;
}
