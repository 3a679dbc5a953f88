/*
 * A memory profile on the screen, as a user sees it. Its numbers must be those of the reference
 * reader.
 */
import {gunzipSync} from "node:zlib";
import {readFileSync} from "node:fs";

import {BRIEF, becomes, equal, forms, hasReference, ok, reference, test, until} from "./harness.mjs";
import {
	addressed,
	allocated,
	boxes,
	condition,
	counted,
	drop,
	middle,
	opened,
	oracle,
	packets,
	recorded,
	renamed,
	settled,
	viewer,
} from "./memory-tools.mjs";
import {info, writer} from "./memtrace-make.mjs";

const trace = (name) => reference(`memtrace/${name}.trace`);

async function leaky(t, more = "", options = {}) {
	const host = await t.host({sink: true, collector: false});
	const {id} = await recorded(host, trace("leaky"));

	return opened(t, host, id, more, options);
}

/** Return a profile of one second in two parts: the bytes that come first, and the rest. */
function growing() {
	const start = BigInt(Date.now()) * 1000n;

	return {
		first: info({start}),
		more: writer(start)(Array.from({length: 100}, (_, i) => ({at: 1000 + i * 10000, bytes: 8000}))),
	};
}

const chart = (page) => page.locator("#mem-chart");
const flame = (page) => page.locator("#mem-flame");
const what = (page) => page.getByLabel("Count", {exact: true});

/** Return the point on the chart at SHARE of its time. */
async function along(page, share) {
	const box = await chart(page).boundingBox();

	return {x: box.x + 64 + share * (box.width - 64 - 14), y: box.y + 80};
}

test("memory: the sums are those of the reference", async (t) => {
	const host = await t.host({sink: true, collector: false});

	for (const name of forms([
		"multidom-v3",
		"leaky",
		"shortlived",
		"manylocs",
		"mirage-quiet",
		"v1-lists",
		"truncstack",
	])) {
		if (name === "v1-lists" && !hasReference(`memtrace/${name}.trace`))
			continue; /* a published trace, not in the tree */
		const {id} = await recorded(host, trace(name));
		const page = await opened(t, host, id);
		const wanted = oracle(name);
		const {objects, samples} = await counted(page);

		equal(samples, wanted.samples_total, `${name}: samples`);
		equal(
			objects,
			wanted.events_alloc_minor + wanted.events_alloc_major + wanted.events_alloc_external,
			`${name}: objects`,
		);
		await what(page).selectOption("live");
		equal((await counted(page)).samples, wanted.live_end_samples, `${name}: what lives at the end`);
		await what(page).selectOption("peak");
		/*
		 * Several domains must be merged by time. The order of the file would give a heap that
		 * never existed.
		 */
		const {peak_merged_samples: most, peak_merged_time_us: when} = viewer(name).numbers;
		equal((await counted(page)).samples, most, `${name}: what lived at the peak`);
		const peakUs = await page.evaluate(() => document.getElementById("page").memory.info.peak_us);
		equal(peakUs, when, `${name}: when the peak was`);
		await addressed(page, "weight", "peak");
		await page.context().close();
	}
});

test("memory: functions have the reference's samples for their places", async (t) => {
	const page = await leaky(t);
	const wanted = new Map();

	for (const [place, samples] of oracle("leaky").site) {
		const function_ = place.split("@")[0];
		wanted.set(function_, (wanted.get(function_) ?? 0) + samples);
	}
	const got = await page.evaluate(() => {
		const {profile, info} = document.getElementById("page").memory;
		return profile.functions
			.filter((it) => it.self)
			.map((it) => [it.function, Math.round((it.self_bytes * info.rate) / info.word_bytes)]);
	});
	equal(got.sort(), [...wanted].sort(), "samples by function");
	const total = new Map(viewer("leaky").functions);
	const inTree = await page.evaluate(() => {
		const {profile, info, heap} = document.getElementById("page").memory;
		const {callees: tree} = profile;
		const sums = {};
		for (let i = 1; i < tree.n; i++)
			sums[heap.names[tree.name[i]]] =
				(sums[heap.names[tree.name[i]]] ?? 0) + Math.round((tree.total[i] * info.rate) / info.word_bytes);
		return sums;
	});
	for (const [name, samples] of total) equal(inTree[name], samples, `all below ${name}`);
	/* A user sorts the table, searches it and unrolls a row. */
	await page.getByRole("tab", {name: "Functions"}).click();
	await page.locator("#mem-panel-functions tbody tr").first().getByText("Stdlib__Buffer.create").waitFor();
	await page.getByRole("columnheader", {name: "Total", exact: true}).getByRole("button").click();
	equal(await page.getByRole("columnheader", {name: "Total", exact: true}).getAttribute("aria-sort"), "descending");
	await page.locator("#mem-panel-functions tbody tr").nth(1).getByText("Dune__exe__").waitFor();
	await addressed(page, "sort", "total");
	await page.getByRole("searchbox", {name: "Search functions and files"}).fill("buffer.ml");
	await page
		.locator("#mem-panel-functions .mem-found")
		.getByText(/^\d functions$/)
		.waitFor();
	await page.getByRole("button", {name: "Callers and callees of Stdlib__Buffer.create"}).click();
	const callers = page.locator("#mem-panel-functions tr.mem-caller th");
	await callers.first().getByText("called by Stdlib__Printf.ksprintf.k'").waitFor();
	ok((await callers.last().textContent()).startsWith("via "), "callers at a distance come last");
	const direct = await page.evaluate(() => {
		const {profile} = document.getElementById("page").memory;
		return profile.functions
			.find((it) => it.function === "Stdlib__Buffer.create")
			.callers.map((it) => it.direct_bytes);
	});
	ok(direct[0] > 0 && direct.every((it, i) => !i || it <= direct[i - 1]), `direct callers first: ${direct}`);
	await t.look(page, "memory-functions");
	await t.accessible(page);
	ok(!/\de\+\d/.test(await page.evaluate(() => document.body.innerText)), "no number has an exponent");
	await page.keyboard.press("ArrowLeft");
	await callers.first().waitFor({state: "detached"});

	/* The functions that one calls itself, with the sums of the stacks. */
	await page.getByRole("searchbox", {name: "Search functions and files"}).fill("Leaky.handle");
	await page.getByRole("button", {name: "Callers and callees of Dune__exe__Leaky.handle", exact: true}).click();
	const callees = page.locator("#mem-panel-functions tr.mem-callee");
	await callees.first().getByText("calls Dune__exe__Leaky.Render.page").waitFor();
	const [shown, counted] = await page.evaluate(() => {
		const {profile, heap, functions} = document.getElementById("page").memory;
		const {callees: tree} = profile;
		const sums = {};
		for (let i = 1; i < tree.n; i++)
			for (let at = i; tree.parent[at] > 0; at = tree.parent[at])
				if (heap.names[tree.name[tree.parent[at]]] === "Dune__exe__Leaky.handle") {
					const name = heap.names[tree.name[at]];
					sums[name] = (sums[name] ?? 0) + tree.self[i];
				}
		const list = functions.callees().get("Dune__exe__Leaky.handle");
		return [list.map(({name, bytes}) => [name, Math.round(bytes)]), Object.entries(sums)];
	});
	equal(
		shown,
		counted.map(([name, bytes]) => [name, Math.round(bytes)]).sort((a, b) => b[1] - a[1]),
		"callees",
	);
	equal(await callees.count(), shown.length, "rows of callees");
	await page
		.getByRole("button", {name: "Callers and callees of Dune__exe__Leaky.handle", exact: true})
		.press("ArrowLeft");
	await page.getByRole("searchbox", {name: "Search functions and files"}).fill("buffer.ml");
	await page.getByRole("button", {name: "Stdlib__Buffer.create", exact: true}).click();
	await addressed(page, "path", "Stdlib__Buffer.create");
	await addressed(page, "tree", "callers");
	equal((await boxes(page))[0].name, "Stdlib__Buffer.create");
});

for (const name of ["leaky", "multidom-v3"])
	test(
		`memory: every filter counts as the reference viewer does, for ${name}`,
		{long: name !== "leaky"},
		async (t) => {
			const host = await t.host({sink: true, collector: false});
			const {id} = await recorded(host, trace(name));
			const page = await opened(t, host, id);

			await page.getByText("Filters", {exact: true}).click();
			for (const {words, objects, samples, most} of viewer(name).filters.filter(
				(_, i) => !BRIEF || i % 3 === 0,
			)) {
				(await page.evaluate(() => document.getElementById("page").memory.filters.clear.hidden)) ||
					(await page.getByRole("button", {name: "Remove all"}).click());
				for (const clause of words.split(" and ").flatMap((it) => (/^\d/.test(it) ? [] : [it])))
					await condition(page, clause, words);
				const got = await counted(page);
				/*
				 * The page counts at the peak itself. The reference's rule means the end of the
				 * peak's microsecond, and some blocks may be freed within it.
				 */
				const exact = words === "live at peak" ? viewer(name).numbers.peak_merged_samples : samples;
				equal(got.samples, exact, `“${words}”: samples`);
				if (exact === samples) equal(got.objects, objects, `“${words}”: objects`);
				if (words === "none") continue;
				/*
				 * The line of the filtered blocks never rises above the reference's. At the drawn
				 * pixels it is not below its own last value.
				 */
				const line = await page.evaluate(() => {
					const {chart, info} = document.getElementById("page").memory;
					return Math.max(...chart.lines.part) * (info.rate / info.word_bytes);
				});
				ok(line <= most + 1e-6, `“${words}”: the line's ${line} of ${most}`);
			}
		},
	);

test("memory: a click on the chart chooses a moment, drawing chooses a range", async (t) => {
	const page = await leaky(t);
	const {x, y} = await along(page, 0.5);

	await page.mouse.move(x, y);
	await t.look(page, "memory-crosshair");
	await page.mouse.click(x, y);
	const {bytes} = await counted(page);
	const [at, lives] = await page.evaluate(async () => {
		const {choice, heap} = document.getElementById("page").memory;
		return [choice.at, (await heap.timeline(null, choice.at, choice.at + 1, 2)).bytes[0]];
	});
	equal(bytes, lives, "the live objects, twice");
	await addressed(page, "at", String(at));
	ok(
		(await what(page).locator("option:checked").textContent()).startsWith("objects that lived at +112"),
		"it is said",
	);
	const from = await along(page, 0.25);
	const to = await along(page, 0.75);
	await page.mouse.move(from.x, from.y);
	await page.mouse.down();
	await page.mouse.move(to.x - 20, to.y);
	await page.mouse.move(to.x, to.y);
	await page.mouse.up();
	const range = await page.evaluate(() => document.getElementById("page").memory.choice.during);
	const all = allocated("leaky").filter((it) => it.us >= range.from && it.us <= range.to);
	equal(
		(await counted(page)).samples,
		all.reduce((sum, it) => sum + it.samples, 0),
		"the allocations in the range",
	);
	await addressed(page, "during", `${range.from}-${range.to}`);
	await addressed(page, "at", undefined);
	await t.look(page, "memory-range");
	await what(page).selectOption("still");
	equal(
		(await counted(page)).samples,
		all.filter((it) => it.end > range.to).reduce((sum, it) => sum + it.samples, 0),
		"its live objects at its end",
	);
	await addressed(page, "still", "1");
	await page.getByRole("button", {name: "Everything"}).click();
	equal((await counted(page)).samples, oracle("leaky").samples_total, "everything");
});

test("memory: the chart by key, in elapsed and in wall time", async (t) => {
	const page = await leaky(t);

	await chart(page).focus();
	await page.keyboard.press("Home");
	for (let i = 0; i < 3; i++) await page.keyboard.press("PageDown");
	await page
		.getByRole("status")
		.getByText(/^\+\d+(\.\d+)? ms: [\d.]+ [KM]B$/)
		.waitFor();
	await page.keyboard.press("Enter");
	await addressed(page, "at", String(await page.evaluate(() => document.getElementById("page").memory.choice.at)));
	await page.keyboard.press("Shift+PageDown");
	await page.keyboard.press("Shift+PageDown");
	await page.keyboard.press("Enter");
	const range = await page.evaluate(() => document.getElementById("page").memory.choice.during);
	ok(range.to > range.from, "a range");
	await addressed(page, "during", `${range.from}-${range.to}`);
	await page.getByLabel("Times", {exact: true}).selectOption("wall");
	ok(
		/from 2026-11-21 11:07:5\d\.\d{3} UTC to/.test(await what(page).locator("option:checked").textContent()),
		"the wall time is shown",
	);
	await addressed(page, "clock", "wall");
	await t.look(page, "memory-wall");
	await chart(page).focus();
	await page.keyboard.press("Escape");
	await addressed(page, "during", undefined);
});

test("memory: flame graph and icicle, both ways, by mouse and by key", async (t) => {
	const page = await leaky(t);
	const page_ = (await boxes(page)).find((it) => it.name === "Dune__exe__Leaky.Render.page");
	const at = await middle(page, page_);

	await page.mouse.move(at.x, at.y);
	await page
		.locator(".mem-tip")
		.getByText(/^Dune__exe__Leaky\.Render\.page: 203 MB \(78\.9 %\) ± 1 %/)
		.waitFor();
	await page.mouse.click(at.x, at.y);
	equal((await boxes(page))[0].name, page_.name, "the zoomed function");
	const path = ["Dune__exe__Run_leaky", "Dune__exe__Leaky.main", "Dune__exe__Leaky.handle", page_.name];
	/* The first frame of this program has no name. */
	await until(
		async () =>
			new URLSearchParams(page.url().split("#")[1]).getAll("path").join() ===
			(await page.evaluate(() => document.getElementById("page").memory.flame.path.join())),
	);
	ok(page.url().includes("path=Dune__exe__Leaky.handle"), "the path in the address");
	await t.look(page, "memory-zoomed");
	await page
		.getByRole("navigation", {name: "From the root to what is shown"})
		.getByRole("button", {name: path[1]})
		.click();
	equal((await boxes(page))[0].name, path[1], "an ancestor");
	/* Keys: to the heaviest child, to the box beside it, zoom in, zoom out. */
	await flame(page).focus();
	await page.keyboard.press("ArrowUp");
	await page
		.getByRole("status")
		.getByText(/^Dune__exe__Leaky\.handle: 257 MB/)
		.waitFor();
	await page.keyboard.press("ArrowUp");
	await page.keyboard.press("ArrowRight");
	await page
		.getByRole("status")
		.getByText(/^Dune__exe__Leaky\.Parser\.parse: /)
		.waitFor();
	await page.keyboard.press("Enter");
	equal((await boxes(page))[0].name, "Dune__exe__Leaky.Parser.parse");
	await until(() => page.url().includes("Parser"));
	await page.keyboard.press("Escape");
	equal((await boxes(page))[0].name, "Dune__exe__Leaky.handle");
	/* The browser's back button undoes each step. */
	await until(() => page.url().includes("handle") && !page.url().includes("Parser"));
	await page.goBack();
	await until(async () => (await boxes(page))[0].name === "Dune__exe__Leaky.Parser.parse");
	await page.getByLabel("Direction of growth").selectOption("down");
	await addressed(page, "grow", "down");
	await page.getByLabel("Direction of calls").selectOption("callers");
	await addressed(page, "tree", "callers");
	const roots = (await boxes(page)).filter((it) => it.row === 1);
	equal(roots[0].name, "Stdlib__Buffer.create", "the largest allocator");
	equal(Math.round(roots[0].total / (8 / 3e-4)), 1673, "its samples");
	await t.look(page, "memory-icicle");
	const first = await middle(page, roots[0]);
	await page.mouse.click(first.x, first.y);
	equal((await boxes(page)).filter((it) => it.row === 1)[0].name, "Stdlib__Printf.ksprintf.k'", "the callers");
	await t.accessible(page);
});

test("memory: the zoomed function comes back after a filter removed it", {long: true}, async (t) => {
	const page = await leaky(t);
	const whole = (await boxes(page)).find((it) => it.name === "Dune__exe__Leaky.Parser.parse");
	const place = await middle(page, whole);

	await page.mouse.click(place.x, place.y);
	await until(() => page.url().includes("Parser.parse"));
	await page.evaluate(() => (location.hash += `&hide=${encodeURIComponent("hide:has:Parser")}`));
	await until(async () => (await boxes(page))[0].name === "Dune__exe__Leaky.handle");
	await page.goBack();
	await until(async () => (await boxes(page))[0].name === whole.name);
});

test("memory: search reports how much it found, and a hidden function disappears", async (t) => {
	const page = await leaky(t);
	const {samples} = viewer("leaky").filters.find((it) =>
		it.words.startsWith("inside a function whose name contains"),
	);

	await page.keyboard.press("/");
	await page.keyboard.type("list");
	await addressed(page, "find", "list");
	/* The page searches at each letter. This result is the one for the whole word. */
	const share = `${((100 * samples) / oracle("leaky").samples_total).toFixed(1)} %`;
	await becomes(
		() =>
			page.evaluate(
				(it) => document.getElementById("page").memory.flame.found.textContent.endsWith(it),
				`, ${share}`,
			),
		true,
		`whether ${share} are found`,
	);
	await t.look(page, "memory-search");
	await page.getByText("Filters", {exact: true}).click();
	await page.getByRole("button", {name: "Hide a function"}).click();
	await page.getByLabel("Name", {exact: true}).fill("List");
	await page.locator(".mem-found").getByText("No function has that in its name.").first().waitFor();
	await settled(page);
	ok(!(await boxes(page)).some((it) => it.name.includes("List")), "no List is left");
	equal((await counted(page)).samples, oracle("leaky").samples_total, "the same counts");
	await addressed(page, "hide", "hide:has:List");
});

test("memory: the page reports an incomplete or wrong filter and ignores it", async (t) => {
	const page = await leaky(t);
	const all = oracle("leaky").samples_total;
	const line = page.locator(".mem-clauses li");

	await page.getByText("Filters", {exact: true}).click();
	await page.getByRole("button", {name: "Add a condition"}).click();
	await line.getByText("Say an amount, such as 512 B, 4K or 1.5M.").waitFor();
	await page.getByText("Filters: 0, and 1 incomplete one, which does not count").waitFor();
	await page.getByLabel("Amount").fill("4 apples");
	await line.getByText("“4 apples” is not understood; give an amount, such as 512 B, 4K or 1.5M.").waitFor();
	equal(await page.getByLabel("Amount").getAttribute("aria-invalid"), "true");
	equal((await counted(page)).samples, all, "all is counted");
	await line.getByLabel("How").selectOption("between");
	await page.getByLabel("Amount").first().fill("1M");
	await page.getByLabel("Amount").nth(1).fill("1K");
	await line.getByText("The first value is larger than the second; exchange them.").waitFor();
	await line.getByLabel("Condition", {exact: true}).selectOption("allocated");
	await page.getByLabel("Time", {exact: true}).fill("2026-11-20 10:00:00");
	await line.getByText("“2026-11-20 10:00:00” is before the recording began.").waitFor();
	await line.getByLabel("Condition", {exact: true}).selectOption("on");
	await page.getByRole("button", {name: "Add a condition"}).click();
	await line.nth(1).getByLabel("Condition", {exact: true}).selectOption("off");
	await line
		.nth(1)
		.getByText("The conditions exclude every heap; remove this or another condition on heaps.")
		.waitFor();
	await t.look(page, "memory-wrong");
	await t.accessible(page);
	await page.getByRole("button", {name: "Remove condition 2"}).click();
	equal(
		(await counted(page)).samples,
		viewer("leaky").filters.find((it) => it.words === "on the major heap").samples,
	);
	await addressed(page, "only", "on:major");
});

test("memory: the address is the view, after a reload and in another browser", async (t) => {
	const more =
		"&at=112240&clock=wall&tree=callers&grow=down&recursion=1&find=make&only=size%3Amost%3A256&only=inside%3Ahas%3ALeaky&hide=hide%3Ais%3AStdlib__List.mapi&path=Stdlib__Buffer.create";
	const page = await leaky(t, more);
	const seen = async () => [
		await counted(page),
		await boxes(page),
		await page.locator(".mem-found").first().textContent(),
		await what(page).inputValue(),
		await page.getByRole("textbox").evaluateAll((all) => all.map((it) => it.value)),
	];
	const before = await seen();

	equal(before[3], "at");
	equal(before[4], ["256", "Leaky", "Stdlib__List.mapi"]);
	await page.reload();
	await settled(page);
	await becomes(seen, before, "the view after a reload");
	await page.getByLabel("Direction of growth").selectOption("up");
	await addressed(page, "grow", undefined);
	for (const [key, value] of new URLSearchParams(more.slice(1)))
		if (key !== "grow")
			await until(() => new URLSearchParams(page.url().split("#")[1]).getAll(key).includes(value));
});

test("memory: leaks have their stacks", async (t) => {
	const page = await leaky(t);

	await page.getByRole("tab", {name: "Flame graph"}).focus();
	await page.keyboard.press("ArrowLeft");
	await settled(page);
	const row = page.locator("#mem-panel-leaks tbody tr", {has: page.locator("summary", {hasText: "Session.make"})});
	await row.getByText(/of 7, /).waitFor();
	await row.locator("summary").click();
	await row
		.getByText(/called by Dune__exe__Leaky/)
		.first()
		.waitFor();
	await addressed(page, "tab", "leaks");
	await t.look(page, "memory-leaks");
	await t.accessible(page);
});

test("memory: a recording grows on the open page, pauses, is stopped and pinned", async (t) => {
	const host = await t.host({sink: true});
	const bytes = trace("leaky");
	const half = packets(bytes).find((at) => at > bytes.length / 2);
	const offer = await host.offered(bytes.subarray(0, half));
	const started = await fetch(`${host.url}/v1/domains/web/memtraces`, {
		method: "POST",
		headers: {"Content-Type": "application/json"},
		body: JSON.stringify({address: "127.0.0.1", port: offer.port}),
	});
	equal(started.status, 201, await started.clone().text());
	const {id} = await started.json();
	const page = await opened(t, host, id);
	const wanted = oracle("leaky");
	const now = () => page.evaluate(() => document.getElementById("page").memory.profile.samples);

	await page.getByText(/is being recorded$/).waitFor();
	await until(async () => (await now()) > 0);
	const before = await now();
	ok(before < wanted.samples_total, `${before} samples at first`);
	/* The page keeps what the user chose. */
	const box = (await boxes(page)).find((it) => it.name === "Dune__exe__Leaky.handle");
	const at = await middle(page, box);
	await page.mouse.click(at.x, at.y);
	await page.getByRole("button", {name: "Pause"}).click();
	const parts = packets(bytes).filter((it) => it > half);
	offer.send(bytes.subarray(half, parts[0]));
	await until(async () => (await host.get(`/v1/memtraces/${id}`)).bytes >= parts[0]);
	await page.waitForTimeout(2000);
	equal(await now(), before, "while it is paused");
	await page.getByRole("button", {name: "Go on"}).click();
	await until(async () => (await now()) > before);
	offer.send(bytes.subarray(parts[0]));
	await until(async () => (await now()) === wanted.samples_total);
	equal((await boxes(page))[0].name, "Dune__exe__Leaky.handle", "the zoomed function");
	await t.look(page, "memory-recording");
	await page.getByRole("button", {name: "Stop recording"}).click();
	await page.getByText(/: it was stopped$/).waitFor();
	await page.getByRole("button", {name: "Stop recording"}).waitFor({state: "hidden"});
	await page.getByRole("button", {name: "Pin", exact: true}).click();
	await page.getByRole("button", {name: "Unpin"}).waitFor();
	await page.getByRole("button", {name: "Note"}).click();
	await page.getByRole("dialog").getByRole("textbox").fill("after <b>deploy</b>");
	await page.getByRole("button", {name: "Save", exact: true}).click();
	await page.getByText("About this recording").click();
	await page.getByText("after <b>deploy</b>").waitFor();
	const {pinned, note} = await host.get(`/v1/memtraces/${id}`);
	equal([pinned, note], [true, "after <b>deploy</b>"]);
	await t.accessible(page);
});

test("memory: a guest's names stay text, of bounded length, without misleading characters", async (t) => {
	const host = await t.host({sink: true, collector: false});
	const evil = "<img src=x onerror=alert(1)>";
	const {id} = await recorded(
		host,
		renamed(trace("leaky"), {
			"Dune__exe__Leaky.Render.page": evil,
			"requests demo": "<b>x</b>\u202e\u0007!",
			"demo-host": "<b>h</b>!",
			"stdlib.ml": "<i>i</i>\n",
		}),
	);
	const page = await opened(t, host, id);
	const scripts = () =>
		page.evaluate(() => [
			document.scripts.length,
			document.images.length,
			document.querySelectorAll("#page b, #page script, #page img").length,
		]);

	equal(await scripts(), [1, 0, 0], "no markup from the text");
	await page.getByText("About this recording").click();
	const facts = await page.locator(".mem-more dd").allTextContents();
	ok(
		facts.some((it) => it.startsWith("<b>x</b>\\") && it.endsWith("!")),
		`the context in ${facts}`,
	);
	equal(await page.getByRole("heading", {level: 1}).textContent(), "<b>h</b>!");
	ok(!(await page.evaluate(() => document.body.innerText)).match(/[\u202e\u0007]/), "no direction marks or controls");
	for (const tab of ["Functions", "Leaks", "Flame graph"]) {
		await page.getByRole("tab", {name: tab}).click();
		await settled(page);
		equal(await scripts(), [1, 0, 0], tab);
	}
	await flame(page).evaluate((element) => element.scrollIntoView({block: "end"}));
	const there = await middle(
		page,
		(await boxes(page)).find((it) => it.name === evil),
	);
	await page.mouse.move(there.x, there.y);
	await page.locator(".mem-tip").getByText(`${evil}: 203 MB`).waitFor();
	await page.mouse.click(there.x, there.y);
	await until(() => new URLSearchParams(page.url().split("#")[1]).getAll("path").includes(evil));
	equal(await scripts(), [1, 0, 0], "its path");
	await t.look(page, "memory-hostile");
	/* The page also takes an address that somebody wrote by hand. */
	const other = await opened(
		t,
		host,
		id,
		`&only=${encodeURIComponent(`inside:has:${evil}`)}&only=nonsense&only=size:most&hide=${encodeURIComponent("hide:is:<b>")}&find=%3Cb%3E&path=%3Cb%3E&at=99999999999999999&during=5-1&tab=x&sort=__proto__&weight=constructor`,
	);
	equal(await other.evaluate(() => document.querySelectorAll("#page b, #page script, #page img").length), 0);
	equal((await counted(other)).samples, 7970, "the allocations inside that function, as the reference counts");
	await t.accessible(other);
});

test("memory: a file is dropped or chosen, and the page reports its damage", async (t) => {
	const host = await t.host(); /* with an archive: without one the list of guests is answered 503 */
	const page = await t.open(host, "/");

	await drop(page, "#page", "mirage-cut-events.trace", trace("mirage-cut-events"));
	await settled(page);
	await until(() => page.url().endsWith("#memfile=mirage-cut-events.trace"));
	const {samples} = await counted(page);
	equal(samples, oracle("mirage-cut-events").samples_total);
	await page.locator(".mem-remarks li").first().waitFor();
	await t.look(page, "memory-damaged");
	await page.reload();
	await page.getByText(/which a page may not open by itself; choose it, or drop it here\./).waitFor();
	await page
		.getByLabel("A memory profile or trace")
		.setInputFiles({name: "mirage-cut-events.trace", mimeType: "", buffer: trace("mirage-cut-events")});
	await settled(page);
	equal((await counted(page)).samples, samples, "chosen again");
	/* A trace dropped here opens in the trace view. The way back works, too. */
	await drop(page, ".mem", "small.ctf", reference("small.ctf"));
	await page.locator("#tl-canvas").waitFor();
	await until(() => page.url().includes("file=small.ctf"));
	await drop(page, ".tl", "bad-badloc.trace", trace("bad-badloc"));
	await settled(page);
	equal((await counted(page)).samples, oracle("manylocs").samples_total, "only names may be missing");
	/* A recording of that number does not exist; a file is no memtrace stream. */
	t.allow(/404/);
	await page.evaluate(() => (location.hash = "#memtrace=77"));
	await page
		.getByRole("alert")
		.getByText(/77|no /i)
		.first()
		.waitFor();
	await page.getByRole("link", {name: "Back to the guests"}).waitFor();
});

test("memory: dark, narrow, by touch, and a stack of thousands of calls", {long: true}, async (t) => {
	const host = await t.host({sink: true, collector: false});
	const {id} = await recorded(host, trace("deep"));
	const page = await opened(t, host, id, "&recursion=1&grow=down", {dark: true});

	ok(
		(await boxes(page)).some((it) => it.row > 1000),
		"rows",
	);
	await flame(page).evaluate((element) => (element.scrollTop = 10000));
	await settled(page);
	ok(
		await page.evaluate(() => document.getElementById("page").memory.flame.painted < 2000),
		"only visible items are painted",
	);
	await t.look(page, "memory-dark");
	await t.accessible(page);
	const small = await opened(t, host, id, "", {width: 380, height: 700, touch: true});
	equal(await small.evaluate(() => document.documentElement.scrollWidth), 380, "no element wider than the page");
	const box = (await boxes(small)).find((it) => it.row === 2);
	const at = await middle(small, box);
	await flame(small).scrollIntoViewIfNeeded();
	const there = await middle(small, box);
	await small.touchscreen.tap(there.x, there.y);
	await becomes(async () => (await boxes(small))[0].name, box.name, `a tap, ${at.y}`);
	await chart(small).scrollIntoViewIfNeeded();
	const moment = await along(small, 0.5);
	await small.touchscreen.tap(moment.x, moment.y);
	await becomes(() => what(small).inputValue(), "at", "the counts after a tap on a moment");
	await t.look(small, "memory-narrow");
	for (const tab of ["Functions", "Leaks"]) {
		await small.getByRole("tab", {name: tab}).tap();
		await settled(small);
		equal(await small.evaluate(() => document.documentElement.scrollWidth), 380, tab);
	}
	await t.accessible(small);
});

test("memory: the cost of a tree of a million nodes depends on its pixels only", {long: true}, async (t) => {
	const page = await leaky(t);
	const {painted, laid} = await page.evaluate(async () => {
		const {flame} = document.getElementById("page").memory;
		const n = 1 << 20;
		const tree = {
			n,
			parent: new Uint32Array(n),
			first: new Uint32Array(n).fill(0xffffffff),
			next: new Uint32Array(n).fill(0xffffffff),
			depth: new Uint32Array(n),
			self: new Float64Array(n),
			total: new Float64Array(n),
			allocs: new Uint32Array(n),
			name: new Uint32Array(n),
		};

		/* Each node has two children, the second much lighter. */
		tree.total[0] = 1e12;
		for (let i = 0; 2 * i + 2 < n; i++) {
			const [a, b] = [2 * i + 1, 2 * i + 2];
			Object.assign(tree.parent, {[a]: i, [b]: i});
			tree.first[i] = a;
			tree.next[a] = b;
			tree.depth[a] = tree.depth[b] = tree.depth[i] + 1;
			tree.total[a] = tree.total[i] * 0.6;
			tree.total[b] = tree.total[i] * 0.4;
		}
		const {names} = flame;
		flame.show({callees: tree, callers: tree, names, files: new Map(), rootText: "a million"});
		flame.lay();
		cancelAnimationFrame(flame.frame);
		flame.frame = 0;
		flame.paint();
		return {painted: flame.painted, laid: flame.layout.nodes.length};
	});
	ok(laid <= 2 * 1280 * 21, `${laid} boxes`);
	ok(painted <= laid && painted > 100, `${painted} painted`);
});

/** Return the numbers in BYTES, varints of protocol buffers. */
function varints(bytes) {
	const out = [];

	for (let at = 0; at < bytes.length;) {
		let value = 0;
		for (let unit = 1; ; unit *= 128) {
			const byte = bytes[at++];
			value += (byte & 127) * unit;
			if (byte < 128) break;
		}
		out.push(value);
	}
	return out;
}

/** Return the fields of BYTES, a message of protocol buffers: [{field, value: number or bytes}]. */
function messages(bytes) {
	const out = [];

	for (let at = 0; at < bytes.length;) {
		const end = (from) => {
			while (bytes[from] >= 128) from++;
			return from + 1;
		};
		const number = () => {
			const to = end(at);
			const [value] = varints(bytes.subarray(at, to));
			at = to;
			return value;
		};
		const key = number();
		const value = number();
		if (key % 8 === 0) out.push({field: key >> 3, value});
		else {
			out.push({field: key >> 3, value: bytes.subarray(at, at + value)});
			at += value;
		}
	}
	return out;
}

test("memory: a function is focused, hidden and folded by its menu and by keys", async (t) => {
	const page = await leaky(t);
	const name = "Dune__exe__Leaky.handle";
	const parser = "Dune__exe__Leaky.Parser.parse";
	const menu = page.locator(".mem-box-menu");
	const names = async () => new Set((await boxes(page)).map((it) => it.name));
	const open = async (wanted) => {
		const at = await middle(
			page,
			(await boxes(page)).find((it) => it.name === wanted),
		);

		await page.mouse.click(at.x, at.y, {button: "right"});
		await menu.waitFor();
	};

	ok((await names()).has(parser), "a function at first");
	await open(name);
	await t.look(page, "memory-menu");
	await t.accessible(page);
	await menu.getByRole("menuitem", {name: "Fold what it calls (c)"}).click();
	await until(async () => !(await names()).has(parser) && (await names()).has(name));
	await addressed(page, "fold", name);
	await page.reload();
	await settled(page);
	ok(!(await names()).has(parser), "folded after a reload");
	await open(name);
	await page.keyboard.press("End");
	await page.keyboard.press("ArrowUp");
	await page.keyboard.press("ArrowUp");
	await page.keyboard.press("Enter");
	await until(async () => (await names()).has(parser));

	await open(parser);
	await page.keyboard.press("Escape");
	await menu.waitFor({state: "hidden"});
	await open(parser);
	await menu.getByRole("menuitem", {name: "Only show allocations inside of it (o)"}).click();
	await addressed(page, "only", `inside:is:${parser}`);
	await settled(page);
	const inside = (await boxes(page))[0].total;
	const whole = oracle("leaky").estimated_bytes_total;
	ok(inside < whole / 2, `${inside} of ${whole} bytes`);
	await page.getByRole("button", {name: "Remove all"}).click();
	await settled(page);

	/* The keys do the same for the selected box. */
	await flame(page).focus();
	for (let i = 0; i < 12 && !(await page.locator("#mem-flame-says").textContent()).startsWith(`${name}:`); i++)
		await page.keyboard.press("ArrowUp");
	await page.keyboard.press("c");
	await until(async () => !(await names()).has(parser));
	await page.keyboard.press("c");
	await until(async () => (await names()).has(parser));
	await page.keyboard.press("m");
	await menu.waitFor();
	await page.keyboard.press("Escape");
	await page.keyboard.press("x");
	await addressed(page, "hide", `hide:is:${name}`);
	await until(async () => !(await names()).has(name));
	ok((await names()).has(parser), "its callees stay");
});

/** Return the text of the root's box in the flame graph. */
async function rootText(page) {
	await settled(page);
	return page.evaluate(() => document.getElementById("page").memory.flame.rootText);
}

test("memory: the flame graph counts sampled objects", {long: true}, async (t) => {
	const page = await leaky(t, "&weight=live");
	const living = allocated("leaky").filter((it) => it.end === Infinity).length;

	await page.getByLabel("Unit of the widths").selectOption("objects");
	await addressed(page, "count", "objects");
	equal(await rootText(page), `all: ${living} sampled objects`);
	equal((await boxes(page))[0].total, living, "the width of the root's box");
	const widest = (await boxes(page)).find((it) => it.row === 1);
	const at = await middle(page, widest);
	await page.mouse.move(at.x, at.y);
	await page.locator(".mem-tip", {hasText: /: \d+ sampled objects \(/}).waitFor();
	await page.reload();
	equal(await rootText(page), `all: ${living} sampled objects`, "after a reload");
	await what(page).selectOption("peak");
	const {peak_objects: most} = await page.evaluate(() => ({
		peak_objects: document.getElementById("page").memory.info.peak_objects,
	}));
	await becomes(() => rootText(page), `all: ${most} sampled objects`, "the objects at the peak");
});

test("memory: callers and callees of a function stand above and below it", async (t) => {
	const page = await leaky(t);
	const name = "Dune__exe__Leaky.Render.page";
	const says = page.locator("#mem-panel-sandwich [role=status]");
	const graphs = () =>
		page.evaluate(() => {
			const {sandwich} = document.getElementById("page").memory;
			const sides = [sandwich.callers, sandwich.callees];

			return sides.map(({tree, names, layout}) => ({
				total: tree.total[0],
				drawn: layout.nodes.length,
				names: layout.nodes.slice(1).map((node) => names[tree.name[node]]),
			}));
		});
	const at = await middle(
		page,
		(await boxes(page)).find((it) => it.name === name),
	);

	await page.mouse.click(at.x, at.y, {button: "right"});
	await page.getByRole("menuitem", {name: "All that is above and below it (s)"}).click();
	await says.getByText(/^203 MB ± 1 %, 78\.9 % of all; 0 B of it itself$/).waitFor();
	await addressed(page, "tab", "sandwich");
	await addressed(page, "around", name);
	await until(async () => (await graphs()).every((it) => it.drawn > 1));
	const [callers, callees] = await graphs();
	equal(callers.names[0], "Dune__exe__Leaky.handle", "the caller");
	ok(callees.names.includes("Stdlib__Buffer.create") || callees.names.length > 0, callees.names.join());
	equal(Math.round(callers.total), Math.round(callees.total), "both count the same");
	await t.look(page, "memory-sandwich");
	await t.accessible(page);
	await page.reload();
	await settled(page);
	await becomes(async () => (await graphs())[0].names[0], "Dune__exe__Leaky.handle", "the caller after a reload");

	/* A function is chosen by a part of its name, by a key, and by a click in either graph. */
	await page.getByLabel("Function", {exact: true}).fill("parser.parse");
	await page.keyboard.press("Enter");
	await addressed(page, "around", "Dune__exe__Leaky.Parser.parse");
	await page.getByLabel("Function", {exact: true}).fill("no such function");
	await page.keyboard.press("Enter");
	await says.getByText("No function has that in its name.").waitFor();
	await page.locator("#mem-callers").focus();
	await page.keyboard.press("ArrowUp");
	await page.keyboard.press("ArrowUp");
	await page.keyboard.press("Enter");
	await addressed(page, "around", "Dune__exe__Leaky.handle");
	await page.getByRole("tab", {name: "Functions"}).click();
	await page.getByRole("button", {name: `Show what is above and below ${name}`}).click();
	await addressed(page, "around", name);
});

test("memory: two moments are compared, in red and blue", async (t) => {
	const [early, late] = [40000, 160000];
	const page = await leaky(t, `&at=${early}`);
	const scale = 8 / 3e-4;
	const lived = (us) =>
		allocated("leaky")
			.filter((it) => it.us <= us && it.end > us)
			.reduce((sum, it) => sum + it.samples, 0);
	const both = [lived(early), lived(late)].map((it) => Math.round(it * scale));
	const totals = () =>
		page.evaluate(() => {
			const {tree} = document.getElementById("page").memory.flame;

			return tree.before ? [tree.before[0], tree.after[0]].map(Math.round) : null;
		});

	await page.getByLabel("Compare with").selectOption("kept");
	await addressed(page, "base", `at:${early}`);
	await page.evaluate((us) => document.getElementById("page").memory.choice.choose({at: us}), late);
	await addressed(page, "at", String(late));
	await becomes(totals, both, "the bytes that lived at both moments");
	ok(/^all: .* before, .* now \([+−].*\)$/.test(await rootText(page)), await rootText(page));
	await t.look(page, "memory-difference");
	await t.accessible(page);
	await page.getByRole("tab", {name: "Functions"}).click();
	await page.getByRole("columnheader", {name: "Self, change"}).waitFor();
	const changes = await page.evaluate(() =>
		document
			.getElementById("page")
			.memory.functions.wanted()
			.map((it) => it.self_bytes - it.selfBefore),
	);
	ok(
		changes.every((it, i) => i === 0 || it <= changes[i - 1]),
		"the greatest growth first",
	);
	await page.reload();
	await becomes(totals, both, "after a reload");
	await page.getByLabel("Compare with").selectOption("");
	await addressed(page, "base", undefined);
	await becomes(totals, null, "no difference");
});

test("memory: two recordings are compared by the names of functions", {long: true}, async (t) => {
	const host = await t.host({sink: true, collector: false});
	const {id: first} = await recorded(host, trace("shortlived"));
	const {id: second} = await recorded(host, trace("leaky"));
	const page = await opened(t, host, second, "&weight=live");

	await page.getByLabel("Compare with").focus();
	await page.getByLabel("Compare with").locator(`option[value="recording:${first}"]`).waitFor({state: "attached"});
	await page.getByLabel("Compare with").selectOption(`recording:${first}`);
	await addressed(page, "other", String(first));
	await until(() => page.evaluate(() => Boolean(document.getElementById("page").memory.flame.tree?.before)));
	const found = await page.evaluate(() => {
		const {tree, names} = document.getElementById("page").memory.flame;
		const {info} = document.getElementById("page").memory;
		const out = {before: tree.before[0], after: tree.after[0], live: info.live_bytes, only: []};

		for (let i = 1; i < tree.n; i++) if (tree.before[i] && !tree.after[i]) out.only.push(names[tree.name[i]]);
		return out;
	});
	equal(Math.round(found.after), Math.round(found.live), "this recording's bytes");
	ok(found.before > 0 && found.only.length > 0, `functions of the other: ${found.only.length}`);
	await page.reload();
	await until(() => page.evaluate(() => Boolean(document.getElementById("page").memory?.flame.tree?.before)));
	/* A recording that is gone is said, and the page goes on. */
	t.allow(/404/);
	await page.evaluate((id) => (location.hash = `#memtrace=${id}&other=999999`), second);
	await page
		.locator(".mem")
		.getByText(/999999|no such|There is no/i)
		.first()
		.waitFor();
	await page.getByLabel("Compare with").selectOption("");
	await until(() =>
		page.evaluate(
			() =>
				document.getElementById("page").memory.flame.tree &&
				!document.getElementById("page").memory.flame.tree.before,
		),
	);
});

test("memory: a tip names the file of a function", {long: true}, async (t) => {
	const page = await leaky(t);
	const at = await middle(
		page,
		(await boxes(page)).find((it) => it.name === "Dune__exe__Leaky.Render.page"),
	);

	await page.mouse.move(at.x, at.y);
	await page.locator(".mem-tip", {hasText: /, in \S*leaky\.ml/}).waitFor();
});

test("memory: a user saves the graph and the profile", async (t) => {
	const page = await leaky(t);
	const saved = async (name) => {
		const coming = page.waitForEvent("download");
		await page.getByText("Save", {exact: true}).click();
		await page.getByRole("button", {name}).click();
		return readFileSync(await (await coming).path());
	};

	equal(Buffer.compare(await saved("The recording (memtrace)"), trace("leaky")), 0, "the recording");
	const svg = (await saved("The flame graph (SVG)")).toString();
	ok(svg.startsWith("<svg") && svg.includes("Dune__exe__Leaky.Render.page: 203 MB"), svg.slice(0, 200));
	equal(
		await page.evaluate(
			(text) => new DOMParser().parseFromString(text, "image/svg+xml").querySelectorAll("parsererror").length,
			svg,
		),
		0,
	);
	equal((await saved("The flame graph (PNG)")).subarray(1, 4).toString(), "PNG");
	const stacks = (await saved("The profile (collapsed stacks)")).toString().trim().split("\n");
	const sum = stacks.reduce((all, line) => all + Number(/ (\d+)$/.exec(line)[1]), 0);
	ok(Math.abs(sum - oracle("leaky").estimated_bytes_total) < stacks.length, `${sum} bytes in all`);
	const {samples, tree} = JSON.parse(await saved("The profile (JSON)"));
	const scope = JSON.parse(await saved("The profile (speedscope)"));
	const [sampled] = scope.profiles;
	equal(sampled.samples.length, stacks.length, "stacks for speedscope");
	equal(
		sampled.samples.map(
			(stack, i) => `${stack.map((at) => scope.shared.frames[at].name).join(";")} ${sampled.weights[i]}`,
		),
		stacks,
		"the same stacks",
	);
	equal(sampled.endValue, sum, "their sum");
	ok(
		scope.shared.frames.some((it) => it.file),
		"files",
	);
	const pprof = messages(gunzipSync(await saved("The profile (pprof)")));
	const texts = pprof.filter((it) => it.field === 6).map((it) => it.value.toString());
	const functions = new Map(
		pprof
			.filter((it) => it.field === 5)
			.map((it) => new Map(messages(it.value).map(({field, value}) => [field, Number(value)])))
			.map((it) => [it.get(1), texts[it.get(2)]]),
	);
	equal(
		pprof
			.filter((it) => it.field === 2)
			.map(({value}) => {
				const [locations, values] = messages(value).map((it) => varints(it.value));
				return `${locations
					.map((at) => functions.get(at))
					.reverse()
					.join(";")} ${values[1]}`;
			}),
		stacks,
		"the stacks for pprof",
	);
	equal(samples, oracle("leaky").samples_total);
	ok(tree.length > 50, "nodes");
});

test("memory: one click opens the guest's threads at the chosen moment", async (t) => {
	const host = await t.host({sink: true});

	host.guest("web", "--size", "262144", "--rate", "2000");
	await until(
		async () =>
			(await host.domain("web"))?.state === "running" &&
			(await host.get("/v1/domains/web/packets?limit=10")).packets.length > 1,
	);
	const {first, more} = growing();
	const offer = await host.offered(first);
	const started = await fetch(`${host.url}/v1/domains/web/memtraces`, {
		method: "POST",
		headers: {"Content-Type": "application/json"},
		body: JSON.stringify({address: "127.0.0.1", port: offer.port}),
	});
	equal(started.status, 201, await started.clone().text());
	const {id, began_mono} = await started.json();
	offer.send(more);
	const page = await opened(t, host, id);
	await until(() =>
		page.evaluate(
			() =>
				Number(
					document.getElementById("page").memory.info.endUs -
						document.getElementById("page").memory.info.startUs,
				) > 500000,
		),
	);
	const {x, y} = await along(page, 0.8);
	await page.mouse.click(x, y);
	const at = await page.evaluate(() => document.getElementById("page").memory.choice.at);
	const link = page.getByRole("link", {name: "Its threads"});
	await link.waitFor();
	/* The demo guest's clock is this host's monotonic clock. */
	const wanted = BigInt(began_mono) + BigInt(at) * 1000n;
	await until(async () => {
		const query = new URLSearchParams((await link.getAttribute("href")).slice(1));
		const middle = (BigInt(query.get("from")) + BigInt(query.get("to"))) / 2n;
		return middle <= wanted + 1000000n && middle > wanted - 2000000000n;
	});
	await addressed(page, "at", String(at));
	await link.click();
	await page.locator("#tl-canvas").waitFor();
	await page.goBack();
	await settled(page);
	equal(await page.evaluate(() => document.getElementById("page").memory.choice.at), at, "and back");
});
