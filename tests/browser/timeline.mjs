/* The time line, as a user sees it. The tests read the primitives behind the canvas. */
import {readFileSync} from "node:fs";

import {exact} from "../../client/viewer/page/times.js";
import {becomes, equal, fail, ok, reference, test, until} from "./harness.mjs";
import {box, camera, drawn, opened, settled} from "./timeline-tools.mjs";

const SMALL = () => reference("small.ctf");
const near = (a, b, by, what) =>
	Math.abs(Number(a) - Number(b)) <= by || fail(`${what}: ${a} is not within ${by} of ${b}`);

/** Start a host with one guest and open the guest's page. */
async function one(t, name, bytes, options, hash = "") {
	const host = await t.host({rings: {[name]: bytes}});

	return {host, page: await opened(t, host, `#domain=${name}${hash}`, options)};
}

test("timeline: the page draws every kind of mark, in the original's colours", async (t) => {
	const {page} = await one(t, "small", SMALL());
	const marks = await drawn(page);
	const kinds = [
		"sleeping",
		"collection",
		"grid",
		"thread",
		"running",
		"creation",
		"becomes",
		"open-end",
		"failed",
		"resolve",
		"read",
		"read-failed",
		"try-read",
		"signal",
		"label",
		"type",
		"counter",
		"lane",
		"envelope",
		"processor-busy",
		"processor-sleeping",
		"processor-collection",
		"processor-band-name",
		"death",
	];

	for (const kind of kinds)
		ok(
			marks.some((it) => it.kind === kind),
			`a mark of ${kind}`,
		);
	const colours = await page.evaluate(() => {
		const layers = document.getElementById("page").timeline.canvasView.layers();
		return Object.fromEntries(layers.filter((it) => it.shape !== "text").map((it) => [it.kind, it.colour]));
	});
	equal(
		[
			colours.resolve,
			colours.read,
			colours["read-failed"],
			colours["try-read"],
			colours.signal,
			colours.failed,
			colours.running,
			colours.collection,
		],
		["#008000", "#0000ff", "#d6001c", "#6f6b00", "#a85400", "#cc0000", "#ffffff", "#b39999"],
		"the colours",
	);
	ok(
		marks.some((it) => it.kind === "processor-band-name" && it.text === "sleeping"),
		"the name of a band",
	);
	/* Each thing has a place of its own. */
	equal(marks.filter((it) => ["counter-name", "band-name"].includes(it.kind)).length, 0, "names over the threads");
	const tops = await page.evaluate(() =>
		[".tl-ruler", ".tl-tracks-above", ".tl-pictures", ".tl-tracks-below", ".tl-minimap"].map((it) => {
			const {top, bottom} = document.querySelector(it).getBoundingClientRect();
			return [top, bottom];
		}),
	);
	for (let i = 1; i < tops.length; i++) ok(tops[i][0] >= tops[i - 1][1] - 1, `track ${i} lies below the one before`);
	const is = await camera(page);
	const end = (Number(is.end - is.from) / Number(is.to - is.from)) * is.width + 1;
	for (const it of marks.filter(({kind}) => ["counter", "envelope"].includes(kind)))
		ok(it.x1 <= end + 1, `a counter ends at ${it.x1}, behind ${end}`);
	/* The lanes keep apart. */
	const lanes = marks.filter((it) => it.kind === "lane").sort((a, b) => a.y0 - b.y0);
	for (let i = 1; i < lanes.length; i++) ok(lanes[i].y0 > lanes[i - 1].y1, "lanes keep apart");
	for (const it of marks.filter(({kind}) => ["counter", "envelope"].includes(kind))) {
		const lane = lanes.find(({item}) => item === it.item);
		ok(Math.min(it.y0, it.y1) >= lane.y0 - 0.01 && Math.max(it.y0, it.y1) <= lane.y1 + 0.01, "a curve in its lane");
	}
	await t.look(page, "small-fit");
	await t.accessible(page);
});

test("timeline: a thread that should have resolved is red to the right edge and says so", {long: true}, async (t) => {
	const {page} = await one(t, "bad", reference("public/arp-bad.ctf"));
	const marks = await drawn(page);
	const end = await page.evaluate(() => {
		const {camera} = document.getElementById("page").timeline;
		return camera.xOf(camera.end);
	});
	const red = marks.filter((it) => it.kind === "failed" && Math.abs(it.x1 - end) < 2);

	equal(red.length, 1, "threads that never resolved");
	ok(
		marks.some((it) => it.kind === "label" && it.text.includes("should-resolve thread never resolved")),
		"the sentence",
	);
	await t.look(page, "arp-bad-fit");
});

test("timeline: the wheel zooms by a fifth around the pointer", async (t) => {
	const {page} = await one(t, "small", SMALL());
	const place = await box(page);
	const x = 400;
	const before = await camera(page);
	const timeAt = (c) => c.from + ((c.to - c.from) * BigInt(x)) / BigInt(c.width);

	await page.mouse.move(place.x + x, place.y + 200);
	await page.mouse.wheel(0, -100);
	await until(async () => (await camera(page)).from !== before.from);
	const after = await camera(page);
	near(Number(before.to - before.from) / Number(after.to - after.from), 1.2, 0.0001, "the zoom");
	near(timeAt(after), timeAt(before), 1000, "the time under the pointer");
	await page.mouse.wheel(0, 100);
	await until(async () => (await camera(page)).to === before.to);
});

test("timeline: the wheel zooms down to nanoseconds, and the ruler separates them", {long: true}, async (t) => {
	const {page} = await one(t, "small", SMALL());
	const place = await box(page);

	await page.mouse.move(place.x + 300, place.y + 200);
	for (let i = 0; i < 30; i++) await page.mouse.wheel(0, -500);
	const now = await until(async () => {
		const it = await camera(page);
		return it.to - it.from === 10n && it;
	});
	const ticks = await page.evaluate(() => document.getElementById("page").timeline.canvasView.tickList);
	ok(ticks.length >= 2, "two ticks");
	equal(new Set(ticks.map((it) => it.text)).size, ticks.length, "different texts");
	ok(
		ticks.every((it) => /^\+\d+\.\d{6} ms$/.test(it.text)),
		ticks.map((it) => it.text).join(),
	);
	near(
		Number(now.width) / 10,
		(ticks[1].x - ticks[0].x) / Math.round((ticks[1].x - ticks[0].x) / (now.width / 10)),
		0.01,
		"a nanosecond",
	);
});

test("timeline: zooming out ends at the whole trace, and panning at its margins", {long: true}, async (t) => {
	const {page} = await one(t, "small", SMALL());
	const place = await box(page);
	const whole = await camera(page);

	ok(whole.from < whole.start && whole.to > whole.end, "the whole with margins");
	await page.mouse.move(place.x + 300, place.y + 200);
	await page.mouse.wheel(0, 1000);
	equal((await camera(page)).to - (await camera(page)).from, whole.to - whole.from, "the span");
	for (let i = 0; i < 5; i++) await page.mouse.wheel(0, -300);
	await page.keyboard.press("End");
	await page.keyboard.press("ArrowRight");
	await page.keyboard.press("ArrowRight");
	const end = await camera(page);
	ok(end.to >= end.end && end.to - end.end < (end.to - end.from) / 20n, "the end");
	await page.keyboard.press("Home");
	const start = await camera(page);
	ok(start.from <= start.start, "the beginning");
});

test("timeline: dragging moves time and the grabbed row with the pointer", async (t) => {
	/* If few rows fill the picture, their places are fixed. */
	const {page} = await one(t, "small", SMALL(), {}, "&rows=all");
	const place = await box(page);

	await page.mouse.move(place.x + 400, place.y + 200);
	for (let i = 0; i < 3; i++) await page.mouse.wheel(0, -500);
	const before = await camera(page);
	const grabbed = await page.evaluate(() => document.getElementById("page").timeline.canvasView.shown.rowAt(200));
	await page.mouse.down();
	await page.mouse.move(place.x + 430, place.y + 210, {steps: 3});
	await page.mouse.move(place.x + 460, place.y + 260, {steps: 5});
	const after = await until(async () => {
		const it = await camera(page);
		return it.focus !== before.focus && it;
	});
	near(before.from - after.from, (Number(before.to - before.from) * 60) / before.width, 1000, "the time moved");
	await until(async () => {
		await settled(page);
		const y = await page.evaluate(
			(row) => document.getElementById("page").timeline.canvasView.shown.yOf(row),
			grabbed,
		);
		return near(y, 260, 2, "the grabbed row");
	});
	await page.mouse.up();
});

test("timeline: keys and buttons zoom, move and fit; a held button repeats", async (t) => {
	const {page} = await one(t, "small", SMALL());
	const whole = await camera(page);
	const span = async () => {
		const it = await camera(page);
		return Number(it.to - it.from);
	};

	await page.focus("#tl-canvas");
	await page.keyboard.press("+");
	near((await span()) * 1.2, Number(whole.to - whole.from), 100, "+");
	await page.keyboard.press("-");
	near(await span(), Number(whole.to - whole.from), 100, "-");
	const button = page.getByRole("button", {name: "Zoom in (+)"});
	await button.focus();
	await page.keyboard.press("Enter");
	near((await span()) * 1.2, Number(whole.to - whole.from), 100, "the button by key");
	const at = await button.boundingBox();
	await page.mouse.move(at.x + 5, at.y + 5);
	await page.mouse.down();
	await until(async () => (await span()) * 1.2 ** 6 < Number(whole.to - whole.from));
	await page.mouse.up();
	const still = await span();
	equal(await span(), still, "after it was let go");
	const before = await camera(page);
	await page.focus("#tl-canvas");
	await page.keyboard.press("ArrowDown");
	ok((await camera(page)).focus > before.focus, "the focus moves down");
	await page.keyboard.press("ArrowLeft");
	ok((await camera(page)).from < before.from, "back in time");
	await page.keyboard.press("f");
	await until(async () => (await span()) === Number(whole.to - whole.from));
});

test("timeline: two fingers zoom, one finger drags", async (t) => {
	const {page} = await one(t, "small", SMALL(), {touch: true, width: 600, height: 800});
	const place = await box(page);
	const session = await page.context().newCDPSession(page);
	const touch = (type, ...points) =>
		session.send("Input.dispatchTouchEvent", {
			type,
			touchPoints: points.map(([x, y], id) => ({x: place.x + x, y: place.y + y, id})),
		});
	const whole = await camera(page);

	await touch("touchStart", [200, 200], [300, 200]);
	for (let i = 1; i <= 10; i++) await touch("touchMove", [200 - 10 * i, 200], [300 + 10 * i, 200]);
	await touch("touchEnd");
	const near3 = Number(whole.to - whole.from) / 3;
	const pinched = await camera(page);
	near(pinched.to - pinched.from, near3, near3 / 50, "the span after a pinch to three times");
	await touch("touchStart", [300, 200]);
	for (let i = 1; i <= 5; i++) await touch("touchMove", [300 - 20 * i, 200]);
	await touch("touchEnd");
	const moved = await camera(page);
	near(
		moved.from - pinched.from,
		(Number(pinched.to - pinched.from) * 100) / pinched.width,
		Number(pinched.to - pinched.from) / 100,
		"the time moved",
	);
	ok(
		!(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)),
		"the page is not wider than the screen",
	);
	await t.look(page, "small-narrow");
});

test("timeline: resizing keeps the range", {long: true}, async (t) => {
	const {page} = await one(t, "small", SMALL());

	await page.focus("#tl-canvas");
	for (let i = 0; i < 8; i++) await page.keyboard.press("+");
	const before = await camera(page);
	await page.setViewportSize({width: 900, height: 500});
	const after = await until(async () => {
		const it = await camera(page);
		return it.width !== before.width && it;
	});
	equal([after.from, after.to], [before.from, before.to], "the range");
});

test("timeline: the strip shows the whole trace, and a drag moves its window", async (t) => {
	const {page} = await one(t, "small", SMALL());

	await page.focus("#tl-canvas");
	for (let i = 0; i < 8; i++) await page.keyboard.press("+");
	const before = await camera(page);
	const strip = await page.locator(".tl-minimap").boundingBox();
	await page.mouse.click(strip.x + strip.width * 0.8, strip.y + 20);
	const there = await camera(page);
	const whole = Number(there.end - there.start);
	near(Number((there.from + there.to) / 2n - there.start) / whole, 0.8, 0.01, "the middle of the window");
	equal(there.to - there.from, before.to - before.from, "the span");
	await page.mouse.move(strip.x + strip.width * 0.8, strip.y + 20);
	await page.mouse.down();
	await page.mouse.move(strip.x + strip.width * 0.5, strip.y + 20, {steps: 4});
	await page.mouse.up();
	const dragged = await camera(page);
	near(Number((dragged.from + dragged.to) / 2n - dragged.start) / whole, 0.5, 0.01, "after dragging");
	const edge = strip.x + (Number(dragged.to - dragged.start) / whole) * strip.width;
	await page.mouse.move(edge, strip.y + 20);
	await page.mouse.down();
	await page.mouse.move(edge + strip.width * 0.1, strip.y + 20, {steps: 4});
	await page.mouse.up();
	const wider = await camera(page);
	equal(wider.from, dragged.from, "the other edge");
	near(Number(wider.to - dragged.to) / whole, 0.1, 0.01, "its edge drawn out");
	equal(await page.locator(".tl-minimap").getAttribute("role"), "scrollbar", "its role");
});

test("timeline: search counts, highlights, goes to the next match and back, and is closed by Escape", async (t) => {
	const {page} = await one(t, "small", SMALL());

	await page.keyboard.press("/");
	ok(await page.evaluate(() => document.activeElement.matches("input[type=search]")), "the box has the focus");
	await page.keyboard.type("SLEEP");
	const count = page.locator(".tl-count");
	/* The page searches at each letter; wait for the whole word. */
	await until(() =>
		page.evaluate(() =>
			(({text, looking}) => text === "SLEEP" && !looking)(document.getElementById("page").timeline.search),
		),
	);
	ok(/^\d+ found$/.test(await count.textContent()), "how many");
	const n = Number((await count.textContent()).split(" ")[0]);
	ok(n > 10, `${n} threads`);
	const yellow = await drawn(page, "highlight");
	ok(yellow.length > 5, "highlights");
	equal(
		await page.evaluate(
			() =>
				document
					.getElementById("page")
					.timeline.canvasView.layers()
					.find((it) => it.kind.startsWith("highlight"))?.colour,
		),
		"#ffff00",
		"their colour",
	);
	await page.keyboard.press("Enter");
	await until(async () => (await count.textContent()) === `1 of ${n}`);
	await page.locator("h2", {hasText: "sleep"}).waitFor();
	await page.keyboard.press("Shift+Enter");
	await until(async () => (await count.textContent()) === `${n} of ${n}`);
	await page.keyboard.press("Escape");
	await until(async () => (await drawn(page, "highlight")).length === 0);
	equal(await count.textContent(), "", "no count");
	await page.keyboard.press("/");
	await page.keyboard.type("no such label at all");
	await until(async () => (await count.textContent()) === "no match");
});

/** Return a thread of some length with a label, and a point of it that no other thread covers. */
async function someThread(page) {
	const lines = await drawn(page, "thread");
	const {width, height} = await camera(page);
	const line = lines
		.filter(
			(it) =>
				it.x1 - it.x0 > 60 && it.x0 > 0 && it.x1 < width && it.y0 > 40 && it.y0 < height - 40 && it.count === 0,
		)
		.find((it) => lines.every((other) => other === it || other.y0 === it.y0 || Math.abs(other.y0 - it.y0) > 6));

	ok(line, "a thread to point at");
	return line;
}

test("timeline: a click selects a thread, the panel describes it, and its links lead on", async (t) => {
	const {page} = await one(t, "small", SMALL());
	const place = await box(page);
	const line = await someThread(page);

	await page.mouse.click(place.x + (line.x0 + line.x1) / 2, place.y + line.y0);
	const panel = page.locator(".tl-panel");
	await panel.waitFor();
	const text = await until(async () => {
		const it = await panel.innerText();
		return /created by|was there/.test(it) && it;
	});
	ok(/Lives/.test(text) && /Runs/.test(text), text);
	await becomes(async () => (await drawn(page, "selected")).length, 1, "outlines");
	const over = await drawn(page, "selected");
	near(over[0].y0, (await drawn(page, "thread")).find((it) => it.item === line.item).y0, 1, "its height");
	const hash = new URL(page.url()).hash;
	const links = panel.locator("p .tl-link");
	await links.last().click();
	await until(async () => new URL(page.url()).hash !== hash);
	ok(await page.locator("[role=status]", {hasText: "Selected:"}).count(), "the announced selection");
	await t.look(page, "small-story");
	await t.accessible(page);
});

test("timeline: a double click highlights a thread and what it becomes", async (t) => {
	const {page} = await one(t, "net", reference("public/net.ctf"));
	const becoming = await page.evaluate(async () => {
		const it = document.getElementById("page").timeline;
		const found = [];
		for (const mark of it.canvasView.shown.marks.list(["thread"])) {
			const thread = await it.session.engine.thread(mark.item);
			if (thread.becomes !== null && mark.x1 - mark.x0 > 30) found.push({...mark, becomes: thread.becomes});
		}
		return found;
	});
	const place = await box(page);
	ok(becoming.length, "threads that become others");
	const [{item, becomes}] = becoming;
	/*
	 * If the page was busy between the two clicks, they are no double click, and the test tries
	 * again: by then the panel has made the picture narrower.
	 */
	const yellow = await until(async () => {
		const line = (await drawn(page, "thread")).find((it) => it.item === item);
		await page.mouse.dblclick(place.x + (Math.max(line.x0, 0) + line.x1) / 2, place.y + line.y0);
		await page.locator(".tl-panel").waitFor();
		await page.waitForTimeout(500);
		const marks = await drawn(page, "highlight");
		return marks.length && marks;
	});
	/* The thread that ends, the thread that goes on in its place, and no other. */
	const family = await page.evaluate(async (start) => {
		const {engine} = document.getElementById("page").timeline.session;
		const all = new Set();
		for (let at = start; at !== null && !all.has(at); at = (await engine.thread(at)).becomes) all.add(at);
		return [...all];
	}, item);
	ok(
		yellow.some((it) => family.slice(1).includes(it.item)),
		`${becomes} among ${yellow.map((it) => it.item)}`,
	);
	await t.look(page, "net-family");
});

test(
	"timeline: the second click of a double click means the thread of the first one, though a panel opened between them",
	{long: true},
	async (t) => {
		const {page} = await one(t, "small", SMALL());
		const {width} = await camera(page);
		/* Choose a thread at the right, under the panel that will open. */
		const line = (await drawn(page, "thread")).filter((it) => it.x1 > width - 200).sort((a, b) => b.x0 - a.x0)[0];
		const [x, y] = [(Math.max(line.x0, width - 200) + Math.min(line.x1, width)) / 2, line.y0];
		const selected = () =>
			page.evaluate(() => document.getElementById("page").timeline.selection.thread?.index ?? null);

		await page.evaluate((at) => document.getElementById("page").timeline.gestures.hooks.click(...at), [x, y]);
		await page.locator(".tl-panel").waitFor();
		const met = await selected();
		ok(met !== null, "the thread under the first click");
		await page.evaluate((at) => document.getElementById("page").timeline.gestures.hooks.double(...at), [x, y]);
		equal(await selected(), met, "the selection");
		equal(
			await page.evaluate(() => document.getElementById("page").timeline.selection.family),
			met,
			"the highlighted family",
		);
		/* The panel that the first click opens lies there, and lets the second one through. */
		await page.keyboard.press("Escape");
		await page.keyboard.press("Escape");
		await page.keyboard.press("Escape");
		await page.locator(".tl-panel").waitFor({state: "hidden"});
		const place = await box(page);
		await page.mouse.dblclick(place.x + x, place.y + y);
		await until(
			async () =>
				(await page.evaluate(() => document.getElementById("page").timeline.selection.family)) !== null &&
				(await selected()) === met,
		);
	},
);

test(
	"timeline: the tooltip is about the thread under the pointer, however late the answer comes",
	{long: true},
	async (t) => {
		const {page} = await one(t, "small", SMALL());
		const place = await box(page);
		const line = await someThread(page);
		const tip = page.locator(".tl-tooltip");

		await page.evaluate(() => {
			const {selection} = document.getElementById("page").timeline;
			const at = selection.at.bind(selection);
			selection.at = async (...where) => {
				const found = at(...where);
				await new Promise((resolve) => setTimeout(resolve, 300));
				return found;
			};
		});
		await page.mouse.move(place.x + 2, place.y + 2);
		await page.mouse.move(place.x + (line.x0 + line.x1) / 2, place.y + line.y0);
		await until(async () => /ran .*at \+/s.test(await tip.textContent()));
	},
);

test("timeline: hovering shows thread, type, labels and time", async (t) => {
	const {page} = await one(t, "small", SMALL());
	const place = await box(page);
	const line = await someThread(page);

	await page.mouse.move(place.x + (line.x0 + line.x1) / 2, place.y + line.y0);
	const tip = page.locator(".tl-tooltip");
	await until(async () => /ran .*at \+/s.test(await tip.textContent()));
	const thread = await page.evaluate(
		(index) =>
			document
				.getElementById("page")
				.timeline.session.engine.thread(index)
				.then((it) => ({...it, id: String(it.id), start: "", end: "", created: "", ran: "", labels: []})),
		line.item,
	);
	ok((await tip.textContent()).includes(`${thread.id} (${thread.type}`), await tip.textContent());
	equal((await drawn(page, "pointer")).length, 1, "lines at the pointer's time");
});

test("timeline: the page explains a wait and draws its chain", async (t) => {
	const {page} = await one(t, "bad", reference("public/arp-bad.ctf"));

	await page.focus("#tl-canvas");
	await page.keyboard.press("y");
	const panel = page.locator(".tl-panel");
	await until(async () => /Wait for ARP response/.test(await panel.innerText()));
	ok(/missed wake-up/.test(await panel.innerText()), "the verdict");
	ok(
		/\+\d[\d.]* m?s was created/.test(await panel.innerText()) &&
			!/(?<![+\d])\d+\.\d{9}/.test(await panel.innerText()),
		"times as the ruler tells them",
	);
	const chain = await until(async () => {
		const marks = await drawn(page, "why", "why-link");
		return marks.length && marks;
	});
	equal(chain.filter((it) => it.kind === "why").length, 8, "threads of the chain");
	equal(chain.filter((it) => it.kind === "why-link").length, 7, "links of the chain");
	ok(
		chain.some((it) => /Wait for ARP response/.test(it.text)),
		"its names",
	);
	await t.look(page, "arp-bad-why");
	await until(() => page.url().includes("panel=why"));
	await page.keyboard.press("Escape");
	equal((await drawn(page, "why")).length, 0, "the chain is gone");
});

test("timeline: check boxes choose counters, and space toggles all", {long: true}, async (t) => {
	const {page} = await one(t, "small", SMALL());
	const shown = async () => new Set((await drawn(page, "counter")).map((it) => it.item));
	const all = await shown();
	const {index, name} = await page.evaluate(() => {
		const it = document
			.getElementById("page")
			.timeline.session.summary.counters.find((one) => one.name === "temperature");
		return {index: it.index, name: it.name};
	});

	ok(all.size >= 4 && all.has(index), `${[...all]}`);
	ok((await drawn(page, "lane")).length >= 4, "their lanes");
	ok(
		await page.evaluate(() => {
			const {layers} = document.getElementById("page").timeline.canvasView.part("below");
			return layers.some((it) => it.kind === "lane" && it.texts.some((one) => /\d to .*\d/.test(one.text)));
		}),
		"their scales",
	);
	const tall = (await camera(page)).height;
	await page.focus("#tl-canvas");
	await page.keyboard.press(" ");
	await until(async () => (await shown()).size === 0);
	ok((await camera(page)).height > tall, "the threads have the lanes' room");
	await page.keyboard.press(" ");
	await until(async () => (await shown()).size === all.size);
	await page.getByRole("button", {name: "Tracks", exact: true}).click();
	await page.getByRole("checkbox", {name}).uncheck();
	await until(async () => (await shown()).size === all.size - 1 && !(await shown()).has(index));
	await page.getByRole("checkbox", {name}).check();
	await until(async () => (await shown()).has(index));
	await t.accessible(page);
});

test("timeline: a selected range is measured and counted", async (t) => {
	const {page} = await one(t, "small", SMALL());
	const place = await box(page);
	const c = await camera(page);

	await page.keyboard.down("Shift");
	await page.mouse.move(place.x + 200, place.y + 300);
	await page.mouse.down();
	await page.mouse.move(place.x + 500, place.y + 320, {steps: 5});
	await page.mouse.up();
	await page.keyboard.up("Shift");
	const panel = page.locator(".tl-panel");
	await until(async () => /events here/.test(await panel.innerText()));
	await becomes(async () => (await drawn(page, "range")).length, 1, "ranges");
	/* The address may first hold a value from before the user ended the gesture. */
	const measured = (ns) =>
		until(() => {
			const [, begin, end] = /measure=(\d+)-(\d+)/.exec(new URL(page.url()).hash);
			near(BigInt(end) - BigInt(begin), ns, 2, "its length");
			return [begin];
		});
	const [from] = await measured((Number(c.to - c.from) * 300) / c.width);
	near(from, Number(c.from) + (Number(c.to - c.from) * 200) / c.width, 1000, "its beginning");
	ok(/Busiest threads/.test(await panel.innerText()) && /gntref/.test(await panel.innerText()), "numbers");
	equal((await camera(page)).from, c.from, "the camera stays");
	await page.keyboard.press("Escape");
	await page.keyboard.press("Escape");
	equal((await drawn(page, "range")).length, 0, "Escape clears it");
	await until(() => !/measure=/.test(page.url()));
	await until(async () => (await camera(page)).width === c.width);
	const wide = await camera(page);
	await page.mouse.move(place.x + 100, place.y + 100);
	await page.keyboard.press("m");
	await page.mouse.move(place.x + 150, place.y + 100);
	await page.keyboard.press("m");
	await measured((Number(wide.to - wide.from) * 50) / wide.width);
});

test("timeline: Enter goes to a match of the typed text, however late the answer comes", {long: true}, async (t) => {
	const {page} = await one(t, "small", SMALL());

	await page.evaluate(() => {
		const {hooks} = document.getElementById("page").timeline.search;
		const find = hooks.find;
		hooks.find = async (text) => {
			await new Promise((resolve) => setTimeout(resolve, 300));
			return find(text);
		};
	});
	await page.keyboard.press("/");
	await page.keyboard.type("request");
	await page.keyboard.press("Enter");
	await until(async () => /^1 of /.test(await page.locator(".tl-count").textContent()));
	await until(async () => (await drawn(page, "selected")).length === 1);
});

test("timeline: the address names the view; back, forward and reload restore it", async (t) => {
	const {page} = await one(t, "small", SMALL());
	const place = await box(page);
	const first = await camera(page);

	await until(() => page.url().includes("from="));
	await page.mouse.move(place.x + 300, place.y + 200);
	await page.mouse.wheel(0, -500);
	const zoomed = await camera(page);
	await until(() => page.url().includes(`from=${zoomed.from}`));
	await page.keyboard.press("/");
	await page.keyboard.type("request");
	await page.keyboard.press("Enter");
	await until(() => /thread=/.test(page.url()) && /find=request/.test(page.url()));
	const state = async () => [
		await camera(page),
		await page.locator(".tl-find").inputValue(),
		await page.locator(".tl-panel h2").textContent(),
		await drawn(page, "selected"),
	];
	await page.locator(".tl-panel h2").waitFor();
	await until(async () => (await drawn(page, "selected")).length === 1);
	const was = await state();
	await until(() => page.url().includes(`from=${was[0].from}`));
	await page.reload();
	await becomes(state, was, "after a reload");
	while (/find=|thread=/.test(page.url())) await page.goBack();
	await until(async () => (await page.locator(".tl-find").inputValue()) === "");
	const window = async () => (({from, to}) => [from, to])(await camera(page));
	await becomes(window, [zoomed.from, zoomed.to], "one back");
	await page.goBack();
	await until(async () => (await camera(page)).from === first.from);
	await page.goForward();
	await until(async () => (await camera(page)).from === zoomed.from);
});

test("timeline: going back keeps the way forward, however late the view is ready", {long: true}, async (t) => {
	const {page} = await one(t, "small", SMALL());
	const find = page.locator(".tl-find");

	await until(() => page.url().includes("from="));
	const first = page.url();
	await page.keyboard.press("/");
	await page.keyboard.type("request");
	await page.keyboard.press("Enter");
	await until(() => /thread=/.test(page.url()) && /find=request/.test(page.url()));
	await until(async () => (await drawn(page, "selected")).length === 1);
	await page.waitForTimeout(1000); /* longer than the address waits */
	const last = page.url();
	const places = () => page.evaluate(() => navigation.entries().map((it) => it.url));
	const before = await places();
	await page.evaluate(() => {
		const {hooks} = document.getElementById("page").timeline.search;
		const {find} = hooks;
		hooks.find = async (text) => {
			await new Promise((resolve) => setTimeout(resolve, 1000));
			return find(text);
		};
	});
	const steps = before.indexOf(last) - before.indexOf(first);
	/*
	 * Make the page write the address after the browser has changed it and before the page is
	 * told.
	 */
	await page.evaluate((by) => {
		addEventListener("popstate", () => document.getElementById("page").timeline.viewUrl.write(), {once: true});
		history.go(by);
	}, -steps);
	await until(() => page.url() === first);
	await settled(page);
	await page.waitForTimeout(1000);
	equal(await find.inputValue(), "", "the searched text");
	equal((await drawn(page, "selected")).length, 0, "the selection");
	equal([page.url(), await places()], [first, before], "places to come back to");
	/* Go back and forth at once: the page shows the last address, and nothing of the one before. */
	await page.evaluate(
		(by) => (history.go(by), setTimeout(() => history.go(-by), 100), setTimeout(() => history.go(by), 200)),
		steps,
	);
	await until(async () => (await find.inputValue()) === "request");
	await becomes(async () => [page.url(), (await drawn(page, "selected")).length], [last, 1], "the last view");
});

test("timeline: the page shows another range in the address exactly", {long: true}, async (t) => {
	const host = await t.host({rings: {small: SMALL()}});
	const page = await opened(t, host, "#domain=small");
	const c = await camera(page);
	const [from, to] = [c.start + 1234567n, c.start + 1234599n];

	await page.evaluate((hash) => (location.hash = hash), `#domain=small&from=${from}&to=${to}`);
	await until(async () => (await camera(page)).from === from);
	equal((await camera(page)).to, to, "the end");
});

test("timeline: the page uses the valid parts of a hostile address", async (t) => {
	const {page} = await one(
		t,
		"small",
		SMALL(),
		{},
		"&from=9&to=3&thread=x&find=%3Cimg%20src=x%20onerror=alert(1)%3E&panel=__proto__&measure=1-1",
	);

	equal(await page.locator(".tl-count").textContent(), "no match", "the search");
	equal(await page.locator("img").count(), 0, "images");
});

test("timeline: help lists every key", async (t) => {
	const {page} = await one(t, "small", SMALL());

	await page.focus("#tl-canvas");
	await page.keyboard.press("?");
	const text = await until(
		async () =>
			(await page.locator(".tl-panel").innerText()).includes("Keys") && page.locator(".tl-panel").innerText(),
	);
	for (const key of ["Space", "Esc", "Page up", "Double click", "Shift and drag"]) ok(text.includes(key), key);
	for (const group of ["Threads", "Arrows", "Bands", "Tracks", "Several traces"])
		ok(await page.locator(".tl-panel h3", {hasText: group}).count(), group);
	/* Each sign of the legend is painted: it has pixels that differ from its upper left one. */
	const painted = await page.locator(".tl-panel .tl-sample").evaluateAll((samples) =>
		samples.map((canvas) => {
			const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
			const words = new Uint32Array(data.buffer);

			return words.some((word) => word !== words[0]);
		}),
	);
	ok(painted.length > 15, `${painted.length} signs`);
	equal(
		painted.filter((it) => !it),
		[],
		"signs that are not painted",
	);
	await t.accessible(page);
	await t.look(page, "small-help");
});

test("timeline: w, s, a and d zoom and pan", {long: true}, async (t) => {
	const {page} = await one(t, "small", SMALL());
	const length = async () => {
		const {from, to} = await camera(page);
		return Number(to - from);
	};
	const press = async (key) => {
		const before = await camera(page);

		await page.keyboard.press(key);
		await until(async () => (await camera(page)).from !== before.from);
		await settled(page);
		return {before, after: await camera(page)};
	};

	await page.focus("#tl-canvas");
	const whole = await length();
	await press("w");
	const near = await length();
	ok(near < whole, `w zooms in: ${near} of ${whole}`);
	const right = await press("d");
	ok(right.after.from > right.before.from && Math.abs((await length()) - near) <= 1, "d goes on");
	const left = await press("a");
	ok(left.after.from < left.before.from && Math.abs((await length()) - near) <= 1, "a goes back");
	await press("s");
	ok((await length()) > near, "s zooms out");
});

test("timeline: an arrow, a band and a counter say what they are, and lead on", async (t) => {
	const {page} = await one(t, "small", SMALL());
	const tip = page.locator(".tl-tooltip").first();
	const place = await box(page);

	/* Zoom to where arrows are apart, and point at the middle of one. */
	const around = (await drawn(page, "resolve"))[0];
	await page.evaluate((x) => {
		const {camera} = document.getElementById("page").timeline;
		camera.zoom(x, 2000);
	}, around.x1);
	await page.evaluate(() => document.getElementById("page").timeline.canvasView.painted());
	await settled(page);
	const arrows = (await drawn(page, "resolve", "read", "try-read", "signal")).filter(
		(it) => it.x0 > 20 && it.x0 < place.width - 20 && Math.abs(it.y1 - it.y0) > 16 && it.shade > 60000,
	);
	let told = "";
	for (const it of arrows) {
		await page.mouse.move(place.x + (it.x0 + it.x1) / 2, place.y + (it.y0 + it.y1) / 2);
		told = await until(async () => (await tip.isVisible()) && tip.textContent());
		if (/resolved|read the|waits for|signalled/.test(told)) break;
	}
	ok(/(resolved|read the result of|waits for|signalled) .*at \+/.test(told), `${arrows.length} arrows: ${told}`);

	/* The processor's track and a counter's lane. */
	await page.keyboard.press("f");
	await settled(page);
	const track = await page.evaluate(() => {
		const {areas} = document.getElementById("page").timeline.canvasView;
		const place = (area) => area.canvas.getBoundingClientRect().toJSON();
		const first = (area, kind) => area.marks.list([kind])[0];

		return {
			above: place(areas.above),
			sleeping: first(areas.above, "sleeping"),
			below: place(areas.below),
			lane: first(areas.below, "lane"),
		};
	});
	const {above, sleeping, below, lane} = track;
	await page.mouse.move(above.x + (sleeping.x0 + sleeping.x1) / 2, above.y + (sleeping.y0 + sleeping.y1) / 2);
	await until(async () => /The guest slept, for .*from \+.* to \+/.test(await tip.textContent()));
	await page.mouse.move(below.x + below.width / 2, below.y + (lane.y0 + lane.y1) / 2);
	await until(async () => /: -?\d+since \+/.test(await tip.textContent()));
	/* A click on a band selects its time. */
	await page.mouse.click(above.x + (sleeping.x0 + sleeping.x1) / 2, above.y + (sleeping.y0 + sleeping.y1) / 2);
	await until(() => page.evaluate(() => document.getElementById("page").timeline.selection.range));
});

test("timeline: keys go from thread to thread, and a list and a text describe them", async (t) => {
	const {page} = await one(t, "small", SMALL());

	await page.focus("#tl-canvas");
	await page.keyboard.press("j");
	await page.keyboard.press("j");
	await until(async () => (await drawn(page, "selected")).length === 1);
	await page.keyboard.press("Enter");
	await until(async () => (await drawn(page, "highlight")).length > 0);
	await page.keyboard.press("z");
	await page.keyboard.press("t");
	await page.locator(".tl-sheet tbody tr").first().waitFor();
	await until(async () =>
		/threads are drawn/.test(await page.locator("[aria-label='The threads in view, as text']").textContent()),
	);
	await t.accessible(page);
});

test("timeline: no panel has a fault that axe-core knows of", {long: true}, async (t) => {
	const {page} = await one(t, "bad", reference("public/arp-bad.ctf"));

	for (const name of ["Why?", "Threads", "Numbers", "Tracks", "About", "Help"]) {
		const panel = page.locator(".tl-panel-body");
		await page.getByRole("group", {name: "Panels"}).getByRole("button", {name}).click();
		await until(async () => (await panel.innerText()).length > 10);
		await t.accessible(page);
	}
	await page.locator("summary", {hasText: "Save"}).click();
	await t.accessible(page);
});

test("timeline: the numbers of what is in view follow the view, with their order and filter", async (t) => {
	const {page} = await one(t, "small", SMALL());
	const panel = page.locator(".tl-panel");
	const length = () => panel.locator("strong").first().textContent();

	await page.keyboard.press("i");
	await panel.getByRole("heading", {name: "In view"}).waitFor();
	const whole = await length();
	await panel.getByRole("button", {name: "threads", exact: true}).click();
	const heading = panel.locator("th", {hasText: /^threads$/});
	await becomes(() => heading.getAttribute("aria-sort"), "descending", "the order");
	await page.focus("#tl-canvas");
	for (let i = 0; i < 4; i++) await page.keyboard.press("+");
	await until(async () => (await length()) !== whole);
	await settled(page);
	const [from, to] = await page.evaluate(() => {
		const {camera: view} = document.getElementById("page").timeline;

		return [view.from > view.start ? view.from : view.start, view.to < view.end ? view.to : view.end].map(String);
	});
	const range = `${exact(BigInt(from))} to ${exact(BigInt(to))};`;
	await panel.locator("p", {hasText: `By the guest's clock ${range}`}).waitFor();
	equal(await heading.getAttribute("aria-sort"), "descending", "the order after a move");

	/* A selected range has numbers of its own, wherever the view goes. */
	await page.evaluate(() => {
		const {selection, camera: view} = document.getElementById("page").timeline;

		selection.setRange(view.start, view.start + 1000n, true);
	});
	await panel.getByRole("heading", {name: "The selected range"}).waitFor();
	const selected = await length();
	await page.focus("#tl-canvas");
	await page.keyboard.press("-");
	await settled(page);
	equal(await length(), selected, "the numbers of a selected range");
});

test("timeline: a gesture gets one picture a frame, and the old picture moves along", async (t) => {
	const {page} = await one(t, "small", SMALL());
	const {asked, frames, went} = await page.evaluate(async () => {
		const {canvasView} = document.getElementById("page").timeline;
		const {engine, canvas} = canvasView;
		const frame = engine.frame.bind(engine);
		const told = {asked: 0, frames: canvasView.work.length, went: 0};

		engine.frame = (...what) => (told.asked++, frame(...what));
		for (let i = 0; i < 50; i++)
			canvas.dispatchEvent(
				new WheelEvent("wheel", {deltaY: -10, clientX: 400, clientY: 300, bubbles: true, cancelable: true}),
			);
		/*
		 * This callback runs after the page's own in the same frame; the next one belongs to
		 * another frame.
		 */
		await new Promise((resolve) =>
			requestAnimationFrame(() => {
				told.went = canvasView.picture.style.transform;
				told.frames = canvasView.work.length - told.frames;
				resolve();
			}),
		);
		return {...told};
	});

	ok(
		asked <= 1 && frames <= 1,
		`${asked} pictures were asked for, and ${frames} frames painted, for 50 turns of the wheel`,
	);
	ok(/scale\(2\.\d/.test(went), `the old picture: ${went}`);
	await drawn(page);
	equal(
		await page.evaluate(() => document.getElementById("page").timeline.canvasView.picture.style.transform),
		"",
		"the new one",
	);
});

test("timeline: the controls stay where they are, and leave a telephone its picture", {long: true}, async (t) => {
	const {host, page} = await one(t, "small", SMALL());
	const before = await camera(page);
	const place = (name) => page.getByRole("button", {name}).boundingBox();
	const zoom = await place("Zoom in (+)");

	/* The number of matches moves nothing. */
	await page.keyboard.press("/");
	await page.keyboard.type("a");
	await until(async () => /found/.test(await page.locator(".tl-count").textContent()));
	equal(await place("Zoom in (+)"), zoom, "the place of a button");
	/* A panel lies over the picture, and the end of the trace can be moved from under it. */
	await page.getByRole("button", {name: "Help"}).click();
	const now = await camera(page);
	equal([now.from, now.to, now.width], [before.from, before.to, before.width], "the window beside a panel");
	await page.focus("#tl-canvas");
	for (let i = 0; i < 5; i++) await page.keyboard.press("+");
	await page.keyboard.press("End");
	for (let i = 0; i < 9; i++) await page.keyboard.press("ArrowRight");
	const edge = (await page.locator(".tl-panel").boundingBox()).x - (await box(page)).x;
	await until(() =>
		page.evaluate((x) => {
			const {camera} = document.getElementById("page").timeline;
			return camera.xOf(camera.end) < x;
		}, edge),
	);
	await page.keyboard.press("Escape");
	/* The menu closes with a press elsewhere. */
	const item = page.getByRole("button", {name: "The trace (CTF)"});
	await page.locator(".tl-menu summary").click();
	await item.waitFor();
	await page.mouse.click((await box(page)).x + 300, (await box(page)).y + 200);
	await item.waitFor({state: "hidden"});
	await page.locator(".tl-menu summary").click();
	await item.waitFor();
	await page.focus("#tl-canvas");
	await item.waitFor({state: "hidden"});

	const phone = await opened(t, host, "#domain=small", {width: 390, height: 800, touch: true});
	const bar = await phone.locator(".tl-bar").boundingBox();
	ok(bar.height < 800 * 0.15, `${bar.height} pixels of controls`);
	await phone.locator(".tl-menu summary").tap();
	await phone.getByRole("button", {name: "The trace (CTF)"}).tap({trial: true});
	await t.accessible(phone);
	await t.look(phone, "phone");
});

test("timeline: neighbours on the ruler differ, and no text is cut at its end", async (t) => {
	const {page} = await one(t, "small", SMALL());
	const {start, end} = await camera(page);

	for (const [from, span, width] of [
		[start, end - start, 1280],
		[start + 1n, 1000n, 1280],
		[end - 5000n, 5000n, 700],
		[end - 10n, 10n, 1280],
		[end - 10n, 10n, 380],
		[end - 1234567n, 1234567n, 1900],
	]) {
		await page.setViewportSize({width, height: 600});
		await page.evaluate(
			([a, b]) => {
				const {timeline} = document.getElementById("page");
				timeline.move(() => timeline.camera.show(BigInt(a), BigInt(b)));
			},
			[String(from), String(from + span)],
		);
		await settled(page);
		const {ticks, ends, said} = await page.evaluate(() => {
			const {canvasView, says} = document.getElementById("page").timeline;
			const pen = document.createElement("canvas").getContext("2d");
			pen.font = "11px system-ui, sans-serif";
			return {
				ticks: canvasView.tickList,
				ends: canvasView.tickList.map(({x, text}) => x + 3 + pen.measureText(text).width),
				said: says.textContent,
			};
		});
		equal(new Set(ticks.map((it) => it.text)).size, ticks.length, "different texts");
		for (let i = 1; i < ticks.length; i++)
			ok(ends[i - 1] < ticks[i].x, `${ticks[i - 1].text} ends before the next`);
		const [, a, b] = /from (\S+ \S+) to (\S+ [^,]+),/.exec(said) ?? [null, "a", "b"];
		ok(a !== b, said);
	}
});

test("timeline: the browser's own menu stays", {long: true}, async (t) => {
	const {page} = await one(t, "small", SMALL());

	ok(
		await page.evaluate(() =>
			document
				.getElementById("tl-canvas")
				.dispatchEvent(new MouseEvent("contextmenu", {bubbles: true, cancelable: true})),
		),
		"nothing keeps it from opening",
	);
});

test("timeline: the dark theme", async (t) => {
	const {page} = await one(t, "small", SMALL(), {dark: true});

	equal(await page.evaluate(() => document.getElementById("page").timeline.dark), true, "dark");
	await t.look(page, "small-dark");
	await t.accessible(page);
	await page.emulateMedia({colorScheme: "light"});
	await until(() => page.evaluate(() => document.getElementById("page").timeline.dark === false));
});

/** Press ITEM in the menu and return what it downloads. */
async function saved(page, item) {
	await page.locator("summary", {hasText: "Save"}).click();
	const [download] = await Promise.all([
		page.waitForEvent("download"),
		page.getByRole("button", {name: item}).click(),
	]);

	return {name: download.suggestedFilename(), bytes: readFileSync(await download.path())};
}

test("timeline: a user saves the trace and the picture", async (t) => {
	const {host, page} = await one(t, "small", SMALL());
	const ctf = await saved(page, "The trace (CTF)");
	const served = Buffer.from(await (await fetch(`${host.url}/v1/domains/small/trace`)).arrayBuffer());

	equal(ctf.name, "small.ctf", "its name");
	ok(ctf.bytes.equals(served), "the bytes are those of the server");
	const svg = await saved(page, "The picture (SVG)");
	const text = svg.bytes.toString();
	ok(
		text.startsWith("<svg") &&
			text.includes("sleeping") &&
			text.includes('class="read"') &&
			!/<script|href=/.test(text),
		"an SVG of its own",
	);
	const png = await saved(page, "The picture (PNG)");
	equal(png.bytes.subarray(1, 4).toString(), "PNG", "a PNG");
	const json = JSON.parse((await saved(page, "For Perfetto (JSON)")).bytes.toString());
	const phases = new Set(json.traceEvents.map((it) => it.ph));
	for (const phase of ["M", "X", "b", "e", "n", "s", "f", "C"]) ok(phases.has(phase), `an event ${phase}`);
	ok(
		json.traceEvents.some((it) => it.name === "idle" && it.dur > 0),
		"idle",
	);
});

test("timeline: the page calls Perfetto until it answers, and sends the trace", async (t) => {
	const {page} = await one(t, "small", SMALL());

	/*
	 * Perfetto's page is on another host. A local page that answers as its documentation says
	 * stands in for it.
	 */
	await page.context().route("https://ui.perfetto.dev/**", (route) =>
		route.fulfill({
			contentType: "text/html",
			body: `<script>let asked = 0; addEventListener("message", (e) => {
				if (e.data === "PING") { if (++asked > 2) e.source.postMessage("PONG", "*"); }
				else document.title = e.data.perfetto.title + " " + e.data.perfetto.buffer.byteLength; });</script>`,
		}),
	);
	await page.locator("summary", {hasText: "Save"}).click();
	const [other] = await Promise.all([
		page.waitForEvent("popup"),
		page.getByRole("button", {name: "Open in Perfetto"}).click(),
	]);
	await until(async () => /^small \d{5,}$/.test(await other.title()));
});

test("timeline: a sentence says why a trace cannot be shown", async (t) => {
	const host = await t.host({rings: {small: SMALL()}});

	t.allow(/404|Failed to load resource/);
	const page = await t.open(host, "/#domain=nobody");
	const message = page.locator(".tl-message[role=alert]");
	await message.waitFor();
	ok(/nobody/.test(await message.textContent()), await message.textContent());
	await page.goto(`${host.url}/#capture=99999`);
	await until(async () => /capture/.test(await message.textContent()));
});

test("timeline: the page reports damage", async (t) => {
	const bytes = SMALL();

	bytes.fill(0xff, 70000, 70040);
	const {page} = await one(t, "hurt", bytes);
	const remarks = page.locator(".tl-remarks");
	await remarks.waitFor();
	ok((await remarks.textContent()).length > 20, "a sentence");
	await remarks.click();
	await page.locator(".tl-panel", {hasText: "Packets"}).waitFor();
});

test("timeline: a file is opened or dropped, and the page asks for it again after a reload", async (t) => {
	const host = await t.host();
	const page = await t.open(host, "/#file=small.ctf");

	await page.locator(".tl-message", {hasText: "small.ctf"}).waitFor();
	await page.locator("input[type=file]").setInputFiles({name: "small.ctf", mimeType: "", buffer: SMALL()});
	await settled(page);
	ok((await drawn(page, "thread")).length > 100, "threads");
	equal((await page.locator("h1").textContent()).trim(), "small.ctf", "the title");
	const before = (await camera(page)).end;
	const data = await page.evaluateHandle((base64) => {
		const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
		const transfer = new DataTransfer();
		transfer.items.add(new File([bytes], "bad.ctf"));
		return transfer;
	}, reference("public/arp-bad.ctf").toString("base64"));
	await page.dispatchEvent(".tl", "drop", {dataTransfer: data});
	await until(
		async () => (await camera(page)).end !== before && (await page.locator("h1").textContent()) === "bad.ctf",
	);
	await page.keyboard.press("+");
	const {from} = await camera(page);
	await until(() => new URL(page.url()).hash.includes(`from=${from}`));
	await page.reload();
	await page.locator(".tl-message", {hasText: "bad.ctf"}).waitFor();
	await page.locator("input[type=file]").setInputFiles({
		name: "bad.ctf",
		mimeType: "",
		buffer: reference("public/arp-bad.ctf"),
	});
	equal((await camera(page)).from, from, "the view of the address after the file was chosen again");
});

test("timeline: the paper has the picture and the open panel, and no buttons", async (t) => {
	const {page} = await one(t, "small", SMALL());
	const fire = (name) => page.evaluate((it) => dispatchEvent(new Event(it)), name);
	const paper = page.locator(".tl-paper > svg");

	await page.keyboard.press("i");
	await page.getByRole("heading", {name: "In view"}).waitFor();
	equal(await paper.count(), 0, "pictures on the screen");
	await fire("beforeprint");
	await page.emulateMedia({media: "print"});
	await paper.waitFor();
	const [of, wide] = await paper.evaluate((it) => [it.getBoundingClientRect().width, innerWidth]);
	near(of, wide, 20, "the picture's width");
	for (const shown of [".tl-paper h1", ".tl-panel"]) ok(await page.locator(shown).isVisible(), shown);
	for (const hidden of [".tl-tools", "#tl-canvas", ".tl-panel header button"])
		ok(!(await page.locator(hidden).first().isVisible()), `no ${hidden}`);
	await fire("afterprint");
	await page.emulateMedia({media: "screen"});
	await page.locator("#tl-canvas").waitFor();
	equal(await paper.count(), 0, "pictures after it");
});
