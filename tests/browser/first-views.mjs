/* The first views that a person gets: where two traces part, what an answer tells, and where a click leads. */
import {equal, ok, reference, test, until} from "./harness.mjs";
import {camera, drawn, opened, settled} from "./timeline-tools.mjs";
import {event, piece} from "./trace-make.mjs";
import {story} from "./workload.mjs";

const LATE_NS = 3000000000n;

/** Return archive lines of the story HOW as run RUN, whose guest says a word 3 s later. */
function long(name, how, run) {
	const lines = story(name, how, run);
	const pieces = lines.filter((it) => it.startsWith("piece"));
	const last = BigInt(pieces.at(-1).split(" ")[6]);

	lines.splice(-1, 0, piece(run, pieces.length, [event(last + LATE_NS, "label", 1, "late")]));
	return lines;
}

const stories = (t) => t.host({collector: false, archive: [...long("bad", "bad", 1), ...long("good", "good", 2)]});
const timeline = (page, what) => page.evaluate(what);

/** Return true if the times are in the part of the picture that no panel covers, LEAST pixels apart. */
const seen = (page, times, least) =>
	page.evaluate(
		([list, distance]) => {
			const it = document.getElementById("page").timeline.camera;
			const all = list.map((time) => it.xOf(BigInt(time)));
			const inside = all.every((x) => x >= 0 && x <= it.width - it.inset);
			return inside && Math.max(...all) - Math.min(...all) >= distance;
		},
		[times.map(String), least],
	);

/** Return the times that the answer to Why? names, ns. */
const told = (page) =>
	timeline(page, async () => {
		const {engine} = document.getElementById("page").timeline.session;
		const {answers} = await engine.why(null);
		return answers[0].story
			.flat()
			.filter(({time}) => time !== undefined)
			.map(({time}) => String(time));
	});

test("first view: Why? shows the times that it tells about, and a click on one goes there", async (t) => {
	const page = await opened(t, await stories(t), "#domain=bad");
	const whole = await camera(page);
	const times = await told(page);

	ok(whole.to - whole.from > LATE_NS, "at first the whole trace is in view");
	equal(await seen(page, times, 60), false, "the times of the answer are told apart at first");
	await page.keyboard.press("y");
	await until(async () => (await drawn(page, "why")).length > 1);
	await until(() => seen(page, times, 60));
	await t.look(page, "first-why");
	await t.accessible(page);
	/* A click on a time goes there. From afar it also zooms; nearby it keeps the scale. */
	await page.keyboard.press("f");
	await until(async () => (await camera(page)).to - (await camera(page)).from > LATE_NS);
	const time = page.locator(".tl-panel .tl-time").nth(1);
	const wanted = times[1];
	await time.focus();
	await page.keyboard.press("Enter");
	await until(async () => {
		const near = await camera(page);
		return near.to - near.from < LATE_NS / 100n && (await seen(page, [wanted], 0));
	});
	await page.keyboard.press("w");
	await settled(page);
	const scale = await camera(page);
	await page.locator(".tl-panel .tl-time").nth(0).click();
	await until(async () => (await camera(page)).from !== scale.from && (await seen(page, [times[0]], 0)));
	const there = await camera(page);
	const by = there.to - there.from - (scale.to - scale.from);
	ok(by >= -2n && by <= 2n, `the scale changed by ${by} ns`);
});

test(
	"first view: Why? shows its times beside the panel and from an address, which keeps its own window",
	{long: true},
	async (t) => {
		const host = await stories(t);
		const page = await opened(t, host, "#domain=bad&panel=why");
		const whole = await camera(await opened(t, host, "#domain=bad"));
		const times = await told(page);

		await until(() => seen(page, times, 60));
		/* Beside the panel, also of a guest whose end the panel tells about, and in a wide window. */
		const ended = await t.host({rings: {bad: reference("public/arp-bad.ctf")}});
		const wide = await opened(t, ended, "#domain=bad", {width: 1440, height: 900});

		await wide.keyboard.press("y");
		await wide.getByText("missed wake-up").waitFor();
		await settled(wide);
		ok(await seen(wide, await told(wide), 60), "the panel covers times that its answer tells about");

		/* From the address, too. */
		const address = await until(() => timeline(page, () => /panel=why/.test(location.hash) && location.hash));
		const again = await opened(t, host, address);
		await until(() => seen(again, times, 60));
		const short = await opened(t, host, "#domain=bad&panel=why");
		await until(() => seen(short, times, 60));

		/* An address that names a window keeps it. */
		const [from, to] = [whole.start + LATE_NS / 3n, whole.start + LATE_NS / 2n];
		const named = await opened(t, host, `#domain=bad&from=${from}&to=${to}&panel=why`);
		await named.locator(".tl-panel", {hasText: "missed wake-up"}).waitFor();
		await settled(named);
		const window = await camera(named);
		equal([window.from, window.to], [from, to], "the window of the address");
	},
);

test("first view: a comparison opens where the traces part, and a click on a difference goes there", async (t) => {
	const page = await opened(t, await stories(t), "#domain=bad&against=domain%3Agood");
	const parting = await timeline(page, () => {
		const {comparison} = document.getElementById("page").timeline;
		const {badTime, goodTime} = comparison.list.find((it) => it.first);
		return [badTime, goodTime].flatMap((time, i) =>
			time === null ? [] : [String(i ? time + comparison.shift : time)],
		);
	});

	ok(parting.length, "they part");
	ok(await seen(page, parting, 0), "the parting is in view");
	const near = await camera(page);
	ok(near.to - near.from < LATE_NS / 100n, `${near.to - near.from} ns are in view`);
	ok(
		(await drawn(page, "divergence")).some(({text}) => text === "they part here"),
		"the mark of the parting",
	);
	await t.look(page, "first-compare");
	await page.keyboard.press("f");
	await until(async () => (await camera(page)).to - (await camera(page)).from > LATE_NS);
	await page.getByRole("button", {name: /^Here they part first/}).click();
	await until(async () => {
		const is = await camera(page);
		return is.to - is.from < LATE_NS / 100n && (await seen(page, [parting[0]], 0));
	});
	/* Texts of differences do not touch each other. */
	await page.keyboard.press("f");
	await settled(page);
	const texts = (await drawn(page, "divergence", "outcome")).filter(({text}) => text);
	for (const [i, one] of texts.entries())
		for (const other of texts.slice(i + 1))
			ok(
				Math.abs(one.y0 - other.y0) >= 15 ||
					Math.abs(Math.max(one.x0, 0) - Math.max(other.x0, 0)) >=
						8 * Math.min(one.text.length, other.text.length),
				`${one.text} at ${one.x0}, ${one.y0} touches ${other.text} at ${other.x0}, ${other.y0}`,
			);
});
