/* The tracks of the time line: each collapses, moves, is pinned, resized and hidden. */
import {becomes, equal, forms, ok, reference, test, until} from "./harness.mjs";
import {drawn, opened, settled} from "./timeline-tools.mjs";

/** Open a guest's page with ADDRESS behind its name. */
async function small(t, address = "", options = {}) {
	const host = await t.host({rings: {small: reference("small.ctf")}});

	return opened(t, host, `#domain=small${address}`, options);
}

/** Return the tracks on the screen, from top to bottom. */
const tracks = async (page) => {
	await settled(page);
	return page.evaluate(() => document.getElementById("page").timeline.canvasView.displayed);
};
const ids = async (page) => (await tracks(page)).map(({id}) => id);
const menuOf = (page, id) => page.locator(`.tl-track-button[data-track="${id}"]`).first();
const choose = async (page, id, item) => {
	await menuOf(page, id).click();
	await page.getByRole("menuitem", {name: item, exact: true}).click();
};
const address = (page) => page.evaluate(() => new URLSearchParams(location.hash.slice(1)).get("tracks"));

test("tracks: each collapses, is pinned, moved, resized and hidden by its menu, and the address keeps it", async (t) => {
	const page = await small(t);
	const before = await tracks(page);
	const [first, second] = before.filter(({id}) => id.startsWith("c0-")).map(({id}) => id);

	equal(before[0].id, "cpu0", "the first track");
	equal(before[1].id, "threads", "the second track");
	for (const {id} of before) await choose(page, id, "Collapse");
	for (const [i, it] of (await tracks(page)).entries()) ok(it.height < before[i].height, `${it.id} is collapsed`);
	for (const {id} of before) await choose(page, id, "Expand");
	await choose(page, second, "Pin to the top");
	equal((await ids(page)).slice(0, 3), [second, "cpu0", "threads"], "the order with a pinned counter");
	await choose(page, first, "Move down");
	await page.keyboard.press("Escape");
	equal((await ids(page)).indexOf(first), 4, "the place of the moved counter");
	await choose(page, "cpu0", "Higher");
	await page.keyboard.press("Escape");
	equal((await tracks(page))[1].height, before[0].height + 16, "the height of the processor");
	await choose(page, before.at(-1).id, "Hide");
	equal((await ids(page)).length, before.length - 1, "tracks with one hidden");
	await becomes(
		async () => (await address(page)).split("_").sort(),
		[`cpu0.h${before[0].height + 16}`, `${second}.p`, `${before.at(-1).id}.x`, `${first}.m4`].sort(),
		"the tracks in the address",
	);
	const was = await tracks(page);
	await page.reload();
	equal(await tracks(page), was, "the tracks after a reload");
	await t.accessible(page);
});

test("tracks: back and forward change them, too", {long: true}, async (t) => {
	const page = await small(t);
	const isCollapsed = async () => (await tracks(page))[0].collapsed;

	await until(() => page.evaluate(() => /from=/.test(location.hash)));
	await choose(page, "cpu0", "Collapse");
	await becomes(() => address(page), "cpu0.c", "the address");
	await page.goBack();
	await becomes(isCollapsed, false, "the processor before");
	await page.goForward();
	await becomes(isCollapsed, true, "the processor after");
});

test("tracks: they are dragged to another place and resized at their foot, by mouse and by finger", async (t) => {
	for (const touch of forms([true, false])) {
		const page = await small(t, "", {touch});
		const finger = touch ? await page.context().newCDPSession(page) : null;
		const press = async (kind, x, y) => {
			if (finger)
				await finger.send("Input.dispatchTouchEvent", {
					type: {down: "touchStart", move: "touchMove", up: "touchEnd"}[kind],
					touchPoints: kind === "up" ? [] : [{x, y}],
				});
			else if (kind === "move") await page.mouse.move(x, y, {steps: 3});
			else await page.mouse[kind]();
		};
		const drag = async (from, to) => {
			if (!finger) await page.mouse.move(...from);
			await press("down", ...from);
			await press("move", from[0], (from[1] + to[1]) / 2);
			await press("move", ...to);
			await press("up", ...to);
		};
		const middle = async (locator) => {
			const {x, y, width, height} = await locator.boundingBox();
			return [x + width / 2, y + height / 2];
		};
		const before = await tracks(page);
		const counter = before.find(({id}) => id.startsWith("c0-")).id;
		const [x, y] = await middle(menuOf(page, counter));
		const cpu = before.find(({id}) => id === "cpu0");

		await drag([x, y], [x, cpu.top + 2]);
		equal((await ids(page)).slice(0, 3), [counter, "cpu0", "threads"], `the order after a drag, touch ${touch}`);
		await becomes(() => address(page), `${counter}.m0`, "the address");
		const edge = await middle(page.locator(`.tl-track-edge[data-track="${counter}"]`));
		const height = (await tracks(page))[0].height;
		await drag([100, edge[1]], [100, edge[1] + 40]);
		equal((await tracks(page))[0].height, height + 40, "the height after a drag at the foot");
		const {y0, y1} = (await drawn(page, "lane")).find(({y0}) => y0 < 40);
		equal(y1 - y0, height + 40, "the height of the lane");
		await page.context().close();
	}
});

test("tracks: the panel shows hidden tracks again, and space hides all counters in the address", async (t) => {
	const page = await small(t, "&tracks=cpu0.x_threads.x_nothing.q&panel=counters");

	ok(
		(await ids(page)).every((id) => id.startsWith("c0-")),
		"only counters",
	);
	await page.getByLabel("Processor", {exact: true}).click();
	await page.getByLabel("Threads", {exact: true}).click();
	equal((await ids(page)).slice(0, 2), ["cpu0", "threads"], "the tracks again");
	await becomes(() => address(page), null, "the tracks in the address");
	await page.focus("#tl-canvas");
	await page.keyboard.press(" ");
	await becomes(() => ids(page), ["cpu0", "threads"], "the tracks without counters");
	await becomes(() => page.evaluate(() => /counters=off/.test(location.hash)), true, "counters in the address");
	await page.reload();
	equal(await ids(page), ["cpu0", "threads"], "the tracks after a reload");
	await page.getByRole("button", {name: "Usual layout"}).click();
	ok((await ids(page)).length > 2, "the counters are shown");
});

test("tracks: a menu is used by keys alone", async (t) => {
	const page = await small(t);

	await menuOf(page, "cpu0").focus();
	await page.keyboard.press("Enter");
	await becomes(() => page.evaluate(() => document.activeElement.textContent), "Collapse", "the first item");
	await page.keyboard.press("ArrowDown");
	await becomes(() => page.evaluate(() => document.activeElement.textContent), "Pin to the top", "the next item");
	await page.keyboard.press("ArrowUp");
	await page.keyboard.press("Enter");
	ok((await tracks(page))[0].collapsed, "the processor is collapsed");
	await page.keyboard.press("Enter");
	await page.keyboard.press("Escape");
	equal(await page.locator(".tl-track-menu").isVisible(), false, "the menu");
	equal(await page.evaluate(() => document.activeElement.dataset.track), "cpu0", "the focus");
});

/** Return the threads that the page draws, as answers of engine.thread(). */
const threads = async (page) => {
	const items = (await drawn(page, "thread", "failed")).map(({item}) => item);

	return page.evaluate(
		(list) =>
			Promise.all(list.map((it) => document.getElementById("page").timeline.state.engine.thread(it))).then(
				(all) =>
					all.map(({index, type, flags, row, labels}) => ({
						index,
						type,
						flags,
						row,
						labels: labels.map(({text}) => text),
					})),
			),
		[...new Set(items)],
	);
};

/** Return how many threads the page draws. */
const count = async (page) => new Set((await drawn(page, "thread", "failed")).map(({item}) => item)).size;

test("tracks: threads are filtered by type, label, state and dependency, and the address keeps it", async (t) => {
	const page = await small(t, "&panel=counters");
	const all = await threads(page);
	const types = [...new Set(all.map(({type}) => type))];
	const params = () => page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));

	ok(types.length > 1, "several types");
	await page.getByLabel(types[0], {exact: true}).click();
	await until(async () => (await count(page)) < all.length);
	ok(
		(await threads(page)).every(({type}) => type !== types[0]),
		`no thread of type ${types[0]}`,
	);
	await until(async () => (await params()).types?.length && !(await params()).types.split(".").includes(types[0]));
	await page.getByLabel(types[0], {exact: true}).click();
	await until(async () => (await count(page)) === all.length);

	for (const type of forms(types)) {
		await page.evaluate(async (one) => {
			const {state, canvasView} = document.getElementById("page").timeline;
			await state.engine.filter({types: [one], label: "", unresolved: false, depends: null});
			canvasView.renew();
		}, type);
		const some = await threads(page);
		ok(some.length > 0 && some.every((it) => it.type === type), `only threads of type ${type}`);
	}

	await page.getByLabel("Only unresolved").click();
	await until(async () => (await count(page)) < all.length);
	ok(
		(await threads(page)).every(({flags}) => !flags.includes("resolved")),
		"only unresolved threads",
	);
	await becomes(async () => (await params()).state, "unresolved", "the state in the address");
	ok(/only threads that are unresolved/.test(await page.locator(".tl-status").textContent()), "the status says so");
	await page.reload();
	ok(
		(await threads(page)).every(({flags}) => !flags.includes("resolved")),
		"only unresolved threads after a reload",
	);
	await page.getByLabel("Only unresolved").click();
	await until(async () => (await threads(page)).some(({flags}) => flags.includes("resolved")));

	const label = all.flatMap(({labels}) => labels).find((it) => /^[a-z]{4,}/i.test(it));
	await page.getByLabel("Only threads with this label").fill(label.toUpperCase());
	await until(async () => (await count(page)) < all.length);
	ok(
		(await threads(page)).every(({labels}) => labels.includes(label)),
		`only threads with the label ${label}`,
	);
	await page.getByLabel("Only threads with this label").fill("");
	await until(async () => (await threads(page)).some(({labels}) => !labels.includes(label)));
	await t.accessible(page);
});

test("tracks: only what a thread depends on is shown, and its rows alone have height", async (t) => {
	const page = await small(t);
	const all = await threads(page);
	const reads = await drawn(page, "read");
	const one = await page.evaluate(async (n) => {
		const {engine} = document.getElementById("page").timeline.state;
		for (let i = 0; i < n; i++) {
			const it = await engine.thread(i);
			if (it?.row !== null && it.resolver !== null) return `${it.stream}.${it.id}.${it.index}`;
		}
	}, all.length);

	ok(reads.length > 0, "arrows");
	await page.evaluate((it) => (location.hash += `&depends=${it}`), one);
	await until(async () => (await threads(page)).length < all.length);
	const few = await threads(page);
	ok(
		few.some(({index}) => index === Number(one.split(".")[2])),
		"the thread itself",
	);
	ok(few.length > 1, "and those that it depends on");
	const ys = [...new Set((await drawn(page, "thread", "failed")).map(({y0}) => y0))].sort((a, b) => a - b);
	const {height} = await page.evaluate(() => document.getElementById("page").timeline.camera);
	ok(ys.length === 1 || (Math.abs(ys[0] - 30) < 1 && Math.abs(ys.at(-1) - (height - 30)) < 1), `rows at ${ys}`);
});

test("tracks: rows without a thread in view take no height", {long: true}, async (t) => {
	const page = await small(t);
	const whole = await threads(page);

	await page.focus("#tl-canvas");
	for (let i = 0; i < 12; i++) await page.keyboard.press("+");
	await settled(page);
	const some = await threads(page);
	const ys = [...new Set((await drawn(page, "thread", "failed")).map(({y0}) => y0))].sort((a, b) => a - b);
	const {height} = await page.evaluate(() => document.getElementById("page").timeline.camera);
	const rows = (list) => new Set(list.map(({row}) => row)).size;

	ok(rows(some) < rows(whole), "fewer rows in view");
	ok(Math.abs(ys[0] - 30) < 1, `the first row at ${ys[0]}`);
	ok(ys.length === 1 || Math.abs(ys.at(-1) - (height - 30)) < 1, `the last row at ${ys.at(-1)} of ${height}`);
	/* Marks on rows are found there. */
	const [it] = await drawn(page, "thread");
	const found = await page.evaluate(
		([x, y]) => document.getElementById("page").timeline.canvasView.near(x, y, 16),
		[Math.max(it.x0, 0) + 1, it.y0],
	);
	ok(found !== null, "a thread at its line");
	await page.getByRole("button", {name: "Tracks", exact: true}).click();
	await page.getByLabel("Room for rows without a thread in view").click();
	await becomes(
		() => page.evaluate(() => new URLSearchParams(location.hash.slice(1)).get("rows")),
		"all",
		"the rows in the address",
	);
	const roomy = [...new Set((await drawn(page, "thread", "failed")).map(({y0}) => y0))].sort((a, b) => a - b);
	ok(roomy.join() !== ys.join(), "the rows have other places");
});
