/*
 * Measure a page: the tasks that block it, the processor time it takes, and a simulated user who
 * zooms and pans.
 */
import {box, settled} from "../browser/timeline-tools.mjs";

const MISSED_MS = 25; /* a frame is missed: frames come 60 a second */

export const part = (list, share) => {
	const sorted = [...list].sort((a, b) => a - b);

	return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
};

/*
 * Record this thread's tasks of more than 50 ms, as the browser reports them. Runs in the page
 * before anything else.
 */
export function watchTasks() {
	window.longTasks = [];
	new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map((it) => it.duration))).observe({
		type: "longtask",
		buffered: true,
	});
}

/** Return the longest time that input waited since the last call, in ms; 0 means less than 50. */
export function blocked(page) {
	return page.evaluate(() => Math.round(Math.max(0, ...window.longTasks.splice(0))));
}

/** Return the processor time of the page's process since it began, in ms. */
export async function processTime(page) {
	const session = await page.context().newCDPSession(page);

	await session.send("Performance.enable");
	const {metrics} = await session.send("Performance.getMetrics");
	await session.detach();
	return 1000 * metrics.find((it) => it.name === "ProcessTime").value;
}

/**
 * Return the processor time that WHAT takes, in ms: of the page's main thread, and of its
 * process, which includes the worker.
 */
export async function cpu(page, what) {
	const session = await page.context().newCDPSession(page);
	const now = async () => {
		const {metrics} = await session.send("Performance.getMetrics");
		const of = (name) => 1000 * metrics.find((it) => it.name === name).value;

		return {thread: of("ThreadTime"), process: of("ProcessTime")};
	};

	await session.send("Performance.enable");
	const before = await now();
	const answer = await what();
	const after = await now();
	await session.detach();
	return {answer, thread: after.thread - before.thread, process: after.process - before.process};
}

/**
 * Run WHAT and read the main thread's tasks from the browser's own trace. Return {answer,
 * frames: processor ms from one frame to the next, wall: ms of the longest task by the clock,
 * cpu: ms of the task that took most of the processor}. On shared cores the clock also counts
 * the time a task waits for a core; processor time does not.
 */
export async function tasks(page, what) {
	const browser = page.context().browser();

	await browser.startTracing(page, {categories: ["toplevel", "cc", "__metadata"]});
	let answer;
	let events;
	try {
		answer = await what();
	} finally {
		events = JSON.parse((await browser.stopTracing()).toString()).traceEvents;
	}
	const thread = (it) => `${it.pid} ${it.tid}`;
	const mains = new Set(
		events.filter((it) => it.name === "thread_name" && it.args.name === "CrRendererMain").map(thread),
	);
	const all = events.filter((it) => it.ph === "X" && it.tdur !== undefined && mains.has(thread(it)));
	const framed = all.filter((it) => it.name === "ProxyMain::BeginMainFrame");
	const ours = thread(framed[0]); /* other pages have no frames */
	const starts = framed
		.filter((it) => thread(it) === ours)
		.map((it) => it.ts)
		.sort((a, b) => a - b);
	const work = all
		.filter((it) => it.name === "ThreadControllerImpl::RunTask" && thread(it) === ours)
		.sort((a, b) => a.ts - b.ts);
	const frames = new Array(starts.length).fill(0);

	let at = 0;
	for (const it of work) {
		while (at < starts.length - 1 && starts[at + 1] < it.ts + it.dur) at++;
		frames[at] += it.tdur / 1000;
	}
	const most = (key) => work.reduce((sum, it) => Math.max(sum, it[key] / 1000), 0);
	return {answer, frames, wall: most("dur"), cpu: most("tdur")};
}

function countFrames(page) {
	return page.evaluate(() => {
		const gaps = (window.frameGaps = []);
		let last = performance.now();
		const tick = (now) => {
			gaps.push(now - last);
			last = now;
			if (window.frameGaps === gaps) requestAnimationFrame(tick);
		};
		document.getElementById("page").timeline.canvasView.work.length = 0;
		requestAnimationFrame(tick);
	});
}

const frame = (page) => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => resolve())));

/**
 * Zoom and pan as a user does, one event a frame. Return {work: ms of each frame of the picture,
 * gaps: ms between frames} and the fields of tasks().
 */
export async function tour(page, steps) {
	const place = await box(page);
	const [x, y] = [place.x + place.width / 3, place.y + place.height / 2];

	await page.mouse.move(x, y);
	await countFrames(page);
	const {
		frames,
		wall,
		cpu: longest,
	} = await tasks(page, async () => {
		for (let i = 0; i < steps; i++) {
			await page.mouse.wheel(0, i % 60 < 40 ? -60 : 60);
			await frame(page);
		}
		await page.mouse.down();
		for (let i = 0; i < steps; i++) {
			await page.mouse.move(x + 200 * Math.sin(i / 20), y + 150 * Math.sin(i / 35));
			await frame(page);
		}
		await page.mouse.up();
	});
	await settled(page);
	const {work, gaps} = await page.evaluate(() => {
		const answer = {
			work: [...document.getElementById("page").timeline.canvasView.work],
			gaps: window.frameGaps.slice(1),
		};

		window.frameGaps = null;
		return answer;
	});
	return {
		work,
		gaps,
		frames,
		wall,
		cpu: longest,
		missed: (100 * gaps.filter((it) => it > MISSED_MS).length) / gaps.length,
	};
}
