/* Several guests on one time line, and two traces one above the other: as a person comes to them, and what is drawn then. */
import {spawn} from "node:child_process";
import {once} from "node:events";
import path from "node:path";

import {BUILD, equal, fail, ok, reference, test, until} from "./harness.mjs";
import {box, camera, drawn, opened, settled} from "./timeline-tools.mjs";

const HOUR = 3600n * 10n ** 9n;
const SHIFTS = {early: -(10n ** 9n) / 2n, late: 5n * HOUR + 123456789n};

/** A guest whose clock is SHIFT ahead of the host's, and who writes the host's time into its labels. */
async function shifted(host, name, shift, events = 900, pause = 800) {
	const program = spawn(path.join(BUILD, "tests/integration/shifted"), [path.join(host.rings, `${name}.ctf`), String(shift), String(events), String(pause)], {stdio: "ignore"});

	await once(program, "exit");
	equal(program.exitCode, 0, "the guest's exit code");
}

/** Two guests that ran at once by clocks that are hours apart. */
async function two(t) {
	const host = await t.host();

	await Promise.all(Object.entries(SHIFTS).map(([name, shift]) => shifted(host, name, shift)));
	for (const name of Object.keys(SHIFTS))
		await until(async () => (await host.domain(name))?.state === "ended");
	return host;
}

const inPage = (page, what) => page.evaluate(what);

test("beside: guests with clocks of their own are ticked, and stand on one time line with the uncertainty of each", async (t) => {
	const host = await two(t);
	const page = await t.open(host);

	for (const name of Object.keys(SHIFTS))
		await page.getByLabel(`Tick ${name}, to see it beside others`).first().check();
	await t.look(page, "beside-ticked");
	await t.accessible(page);
	await page.getByRole("link", {name: "On one time line"}).click();
	await settled(page);
	const heads = await drawn(page, "guest");
	equal(heads.map((it) => it.text.split(" · ")[0]), ["early", "late"], "the headings");
	ok(heads.every((it) => /or up to [\d.]+ (µs|ms|s) before/.test(it.text)), heads.map((it) => it.text).join());
	ok(heads[0].y0 === 0 && heads[1].y0 > 50, "their places");
	ok(heads.every((it) => it.length >= 1), "whiskers");
	/* Each label says when it was: no event stands before it happened, nor later than is said. */
	const facts = await inPage(page, async () => {
		const {session} = document.getElementById("page").timeline;
		const out = [];
		for (const [i, stream] of session.summary.streams.entries()) {
			const it = {name: stream.name, offset: String(stream.offset_ns), uncertainty: String(stream.uncertainty_ns), start: String(stream.start), end: String(stream.end), labels: []};
			out.push(it);
			for (let index = 0; index < 400; index++) {
				const thread = await session.engine.thread(index);
				if (thread?.stream === i)
					it.labels.push(...thread.labels.map(({time, text}) => [String(time), text]));
			}
		}
		return out;
	});
	for (const it of facts) {
		const late = it.labels.filter(([, text]) => /^\d+$/.test(text)).map(([time, text]) => BigInt(time) - BigInt(text));
		ok(late.length > 20, `labels of ${it.name}`);
		ok(late.every((by) => by >= 0n && by <= BigInt(it.uncertainty)), `${it.name}: events stand where they can have been`);
		ok(-SHIFTS[it.name] <= BigInt(it.offset) && -SHIFTS[it.name] >= BigInt(it.offset) - BigInt(it.uncertainty), `the offset of ${it.name}`);
	}
	ok(BigInt(facts[0].start) < BigInt(facts[1].end) && BigInt(facts[1].start) < BigInt(facts[0].end), "both at once");
	/* The names of guests wherever a thread is told of. */
	await page.keyboard.press("f");
	await page.keyboard.press("j");
	await until(async () => /^early: /.test(await page.locator("#tl-panel-title").textContent()));
	await page.getByRole("button", {name: "About"}).click();
	ok(/late: its clock is .* ahead of dom0's/.test(await page.locator(".tl-panel-body").textContent()), "the clocks in words");
	await t.look(page, "beside-together");
	await t.accessible(page);
	const place = await box(page);
	await page.mouse.move(place.x + 500, place.y + 300);
	ok(await until(async () => (await drawn(page, "uncertain")).length), "the uncertainty at the pointer");
	/* The address is enough. */
	const address = await page.evaluate(() => location.hash);
	const again = await opened(t, host, address);
	equal((await drawn(again, "guest")).length, 2, "headings by the address");
});
