/* The host's page, used as a person uses it. */
import {equal, ok, reference, sleep, test, until} from "./harness.mjs";

const UUID = (n) => `0a1b2c3d-0000-4000-8000-${n.toString(16).padStart(12, "0")}`;
const hex = (text) => Buffer.from(text).toString("hex");
const CONTEXT = {
	reason: "crash",
	xenstore: {"data/mprof/ring-ref": "8,9,10,11", "name": "evil\u202emaN", "vm": "<img src=x onerror=alert(1)>"},
	xenstore_complete: true,
	console: "Solo5: trap\nFatal error: exception Not_found\n\u001b[31mred <b>bold</b>\u202e\n",
	console_complete: false,
};

/* A host whose archive has one guest in each state. */
const STORY = [
	"begin",
	`run 1 xen a web ${UUID(1)} 3 running -`, "stream 1 1 0 4096 4 0",
	`run 2 xen b db ${UUID(2)} 4 ended crash`, "stream 2 2 0 4096 4 0",
	`run 3 xen c mail ${UUID(3)} 5 suspended -`, "stream 3 3 0 4096 4 0",
	`run 4 xen d dns ${UUID(4)} 6 ended poweroff`, "stream 4 4 0 4096 4 0",
	"gap 4 lost lapped 5 370 9 3 0",
	"capture 1 4 poweroff -", "range 1 4 0 0 30",
	`capture 2 2 crash first ${hex(JSON.stringify(CONTEXT))}`, "range 2 2 0 0 30",
	"commit",
];

const names = (page) => page.locator(".guests tbody .name").allTextContents();
const row = (page, name) => page.locator(".guests tbody tr", {has: page.getByRole("link", {name, exact: true})});

test("host: crashes come first, then what runs, then what is gone", async (t) => {
	const host = await t.host({archive: STORY, collector: false});
	const page = await t.open(host);

	await row(page, "db").waitFor();
	equal(await names(page), ["db", "web", "mail", "dns"]);
	equal(await page.locator(".guests .state").allTextContents().then((all) => all.map((s) => s.trim()).filter(Boolean)), ["Crashed", "Running", "Suspended", "Gone"].flatMap((s) => [s, s]));
	equal(await page.locator(".summary").textContent(), "1 crashed, 1 running, 1 suspended, 1 gone");
	equal(await row(page, "dns").locator(".gaps").textContent(), "3 packets lost");
	equal(await page.getByRole("status").textContent(), "", "the news of a page that has just come");
	await page.getByText("Live", {exact: true}).waitFor();
	await t.look(page, "host");
});

test("host: one click leads to a trace, of a guest and of a capture", async (t) => {
	const host = await t.host({archive: STORY, collector: false});
	const page = await t.open(host);

	equal(await page.getByRole("link", {name: "web", exact: true}).getAttribute("href"), "#domain=web");
	equal(await page.locator("[data-capture='2'] a.name").getAttribute("href"), "#capture=2");
});
