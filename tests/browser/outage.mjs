/* A server that goes away and comes back: what the page waits for goes on by itself. */
import {ok, reference, test, until} from "./harness.mjs";
import {recorded, settled as profileSettled} from "./memory-tools.mjs";
import {drawn, settled} from "./timeline-tools.mjs";

const WAITS = "Trying again…";

/** Open HOST's page in a test that expects failed requests. */
async function hostPage(t, host) {
	t.allow(/ERR_|Failed to load resource|Failed to fetch|503/);
	const page = await t.open(host);

	await page.getByText("Live", {exact: true}).waitFor();
	return page;
}

test("outage: a trace that is opened while the server is away appears when it is back", async (t) => {
	const host = await t.host({rings: {web: reference("small.ctf")}});
	const page = await hostPage(t, host);
	const link = page.getByRole("link", {name: "web", exact: true}).first();

	await link.waitFor();
	await host.stopServer();
	await link.click();
	await page.getByText(WAITS).waitFor();
	await host.startServer();
	await settled(page);
	ok((await drawn(page, "thread")).length > 0, "threads");
});

test("outage: so does a memory profile, and a page to which one went meanwhile", {long: true}, async (t) => {
	const host = await t.host({rings: {web: reference("small.ctf")}, sink: true});
	const {id} = await recorded(host, reference("memtrace/leaky.trace"));
	const page = await hostPage(t, host);

	await page.getByRole("link", {name: "web", exact: true}).first().waitFor();
	await host.stopServer();
	await page.evaluate(() => (location.hash = "#domain=web"));
	await page.getByText(WAITS).waitFor();
	await page.evaluate((it) => (location.hash = `#memtrace=${it}`), id);
	await page.getByText(WAITS).waitFor();
	await host.startServer();
	await until(() => page.evaluate(() => document.getElementById("page").memory));
	await profileSettled(page);

	/* The first load fails after the modules have come. */
	const later = await page.context().newPage();
	t.watch(later, host);
	await later.route(/v1\/memtraces\//, (route) => route.abort());
	await later.goto(`${host.url}/#memtrace=${id}`);
	await later.locator(".mem-message", {hasText: "Trying again"}).waitFor();
	await later.unroute(/v1\/memtraces\//);
	await profileSettled(later);
});
