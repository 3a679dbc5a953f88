/*
 * Memory profiles on the host's page, as a user sees them: guests that offer one, guests that
 * send one, and the list of recordings.
 */
import {connect} from "node:net";

import {becomes, equal, ok, test, until} from "./harness.mjs";
import {info, writer} from "./memtrace-make.mjs";

const now = () => BigInt(Date.now()) * 1000n;
const guestRow = (page, name) => page.locator(".guests tbody tr", {has: page.getByRole("link", {name, exact: true})});
const profileRow = (page, id) => page.locator(`[data-memtrace='${id}']`);
const text = (locator) => locator.evaluate((element) => element.innerText);
const focused = (locator) => () => locator.evaluate((element) => element === document.activeElement);
const hidden = (locator) => locator.waitFor({state: "hidden"});

/* Return a function that gives the guest's first bytes, then 80 blocks of 8000 bytes a call. */
function sender(more = {}) {
	const start = now();
	const write = writer(start);
	let at = 0;

	return {
		first: info({start, ...more}),
		next: () => write(Array.from({length: 80}, () => ({at: (at += 10), bytes: 8000}))),
	};
}

async function recorded(host) {
	return (await host.get("/v1/memtraces")).memtraces;
}

test("profiles: a user starts a profile that a guest offers, watches it, and stops it", async (t) => {
	const host = await t.host({sink: true});
	const page = await t.open(host);
	const {first, next} = sender({context: "requests"});
	const offer = await host.offered(first);

	host.guest("web", "--size", "65536");
	const row = guestRow(page, "web");
	const button = row.getByRole("button", {name: "Profile the memory of web"});
	await button.click();
	const dialog = page.getByRole("dialog", {name: "Profile the memory of web"});
	/* The guest is a file and has no address. The dialog says so. */
	await dialog.getByRole("alert").filter({hasText: "address"}).waitFor();
	await becomes(focused(dialog.getByLabel("Address of the guest")), true, "the focus in the text field");
	await t.accessible(page);
	await t.look(page, "profile-where");
	await page.keyboard.type("127.0.0.1");
	await dialog.getByLabel("Port, if not 4242").fill("99999");
	await page.keyboard.press("Enter");
	await dialog.getByText("The port is a number from 1 to 65535.").waitFor();
	t.allow(/502|404/);
	await dialog.getByLabel("Port, if not 4242").fill("1");
	await page.keyboard.press("Enter");
	await dialog.getByText(/Connection refused/).waitFor();
	await dialog.getByLabel("Port, if not 4242").fill(String(offer.port));
	await page.keyboard.press("Enter");
	await dialog.waitFor({state: "detached"});
	/* The guest's row and the list both show the recording. */
	const link = row.getByRole("link", {name: /memory of web is being profiled/});
	await link.waitFor();
	equal(await link.getAttribute("href"), "#memtrace=1");
	await becomes(() => profileRow(page, 1).locator(".program").innerText(), "mirage", "its program");
	await until(async () => (await text(profileRow(page, 1))).includes("requests"));
	ok((await text(profileRow(page, 1))).includes("Recording"), "the recording in the row");
	await until(async () =>
		(await page.getByRole("status").textContent()).includes("The memory of web is being profiled."),
	);
	/* The size grows while the page is open. */
	offer.send(next());
	offer.send(next());
	await until(async () => {
		const [{bytes}] = await recorded(host);
		return bytes > 10000 && (await text(profileRow(page, 1))).includes(`${Math.round(bytes / 1024)} KB`);
	});
	ok(
		/^#domain=web&run=1/.test(
			await profileRow(page, 1)
				.getByRole("link", {name: "web: memory profile 1 beside the threads"})
				.getAttribute("href"),
		),
		"the way to its threads",
	);
	await t.look(page, "profile-recording");
	/* The server refuses a second client, and the page shows its sentence. */
	const other = page.getByRole("button", {name: "Profile another guest…"});
	await other.click();
	await page.getByLabel("Guest: a name for it").fill("db");
	await page.getByLabel("Address of the guest").fill("127.0.0.1");
	await page.getByLabel("Port, if not 4242").fill(String(offer.port));
	t.allow(/409/);
	await page.getByRole("button", {name: "Start", exact: true}).click();
	await page
		.getByRole("dialog")
		.getByText(/is being recorded already/)
		.waitFor();
	await page.keyboard.press("Escape");
	await becomes(focused(other), true, "whether the focus is where it was");
	/* A user stops the recording from the guest's row. */
	await row.getByRole("button", {name: "Stop profiling the memory of web"}).click();
	await profileRow(page, 1).getByText("Stopped", {exact: true}).waitFor();
	await hidden(link);
	await button.waitFor();
	equal(
		(await recorded(host)).map(({state, reason}) => [state, reason]),
		[["ended", "stopped"]],
	);
	await t.look(page, "profile-stopped");
});

test("profiles: the page shows what other clients start and stop; pin, note, delete, filters, keyboard", async (t) => {
	const host = await t.host({sink: true});
	const page = await t.open(host);

	host.guest("web", "--size", "65536");
	await guestRow(page, "web").waitFor();
	await page.getByText("None yet: press Profile memory").waitFor();
	const one = host.profiled(Buffer.concat([sender({context: "one"}).first, sender().next()]));
	const row = profileRow(page, 1);
	await row.getByText("Recording", {exact: true}).waitFor();
	equal(await row.locator("a.name").innerText(), "guest at 127.0.0.1");
	host.profiled(sender({context: "two"}).first);
	await profileRow(page, 2).waitFor();
	await becomes(
		() => page.locator("[data-memtrace]").evaluateAll((rows) => rows.map((it) => it.dataset.memtrace)),
		["2", "1"],
		"their order",
	);
	one.end();
	await row.getByText("Ended", {exact: true}).waitFor();
	/* A user pins the profile and writes a note. */
	await row.getByRole("button", {name: /^Keep for ever: the memory profile of guest at 127/}).press("Enter");
	await row.getByText("Pinned", {exact: true}).waitFor();
	await row.getByRole("button", {name: /^Note on/}).press("Enter");
	await page.getByLabel("Note, for later readers").fill("<b>grows</b>\u202e");
	await page.getByRole("button", {name: "Save", exact: true}).click();
	await row.getByText("<b>grows</b>\\u202e").waitFor();
	equal(
		(await recorded(host)).map(({pinned, note}) => [pinned, note]),
		[
			[false, ""],
			[true, "<b>grows</b>\u202e"],
		],
	);
	/* A user filters the list. */
	await page.getByRole("group", {name: "Which memory profiles"}).getByRole("button", {name: "Pinned"}).click();
	await profileRow(page, 2).waitFor({state: "detached"});
	await page.getByRole("group", {name: "Which memory profiles"}).getByRole("button", {name: "Recording"}).click();
	await profileRow(page, 2).waitFor();
	await row.waitFor({state: "detached"});
	await page.getByRole("group", {name: "Which memory profiles"}).getByRole("button", {name: "All"}).click();
	/* A user deletes a profile after confirming. Another client deletes one without. */
	await row.getByRole("button", {name: /^Delete/}).click();
	await page.getByRole("dialog").getByRole("button", {name: "Cancel"}).click();
	ok(await row.isVisible(), "the row remains");
	await row.getByRole("button", {name: /^Delete/}).click();
	await page.getByRole("dialog").getByRole("button", {name: "Delete"}).click();
	await row.waitFor({state: "detached"});
	await profileRow(page, 2).getByRole("button", {name: /^Stop/}).click();
	await profileRow(page, 2).getByText("Stopped", {exact: true}).waitFor();
	await fetch(`${host.url}/v1/memtraces/2`, {method: "DELETE"});
	await profileRow(page, 2).waitFor({state: "detached"});
	equal(await recorded(host), []);
});

test("profiles: a capture's row and context link to the profile that ran", async (t) => {
	const host = await t.host({sink: true});
	const page = await t.open(host);
	const offer = await host.offered(sender().first);
	const guest = host.guest("web", "--size", "65536");

	await guestRow(page, "web")
		.getByRole("button", {name: /Take a snapshot/})
		.click();
	await page.locator("[data-capture='1']").waitFor();
	const answer = await fetch(`${host.url}/v1/domains/web/memtraces`, {
		method: "POST",
		headers: {"Content-Type": "application/json"},
		body: JSON.stringify({address: "127.0.0.1", port: offer.port}),
	});
	equal(answer.status, 201);
	await profileRow(page, 1).waitFor();
	await guestRow(page, "web")
		.getByRole("button", {name: /Take a snapshot/})
		.click();
	const link = page
		.locator("[data-capture='2']")
		.getByRole("link", {name: "The memory profile of web that ran at capture 2"});
	await link.waitFor();
	ok(
		await page
			.locator("[data-capture='1']")
			.getByRole("link", {name: /memory profile/})
			.isHidden(),
		"the first snapshot was before it",
	);
	equal(await link.getAttribute("href"), "#memtrace=1");
	await page
		.locator("[data-capture='2']")
		.getByRole("button", {name: /^Context/})
		.click();
	equal(
		await page
			.getByRole("dialog")
			.getByRole("link", {name: /memory profile that ran then/})
			.getAttribute("href"),
		"#memtrace=1",
	);
	await page.keyboard.press("Escape");
	await guest.stop();
	await until(async () => (await host.domain("web")).state === "ended");
});

test("profiles: a guest without a trace has a row for its profile", async (t) => {
	const host = await t.host({
		sink: true,
		collector: false,
		archive: ["begin", "run 1 xen a quiet 0a1b2c3d-0000-4000-8000-000000000001 3 running -", "commit"],
	});
	const offer = await host.offered(sender().first);
	const page = await t.open(host);
	const row = guestRow(page, "quiet");

	await row.waitFor();
	await becomes(() => row.locator(".kept").innerText(), "no trace", "the archived trace");
	await hidden(row.getByRole("button", {name: /snapshot/})); /* a guest without a trace has no snapshot */
	await hidden(row.getByRole("checkbox")); /* nor a time line */
	const answer = await fetch(`${host.url}/v1/domains/quiet/memtraces`, {
		method: "POST",
		headers: {"Content-Type": "application/json"},
		body: JSON.stringify({address: "127.0.0.1", port: offer.port}),
	});
	equal(answer.status, 201);
	await row.getByRole("link", {name: /memory of quiet is being profiled/}).waitFor();
	await becomes(() => row.locator("a.name").getAttribute("href"), "#memtrace=1", "the link of its name");
	await profileRow(page, 1).waitFor();
	await hidden(profileRow(page, 1).getByRole("link", {name: /beside the threads/})); /* there are no threads */
	await t.look(page, "profiles-ringless");
});

const HOSTILE = {program: "<img/src=x/onerror=alert(1)>", host: "</script>", context: `\u202e${"x".repeat(5000)}`};

for (const [what, options] of Object.entries({
	light: {},
	dark: {dark: true},
	narrow: {width: 320, height: 640, touch: true},
	medium: {width: 900},
}))
	test(
		`profiles: hostile labels are text, axe-core finds no fault, ${what}`,
		{long: what !== "narrow"},
		async (t) => {
			const host = await t.host({sink: true});

			host.guest("web", "--size", "65536");
			host.profiled(sender(HOSTILE).first);
			const page = await t.open(host, "/", options);
			const row = profileRow(page, 1);
			await row.waitFor();
			await guestRow(page, "web").waitFor();
			await becomes(() => row.locator(".program").innerText(), HOSTILE.program, "its program");
			equal(await page.locator("#page img, #page script").count(), 0, "elements made by a guest's text");
			equal((await page.content()).match(/\u202e/), null, "characters that deceive");
			ok(
				(await row.evaluate((element) => element.offsetHeight)) < (options.width < 1100 ? 500 : 200),
				"a row is not as tall as a label is long",
			);
			await page.getByText("Live", {exact: true}).waitFor();
			await t.accessible(page);
			ok(
				await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
				"no element wider than the page",
			);
			await t.look(page, `profiles-${what}`);
		},
	);

test("profiles: without a sink the page says so, and everything else works", async (t) => {
	const host = await t.host();
	const page = await t.open(host);

	host.guest("web", "--size", "65536");
	t.allow(/503/);
	await guestRow(page, "web").getByRole("button", {name: "Profile the memory of web"}).click();
	await page
		.getByRole("alert")
		.getByText(/mprofd-sink/)
		.waitFor();
	await guestRow(page, "web").getByRole("button", {name: "Profile the memory of web"}).waitFor();
	ok(await new Promise((resolve) => connect(host.port, "127.0.0.1", () => resolve(true))), "the server is there");
});
