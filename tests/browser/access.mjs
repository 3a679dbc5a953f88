/*
 * Signing in and out, as a user does, on a server with access control: over HTTPS with a certificate of
 * the test's own, and on loopback.
 */
import {becomes, equal, forms, ok, reference, test, until} from "./harness.mjs";
import {SECURE, accessHost, makeToken, signIn} from "./access-tools.mjs";
import {camera, opened, settled} from "./timeline-tools.mjs";

const WRONG = `mprof_${"0".repeat(16)}_${"0".repeat(64)}`;
const field = (page) => page.getByLabel("Token");
const dialog = (page) => page.getByRole("dialog", {name: /^Sign in to mprofd/});
const who = (page) => page.locator(".who summary");
const focused = (locator) => () => locator.evaluate((element) => element === document.activeElement);
const stored = (page) =>
	page.evaluate(() => [document.cookie, localStorage.length, sessionStorage.length, history.length]);

/** Open ADDRESS of HOST over HTTPS. */
function secure(t, host, address = "/", options = {}) {
	t.allow(/status of 401/); /* the console names each refused request */
	return t.open({url: host.https}, address, {...SECURE, ...options});
}

/** Open ADDRESS of HOST over HTTPS, and sign in with TOKEN. */
async function signedIn(t, host, token, address, options) {
	const page = await secure(t, host, address, options);

	await signIn(page, token.text);
	await dialog(page).waitFor({state: "detached"});
	return page;
}

test("access: a wrong token is refused, the right one leads to the view that the address names", async (t) => {
	const host = await accessHost(t, {rings: {web: reference("small.ctf")}});
	const token = await makeToken(host, "alice", "read=web*;context=web*;write=web*");
	const plain = await opened(t, await t.host({rings: {web: reference("small.ctf")}}), "#domain=web");
	const {from, to} = await camera(plain);
	const view = `#domain=web&from=${from + (to - from) / 4n}&to=${from + (to - from) / 2n}`;
	const page = await secure(t, host, `/${view}`);

	await dialog(page).waitFor();
	await becomes(focused(field(page)), true, "the focus in the field");
	equal(await field(page).getAttribute("type"), "password");
	equal(await field(page).getAttribute("autocomplete"), "current-password");
	await dialog(page).getByText("mprofctl token new NAME").waitFor();
	await t.accessible(page);
	await signIn(page, WRONG);
	const alert = dialog(page).getByRole("alert");
	await alert.filter({hasText: "This is no valid token: it is misspelt, has expired, or was revoked."}).waitFor();
	equal(await field(page).inputValue(), "", "the field");
	await becomes(focused(field(page)), true, "the focus after a wrong token");
	equal(await field(page).getAttribute("aria-invalid"), "true");
	await t.accessible(page);
	/* Escape does not close it. */
	for (let i = 0; i < 3; i++) await page.keyboard.press("Escape");
	await becomes(() => dialog(page).evaluate((it) => it.open), true, "the dialog after Escape");

	await signIn(page, token.text);
	await settled(page);
	equal(await page.locator(".tl-title h1").innerText(), "web");
	const at = await camera(page);
	equal([at.from, at.to], [from + (to - from) / 4n, from + (to - from) / 2n], "the window");
	ok(page.url().startsWith(`${host.https}/${view}`), `the address ${page.url()}`);
	equal(await dialog(page).count(), 0, "sign-ins");
	equal(await field(page).count(), 0, "fields");
	/* No script can read the cookie, and the token is nowhere. */
	const [cookie, local, session] = await stored(page);
	equal([cookie, local, session], ["", 0, 0], "what scripts can read");
	const [kept, ...others] = await page.context().cookies();
	equal(others.length, 0, "further cookies");
	const {name, httpOnly, secure: onlySecure, sameSite, path, domain} = kept;
	equal(
		{name, httpOnly, onlySecure, sameSite, path, domain},
		{
			name: "__Host-mprofd",
			httpOnly: true,
			onlySecure: true,
			sameSite: "Strict",
			path: "/",
			domain: "127.0.0.1",
		},
	);
	ok(!(await page.content()).includes(token.text), "no token in the page");
	/* The head says who one is, by a tip and, for keys and fingers, by a menu. */
	equal(await who(page).innerText(), "alice");
	ok(
		/Reads: web\*\n.*\nChanges: web\*\nMetrics: no\nUntil: \d{4}-/.test(await who(page).getAttribute("title")),
		"tip",
	);
	await who(page).focus();
	await page.keyboard.press("Enter");
	await page.locator(".who dd", {hasText: "with a token"}).waitFor();
	await t.accessible(page);
	ok((await page.locator(".who details > div").boundingBox()).x >= 0, "the menu in the window");
	await t.look(page, "access-who");
	await page.keyboard.press("Escape");
	await page.locator(".who dl").waitFor({state: "hidden"});
	await page.reload();
	await settled(page);
	equal(await who(page).innerText(), "alice", "the name after a reload");
});

test("access: the sign-in works by keys, in both themes, and on a telephone", async (t) => {
	const host = await accessHost(t);

	for (const [name, options] of forms([
		["phone-dark", {width: 360, height: 640, touch: true, dark: true}],
		["light", {}],
		["dark", {dark: true}],
		["phone", {width: 360, height: 640, touch: true}],
		["narrow", {width: 320, height: 480}],
	])) {
		const page = await secure(t, host, "/", options);
		await dialog(page).waitFor();
		await t.accessible(page);
		await t.look(page, `access-${name}`);
		await page.keyboard.type(WRONG);
		await page.keyboard.press("Tab");
		await becomes(focused(page.getByRole("button", {name: "Sign in"})), true, "the focus on the button");
		await page.keyboard.press("Enter");
		await dialog(page).getByRole("alert").filter({hasText: "no valid token"}).waitFor();
		await t.accessible(page);
		await t.look(page, `access-${name}-wrong`);
		equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, `${name}: it fits`);
		await page.keyboard.type(host.all.text);
		await page.keyboard.press("Enter");
		await dialog(page).waitFor({state: "detached"});
		await page.getByRole("heading", {name: "No guest has been traced here yet"}).waitFor();
		equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, `${name}: the host`);
		await t.accessible(page);
		await who(page).click();
		const box = await page.locator(".who details > div").boundingBox();
		ok(box.x >= 0 && box.x + box.width <= (options.width ?? 1280), `${name}: the menu from ${box.x} on`);
		await t.accessible(page);
		await t.look(page, `access-${name}-host`);
		await page.context().close();
	}
});

test("access: too many wrong tokens get the server's sentence", {long: true}, async (t) => {
	const host = await accessHost(t);
	const page = await secure(t, host);
	const alert = dialog(page).getByRole("alert");

	t.allow(/status of 429/);
	await until(async () => {
		await signIn(page, WRONG);
		await alert.filter({hasText: /./}).waitFor();
		return /too many wrong ones\. Send a valid one, or wait some seconds\./.test(await alert.innerText());
	});
	/* The right token is accepted at once. */
	await until(async () => {
		if (await field(page).isVisible()) await signIn(page, host.all.text);
		await page.locator(".host, .sign-in .bad:not(:empty)").first().waitFor();
		return page.locator(".host").isVisible();
	});
});

test("access: without access control there is no sign-in, and nobody's name", async (t) => {
	const host = await t.host({rings: {web: reference("small.ctf")}});
	const page = await t.open(host);

	await page.getByRole("link", {name: "web", exact: true}).waitFor();
	equal(await dialog(page).count(), 0, "sign-ins");
	await becomes(() => page.locator(".who").isVisible(), false, "the name");
	await page.getByRole("button", {name: /^Note on/}).waitFor();
});

test("access: a token of a program says who one is, and there is nothing to sign out of", async (t) => {
	const host = await accessHost(t);
	const page = await t.open({url: host.https}, "/", {
		...SECURE,
		extraHTTPHeaders: {Authorization: `Bearer ${host.all.text}`},
	});

	await who(page).filter({hasText: "harness"}).waitFor();
	await who(page).click();
	await page.locator(".who dd", {hasText: "by a token in each request"}).waitFor();
	equal(await page.getByRole("button", {name: "Sign out"}).count(), 0, "buttons to sign out");
});

test("access: on loopback without TLS Chromium keeps the session", async (t) => {
	const host = await accessHost(t);

	t.allow(/status of 401/);
	for (const name of forms(["127.0.0.1", "localhost"])) {
		const page = await t.open({url: host.url.replace("127.0.0.1", name)});
		await signIn(page, host.all.text);
		await who(page).filter({hasText: "harness"}).waitFor();
		await page.reload();
		await who(page).filter({hasText: "harness"}).waitFor();
	}
});

test("access: a browser that does not keep the session says what to do", async (t) => {
	const host = await accessHost(t);

	t.allow(/status of 401/);
	for (const [url, sentence] of forms([
		[host.url, /begins with http:\. Open the page by https:, or use the token with mprofctl\.$/],
		[host.https, /Allow its cookies, and sign in again\.$/],
	])) {
		const page = await t.open({url}, "/", SECURE);
		/* The server sets the cookie, and the browser drops it. */
		await page.route("**/v1/session", async (route) => {
			const response = await route.fetch();
			await page.context().clearCookies();
			const headers = Object.entries(response.headers()).filter(([key]) => key !== "set-cookie");
			await route.fulfill({response, headers: Object.fromEntries(headers)});
		});
		await signIn(page, host.all.text);
		await dialog(page).getByRole("alert").filter({hasText: sentence}).waitFor();
		await t.accessible(page);
		equal(await field(page).inputValue(), "", "the field");
	}
});

test("access: one who signs in by another window is signed in here", {long: true}, async (t) => {
	const host = await accessHost(t);
	const page = await secure(t, host);
	const other = await page.context().newPage();

	await dialog(page).waitFor();
	await other.goto(host.https);
	await signIn(other, host.all.text);
	await who(other).filter({hasText: "harness"}).waitFor();
	/* The browser shows the first window again. */
	await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
	await who(page).filter({hasText: "harness"}).waitFor();
	equal(await dialog(page).count(), 0, "sign-ins");
});

test("access: the page asks for its data while the server says who one is", {long: true}, async (t) => {
	const host = await accessHost(t, {rings: {"web-1": reference("small.ctf"), db: reference("small.ctf")}});
	const page = await signedIn(t, host, await makeToken(host, "some", "read=*"));
	const changes = page.getByRole("button", {name: /^(Note|Delete)/});
	let listed, release;
	const asked = new Promise((resolve) => (listed = resolve));
	const held = new Promise((resolve) => (release = resolve));

	await page.route("**/v1/session", async (route) => {
		await held;
		await route.continue();
	});
	page.on("response", (answer) => {
		if (answer.url().includes("/v1/domains")) listed();
	});
	await page.reload();
	await asked;
	/* Nothing is shown that one may not do, although the list has come. */
	equal(await changes.locator("visible=true").count(), 0, "buttons before the answer");
	release();
	await page.locator(".captures tbody tr").nth(1).waitFor();
	equal(await changes.locator("visible=true").allInnerTexts(), [], "buttons that change something");
});
