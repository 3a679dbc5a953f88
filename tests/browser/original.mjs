/*
 * Compare the page's pictures of the reference traces, in fixed windows, with the original
 * viewer's model and layout. tests/integration/scene-oracles.py judges both ways: the page draws
 * everything the original calls for, and nothing more.
 */
import {spawnSync} from "node:child_process";
import path from "node:path";

import {equal, fail, forms, reference, test, TOP, until} from "./harness.mjs";
import {KINDS} from "../../client/viewer/draw/marks.js";
import {camera, opened, settled} from "./timeline-tools.mjs";

const ORACLES = path.join(TOP, "tests/integration/scene-oracles.py");

function oracles(how, input = "") {
	return spawnSync("python3", ["-B", ORACLES, TOP, how], {input, encoding: "utf8", maxBuffer: 1 << 28});
}

/**
 * Resize the page until the picture has the size of the window; the controls around it take
 * their own space.
 */
async function size(page, width, height) {
	const room = () => page.locator(".tl-pictures").evaluate((it) => [it.clientWidth, it.clientHeight]);

	await until(async () => {
		const all = page.viewportSize();
		const [w, h] = await room(); /* the page's size by now: the camera learns of it a frame later */

		if (w !== width || h !== height) {
			await page.setViewportSize({width: all.width + width - w, height: all.height + height - h});
			return false;
		}
		const is = await camera(page);
		return is.width === width && is.height === height;
	});
}

/**
 * Return a counter's mark of a lane as the original draws it, over the full HEIGHT: a band of
 * several samples is a line.
 */
function fullHeight(it, lane, height) {
	const y = (at) => height - 5 - ((height - 10) * (lane.y1 - at)) / (lane.y1 - lane.y0);

	return {...it, kind: "counter", x1: it.kind === "envelope" ? it.x0 : it.x1, y0: y(it.y0), y1: y(it.y1)};
}

/**
 * Return what the page has painted, with threads named as in the trace. Counters are as in the
 * original; a thread without a label has its id alone, as there; a shade names what it counts.
 */
async function painted(page) {
	const {marks, height} = await page.evaluate(async () => {
		const {painted: all, session, camera} = document.getElementById("page").timeline;
		const named = ["highlight", "thread", "creation", "becomes", "open-end", "failed", "label", "type", "tick"];
		const ids = new Map();

		for (const {item} of all.filter((it) => named.includes(it.kind)))
			ids.has(item) ||
				ids.set(
					item,
					session.engine.thread(item).then((thread) => Number(thread.id)),
				);
		return {
			height: camera.height,
			marks: await Promise.all(
				all.map(async (it) => (named.includes(it.kind) ? {...it, id: await ids.get(it.item)} : it)),
			),
		};
	});
	const lanes = new Map(marks.filter((it) => it.kind === "lane").map((it) => [it.item, it]));

	return marks
		.filter((it) => it.kind !== "lane" && !it.kind.startsWith("processor-"))
		.map((it) => (["counter", "envelope"].includes(it.kind) ? fullHeight(it, lanes.get(it.item), height) : it))
		.map((it) => (it.kind === "shade" ? {...it, of: KINDS[it.item]} : it))
		.map((it) => (it.kind === "label" ? {...it, text: it.text.replace(/^[A-Z][a-z]+ (-?\d+)$/, "$1")} : it));
}

for (const trace of ["small", "wrapped", "public/net", "public/arp-good", "public/arp-bad"])
	test(`original: the page paints ${trace} as the original does`, {long: trace !== "small"}, async (t) => {
		const name = path.basename(trace);
		const host = await t.host({rings: {[name]: reference(`${trace}.ctf`)}});
		const page = await opened(t, host, `#domain=${name}&rows=all`);
		const {start} = await camera(page);
		const windows = [];

		for (const [from, to, width, height, focus] of forms(JSON.parse(oracles("--windows").stdout)[trace])) {
			await size(page, width, height);
			await page.evaluate(
				(hash) => (location.hash = hash),
				`#domain=${name}&from=${start + BigInt(Math.max(from, 0))}&to=${start + BigInt(to)}&row=${focus}&rows=all`,
			);
			await until(
				async () => Math.abs((await camera(page)).focus - Math.min(focus, (await camera(page)).rows)) < 1e-6,
			);
			await settled(page);
			/*
			 * The page limits the margin beside a trace. If it cannot show the whole window,
			 * judge the window it shows.
			 */
			const is = await camera(page);
			const wanted = Math.abs(Number(is.to - is.from) - (to - from)) <= 2;
			if (!wanted) fail(`${trace}: ${is.to - is.from} ns are shown, ${to - from} were asked for`);
			windows.push({
				window: [Number(is.from - start), Number(is.to - start), is.width, is.height, is.focus],
				marks: await painted(page),
			});
		}
		const {rows} = await page.evaluate(() => document.getElementById("page").timeline.session.summary);
		const letter = await page.evaluate(() => document.getElementById("page").timeline.canvasView.window.letter);
		const verdict = oracles("--judge", JSON.stringify({trace, rows, letter, windows}));
		equal([verdict.status, verdict.stdout, verdict.stderr.slice(-2000)], [0, "", ""], "the oracle's verdict");
	});
