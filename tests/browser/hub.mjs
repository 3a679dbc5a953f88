/* The page of a hub, as a user sees it: a real database with three hosts, mprofd-http --fleet and mprof-annotate. */
import {spawn} from "node:child_process";
import path from "node:path";

import {becomes, BUILD, ok, test, TOP, until} from "./harness.mjs";

/** The hub of tests/fleet/sample.py. `tell(command)` resolves when the command was carried out. */
class Hub {
	constructor() {
		this.said = "";
		this.answers = 0;
		this.process = spawn("/usr/bin/python3", ["-B", path.join(TOP, "tests/fleet/sample.py"), BUILD], {
			stdio: ["pipe", "pipe", "pipe"],
			env: {MPROF_FLEET_TEMPLATES: path.join(BUILD, "fleet-templates"), ...process.env},
		});
		for (const stream of [this.process.stdout, this.process.stderr])
			stream.on("data", (text) => (this.said += text));
		this.ended = new Promise((resolve) => this.process.on("exit", resolve));
	}

	async begin() {
		this.url = await until(() => {
			if (this.process.exitCode !== null) throw new Error(this.said.slice(-2000));
			return /^http:\S+$/m.exec(this.said)?.[0];
		});
		return this;
	}

	async tell(command) {
		const wanted = ++this.answers;

		this.process.stdin.write(`${command}\n`);
		await until(() => (this.said.match(/^done$/gm) ?? []).length >= wanted);
	}

	async stop() {
		this.process.stdin.end();
		await this.ended;
		if (this.process.exitCode !== 0) throw new Error(this.said.slice(-3000));
	}
}

async function sample(t) {
	const made = new Hub();

	t.later.push(() => made.stop());
	return made.begin();
}

const names = (page, list) => page.locator(`.${list} tbody .name`).allTextContents();

/* To make the sample takes most of the time, so the page that follows it comes in the same test. */
test("hub: crashes, causes and hosts, and the way to a capture; then a crash and an outage", async (t) => {
	const hub = await sample(t);

	await shown(t, hub);
	await followed(t, hub);
});

async function shown(t, hub) {
	const page = await t.open(hub);

	await becomes(
		() => names(page, "crashes"),
		["dom0-berlin/web", "dom0-oslo/web", "dom0-berlin/dns", "dom0-oslo/dns"],
		"the crashes",
	);
	await becomes(() => page.locator(".summary").textContent(), "Captures of 3 hosts", "the summary");
	await becomes(async () => (await names(page, "causes")).length, 2, "the number of causes");
	const causes = await names(page, "causes");
	ok(
		causes.some((text) => text.startsWith("missed wake-up: ")),
		"the lost wake-up",
	);
	ok(
		causes.some((text) => text.startsWith("deadlock: ")),
		"the deadlock",
	);
	const [first] = await page.locator(".causes tbody tr").allTextContents();
	ok(/22/.test(first.replace(/\D+/g, " ").replaceAll(" ", "")), "two crashes on two hosts");
	await becomes(() => names(page, "hosts"), ["dom0-berlin", "dom0-oslo", "dom0-quiet"], "the hosts");
	await page.locator(".hosts tbody", {hasText: "1.5 ms slow, ± 250 µs"}).waitFor(); /* the clock */
	await t.accessible(page);
	await t.look(page, "hub");

	/* A cause lists its captures, and Back shows all again. */
	await page.locator(".causes .name", {hasText: "deadlock"}).click();
	await becomes(() => names(page, "crashes"), ["dom0-berlin/dns", "dom0-oslo/dns"], "the captures of a cause");
	await page.goBack();
	await becomes(async () => (await names(page, "crashes")).length, 4, "all captures");

	/* All captures of one host. */
	await page.locator(".hosts .name", {hasText: "dom0-oslo"}).click();
	await page.getByRole("button", {name: "All captures", exact: true}).click();
	await becomes(
		() => names(page, "crashes"),
		["dom0-oslo/web", "dom0-oslo/dns", "dom0-oslo/web"],
		"the captures of a host",
	);
	await page.getByRole("button", {name: /Only captures of the host dom0-oslo/}).click();
	await becomes(async () => (await names(page, "crashes")).length, 6, "the captures of all hosts");

	/* A capture opens as on its host: threads, and why they wait. */
	await page.locator(".crashes .name", {hasText: "dom0-oslo/web"}).first().click();
	await page.locator("canvas").first().waitFor();
	await page.waitForFunction(() => document.title.includes("dom0-oslo/web"));
	ok(/capture=dom0-oslo\.[0-9a-f]{8}\.1/.test(page.url()), "the address");
	await page.goto(`${page.url().replace(/&.*/, "")}&panel=why`);
	await page.getByText("missed wake-up:").first().waitFor();
	await t.look(page, "hub-capture");
	await page.context().close();
}

/* A crash appears by itself, and an outage of the database is said. */
async function followed(t, hub) {
	const page = await t.open(hub, "/", {dark: true, width: 480, height: 900});

	t.allow(/503|Failed to load resource|ERR_/);
	await becomes(async () => (await names(page, "crashes")).length, 4, "the crashes");
	await hub.tell("crash dom0-quiet");
	await becomes(async () => (await names(page, "crashes"))[0], "dom0-quiet/late", "the newest crash");
	await t.look(page, "hub-narrow");
	ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 480, "no sideways scrolling");
	await t.accessible(page);
	await hub.tell("outage");
	await page.evaluate(() => (location.hash = "#host=dom0-oslo"));
	await until(async () => /database/.test(await page.locator(".alert").textContent()));
	await hub.tell("back");
	await becomes(() => page.locator(".alert").textContent(), "", "the alert");
	await becomes(async () => (await names(page, "crashes")).length, 2, "the crashes of dom0-oslo");
}
