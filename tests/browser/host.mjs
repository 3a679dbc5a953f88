/* The host's page, used as a person uses it. */
import {ok, test} from "./harness.mjs";

test("host: the page is there", async (t) => {
	const host = await t.host();
	const page = await t.open(host);

	ok(await page.locator("#page").count(), "the page");
});
