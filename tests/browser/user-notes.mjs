/* The user's notes on a trace: written, drawn, listed, in the address, kept with a capture. */
import {becomes, equal, ok, test, until} from "./harness.mjs";
import {box, camera, drawn, opened, settled} from "./timeline-tools.mjs";

const HOSTILE = "<img src=x onerror=alert(1)> & \u202e“ü”";
const SAFE = HOSTILE.replace("\u202e", "\\u202e"); /* the text that is shown */

/** Return the notes of the picture: [text, length in pixels]. */
async function shown(page) {
	return (await drawn(page, "note")).map(({text, x0, x1}) => [text, Math.round(x1 - x0)]);
}

/** Write TEXT as a note by the keys, at the pointer or on the selected range. */
async function write(page, text) {
	await page.keyboard.press("e");
	const input = page.getByLabel("Text of the note");
	await input.waitFor();
	await until(() => input.evaluate((it) => it === document.activeElement));
	await page.keyboard.type(text);
	await page.keyboard.press("Enter");
	await page.locator(".tl-notes li", {hasText: text.replace("\u202e", "\\u202e")}).waitFor();
	await page.keyboard.press("Escape");
}

test("notes: a moment and a range are marked with words, which the address has", async (t) => {
	const host = await t.host();
	const guest = host.guest("web", "--rate", "1000", "--packets", "64");

	await until(async () => (await host.domain("web"))?.streams[0]?.packets > 0);
	await guest.stop();
	await until(async () => (await host.domain("web"))?.state === "ended");
	const page = await opened(t, host, "#domain=web");
	const {x, y, width} = await box(page);

	await page.mouse.move(x + width / 4, y + 100);
	const time = await page.evaluate(
		(at) => String(document.getElementById("page").timeline.camera.timeAt(at)),
		width / 4,
	);
	await write(page, HOSTILE);
	equal(await shown(page), [[SAFE, 0]], "the note at a moment");
	await until(() => new URLSearchParams(new URL(page.url()).hash.slice(1)).get("note") === `${time}:${HOSTILE}`);

	await page.keyboard.down("Shift");
	await page.mouse.move(x + 400, y + 100);
	await page.mouse.down();
	await page.mouse.move(x + 500, y + 100, {steps: 4});
	await page.mouse.up();
	await page.keyboard.up("Shift");
	await page.locator(".tl-panel h2", {hasText: "The selected range"}).waitFor();
	await page.focus("#tl-canvas");
	await write(page, "slow here");
	await becomes(() => shown(page).then((all) => all.length), 2, "the notes");
	const range = (await shown(page)).find(([text]) => text === "slow here");
	ok(Math.abs(range[1] - 100) <= 1, `the note on a range is ${range[1]} pixels long`);

	await until(() => new URLSearchParams(new URL(page.url()).hash.slice(1)).getAll("note").length === 2);
	await page.reload();
	await settled(page);
	await becomes(() => shown(page).then((all) => all.length), 2, "the notes after a reload");
	await page.getByRole("button", {name: "Notes", exact: true}).click();
	await page.locator(".tl-panel h2", {hasText: "Notes"}).waitFor();
	equal(await page.locator(".tl-notes img").count(), 0, "markup");
	equal(await page.getByRole("button", {name: "Keep with the capture"}).count(), 0, "a button that needs a capture");
	await t.accessible(page);
	await t.look(page, "notes");

	/* A note's time leads to its place; its cross deletes it. */
	await page.locator(".tl-notes li", {hasText: "slow here"}).locator(".tl-link").click();
	await until(async () => (await shown(page)).find(([text]) => text === "slow here")?.[1] > 500);
	const there = await camera(page);
	ok(there.to - there.from < (there.end - there.start) / 4n, "the window");
	await page.getByRole("button", {name: "Delete the note “slow here”"}).click();
	await becomes(() => page.locator(".tl-notes li").count(), 1, "the notes that are left");
	await until(() => new URLSearchParams(new URL(page.url()).hash.slice(1)).getAll("note").length === 1);

	/* A saved picture has the notes. */
	await page.keyboard.press("Escape");
	await page.focus("#tl-canvas");
	await page.keyboard.press("f");
	await becomes(() => shown(page).then((all) => all.length), 1, "the note in view");
	const [file] = await Promise.all([
		page.waitForEvent("download"),
		page
			.getByText("Save", {exact: true})
			.click()
			.then(() => page.getByText("The picture (SVG)").click()),
	]);
	let svg = "";
	for await (const part of await file.createReadStream()) svg += part;
	ok(svg.includes("&lt;img src=x onerror=alert"), "the note in the saved picture");
	ok(!svg.includes("<img"), "markup in the saved picture");
});

test("notes: notes are kept with a capture, and nobody's are lost", async (t) => {
	const host = await t.host();
	const guest = host.guest("web", "--rate", "1000", "--packets", "64");

	await until(async () => (await host.domain("web"))?.streams[0]?.packets > 0);
	await guest.stop();
	await until(async () => (await host.get("/v1/captures")).captures.length > 0);
	const {id} = (await host.get("/v1/captures")).captures[0];
	const keep = (page) => page.getByRole("button", {name: "Keep with the capture"});
	const marks = async () => (await host.get(`/v1/captures/${id}`)).marks.map(({text}) => text).sort();
	const [one, two] = [await opened(t, host, `#capture=${id}`), await opened(t, host, `#capture=${id}`)];

	await write(one, "mine");
	await one.getByRole("button", {name: "Notes", exact: true}).click();
	await keep(one).click();
	await becomes(marks, ["mine"], "the notes of the capture");
	await becomes(() => keep(one).count(), 0, "the button, when all is kept");
	await until(() => !one.url().includes("note="));

	/* The second page has read the capture before that. */
	t.allowed.push(/412/);
	await write(two, "yours");
	await two.getByRole("button", {name: "Notes", exact: true}).click();
	await keep(two).click();
	await two.locator(".tl-alert", {hasText: "Somebody else has changed the notes"}).waitFor();
	equal(await marks(), ["mine"], "the notes of the capture");
	equal((await shown(two)).map(([text]) => text).sort(), ["mine", "yours"], "the notes of both");
	await keep(two).click();
	await becomes(marks, ["mine", "yours"], "the notes of the capture");

	const three = await opened(t, host, `#capture=${id}`);
	equal((await shown(three)).map(([text]) => text).sort(), ["mine", "yours"], "the notes in a new page");
	await three.getByRole("button", {name: "Notes", exact: true}).click();
	await three.getByRole("button", {name: "Delete the note “mine”"}).click();
	await keep(three).click();
	await becomes(marks, ["yours"], "the notes that are left");
});
