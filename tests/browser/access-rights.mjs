/* The rights of a session, and its end: hidden guests and buttons, refusals, revocation, sign-out. */
import {becomes, equal, ok, reference, test, until} from "./harness.mjs";
import {SECURE, accessHost, makeToken, revoke, signIn} from "./access-tools.mjs";
import {info, writer} from "./memtrace-make.mjs";
import {recorded, settled as profiled} from "./memory-tools.mjs";
import {box, camera, settled} from "./timeline-tools.mjs";

const dialog = (page) => page.getByRole("dialog", {name: /^Sign in to mprofd/});
const who = (page) => page.locator(".who summary");
const button = (where, name) => where.getByRole("button", {name, exact: true});
/* Every button of a page that changes something. */
const CHANGES = /^(Take a snapshot|Profile |Stop |Keep for ever|Note on|Delete|Pin$|Unpin|Note$)/;
const changes = (page) => page.getByRole("button", {name: CHANGES});
const row = (page, name) => page.locator(".guests tbody tr", {has: page.getByRole("link", {name, exact: true})});
const captureRows = (page, name) => page.locator(".captures tbody tr", {hasText: name});

/* Keep the page's connections for events in `sources`. */
const sources = () => {
	globalThis.sources = [];
	globalThis.EventSource = class extends EventSource {
		constructor(...args) {
			super(...args);
			globalThis.sources.push(this);
		}
	};
};

async function signedIn(t, host, token, address = "/", options = {}) {
	/* The console names refused requests, and connections that the server ends. */
	t.allow(/status of 401|ERR_INCOMPLETE_CHUNKED_ENCODING/);
	const page = await t.open({url: host.https}, address, {...SECURE, init: sources, ...options});

	await signIn(page, token.text);
	await dialog(page).waitFor({state: "detached"});
	return page;
}

async function signOut(page) {
	await who(page).click();
	await button(page, "Sign out").click();
}

/** Return a Promise of [status, detail] of the page's own fetch() of PATH. */
function asked(page, path, options) {
	return page.evaluate(
		async ([where, how]) => {
			const answer = await fetch(where, how);
			const text = await answer.text();

			return [answer.status, text && JSON.parse(text).detail];
		},
		[path, options],
	);
}

test("access: a token for web* shows these guests alone, without buttons that change something", async (t) => {
	const ring = reference("small.ctf");
	const host = await accessHost(t, {rings: {"web-1": ring, "web-2": ring, db: ring}});
	const reader = await makeToken(host, "reader", "read=web*");
	const page = await signedIn(t, host, reader);

	/* Events come in the order of runs, so one of db-2 would come before that of web-3. */
	host.guest("db-2", "--size", "65536");
	await until(() => host.domain("db-2"));
	host.guest("web-3", "--size", "65536");
	await row(page, "web-3").waitFor();
	await captureRows(page, "web-1").waitFor();
	equal((await page.locator(".guests .name").allInnerTexts()).sort(), ["web-1", "web-2", "web-3"], "guests");
	await becomes(
		async () => (await page.locator(".captures .name").allInnerTexts()).sort(),
		["web-1", "web-2"],
		"captures",
	);
	equal(await changes(page).allInnerTexts(), [], "buttons that change something");
	equal(await page.getByRole("button", {name: /^Context/}).count(), 0, "buttons for a context");
	await t.accessible(page);
	await t.look(page, "access-reader");
	/* Neither are there any on the time line of a capture. */
	const {captures} = await host.get("/v1/captures");
	equal(captures.filter(({domain}) => domain === "db").length, 1, "captures of a hidden guest");
	await page.goto(`${host.https}/#capture=${captures.find(({domain}) => domain === "web-1").id}`);
	await page.locator(".tl-title h1", {hasText: "web-1"}).waitFor();
	await settled(page);
	equal(await changes(page).count(), 0, "buttons on the time line");
	/* A guest that one may not see is absent. */
	t.allow(/status of 404/);
	await page.goto(`${host.https}/#domain=db`);
	await page.locator(".tl-message[role=alert]").waitFor();
	equal((await asked(page, "/v1/domains/db"))[0], 404, "the status of a hidden guest");
});

test("access: buttons appear where write and context allow", async (t) => {
	const ring = reference("small.ctf");
	const host = await accessHost(t, {rings: {"web-1": ring, db: ring}});
	const page = await signedIn(t, host, await makeToken(host, "some", "read=*;context=d?;write=web-[0-9]"));
	const [web, db] = [captureRows(page, "web-1"), captureRows(page, "db")];

	await becomes(() => web.getByRole("button").allInnerTexts(), ["Pin", "Note", "Delete"], "buttons of web-1");
	await becomes(() => db.getByRole("button").allInnerTexts(), ["Context"], "buttons of db");
	/* A pinned capture is seen to be pinned where no button says so. */
	const [{id}] = (await host.get("/v1/captures")).captures.filter((it) => it.domain === "db");
	await fetch(`${host.url}/v1/captures/${id}`, {
		method: "PATCH",
		headers: {...host.headers, "Content-Type": "application/json"},
		body: '{"pinned": true}',
	});
	await db.locator(".act span", {hasText: "Pinned"}).waitFor();
	await web.getByRole("button", {name: /^Keep for ever/}).click();
	await web.getByRole("button", {name: /^Keep for ever/, pressed: true}).waitFor();
	/* The server refuses a request that the page cannot know to be forbidden, with a sentence. */
	t.allow(/status of 403/);
	await button(page, "Profile another guest…").click();
	await page.getByLabel("Guest: a name for it").fill("db");
	await page.getByLabel("Address of the guest").fill("127.0.0.1");
	await button(page, "Start").click();
	await page.getByRole("dialog").getByRole("alert").filter({hasText: "it needs the scope write"}).waitFor();
	await page.keyboard.press("Escape");
	/* A change from the page itself needs the header. */
	const patch = {method: "PATCH", body: '{"note": "x"}', headers: {"Content-Type": "application/json"}};
	const [mine] = (await host.get("/v1/captures")).captures.filter((it) => it.domain === "web-1");
	const [status, detail] = await asked(page, `/v1/captures/${mine.id}`, patch);
	equal(status, 403, "the status without the header");
	ok(/Mprof-Request: 1/.test(detail), detail);
	patch.headers["Mprof-Request"] = "1";
	equal((await asked(page, `/v1/captures/${mine.id}`, patch))[0], 200, "the status with the header");
	await web.getByText("x", {exact: true}).waitFor();
});

test("access: marks are kept with a capture only where write allows", {long: true}, async (t) => {
	const ring = reference("small.ctf");
	const host = await accessHost(t, {rings: {"web-1": ring, db: ring}});
	const {captures} = await host.get("/v1/captures");
	const page = await signedIn(t, host, await makeToken(host, "some", "read=*;write=web*"));
	const keep = button(page, "Keep with the capture");

	for (const {id, domain} of captures) {
		await page.goto(`${host.https}/#capture=${id}`);
		await page.locator(".tl-title h1", {hasText: domain}).waitFor();
		await settled(page);
		await page.focus("#tl-canvas");
		await page.keyboard.press("e");
		await page.getByLabel("Text of the note").fill("here");
		await page.keyboard.press("Enter");
		await page.locator(".tl-notes li", {hasText: "here"}).waitFor();
		equal(await keep.count(), domain === "db" ? 0 : 1, `buttons to keep the notes on ${domain}`);
		await page.goto(`${host.https}/#`);
		await row(page, "db").waitFor();
	}
});

test("access: a memory profile has no buttons that change it where write does not allow", {long: true}, async (t) => {
	const host = await accessHost(t, {sink: true});
	const start = BigInt(Date.now()) * 1000n;
	const write = writer(start);
	const bytes = Buffer.concat([info({start}), write([{at: 10, bytes: 8000}])]);
	const {id} = await recorded(host, bytes, true);
	const shown = (page) => page.locator(".mem-bar").first().getByRole("button", {name: CHANGES}).allInnerTexts();

	for (const [scopes, wanted] of [
		["read=*", []],
		["read=*;write=*", ["Stop recording", "Pin", "Note"]],
	]) {
		const page = await signedIn(t, host, await makeToken(host, "some", scopes), `/#memtrace=${id}`);
		await profiled(page);
		await becomes(() => shown(page), wanted, `buttons with ${scopes}`);
		await becomes(() => who(page).innerText(), "some", "the name");
		await t.accessible(page);
		await t.look(page, `access-memory-${wanted.length}`);
		await page.goto(`${host.https}/#`);
		await page.locator(`[data-memtrace='${id}']`).waitFor();
		equal((await changes(page).count()) > 0, wanted.length > 0, `changes in the list with ${scopes}`);
		await page.context().close();
	}
});

test("access: a revoked token shows the sign-in above a live picture, which then goes on", {long: true}, async (t) => {
	const host = await accessHost(t);
	host.guest("web", "--rate", "1000", "--packets", "64");
	await until(async () => (await host.domain("web"))?.streams[0]?.packets > 0);
	const token = await makeToken(host, "alice");
	const page = await signedIn(t, host, token, "/#domain=web");

	await settled(page);
	await page.evaluate(() => (document.getElementById("page").timeline.mark = "same"));
	const before = await camera(page);
	await until(async () => (await camera(page)).end > before.end);
	const began = performance.now();
	revoke(host, token);
	await dialog(page).waitFor();
	if (process.env.MPROF_SCREENSHOTS)
		console.log(`  the sign-in came after ${Math.round(performance.now() - began)} ms`);
	await dialog(page).getByRole("status").filter({hasText: "The session has ended. Sign in again."}).waitFor();
	await t.accessible(page);
	await t.look(page, "access-ended");
	/* The picture is there, and connections are not. */
	ok(await box(page), "the picture");
	await becomes(() => page.evaluate(() => sources.filter((it) => it.readyState !== 2).length), 0, "open connections");
	const still = await camera(page);
	await signIn(page, (await makeToken(host, "alice")).text);
	await dialog(page).waitFor({state: "detached"});
	await until(async () => (await camera(page)).end > still.end);
	equal(await page.evaluate(() => document.getElementById("page").timeline.mark), "same", "the page");
	await becomes(() => page.evaluate(() => sources.filter((it) => it.readyState === 1).length), 1, "connections");
	equal(await page.locator(".tl-alert").innerText(), "", "errors");
});

test("access: a change waits for the sign-in, and another person gets another page", async (t) => {
	const host = await accessHost(t, {rings: {web: reference("small.ctf"), db: reference("small.ctf")}});
	const token = await makeToken(host, "alice");
	const page = await signedIn(t, host, token);
	const pin = (pressed) => captureRows(page, "web").getByRole("button", {name: /^Keep for ever/, pressed});

	await pin(false).waitFor();
	revoke(host, token);
	await dialog(page).waitFor();
	/* A change that was begun before is sent after the sign-in. */
	await page.evaluate(() =>
		document.querySelector(".captures [aria-label^='Keep for ever'][aria-label*='web']").click(),
	);
	await signIn(page, (await makeToken(host, "alice")).text);
	await pin(true).waitFor();
	await becomes(() => page.locator(".live").innerText(), "Live", "the connection");
	/* With other rights the page is read anew. */
	const [{id}] = JSON.parse(await page.evaluate(() => fetch("/v1/captures").then((it) => it.text()))).captures;
	ok(id, "a capture");
	await signOut(page);
	await signIn(page, (await makeToken(host, "bob", "read=db")).text);
	await who(page).filter({hasText: "bob"}).waitFor();
	await row(page, "db").waitFor();
	equal(await page.locator(".guests .name").allInnerTexts(), ["db"], "guests of bob");
});

test("access: who signs out sees nothing any more, and every connection ends", async (t) => {
	const host = await accessHost(t);
	host.guest("web", "--rate", "1000", "--packets", "64");
	await until(async () => (await host.domain("web"))?.streams[0]?.packets > 0);
	const page = await signedIn(t, host, await makeToken(host, "alice"), "/#domain=web");

	await settled(page);
	const address = page.url();
	const [{name, value}] = await page.context().cookies();
	await signOut(page);
	await dialog(page).getByRole("status").filter({hasText: "You have signed out."}).waitFor();
	equal(await page.locator("#page").evaluate((it) => it.childElementCount), 0, "parts of the page");
	await becomes(() => page.evaluate(() => sources.filter((it) => it.readyState !== 2).length), 0, "open connections");
	await t.accessible(page);
	/* The server has forgotten the session, so the old cookie is worth nothing. */
	const answer = await fetch(`${host.url}/v1/session`, {headers: {Cookie: `${name}=${value}`}});
	equal(answer.status, 401, "the status with the old cookie");
	await page.reload();
	await dialog(page).waitFor();
	await signIn(page, (await makeToken(host, "alice")).text);
	await settled(page);
	ok(page.url().startsWith(address.split("&")[0]), `the address ${page.url()}`);
	/* A sign-out that the server does not answer says so. */
	t.allow(/ERR_/);
	await host.stopServer();
	await signOut(page);
	await page.locator(".who [role=alert]").filter({hasText: "mprofd-http does not answer"}).waitFor();
	await host.startServer();
	/* Sessions end with the server. */
	await dialog(page).waitFor();
	await signIn(page, (await makeToken(host, "alice")).text);
	await dialog(page).waitFor({state: "detached"});
	await becomes(() => page.evaluate(() => sources.filter((it) => it.readyState === 1).length), 1, "connections");
});

test("access: the name and its menu are in the window on each page, at each width", {long: true}, async (t) => {
	const host = await accessHost(t, {sink: true});
	const start = BigInt(Date.now()) * 1000n;
	const bytes = Buffer.concat([info({start}), writer(start)([{at: 10, bytes: 8000}])]);
	const {id} = await recorded(host, bytes, true);
	host.guest("web", "--rate", "1000", "--packets", "64");
	await until(async () => (await host.domain("web"))?.streams[0]?.packets > 0);
	const token = await makeToken(
		host,
		"a-name-of-many-letters",
		"read=*;write=web* db-[0-9] a-guest-of-many-letters-*",
	);
	const page = await signedIn(t, host, token);

	for (const [name, address, ready] of [
		["host", "#", () => row(page, "web").waitFor()],
		["live", "#domain=web", () => settled(page)],
		["memory", `#memtrace=${id}`, () => profiled(page)],
	]) {
		await page.goto(`${host.https}/${address}`);
		await ready();
		for (const width of [1280, 1024, 800, 600, 390, 320]) {
			const where = `${name}, ${width} px`;
			const outside = (it) => it.x < 0 || it.x + it.width > width || it.y < 0 || it.y + it.height > 800;

			await page.setViewportSize({width, height: 800});
			await who(page).click();
			for (const selector of [".who summary", ".who details > div"]) {
				const it = await page.locator(selector).boundingBox();
				ok(!outside(it), `${where}: ${selector} is at ${JSON.stringify(it)}`);
			}
			equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, where);
			await t.look(page, `access-menu-${name}-${width}`);
			await page.keyboard.press("Escape");
			await page.locator(".who dl").waitFor({state: "hidden"});
		}
	}
});
