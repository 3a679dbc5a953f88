/* The host's page, as a user sees it. */
import {becomes, equal, ok, reference, sleep, test, until} from "./harness.mjs";

const UUID = (n) => `0a1b2c3d-0000-4000-8000-${n.toString(16).padStart(12, "0")}`;
const hex = (text) => Buffer.from(text).toString("hex");
const CONTEXT = {
	reason: "crash",
	xenstore: {"data/mprof/ring-ref": "8,9,10,11", name: "evil\u202emaN", vm: "<img src=x onerror=alert(1)>"},
	xenstore_complete: true,
	console: "Solo5: trap\nFatal error: exception Not_found\n\u001b[31mred <b>bold</b>\u202e\n",
	console_complete: false,
};

/* Archive lines: one guest in each state. */
const STORY = [
	"begin",
	`run 1 xen a web ${UUID(1)} 3 running -`,
	"stream 1 1 0 4096 4 0",
	`run 2 xen b db ${UUID(2)} 4 ended crash`,
	"stream 2 2 0 4096 4 0",
	`run 3 xen c mail ${UUID(3)} 5 suspended -`,
	"stream 3 3 0 4096 4 0",
	`run 4 xen d dns ${UUID(4)} 6 ended poweroff`,
	"stream 4 4 0 4096 4 0",
	"gap 4 lost lapped 5 370 9 3 0",
	"capture 1 4 poweroff -",
	"range 1 4 0 0 30",
	`capture 2 2 crash first ${hex(JSON.stringify(CONTEXT))}`,
	"range 2 2 0 0 30",
	"commit",
];

const names = (page) => page.locator(".guests tbody .name").allTextContents();
const row = (page, name) => page.locator(".guests tbody tr", {has: page.getByRole("link", {name, exact: true})});

/* Record the news that the page announces from now on. Runs in the page. */
function watchNews() {
	window.said = [];
	new MutationObserver(() => window.said.push(document.querySelector(".news").textContent)).observe(
		document.querySelector(".news"),
		{childList: true, subtree: true},
	);
}

test("host: crashed guests come first, then running ones, then ended ones", async (t) => {
	const host = await t.host({archive: STORY, collector: false});
	const page = await t.open(host);

	/* The page fills a row in the first frame that has time for it. */
	await becomes(() => names(page), ["db", "web", "mail", "dns"], "the guests");
	equal(
		await page
			.locator(".guests .state")
			.allTextContents()
			.then((all) => all.map((s) => s.trim()).filter(Boolean)),
		["Crashed", "Running", "Suspended", "Gone"].flatMap((s) => [s, s]),
	);
	equal(
		await page.locator(".summary").textContent(),
		"Traces of this host's guests: 1 crashed, 1 running, 1 suspended, 1 gone",
	);
	equal(await row(page, "dns").locator(".gaps").textContent(), "3 packets lost");
	equal(await page.getByRole("status").textContent(), "", "the announcements of a new page");
	await page.getByText("Live", {exact: true}).waitFor();
	await t.look(page, "host");
});

test("host: one click opens the trace of a guest or of a capture", async (t) => {
	const host = await t.host({archive: STORY, collector: false});
	const page = await t.open(host);

	equal(await page.getByRole("link", {name: "web", exact: true}).getAttribute("href"), "#domain=web");
	equal(await page.locator("[data-capture='2'] a.name").getAttribute("href"), "#capture=2");
});

for (const [what, options] of Object.entries({
	light: {},
	dark: {dark: true},
	narrow: {width: 320, height: 640, touch: true},
	"narrow and dark": {width: 320, dark: true},
	medium: {width: 900},
}))
	test(`host: axe-core finds no fault, ${what}`, {long: what !== "narrow and dark"}, async (t) => {
		const host = await t.host({archive: STORY, collector: false});
		const page = await t.open(host, "/", options);

		await row(page, "db").waitFor();
		await page.getByText("Live", {exact: true}).waitFor();
		await t.accessible(page);
		ok(
			await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
			"no element wider than the page",
		);
		await t.look(page, `host-${what.replaceAll(" ", "-")}`);
		await row(page, "db")
			.getByRole("button", {name: /^Why it crashed/})
			.click();
		await page.getByRole("dialog").getByText("Fatal error").waitFor();
		await t.accessible(page);
		ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nor does a dialog");
		await t.look(page, `host-context-${what.replaceAll(" ", "-")}`);
	});

test("host: the reason of a crash is text, and Escape leads back", async (t) => {
	const host = await t.host({archive: STORY, collector: false});
	const page = await t.open(host);
	const button = row(page, "db").getByRole("button", {name: "Why it crashed: db"});

	await button.focus();
	await page.keyboard.press("Enter");
	const dialog = page.getByRole("dialog", {name: "Crashed: db"});
	equal(
		await dialog.locator("pre").first().textContent(),
		"Solo5: trap\nFatal error: exception Not_found\n\\u001b[31mred <b>bold</b>\\u202e\n",
	);
	ok(
		(await dialog.locator("pre").nth(1).textContent()).includes(
			"name = evil\\u202emaN\nvm = <img src=x onerror=alert(1)>",
		),
	);
	await dialog.getByText("End of the console").waitFor();
	equal(await dialog.locator("b, img").count(), 0, "elements made by a guest's text");
	await page.keyboard.press("Escape");
	await dialog.waitFor({state: "detached"});
	await becomes(
		() => button.evaluate((element) => element === document.activeElement),
		true,
		"whether the focus is where it was",
	);
	await page
		.locator("[data-capture='1']")
		.getByRole("button", {name: /^Context/})
		.click();
	await page.getByRole("dialog").getByText("Nothing else was kept").waitFor();
});

test("host: hostile names stay text of bounded length", async (t) => {
	const evil = [
		"<img/src=x/onerror=alert(1)>",
		"a\u202egpj.exe",
		"</script><script>alert(1)</script>",
		"x".repeat(10240),
		"\u200b\u200b",
		"javascript:alert(1)",
		"{{7*7}}",
		"__proto__",
		"\u0007bell",
	];
	const host = await t.host({
		archive: [
			"begin",
			...evil.flatMap((name, i) => [
				`run ${i + 1} xen k${i} ${name} ${UUID(i)} ${i} running -`,
				`stream ${i + 1} ${i + 1} 0 4096 4 0`,
				`capture ${i + 1} ${i + 1} crash <b>${name}</b>`,
			]),
			"commit",
		],
		collector: false,
	});
	const page = await t.open(host);
	let alerts = 0;

	page.on("dialog", (dialog) => (alerts++, dialog.dismiss()));
	await page
		.locator(".guests tbody tr")
		.nth(evil.length - 1)
		.waitFor();
	const shown = await names(page);
	for (const wanted of [
		"<img/src=x/onerror=alert(1)>",
		"a\\u202egpj.exe",
		"\\u200b\\u200b",
		`${"x".repeat(120)}… (10,240 characters)`,
		"__proto__",
		"\\u0007bell",
	])
		ok(shown.includes(wanted), `${wanted} among ${JSON.stringify(shown).slice(0, 2000)}`);
	equal(await page.locator("#page img, #page script, #page b").count(), 0, "elements made by a guest's text");
	ok(
		(await page.locator(".guests tbody tr").evaluateAll((rows) => Math.max(...rows.map((r) => r.offsetHeight)))) <
			200,
		"the rows' heights do not depend on the names",
	);
	ok(
		await page.locator("a.name").evaluateAll((links) => links.every((a) => a.protocol === "http:")),
		"links lead to this page",
	);
	equal(alerts, 0, "alerts");
	equal((await page.content()).match(/[\u202e\u200b]/), null, "characters that deceive");
	await t.accessible(page);
	await t.look(page, "host-hostile");
});

test("host: an empty host says how to add a guest, and shows the first one", async (t) => {
	const host = await t.host();
	const page = await t.open(host);

	await page.getByRole("heading", {name: "No guest has been traced here yet"}).waitFor();
	await page.getByText("data/mprof/ring-ref").waitFor();
	await t.accessible(page);
	await t.look(page, "host-empty");

	/* A file may be chosen, or dropped anywhere, also below the table. */
	await page.getByText("or drop one on this page").waitFor();
	const dragged = (type, name, related) =>
		page.evaluate(
			([kind, file, into]) => {
				const dataTransfer = new DataTransfer();

				dataTransfer.items.add(new File(["x"], file));
				document.elementFromPoint(innerWidth / 2, innerHeight - 3).dispatchEvent(
					new DragEvent(kind, {
						dataTransfer,
						bubbles: true,
						cancelable: true,
						relatedTarget: into ? document.body : null,
					}),
				);
			},
			[type, name, related],
		);
	const sign = page.getByText("Drop to open");
	await dragged("dragover", "one.ctf");
	await sign.waitFor();
	await dragged("dragleave", "one.ctf", true);
	ok(await sign.isVisible(), "the sign while the file is over the page");
	await dragged("dragleave", "one.ctf", false);
	await sign.waitFor({state: "hidden"});
	await dragged("dragover", "one.ctf");
	await dragged("drop", "one.ctf");
	await page.locator(".tl-message", {hasText: "one.ctf is no trace"}).waitFor();
	await sign.waitFor({state: "hidden"});
	await page.goBack();
	await page.getByLabel("A trace or a memory profile").setInputFiles({
		name: "two.ctf",
		mimeType: "",
		buffer: reference("small.ctf"),
	});
	await page.locator("h1", {hasText: "two.ctf"}).waitFor();
	await page.goto(host.url);
	await page.getByRole("heading", {name: "No guest has been traced here yet"}).waitFor();
	host.guest("demo", "--size", "65536");
	await row(page, "demo").waitFor();
	await page
		.getByRole("heading", {name: "No guest"})
		.waitFor({state: "hidden"}); /* the advice for a host without guests */
});

test("host: guests come and go on the open page", async (t) => {
	const host = await t.host();
	const page = await t.open(host);

	await page.getByText("Live", {exact: true}).waitFor();
	const one = host.guest("one", "--size", "65536", "--rate", "20000");
	await row(page, "one").waitFor();
	await until(async () => (await page.getByRole("status").textContent()).includes("one started."));
	await until(async () => /^\d.*\/s$/.test(await row(page, "one").locator(".rate").textContent()));
	await until(async () => (await row(page, "one").locator(".spark path").getAttribute("d")).length > 20);
	/* The focus stays when rows appear above and below. */
	const snapshot = row(page, "one").getByRole("button", {name: "Take a snapshot of one"});
	await snapshot.focus();
	host.guest("a-first", "--size", "65536");
	host.guest("z-last", "--size", "65536");
	await row(page, "z-last").waitFor();
	await row(page, "a-first").waitFor();
	await becomes(() => names(page), ["a-first", "one", "z-last"], "the guests");
	ok(await snapshot.evaluate((element) => element === document.activeElement), "the focus stays");
	await t.look(page, "host-live");
	await one.stop();
	await until(async () => (await row(page, "one").locator(".state span, span.state").textContent()) === "Gone");
	await becomes(() => names(page), ["a-first", "z-last", "one"], "the guests, of which one has ended");
	await page.locator(".captures tbody tr").first().getByText("Ended").waitFor();
	await until(async () => /one ended/.test(await page.getByRole("status").textContent()));
});

test("host: the keyboard alone takes, pins, notes and deletes captures", async (t) => {
	const host = await t.host();
	const page = await t.open(host);
	const status = async () => (await host.get("/v1/captures")).captures;

	host.guest("one", "--size", "65536", "--rate", "5000");
	await row(page, "one").getByRole("button", {name: "Take a snapshot of one"}).focus();
	await page.evaluate(watchNews);
	await page.keyboard.press("Enter");
	const capture = page.locator(".captures tbody tr").first();
	await capture.getByText("Snapshot", {exact: true}).waitFor();
	await becomes(() => row(page, "one").locator(".captures button").textContent(), "1", "how many captures");
	await until(async () => /snapshot/.test(await page.evaluate(() => window.said.join())));
	await sleep(4000); /* long enough for the page to announce an event, too */
	equal((await page.evaluate(() => window.said.join())).match(/snapshot/g)?.length, 1, "how often it is said");
	await capture.getByRole("button", {name: /^Keep for ever/}).focus();
	await page.keyboard.press("Space");
	await capture.getByRole("button", {pressed: true}).waitFor();
	await becomes(async () => (await status()).map((c) => c.pinned), [true], "the pinned captures");
	await page.keyboard.press("Tab");
	await page.keyboard.press("Enter");
	await page.keyboard.type("slow <b>again");
	await t.look(page, "host-note");
	await page.keyboard.press("Tab");
	await page.keyboard.press("Enter");
	await capture.getByText("slow <b>again").waitFor();
	await becomes(async () => (await status()).map((c) => c.note), ["slow <b>again"], "the notes");
	await capture.getByRole("button", {name: /^Delete/}).focus();
	await page.keyboard.press("Enter");
	await page.getByRole("dialog", {name: /^Delete this capture of one/}).waitFor();
	await page.keyboard.press("Escape");
	equal((await status()).length, 1);
	await capture.getByRole("button", {name: /^Delete/}).click();
	await page.getByRole("dialog").getByRole("button", {name: "Delete"}).click();
	await page.getByText("None yet: one is taken").waitFor();
	await becomes(async () => (await status()).length, 0, "how many captures are left");
	await becomes(
		() => page.locator("#captures-title").evaluate((element) => element === document.activeElement),
		true,
		"the focus at the beginning of the list",
	);
	/* The page shows a change that another client made. */
	const answer = await fetch(`${host.url}/v1/domains/one/captures`, {
		method: "POST",
		headers: {"Content-Type": "application/json"},
		body: '{"note": "from afar"}',
	});
	equal(answer.status, 201, await answer.text());
	await page.getByText("from afar").waitFor();
});

test("host: the page says why a command failed", async (t) => {
	const host = await t.host({archive: STORY, collector: false});
	const page = await t.open(host);

	t.allow(/503/);
	await row(page, "web").getByRole("button", {name: "Take a snapshot of web"}).click();
	await page.getByRole("alert").getByText("Snapshot of web: The collector does not answer").waitFor();
	await t.accessible(page);
	await page.getByRole("button", {name: "Dismiss"}).click();
	await becomes(() => page.getByRole("alert").textContent(), "", "the alert");
});

test("host: search finds guests by name, captures by guest and kind", async (t) => {
	const host = await t.host({archive: STORY, collector: false});
	const page = await t.open(host);
	const captures = () => page.locator(".captures tbody .name").allTextContents();

	await page.getByRole("searchbox", {name: "Find"}).fill("D");
	await until(async () => (await names(page)).join() === "db,dns");
	await page.getByRole("searchbox").fill("nobody");
	await page.getByText("No guest has that in its name.").waitFor();
	await page.getByRole("searchbox").fill("");
	await until(async () => (await names(page)).length === 4);
	await becomes(captures, ["db", "dns"], "all captures");
	await row(page, "dns").getByRole("button", {name: "1 capture of dns: show them"}).click();
	await becomes(captures, ["dns"], "those of dns");
	await page.getByRole("button", {name: "Crashes"}).click();
	await page.getByText("None of these.").waitFor();
	await page.getByRole("button", {name: /^Only captures of dns/}).click();
	await becomes(captures, ["db"], "crashes");
});

test("host: the page lists the runs of a guest", async (t) => {
	const host = await t.host({
		archive: [
			...STORY,
			"begin",
			`run 9 xen z web ${UUID(1)} 9 running -`,
			`run 1 xen a web ${UUID(1)} 3 ended reboot`,
			"commit",
		],
		collector: false,
	});
	const page = await t.open(host);

	await row(page, "web").getByRole("button", {name: "2 runs of web: show them"}).click();
	const lines = page.getByRole("dialog", {name: "Runs of web"}).getByRole("listitem");
	await lines.nth(1).waitFor();
	ok(/^Run 9 began .* running/.test(await lines.first().textContent()));
	ok(/Rebooted/.test(await lines.nth(1).textContent()));
	equal(await lines.nth(1).getByRole("link").getAttribute("href"), `#domain=${UUID(1)}&run=1`);
	await t.accessible(page);
	await t.look(page, "host-runs");
});

test("host: the page reports a server that goes and comes back, and misses no event", async (t) => {
	const host = await t.host({archive: STORY, collector: false});
	const page = await t.open(host);

	t.allow(/ERR_|Failed to load resource/);
	await page.getByText("Live", {exact: true}).waitFor();
	await host.stopServer();
	await page.getByText("Not connected, trying again").waitFor();
	await host.archive([
		"begin",
		`run 5 xen e new ${UUID(5)} 7 running -`,
		"stream 5 5 0 4096 4 0",
		"delete 1",
		"commit",
	]);
	await host.startServer();
	await row(page, "new").waitFor();
	await page.getByText("Live", {exact: true}).waitFor();
	await becomes(() => page.locator(".captures tbody .name").allTextContents(), ["db"], "the captures");
});

test("host: a hidden page closes its connection, and misses no event", async (t) => {
	const host = await t.host({archive: STORY, collector: false});
	const page = await t.open(host);
	const followers = async () =>
		Number(/^mprofd_http_events (\d+)$/m.exec(await (await fetch(`${host.url}/metrics`)).text())[1]);
	const hide = (hidden) =>
		page.evaluate((it) => {
			Object.defineProperty(document, "hidden", {get: () => it, configurable: true});
			document.dispatchEvent(new Event("visibilitychange"));
		}, hidden);

	await page.getByText("Live", {exact: true}).waitFor();
	await becomes(followers, 1, "the followers");
	await hide(true);
	await until(async () => (await followers()) === 0);
	await host.archive(["begin", `run 5 xen e new ${UUID(5)} 7 running -`, "stream 5 5 0 4096 4 0", "commit"]);
	await hide(false);
	await row(page, "new").waitFor();
	await becomes(followers, 1, "the followers afterwards");
});

test("host: one sentence announces many changes at once", async (t) => {
	const host = await t.host({archive: STORY, collector: false});
	const page = await t.open(host);
	const write = host.writer();

	await page.getByText("Live", {exact: true}).waitFor();
	await page.evaluate(watchNews);
	const lines = Array.from(
		{length: 50},
		(_, i) => `run ${100 + i} xen m${i} many-${i} ${UUID(100 + i)} ${100 + i} running -`,
	);
	await write("begin", ...lines, "commit");
	await row(page, "many-49").waitFor();
	await until(() => page.evaluate(() => window.said.some((sentence) => /guests started/.test(sentence))));
	await sleep(3500);
	const said = await page.evaluate(() => window.said);
	ok(said.length <= 3 && said.every((sentence) => sentence.length < 200), `what was said, ${JSON.stringify(said)},`);
	ok(
		said.some((sentence) => /^\d\d guests started\.$/.test(sentence)),
		JSON.stringify(said),
	);
});

test("host: on a telephone, one tap leads to a trace and back", async (t) => {
	const host = await t.host({rings: {small: reference("small.ctf")}});
	const page = await t.open(host, "/", {width: 320, height: 640, touch: true, isMobile: true});

	await page.getByRole("link", {name: "small", exact: true}).tap();
	await page.locator(".tl").waitFor();
	equal(new URL(page.url()).hash.split("&")[0], "#domain=small");
	await until(() => page.evaluate(() => document.querySelector("#page").timeline.painted.length > 100));
	await page.goBack();
	await row(page, "small").waitFor();
});

test("host: the page shows a deleted run, a new name and a crash at once", async (t) => {
	const host = await t.host({archive: STORY, collector: false});
	const page = await t.open(host);
	const write = host.writer();

	await page.getByText("Live", {exact: true}).waitFor();
	await write("begin", `run 1 xen a www ${UUID(1)} 3 running -`, "commit");
	await row(page, "www").waitFor();
	await write(
		"begin",
		`run 1 xen a www ${UUID(1)} 3 ended crash`,
		"capture 3 1 crash -",
		"range 3 1 0 0 30",
		"commit",
	);
	await until(async () => (await names(page)).join() === "www,db,mail,dns");
	await until(async () => /www crashed/.test(await page.getByRole("status").textContent()));
	await write("begin", `run 9 xen z old ${UUID(9)} 9 ended poweroff`, "stream 9 9 0 4096 4 0", "commit");
	await row(page, "old").waitFor();
	await write("begin", "enforce old 0", "commit");
	await until(async () => (await names(page)).join() === "www,db,mail,dns");
});

/* Record the keys of the rows that change from now on. Runs in the page. */
function watchRows() {
	window.touched = new Set();
	const rowOf = (node) => (node.closest ? node : node.parentElement).closest("tr");
	const observer = new MutationObserver((changes) =>
		changes.forEach(({target}) => rowOf(target) && window.touched.add(rowOf(target).dataset.key)),
	);
	window.watching = observer;
	observer.observe(document.querySelector(".guests tbody"), {
		subtree: true,
		childList: true,
		characterData: true,
		attributes: true,
	});
}

test("host: of a thousand guests only the row of one that changes is drawn anew", {long: true}, async (t) => {
	const lines = ["begin"];
	for (let i = 1; i <= 1000; i++)
		lines.push(`run ${i} xen k${i} guest-${i} ${UUID(i)} ${i} running -`, `stream ${i} ${i} 0 4096 4 0`);
	const host = await t.host({archive: [...lines, "commit"], collector: false});
	const write = host.writer();
	const page = await t.open(host);

	await page.locator(".guests tbody tr").nth(999).waitFor({state: "attached"});
	await page.getByText("Live", {exact: true}).waitFor();
	await page.evaluate(() => scrollTo(0, 20000));
	/* When one guest changes, the page changes its row and no other. */
	const change = async (id) => {
		await page.evaluate(watchRows);
		await write("begin", `run ${id} xen k${id} guest-${id} ${UUID(id)} ${id} suspended -`, "commit");
		await until(() => page.evaluate((key) => window.touched.has(key), `u:${UUID(id)}`));
		await sleep(500);
		const touched = await page.evaluate(() => (window.watching.disconnect(), [...window.touched]));
		const quiet = touched.filter((key) => key !== `u:${UUID(id)}`);
		ok(quiet.length <= 40, `rows that came into view alone may be drawn: ${quiet.length}`);
		equal(await page.evaluate(() => scrollY > 10000), true, "the page stays where it was scrolled to");
	};
	for (const id of [500, 501]) await change(id);
});

test("host: a capture says why, once the server has read it", async (t) => {
	const host = await t.host({rings: {bad: reference("public/arp-bad.ctf")}});
	const page = await t.open(host);
	const words = page.locator("tr[data-capture] .detail", {hasText: "missed wake-up"});

	await words.waitFor();
	ok((await words.textContent()).length < 500, "it is bounded");
	ok((await words.getAttribute("title")).includes("began to wait"), "the whole sentence is in the title");
	await t.look(page, "host-cause");
	await t.accessible(page);
});
