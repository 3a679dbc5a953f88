/* Tips, clicks, wheel and drag on each part of the time line. */
import {becomes, equal, ok, reference, test, until} from "./harness.mjs";
import {camera, drawn, opened, settled} from "./timeline-tools.mjs";
import {event, piece, trace} from "./trace-make.mjs";

const RULER = ".tl-ruler";
const STRIP = ".tl-minimap";
const tip = (page) => page.locator(".tl-canvas-view").first().locator(".tl-tooltip");
const range = (page) =>
	page.evaluate(() => {
		const {range: it} = document.getElementById("page").timeline.selection;
		return it && [String(it.from), String(it.to)];
	});
const span = async (page) => {
	const {from, to} = await camera(page);
	return Number(to - from);
};
const near = (got, wanted, by, what) =>
	ok(Math.abs(Number(got) - Number(wanted)) <= by, `${what}: ${got}, not ${wanted}`);

async function small(t, options) {
	const host = await t.host({rings: {small: reference("small.ctf")}});

	return opened(t, host, "#domain=small", options);
}

/** Return the time at X pixels of the picture, ns. */
const timeAt = async (page, x) => {
	const {from, to, width} = await camera(page);
	return Number(from) + (Number(to - from) * x) / width;
};

test("pointing: the wheel zooms and a drag moves, on the ruler and on the strip", async (t) => {
	const page = await small(t);
	const whole = await span(page);

	for (const part of [RULER, STRIP]) {
		const {x, y, width, height} = await page.locator(part).first().boundingBox();
		const at = width * 0.4;

		await page.keyboard.press("f");
		await until(async () => (await span(page)) === whole);
		const before = await timeAt(page, at);
		await page.mouse.move(x + at, y + height / 2);
		for (let i = 0; i < 5; i++) await page.mouse.wheel(0, -100);
		await until(async () => Math.abs((await span(page)) - whole / 1.2 ** 5) < whole / 1000);
		/* The strip shows the trace without the margins that the picture has. */
		near(await timeAt(page, at), before, whole / 50, `${part}: the time at the pointer after zooming`);
		const zoomed = await camera(page);
		await page.mouse.wheel(100, 0);
		await until(async () => (await camera(page)).from > zoomed.from);
		equal(await span(page), Number(zoomed.to - zoomed.from), `${part}: the span after a wheel to the side`);
	}
	/* A drag of the ruler takes the time along. */
	await page.keyboard.press("f");
	for (let i = 0; i < 5; i++) await page.keyboard.press("w");
	const ruler = await page.locator(RULER).first().boundingBox();
	const held = await timeAt(page, 500);
	await page.mouse.move(ruler.x + 500, ruler.y + 8);
	await page.mouse.down();
	await page.mouse.move(ruler.x + 380, ruler.y + 8, {steps: 4});
	const line = (await drawn(page, "pointer"))[0];
	near(line.x0, 380, 1, "the line at the pointer during the drag");
	await page.mouse.up();
	near(await timeAt(page, 380), held, (await span(page)) / 500, "the dragged time");
	/* With Shift a drag of the ruler selects a range. */
	await page.keyboard.down("Shift");
	await page.mouse.move(ruler.x + 200, ruler.y + 8);
	await page.mouse.down();
	await page.mouse.move(ruler.x + 300, ruler.y + 8, {steps: 4});
	await page.mouse.up();
	await page.keyboard.up("Shift");
	const [from, to] = (await range(page)).map(Number);
	near(from, await timeAt(page, 200), (await span(page)) / 500, "the range's begin");
	near(to, await timeAt(page, 300), (await span(page)) / 500, "the range's end");
	/* The strip is moved by keys, too. */
	const was = (await camera(page)).from;
	await page.focus(STRIP);
	await page.keyboard.press("ArrowRight");
	await until(async () => (await camera(page)).from > was);
});

test("pointing: fingers move and zoom on the ruler, and a tap shows the tip", {long: true}, async (t) => {
	const page = await small(t, {touch: true, width: 700, height: 800});
	const session = await page.context().newCDPSession(page);
	const touch = (type, ...points) =>
		session.send("Input.dispatchTouchEvent", {type, touchPoints: points.map(([x, y], id) => ({x, y, id}))});
	const ruler = await page.locator(RULER).first().boundingBox();
	const [x, y] = [ruler.x, ruler.y + 10];
	const whole = await span(page);

	await touch("touchStart", [x + 200, y], [x + 300, y]);
	for (let i = 1; i <= 10; i++) await touch("touchMove", [x + 200 - 10 * i, y], [x + 300 + 10 * i, y]);
	await touch("touchEnd");
	near(await span(page), whole / 3, whole / 100, "the span after a pinch on the ruler");
	const before = await camera(page);
	await touch("touchStart", [x + 300, y]);
	for (let i = 1; i <= 5; i++) await touch("touchMove", [x + 300 - 20 * i, y]);
	await touch("touchEnd");
	ok((await camera(page)).from > before.from, "a finger moves the time");
	const thread = (await drawn(page, "thread")).find(
		(it) => it.count === 0 && it.x1 - it.x0 > 60 && it.x0 > 0 && it.x1 < before.width,
	);
	const place = await page.locator("#tl-canvas").boundingBox();
	await page.touchscreen.tap(place.x + (thread.x0 + thread.x1) / 2, place.y + thread.y0);
	await tip(page).locator("strong").waitFor();
	await until(async () => /ran .*at \+/s.test(await tip(page).textContent()));
});

test("pointing: the line stays at the pointer, and the tip changes when the view does", {long: true}, async (t) => {
	const page = await small(t);
	const place = await page.locator("#tl-canvas").boundingBox();
	const times = async () => /at (\+?[\d.]+ .?s|0)/.exec(await tip(page).textContent())?.[1];
	const shown = async () => (await tip(page).isVisible()) && (await times());

	await page.mouse.move(place.x + 700, place.y + 150);
	let last = await until(shown);
	for (const key of ["w", "w", "d", "a", "a", "s"]) {
		await page.keyboard.press(key);
		/* Zooming keeps the time at the pointer; each other key changes it. */
		const keeps = /[ws]/.test(key);
		last = await until(async () => {
			const now = await shown();
			return now && (now === last) === keeps && now;
		});
		near((await drawn(page, "pointer"))[0].x0, 700, 1, `the line after ${key}`);
	}
	/* The tip says the time that is at the pointer. */
	const wanted = await page.evaluate(() => {
		const {tooltip, state} = document.getElementById("page").timeline;
		return state.clock.everywhere(tooltip.time);
	});
	await until(async () => (await tip(page).textContent()).includes(wanted));
	await page.mouse.move(1, 1);
	await becomes(async () => (await drawn(page, "pointer")).length, 0, "lines when the pointer has left");
	equal(await tip(page).isVisible(), false, "the tip when the pointer has left");
});

/* A trace with two packets, five lost ones between them, and a counter. */
const GAPPED = () =>
	trace(
		[
			[
				event(1000n, "creates", -1, 1, {u8: 2}),
				event(2000n, "label", 1, "before"),
				event(3000n, "counter", 1, 10, "level"),
				event(400000n, "counter", 1, 30, "level"),
			],
			[
				event(50000000n, "label", 1, "after"),
				event(50100000n, "counter", 1, 20, "level"),
				event(90000000n, "label", 1, "end"),
			],
		],
		[3, 9],
	);

test("pointing: a click on a gap and on a counter selects its time, and tips say what they are", async (t) => {
	const host = await t.host();
	const page = await t.open(host, "/#file=gapped.ctf");

	await page.locator("input[type=file]").setInputFiles({name: "gapped.ctf", mimeType: "", buffer: GAPPED()});
	await settled(page);
	const gap = (await drawn(page, "gap"))[0];
	const place = await page.locator("#tl-canvas").boundingBox();
	const middle = place.x + (gap.x0 + gap.x1) / 2;

	await page.mouse.move(middle, place.y + place.height - 20);
	await until(async () => /Packets are missing: 5 packets, for /.test(await tip(page).textContent()));
	await page.mouse.click(middle, place.y + place.height - 20);
	await becomes(() => range(page), ["400000", "50000000"], "the range of the gap");
	await page.locator(".tl-panel", {hasText: "The selected range"}).waitFor();
	await page.keyboard.press("Escape");
	await page.keyboard.press("Escape");
	await becomes(() => range(page), null, "the range after Escape");

	const lane = await page.evaluate(() => {
		const {below} = document.getElementById("page").timeline.canvasView.areas;
		const [{y0, y1}] = below.marks.list(["lane"]);
		return {...below.canvas.getBoundingClientRect().toJSON(), middle: (y0 + y1) / 2};
	});
	await page.mouse.move(middle, lane.y + lane.middle);
	await until(async () => /level: 30since .*before 10 \(\+20\)for /.test(await tip(page).textContent()));
	await page.mouse.click(middle, lane.y + lane.middle);
	await becomes(() => range(page), ["400000", "50100000"], "the time of the counter's value");
});

/* Two captures of a guest: the newer one ends with a part that is not proven. */
function captured() {
	const body = (from, busy) => [
		event(from, "creates", -1, 1, {u8: 2}),
		event(from + 1000n, "label", 1, "request"),
		event(from + 2000n, "counter", 1, 5, "requests"),
		event(from + 30000n, "switch", 1),
		event(from + 30000n + busy, "switch", -1),
		event(from + 900000n, "counter", 1, 7, busy > 9999n ? "requests" : "refused"),
		event(from + 1000000n, "label", 1, "last"),
	];
	const length = (events) => 30 + Buffer.concat(events).length;
	const [bad, good] = [body(1000000n, 200000n), body(2000000n, 9000n)];
	const tail = [event(3010000n, "label", 1, "unproven"), event(3400000n, "label", 1, "end")];

	return [
		"begin",
		"run 1 xen a bad - 3 ended crash",
		"stream 1 1 0 65536 4 0",
		piece(1, 0, bad),
		"capture 1 1 crash -",
		`range 1 1 0 0 ${length(bad)}`,
		"run 2 xen b good - 4 ended poweroff",
		"stream 2 2 0 65536 4 0",
		piece(2, 0, good),
		"capture 2 2 poweroff -",
		`range 2 2 0 0 ${length(good)}`,
		`tail 2 2 0 ${length(good)} 65536 2000000 ${Buffer.concat(tail).toString("hex")}`,
		"commit",
	];
}

/** Return the place of NAME's first mark of KIND in the tracks below the lower threads. */
const lowerMark = (page, area, kind) =>
	page.evaluate(
		([name, wanted]) => {
			const it = document.getElementById("page").timeline.comparison.canvasView.areas[name];
			const mark = it.marks?.list([wanted])[0];
			const {x, y} = it.canvas.getBoundingClientRect();
			return mark && {x: x + (mark.x0 + mark.x1) / 2, y: y + (mark.y0 + mark.y1) / 2};
		},
		[area, kind],
	);

test("pointing: the lower of two traces has tips, clicks, menus, and its unproven end", async (t) => {
	const host = await t.host({collector: false, archive: captured()});
	const page = await opened(t, host, "#capture=1&against=capture%3A2");
	const lower = page.locator(".tl-below");
	const lowerTip = lower.locator(".tl-tooltip");
	const painted = async (kind) => {
		await settled(page);
		return page.evaluate(
			(wanted) => document.getElementById("page").timeline.comparison.painted.filter((it) => it.kind === wanted),
			kind,
		);
	};

	/* The unproven part: a line in the picture, a strip on the ruler, its tip and its click. */
	const [tail] = await until(async () => (await painted("tail")).length && painted("tail"));
	const ruler = await lower.locator(RULER).boundingBox();
	await page.mouse.move(ruler.x + (tail.x0 + tail.x1) / 2, ruler.y + 10);
	await until(async () => /Not proven: .*from .* on/.test(await lowerTip.textContent()));
	await page.mouse.move(ruler.x + tail.x0 - 40, ruler.y + 10);
	await until(async () => /^at /.test(await lowerTip.textContent()));
	await page.mouse.click(ruler.x + (tail.x0 + tail.x1) / 2, ruler.y + 10);
	const shift = await page.evaluate(() => String(document.getElementById("page").timeline.comparison.shift));
	await becomes(
		() => range(page),
		[3010000n, 3400000n].map((it) => String(it + BigInt(shift))),
		"the time of the unproven part",
	);
	equal(
		(await painted("death")).map(({text}) => text),
		["poweroff"],
		"the mark at its end",
	);
	await page.getByRole("button", {name: "About"}).click();
	await page.locator(".tl-panel", {hasText: "Below: from "}).waitFor();
	await page.keyboard.press("Escape");

	/* Tips and clicks on the tracks. */
	const lane = await until(() => lowerMark(page, "below", "lane"));
	await page.mouse.move(lane.x, lane.y);
	await until(async () => /(requests|refused): \d/.test(await lowerTip.textContent()));
	const sleeping = await until(() => lowerMark(page, "above", "sleeping"));
	await page.mouse.move(sleeping.x, sleeping.y);
	await until(async () => /The guest (slept|ran)/.test(await lowerTip.textContent()));
	await page.mouse.wheel(0, -100);
	const {from, to} = await camera(page);
	await until(async () => (await span(page)) < Number(to - from) + 1);

	/* The menus of the lower tracks. A counter that only the lower trace has can be shown again. */
	const track = lower.locator('.tl-track-button[data-track="c0-refused"]');
	await track.click();
	await t.accessible(page);
	await page.getByRole("menuitem", {name: "Collapse"}).click();
	await becomes(
		() => page.evaluate(() => new URLSearchParams(location.hash.slice(1)).get("tracks")),
		"c0-refused.c",
		"the tracks in the address",
	);
	await track.focus();
	await page.keyboard.press("Enter");
	await page.keyboard.press("End");
	await page.keyboard.press("Enter");
	await becomes(() => track.count(), 0, "buttons of the hidden counter");
	await page.getByRole("button", {name: "Tracks"}).click();
	await page.getByRole("checkbox", {name: "refused"}).check();
	await track.waitFor();
	await t.look(page, "pointing-compared");
});
