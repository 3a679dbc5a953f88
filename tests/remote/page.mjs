/*
 * Open the page of another machine: node page.mjs MODE URL GUEST [TOKEN]
 *
 *   token        sign in with TOKEN, and out
 *   certificate  the browser has a certificate, whose grant lets it read GUEST alone
 *   stranger     the browser has a certificate of another authority: the page asks for a token
 *
 * remote.py starts it in the viewer's network namespace, and gives the browser its certificates.
 * MPROF_BROWSER is the folder in which `npm ci` was run, MPROF_BUILD the build directory.
 */
import {close, equal, run, test, tests} from "../browser/harness.mjs";
import {SECURE, signIn} from "../browser/access-tools.mjs";

const [mode, url, guest, token] = process.argv.slice(2);
const link = (page) => page.getByRole("link", {name: guest, exact: true});
const dialog = (page) => page.getByRole("dialog", {name: /^Sign in to mprofd/});

async function timeLine(page) {
	await link(page).click();
	await page.locator(".tl-title h1", {hasText: guest}).waitFor();
}

test("token", async (t) => {
	/* The console names each refused request; the end of the session ends its stream of events, if the page has not left it yet. */
	t.allow(/status of 401|ERR_INCOMPLETE_CHUNKED_ENCODING/);
	const page = await t.open({url}, "/", SECURE);

	await dialog(page).waitFor();
	equal(await link(page).count(), 0, "guests before the sign-in");
	await signIn(page, token);
	await link(page).waitFor();
	await timeLine(page);
	/* The session lasts, and ends with the sign-out. */
	await page.goto(url);
	await link(page).waitFor();
	await page.locator(".who summary").click();
	await page.getByRole("button", {name: "Sign out"}).click();
	await dialog(page).waitFor();
	await t.look(page, "remote");
});

test("certificate", async (t) => {
	/* The browser trusts the server's authority, so it needs no permission for errors. */
	const page = await t.open({url}, "/");

	await link(page).waitFor();
	equal(await dialog(page).count(), 0, "sign-ins");
	equal(await page.locator(".who summary").innerText(), "viewer", "the name in the head");
	await page.locator(".who summary").click();
	await page.locator(".who dd", {hasText: "by a certificate"}).waitFor();
	equal(await page.getByRole("button", {name: "Sign out"}).count(), 0, "buttons to sign out");
	equal(await page.locator("main").getByRole("link", {name: "db", exact: true}).count(), 0, "guests without a grant");
	await t.look(page, "remote-certificate");
	await timeLine(page);
});

test("stranger", async (t) => {
	t.allow(/status of 401/);
	const page = await t.open({url}, "/");

	await dialog(page).waitFor();
	equal(await link(page).count(), 0, "guests");
});

const {verdict, reason} = await run(tests.find((it) => it.name === mode));

await close();
if (verdict !== "passed") console.error(reason);
process.exitCode = verdict === "passed" ? 0 : 1;
