/*
 * Sign in on the page of another machine: node page.mjs URL TOKEN GUEST
 *
 * remote.py starts it in the viewer's network namespace. MPROF_BROWSER is the folder in which `npm ci`
 * was run, MPROF_BUILD the build directory.
 */
import {close, equal, run, test, tests} from "../browser/harness.mjs";
import {SECURE, signIn} from "../browser/access-tools.mjs";

const [url, token, guest] = process.argv.slice(2);

test("remote: the page of another machine", async (t) => {
	t.allow(/status of 401/); /* the console names each refused request */
	const page = await t.open({url}, "/", SECURE);

	await page.getByRole("dialog", {name: /^Sign in to mprofd/}).waitFor();
	equal(await page.getByRole("link", {name: guest, exact: true}).count(), 0, "guests before the sign-in");
	await signIn(page, token);
	await page.getByRole("link", {name: guest, exact: true}).waitFor();
	await page.getByRole("link", {name: guest, exact: true}).click();
	await page.locator(".tl-title h1", {hasText: guest}).waitFor();
	/* The session lasts, and ends with the sign-out. */
	await page.goto(url);
	await page.getByRole("link", {name: guest, exact: true}).waitFor();
	await page.locator(".who summary").click();
	await page.getByRole("button", {name: "Sign out"}).click();
	await page.getByRole("dialog", {name: /^Sign in to mprofd/}).waitFor();
	await t.look(page, "remote");
});

const {verdict, reason} = await run(tests[0]);

await close();
if (verdict !== "passed") console.error(reason);
process.exitCode = verdict === "passed" ? 0 : 1;
