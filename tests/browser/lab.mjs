/* Guests of the lab with a real Xen (tests/xen), as the page shows them. The lab leaves an archive. */
import {execFileSync} from "node:child_process";
import path from "node:path";

import {equal, ok, test} from "./harness.mjs";
import {drawn, opened} from "./timeline-tools.mjs";

/* The tar of the archive. The lab's own run sets it (tests/xen/lab/run); without it there is no such test. */
const archive = process.env.MPROF_LAB_ARCHIVE;

async function together(t) {
	const host = await t.host({
		collector: false,
		prepare: ({directory}) => execFileSync("tar", ["xf", archive, "-C", path.join(directory, "state")]),
	});
	const captures = await Promise.all(
		["server", "beside"].map(async (name) => (await host.get(`/v1/domains/${name}/captures`)).captures[0]),
	);

	equal(
		captures.map(({kind}) => kind),
		["destroyed", "destroyed"],
	);
	const page = await opened(t, host, `#${captures.map(({id}) => `together=capture%3A${id}`).join("&")}`);

	/* The heading of a guest says how well its clock is known. */
	const headings = await drawn(page, "guest");
	equal(headings.length, 2, "headings");
	for (const {text} of headings) ok(/^(server|beside)\b/.test(text), text);
	await t.look(page, "lab-together");
	const labels = (await drawn(page)).map(({text}) => text).join("\n");
	ok(labels.includes("redis-server"), "redis-server on the picture");

	const streams = await page.evaluate(() =>
		document
			.getElementById("page")
			.timeline.session.summary.streams.map((it) => [String(it.start), String(it.end), Number(it.events)]),
	);
	ok(streams.length > 5, `${streams.length} streams`);
}

if (archive) test("lab: a Linux server and a guest beside it on one time line", together);
