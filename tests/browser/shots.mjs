/*
 * Compare screenshots of fixed views with those in shots/.
 *
 * After a change to a view, renew the screenshots, look at each, and commit them:
 *
 *     MPROF_SHOTS=renew node tests/browser/run.mjs build/gcc build/browser /dev/null shot:
 *
 * If $MPROF_SCREENSHOTS names a directory, each screenshot that differs is left there.
 */
import {existsSync, mkdirSync, readFileSync, writeFileSync} from "node:fs";
import path from "node:path";

import {TOP, fail, ok, reference, sleep, test, until} from "./harness.mjs";
import {opened as profile, recorded} from "./memory-tools.mjs";
import {difference, read} from "./png.mjs";
import {opened, settled} from "./timeline-tools.mjs";
import {server, story} from "./workload.mjs";

const KEPT = path.join(TOP, "tests/browser/shots");
const RENEW = process.env.MPROF_SHOTS === "renew";
const SHARE = 0.0003; /* part of the pixels that may differ */
const REST_MS = 3000; /* before a picture is renewed, which a person looks at */
const SIZE = {width: 900, height: 520};
/* Views that others resemble, of which the test is long. */
const LONG = ["zoomed", "server", "search", "counters", "dark"];
const UUID = "0a1b2c3d-0000-4000-8000-00000000000";

const HOST = [
	"begin",
	"age 3600",
	`run 1 xen a web ${UUID}1 3 running -`,
	"stream 1 1 0 4096 4 0",
	`run 2 xen b db ${UUID}2 4 ended crash`,
	"stream 2 2 0 4096 4 0",
	`run 3 xen c mail ${UUID}3 5 suspended -`,
	"stream 3 3 0 4096 4 0",
	`run 4 xen d dns ${UUID}4 6 ended poweroff`,
	"stream 4 4 0 4096 4 0",
	"gap 4 lost lapped 5 370 9 3 0",
	"capture 1 4 poweroff -",
	"range 1 4 0 0 30",
	"capture 2 2 crash first",
	"range 2 2 0 0 30",
	"commit",
];

/* Return the elements that show the time of day. The comparison masks them. */
const clocks = (page) => [
	page.locator("time"),
	page.locator("td.seen"),
	page.locator(".detail"),
	page.locator(".mem-about"),
];

/* How long a picture may take to become as it was. When one has not, a view was changed, and the others get less time. */
let patience = 300000;

async function compare(t, page, name) {
	await page.mouse.move(1, 1);
	const take = () =>
		page.screenshot({mask: clocks(page), maskColor: "#808080", animations: "disabled", caret: "hide"});
	const kept = path.join(KEPT, `${name}.png`);

	if (RENEW) {
		mkdirSync(KEPT, {recursive: true});
		await sleep(REST_MS);
		return writeFileSync(kept, await take());
	}
	ok(existsSync(kept), `${kept}, which a look at the new ones and a commit would make,`);
	const wanted = read(readFileSync(kept));
	try {
		/* The page may paint something a moment later. */
		await until(async () => {
			const {share, box} = difference(read(await take()), wanted);
			return (
				share <= SHARE ||
				fail(
					`${(100 * share).toFixed(2)} % of ${name} is otherwise, between ${box.slice(0, 2)} and ${box.slice(2)}; see the head of shots.mjs`,
				)
			);
		}, patience);
	} catch (error) {
		patience = 3000;
		await t.look(page, `shot-${name}`);
		throw error;
	}
}

/**
 * Register a test of one view. ON() returns the host, HASH is the view's address, and ACT does
 * what else the user does there.
 */
function shot(name, on, hash, options = {}, act = () => {}) {
	test(`shot: ${name}`, {long: LONG.includes(name)}, async (t) => {
		const host = await t.host(on());
		const page = await opened(t, host, `#domain=guest${hash}`, {...SIZE, ...options});

		await act(page);
		await settled(page);
		await compare(t, page, name);
	});
}

async function closer(page, times) {
	await page.focus("#tl-canvas");
	for (let i = 0; i < times; i++) await page.keyboard.press("+");
	await page.evaluate(() => document.activeElement.blur());
}

test("shot: host", async (t) => {
	const host = await t.host({archive: HOST, collector: false});
	const page = await t.open(host, "/", {width: 1280, height: 640});

	await page.locator(".guests tbody tr").nth(3).waitFor();
	await page.getByText("Live", {exact: true}).waitFor();
	await page.locator(".captures .detail:not(:empty)").nth(1).waitFor(); /* the server has read both captures */
	await compare(t, page, "host");
});

test("shot: host-empty", async (t) => {
	const page = await t.open(await t.host(), "/", SIZE);

	await page.getByText("data/mprof/ring-ref").waitFor();
	await page.getByText("Live", {exact: true}).waitFor();
	await compare(t, page, "host-empty");
});

const few = () => ({archive: server("guest", 8), collector: false});
const many = () => ({archive: server("guest", 120), collector: false});
const lost = () => ({archive: story("guest", "bad"), collector: false});

shot("whole", many, "");
shot("zoomed", many, "", {}, (page) => closer(page, 16));
shot("server", few, "");
shot("why", lost, "&panel=why", {}, (page) => page.locator(".tl-panel", {hasText: "missed wake-up"}).waitFor());
shot("counters", few, "&panel=counters", {}, (page) => page.locator(".tl-sheet tbody tr").first().waitFor());
shot("search", few, "&find=read+sector", {}, (page) =>
	until(async () => /found/.test(await page.locator(".tl-count").textContent())),
);
shot("dark", few, "", {dark: true});
shot("narrow", few, "", {width: 380, height: 640, touch: true});
shot(
	"compared",
	() => ({archive: [...story("good", "good"), ...story("guest", "bad", 2)], collector: false}),
	"&against=domain%3Agood",
	{height: 700},
);

/**
 * Register a test of one view of a reference trace's memory profile; MORE is added to its
 * address.
 */
function memory(name, more, options = {}) {
	test(`shot: ${name}`, {long: LONG.includes(name)}, async (t) => {
		const host = await t.host({sink: true, collector: false});
		const {id} = await recorded(host, reference("memtrace/leaky.trace"));
		const page = await profile(t, host, id, more, {...SIZE, ...options});

		await compare(t, page, name);
	});
}

memory("memory", "&during=56000-168000&find=list&only=size%3Aleast%3A32", {height: 900});
memory("memory-narrow", "&weight=live&tree=callers&grow=down&path=Stdlib.%28%5E%29", {
	width: 380,
	height: 900,
	touch: true,
	dark: true,
});
