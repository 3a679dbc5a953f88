/* The first load of a time line: what the browser asks the server for. */
import {ok, reference, test} from "./harness.mjs";
import {settled} from "./timeline-tools.mjs";

const REQUESTS = 15;

test("first load: a time line takes few requests", async (t) => {
	const host = await t.host({rings: {web: reference("small.ctf")}});
	const page = await t.open(host, "/v1/domains");
	const asked = [];

	t.allow(/favicon/);
	page.on("request", (it) => asked.push(new URL(it.url()).pathname));
	await page.goto(`${host.url}/#domain=web`);
	await settled(page);
	ok(asked.length <= REQUESTS, `${asked.length} requests: ${asked.join(" ")}`);
});
