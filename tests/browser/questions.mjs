/*
 * The questions with which people come: a new user finds the answers on the page alone, by mouse and
 * keys, without an address or the manual.
 */
import {becomes, equal, ok, reference, test, until} from "./harness.mjs";
import {boxes, recorded} from "./memory-tools.mjs";
import {settled} from "./timeline-tools.mjs";
import {server, story} from "./workload.mjs";

const panel = (page) => page.locator(".tl-panel");
const CONTEXT = {
	reason: "crash",
	console: "Fatal error: exception Tcp.Timeout\n",
	console_complete: true,
	xenstore: {name: "web"},
	xenstore_complete: true,
};

/** Open the page of HOST and follow the link of the guest "web". */
async function guest(t, host) {
	const page = await t.open(host, "/", {width: 1400, height: 900});

	await page.getByRole("link", {name: "web", exact: true}).first().click();
	await settled(page);
	return page;
}

test("question: why did this guest die?", async (t) => {
	const context = Buffer.from(JSON.stringify(CONTEXT)).toString("hex");
	const lines = story("web", "bad").map((it) => it.replace("ended poweroff", "ended crash"));
	const capture = [`capture 1 1 crash - ${context}`, "range 1 1 0 0 3000", "commit"];
	const host = await t.host({archive: [...lines.slice(0, -1), ...capture], collector: false});
	const page = await guest(t, host);

	await page.locator(".tl-about", {hasText: /^run 1, crashed$/}).waitFor();
	await page.getByRole("button", {name: "Why?"}).click();
	await panel(page).getByText("missed wake-up").waitFor();
	await panel(page).getByText("The guest crashed.").waitFor();
	await page.getByRole("button", {name: "Its console and its XenStore"}).click();
	const dialog = page.getByRole("dialog");
	await dialog.getByText("Fatal error: exception Tcp.Timeout").waitFor();
	await t.accessible(page);
	await page.keyboard.press("Escape");
	await becomes(() => dialog.count(), 0, "dialogs");
	/* The capture of its end says the same. */
	await page.goto(`${host.url}/#capture=1`);
	await settled(page);
	await page.getByRole("button", {name: "Why?"}).click();
	await panel(page).getByText("The guest crashed.").waitFor();
});

test("question: which request took longest, and what did it wait for?", async (t) => {
	const host = await t.host({archive: server("web", 120), collector: false});
	const page = await guest(t, host);
	const sheet = page.getByRole("region", {name: "Threads by label and type, rows"});

	await page.getByRole("button", {name: "Numbers", exact: true}).click();
	await sheet.locator("tbody tr").nth(10).waitFor();
	/* All columns of times have room. */
	const room = await sheet.evaluate((it) => it.scrollWidth - it.clientWidth);
	ok(room <= 0, `${room} pixels of the table are cut`);
	await page.getByLabel("Filter: Threads by label and type").fill("GET /");
	await sheet.getByRole("button", {name: /longest life/}).click();
	const first = sheet.locator("tbody tr").first().locator(".tl-link");
	await becomes(() => first.innerText(), "GET /page/138", "the longest request");
	await first.click();
	await panel(page).getByText("13.487 ms after its creation").waitFor();
	await page.keyboard.press("y");
	await panel(page)
		.getByText(/which waited longest for 418 \(Wait, "read sector 23976"\), for 13\.426 ms/)
		.waitFor();

	/* The list of the threads in view has the longest, though more are in view than it shows. */
	await page.keyboard.press("f");
	await settled(page);
	await page.keyboard.press("t");
	await panel(page)
		.getByText(/^The 200 longest of \d+ threads in view/)
		.waitFor();
	await page.getByLabel("Filter: Threads", {exact: true}).fill("GET /");
	await panel(page)
		.getByRole("button", {name: /^lives/})
		.click();
	await becomes(
		() => panel(page).locator("tbody tr").first().locator(".tl-link").innerText(),
		'417 (Task, "GET /page/138")',
		"the longest in the list",
	);
});

test("question: what grew in the heap between two moments?", async (t) => {
	const host = await t.host({sink: true});
	const {id} = await recorded(host, reference("memtrace/leaky.trace"));
	const page = await t.open(host, "/", {width: 1400, height: 900});

	await page.locator(`[data-memtrace='${id}']`).getByRole("link").first().click();
	await until(async () => (await boxes(page)).length > 20);
	const box = await page.locator("#mem-chart").boundingBox();
	const at = (part) => [box.x + box.width * part, box.y + box.height / 2];
	await page.mouse.click(...at(0.25));
	await page
		.getByLabel("Count", {exact: true})
		.locator("option:checked", {hasText: "lived at"})
		.waitFor({state: "attached"});
	await page.keyboard.down("Shift");
	await page.mouse.click(...at(0.8));
	await page.keyboard.up("Shift");
	await page.getByText("Red: more than there.").waitFor();
	await page.getByRole("tab", {name: "Functions"}).click();
	/* The address has both moments, so the answer can be sent to somebody. */
	await until(() => /[&#]at=\d+/.test(page.url()) && /[&#]base=/.test(page.url()));
	/* The same by keys: Enter chooses a moment, and Shift and Enter the difference from it. */
	await page.getByLabel("Compare with").selectOption({label: "nothing"});
	await page.locator("#mem-chart").focus();
	await page.keyboard.press("Home");
	for (let i = 0; i < 4; i++) await page.keyboard.press("PageDown");
	await page.keyboard.press("Enter");
	for (let i = 0; i < 4; i++) await page.keyboard.press("PageDown");
	await page.keyboard.press("Shift+Enter");
	await page.getByText("Red: more than there.").waitFor();
	equal(await page.getByRole("alert").locator("visible=true").count(), 0, "errors");
});
