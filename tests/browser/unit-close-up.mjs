/* Close-ups: the window of time around a moment in which a person can tell the events apart. */
import assert from "node:assert/strict";
import {test} from "node:test";

import {TextPlaces, labelPlaces} from "../../client/viewer/draw/text-places.js";
import {marksOf} from "../../client/viewer/draw/marks.js";
import {closeUp} from "../../client/viewer/trace/close-up.js";
import {told} from "../../client/viewer/trace/why.js";

/** Return an engine whose events happen at TIMES. */
const engine = (times) => ({
	density: async (from, to, n) => {
		const counts = new Uint32Array(n);

		for (const time of times)
			if (time >= from && time < to) counts[Number(((time - from) * BigInt(n)) / (to - from))]++;
		return counts;
	},
});

const inside = (times, {from, to}) => times.filter((time) => time >= from && time < to).length;

test("a close-up has about as many events as asked for, at any distance from the whole", async () => {
	/* A burst of 10,000 events in 10 µs, 3 s before the end. */
	const burst = Array.from({length: 10000}, (_, i) => 1000000000n + BigInt(i));
	const times = [...burst, 4000000000n];
	const found = await closeUp(engine(times), {start: burst[0], end: times.at(-1)}, burst[5000], 120);

	assert.ok(found.to - found.from < 400n, `${found.to - found.from} ns`);
	assert.ok(inside(times, found) >= 120, `${inside(times, found)} events`);
	assert.equal((found.from + found.to) / 2n, burst[5000]);
});

test("a close-up of a short trace has a third of it at least", async () => {
	const times = [10n, 11n, 12n, 2000n, 3000n, 4000n];
	const found = await closeUp(engine(times), {start: 10n, end: 4000n}, 11n, 120);

	assert.equal(inside(times, found), 3);
	const one = await closeUp(engine([5n]), {start: 5n, end: 5n}, 5n);
	assert.ok(one.from < 5n && one.to > 5n);
	const none = await closeUp(engine([]), {start: 0n, end: 0n}, 0n);
	assert.ok(none.to > none.from);
});

test("a close-up at the begin and at the end of a trace", async () => {
	const times = Array.from({length: 1000}, (_, i) => BigInt(i) * 1000n);

	for (const time of [0n, 999000n]) {
		const found = await closeUp(engine(times), {start: 0n, end: 999000n}, time, 10);
		assert.ok(inside(times, found) >= 10 && inside(times, found) < 30, `${inside(times, found)} at ${time}`);
	}
});

test("the times that an answer tells are those of its sentences", () => {
	const story = [[{text: "a"}, {time: 7n}], [{time: 3n}], [{link: 1, text: "b"}]];

	assert.deepEqual(told([{story}, {story: [[{time: 9n}]]}]), {from: 3n, to: 9n});
	assert.equal(told([{story: [[{text: "none"}]]}]), null);
	assert.equal(told([]), null);
});

test("texts that would touch earlier ones are left out", () => {
	const places = new TextPlaces();

	assert.equal(places.take("word", 10, 100).text, "word");
	assert.equal(places.take("other", 30, 105).text, "");
	assert.equal(places.take("other", 30, 120).text, "other");
	assert.equal(places.take("other", 60, 100).text, "other");
	assert.equal(places.take("", 500, 500).text, "");
});

test("a text makes way for the picture's labels where its line has room", () => {
	/* A label of the row 29 pixels below a line at 100, and one farther right. */
	const labels = labelPlaces(
		marksOf([
			{kind: "label", x0: -20, y0: 129, text: "Bind 4460"},
			{kind: "label", x0: 70, y0: 129, text: "read"},
			{kind: "thread", x0: 0, y0: 129, x1: 900, y1: 129},
		]),
	);

	assert.deepEqual(new TextPlaces(labels).take("Resolved", 8, 100, 600), {text: "Resolved", x: 98});
	assert.deepEqual(new TextPlaces(labels).take("Resolved", 8, 140, 600), {text: "Resolved", x: 8});
	/* A text whose line has no room is written all the same. */
	assert.deepEqual(new TextPlaces(labels).take("Resolved", 8, 100), {text: "Resolved", x: 8});
	assert.deepEqual(new TextPlaces(labels).take("Resolved", 8, 100, 90), {text: "Resolved", x: 8});
	/* Two texts of one line stand beside each other where the line has room. */
	const places = new TextPlaces(labels);
	places.take("first", 98, 100, 600);
	assert.deepEqual(places.take("second", 98, 102, 600), {text: "second", x: 138});
	assert.equal(places.take("third", 98, 102, 120).text, "");
});
