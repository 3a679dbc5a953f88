/* The chains of threads that the page marks for the question why a thread waits. */
import assert from "node:assert/strict";
import test from "node:test";

import {chain} from "../../client/viewer/trace/why.js";

const THREADS = [
	{index: 0, id: 1n, type: "Task", story: [], row: 3, start: 100n, end: 900n},
	{index: 1, id: 2n, type: "Bind", story: [], row: 4, start: 150n, end: 2000n},
];
const resolve = (index) => Promise.resolve(THREADS[index] ?? null);

test("a thread that waits is marked up to the end of its trace", async () => {
	const answer = {index: 0, verdict: "never-resolved", end_ns: "2000", chain: [{index: 1, since_ns: "200"}]};
	const marks = await chain([answer], resolve, 5000n);

	assert.deepEqual(
		marks.map(({row, from, to, link}) => [row, from, to, link]),
		[
			[3, 100n, 2000n, {time: 200n, row: 4}],
			[4, 200n, 2000n, null],
		],
	);
});

test("a resolved thread is marked up to its own end", async () => {
	const [mark, ...others] = await chain([{index: 0, verdict: "resolved", end_ns: "2000"}], resolve, 5000n);

	assert.deepEqual([mark.row, mark.from, mark.to, mark.link, others], [3, 100n, 900n, null, []]);
});
