/* The state of the host's page and its order, without a page. */
import assert from "node:assert/strict";
import {test} from "node:test";

import {HostModel, bytesOf, keyOf, seenOf, stateOf} from "../../client/viewer/host/host-model.js";
import {ProfileModel} from "../../client/viewer/host/host-profile-model.js";
import {ascending} from "../../client/viewer/host/host-table.js";
import {curve, spread} from "../../client/viewer/host/host-sparkline.js";
import {captureNews, loss, when} from "../../client/viewer/host/host-text.js";

const NOW = Date.parse("2026-11-21T12:00:00Z");

function stream(run, more = {}) {
	return {
		run,
		stream: 0,
		bytes: 100,
		packets: 1,
		rate: 0,
		lost_packets: 0,
		skipped_packets: 0,
		gaps: 0,
		last_seen: null,
		...more,
	};
}

function domain(name, run, state = "running", more = {}) {
	return {
		name,
		uuid: null,
		domid: null,
		state,
		source: "dir",
		run,
		runs: 1,
		captures: 0,
		last_seen: null,
		streams: [stream(run)],
		...more,
	};
}

function capture(id, name, run, kind, time = "2026-11-21T11:00:00Z") {
	return {
		id,
		run,
		domain: name,
		uuid: null,
		kind,
		time,
		mono: "1",
		pinned: false,
		note: "",
		complete: true,
		streams: [],
	};
}

const order = (model) => model.sorted(NOW).map(({domain: {name}}) => name);

test("host: a capture is news if it is made, and again if it becomes a crash", () => {
	const model = new HostModel();
	const told = (change, id, kind) => {
		const data = {change, capture: capture(id, "web", 2, kind)};
		const news = captureNews(data, model.captures.get(id));

		model.capture(data);
		return news?.join(" ");
	};

	model.reset([domain("web", 2)], [capture(1, "web", 1, "crash")], false);
	assert.equal(told("changed", 1, "crash"), undefined); /* somebody has pinned it */
	assert.equal(told("made", 2, "unread"), undefined);
	assert.equal(told("changed", 2, "unread"), undefined);
	assert.equal(told("changed", 2, "crash"), "crashed web crashed.");
	assert.equal(told("changed", 2, "crash"), undefined);
	assert.equal(told("made", 3, "watchdog"), "crashed web crashed.");
	assert.equal(told("made", 3, "watchdog"), undefined);
	assert.equal(told("made", 4, "poweroff"), "were captured web: powered off.");
	assert.equal(told("made", 4, "poweroff"), undefined);
	assert.equal(told("made", 5, "ended"), undefined);
	assert.equal(told("changed", 6, "crash"), undefined); /* an old one, which the page has not fetched */
});

test("host model: crashed guests first, then running ones, then ended ones", () => {
	const model = new HostModel();

	model.reset(
		[
			domain("web10", 1),
			domain("web9", 2),
			domain("gone", 3, "ended", {last_seen: "2026-11-20"}),
			domain("gone2", 8, "ended", {last_seen: "2026-11-21"}),
			domain("dead", 4, "ended"),
			domain("back", 6),
			domain("asleep", 7, "suspended"),
			domain("long-ago", 9),
		],
		[
			capture(1, "dead", 4, "crash", "2026-01-01T00:00:00Z"),
			capture(2, "back", 5, "watchdog"),
			capture(3, "gone", 3, "poweroff"),
			capture(0, "long-ago", 1, "crash", "2026-01-01T00:00:00Z"),
		],
		false,
	);
	assert.deepEqual(order(model), ["back", "dead", "long-ago", "web9", "web10", "asleep", "gone2", "gone"]);
	assert.deepEqual(model.counts(), {crashed: 1, running: 4, suspended: 1, gone: 2});
	assert.equal(stateOf(model.guests.get("n:back")), "running");
});

test("host model: events change the lists", () => {
	const model = new HostModel();

	model.reset([domain("web", 1)], [], false);
	model.dirty.clear();
	model.rates({streams: [stream(1, {rate: 7, bytes: 200, last_seen: "2026"}), stream(99, {rate: 1})]}, NOW);
	const web = model.guests.get("n:web");
	assert.deepEqual([...model.dirty], ["n:web"]);
	assert.deepEqual(
		[web.rates, web.domain.streams[0].bytes, web.domain.last_seen],
		[[{at: NOW, rate: 7}], 200, "2026"],
	);
	model.rates({streams: [stream(1, {stream: 1, rate: 3})]}, NOW);
	assert.equal(web.rates.at(-1).rate, 10);
	model.capture({change: "made", capture: capture(5, "web", 1, "crash")});
	model.capture({change: "made", capture: capture(5, "web", 1, "crash")}); /* the second message about one capture */
	model.domain({change: "ended", domain: domain("web", 1, "ended", {captures: 1})});
	assert.equal(stateOf(model.guests.get("n:web")), "crashed");
	assert.equal(model.guests.get("n:web").domain.captures, 1);
	model.captureDeleted({id: 5});
	assert.equal(stateOf(model.guests.get("n:web")), "gone");
	model.captureDeleted({id: 5});
	assert.equal(model.guests.get("n:web").domain.captures, 0);
	for (let i = 0; i < 1000; i++) model.rates({streams: [stream(1, {rate: i})]}, NOW);
	assert.equal(model.guests.get("n:web").rates.length, 60);
	model.remove("n:web");
	assert.equal(model.guests.size, 0);
});

test("host model: the end of a run counts, which only a capture has", () => {
	const model = new HostModel();
	const end = (id, run, bytes, time) => ({
		...capture(id, "web", run, "ended", time),
		streams: [{stream: 0, tail_bytes: bytes}],
	});
	const guest = () => model.guests.get("n:web");

	model.reset([domain("web", 2, "ended", {streams: [stream(2, {bytes: 0})]})], [end(1, 1, 9), end(2, 2, 500)], false);
	assert.deepEqual([bytesOf(guest()), seenOf(guest())], [500, "2026-11-21T11:00:00Z"]);
	model.capture({change: "made", capture: end(3, 2, 0, "2026-11-21T11:05:00Z")});
	assert.equal(bytesOf(guest()), 500);
	model.captureDeleted({id: 2});
	assert.deepEqual([bytesOf(guest()), seenOf(guest())], [0, null]);
	model.capture({change: "made", capture: end(4, 2, 700, "2026-11-21T11:06:00Z")});
	model.domain({
		domain: domain("web", 2, "ended", {streams: [stream(2, {bytes: 30})], last_seen: "2026-11-21T10:00:00Z"}),
	});
	assert.deepEqual([bytesOf(guest()), seenOf(guest())], [730, "2026-11-21T10:00:00Z"]);
	model.domain({domain: domain("web", 5)});
	assert.equal(bytesOf(guest()), 100);
});

test("host model: events about unknown guests are ignored, and lists replace everything", () => {
	const model = new HostModel();

	model.gap({stream: stream(4)});
	model.capture({change: "made", capture: capture(1, "x", 4, "crash")});
	model.captureDeleted({id: 77});
	model.reset([domain("a", 1, "running", {uuid: "u"}), domain("a", 2)], [], true);
	assert.deepEqual([...model.guests.keys()], ["u:u", "n:a"]);
	assert.equal(model.captures.size, 0);
	assert.equal(keyOf(capture(1, "a", 2, "crash")), "n:a");
});

test("host rows: a longest ascending part stays", () => {
	assert.deepEqual(ascending([]), []);
	assert.deepEqual(ascending([0, 1, 2, 3]), [0, 1, 2, 3]);
	assert.deepEqual(ascending([3, 0, 1, 2]), [1, 2, 3]);
	for (let round = 0; round < 200; round++) {
		const numbers = Array.from({length: 9}, (_, i) => [Math.sin(round * 97 + i * 31), i])
			.sort(([a], [b]) => a - b)
			.map(([, i]) => i);
		const part = ascending(numbers);
		let best = 0;
		for (let mask = 0; mask < 512; mask++) {
			const some = numbers.filter((_, i) => mask & (1 << i));
			if (some.every((n, i) => i === 0 || some[i - 1] < n)) best = Math.max(best, some.length);
		}
		assert.equal(part.length, best);
		assert.ok(part.every((at, i) => i === 0 || (part[i - 1] < at && numbers[part[i - 1]] < numbers[at])));
	}
});

test("sparkline: a packet fills the time up to the next", () => {
	const buckets = [0, 30, 0, 0, 10, 0].map((bytes, i) => ({
		bytes,
		from: String(i * 500000000),
		to: String((i + 1) * 500000000),
	}));

	assert.deepEqual(spread(buckets), [0, 20, 20, 20]);
	assert.deepEqual(spread([]), []);
	assert.equal(curve([0, 0]), "");
	assert.equal(curve([1]), "");
	assert.match(curve([0, 5]), /^M0 20L0\.0 19\.0L96\.0 1\.0L96 20Z$/);
});

test("sparkline: the end of an ended guest is no spike", () => {
	/* Packets of 4,000 bytes every four seconds; the overview ends where the last one begins. */
	const buckets = Array.from({length: 48}, (_, i) => ({
		bytes: i % 4 === 0 || i === 47 ? 4000 : 0,
		from: String(i * 1e9),
		to: String((i + 1) * 1e9),
	}));

	assert.ok(Math.max(...spread(buckets)) < 1400, String(spread(buckets)));
	assert.equal(spread(buckets).length, 47);
	assert.deepEqual(spread([{bytes: 9, from: "0", to: "1"}]), []);
});

test("host text: times and losses in words", () => {
	const now = new Date(2026, 10, 21, 12, 0, 0);

	assert.equal(when(null), "never");
	assert.equal(when("nonsense"), "never");
	assert.equal(when(new Date(2026, 10, 21, 9, 5, 7).toISOString(), now), "09:05:07");
	assert.match(when(new Date(2026, 10, 20, 13, 5, 7).toISOString(), now), /^20 Nov 2026, 13:05:07$/);
	assert.equal(loss({lost: 1, skipped: 0, gaps: 1}), "1 packet lost");
	assert.equal(loss({lost: 0, skipped: 5, gaps: 1}), "5 packets skipped");
	assert.equal(loss({lost: 0, skipped: 0, gaps: 0}), null);
});

test("host profiles: an older answer does not restart an ended profile", () => {
	const model = new ProfileModel(() => {});
	const profile = {id: 3, run: 7, state: "recording", bytes: 1, packets: 1};

	model.put(profile);
	model.grow([{id: 3, bytes: 9, packets: 2}]);
	assert.equal(model.recording(7).bytes, 9);
	model.put({...profile, state: "ended"});
	model.put(profile);
	assert.deepEqual([model.recording(7), model.newest(7).state], [null, "ended"]);
});
