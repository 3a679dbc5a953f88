/* The flame graph of `mprofctl mem flame`, opened as a file: zoom and search. */
import {execFileSync} from "node:child_process";
import {mkdtempSync, rmSync, writeFileSync} from "node:fs";
import {tmpdir} from "node:os";
import path from "node:path";

import {BUILD, equal, ok, reference, test} from "./harness.mjs";

/** Return the visible frames: function, left and right edge. */
const seen = (page) =>
	page.evaluate(() =>
		[...document.querySelectorAll(".frame")]
			.map((frame, at) => ({frame, at}))
			.filter(({frame}) => frame.style.display !== "none")
			.map(({frame, at}) => {
				const rect = frame.querySelector("rect");
				const [x, width] = ["x", "width"].map((it) => Number(rect.getAttribute(it)));
				return {
					at,
					name: frame.querySelector("title").textContent.split("\n")[0],
					x,
					end: x + width,
					hit: frame.classList.contains("hit"),
				};
			}),
	);

test("flame graph: zooms to a frame and back, and finds functions", async (t) => {
	const where = mkdtempSync(path.join(tmpdir(), "mprof-flame."));
	t.later.push(async () => rmSync(where, {recursive: true, force: true}));
	writeFileSync(path.join(where, "trace"), reference("memtrace/leaky.trace"));
	execFileSync(path.join(BUILD, "client/ctl/mprofctl"), [
		"mem",
		"flame",
		path.join(where, "trace"),
		"-o",
		path.join(where, "flame.svg"),
	]);
	const page = await t.open({url: `file://${where}`}, "/flame.svg", {offline: true});
	const whole = await seen(page);
	const width = whole[0].end;

	ok(whole.length > 30, `${whole.length} frames`);
	equal(whole[0].name, "all");
	const before = whole.find((it) => it.x > width / 10 && it.end - it.x > width / 10 && it.end - it.x < width / 2);
	const frame = page.locator(".frame").nth(before.at);
	await frame.locator("rect").click();
	const near = await seen(page);
	const zoomed = near.find((it) => it.at === before.at);
	ok(zoomed.x === 0 && Math.abs(zoomed.end - width) < 1, "it is as wide as the picture");
	ok(near.length < whole.length && near[0].name === "all", "frames beside it are gone, frames below it stay");
	await page.locator("#reset").click();
	equal(await seen(page), whole, "as before");

	page.once("dialog", (dialog) => dialog.accept("Buffer"));
	await page.locator("#search").click();
	const found = await seen(page);
	equal(
		found.filter((it) => it.hit),
		found.filter((it) => it.name.includes("Buffer")).map((it) => ({...it, hit: true})),
		"what is found",
	);
	ok(
		found.some((it) => it.hit),
		"the search finds a frame",
	);
	const part = await page.locator("#found").textContent();
	ok(/^"Buffer": \d+\.\d%$/.test(part) && parseFloat(part.slice(10)) > 10 && parseFloat(part.slice(10)) < 100, part);
	await frame.focus();
	await page.keyboard.press("Enter");
	ok((await seen(page)).length < whole.length, "the keyboard zooms too");
	await page.keyboard.press("Escape");
	equal(await seen(page), whole, "Escape shows all, and nothing as found");
	equal(await page.locator("#found").textContent(), "");
	await t.look(page, "flame-svg");
});
