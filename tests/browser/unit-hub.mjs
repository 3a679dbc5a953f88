/* The hub's page without a browser: hosts, captures and addresses. */
import assert from "node:assert/strict";
import {test} from "node:test";

import {isSilent, joinHosts, mergeCaptures, queries} from "../../client/viewer/hub/hub-model.js";
import {firstLine} from "../../client/viewer/host/host-text.js";
import {format, namesTrace, parse} from "../../client/viewer/page/address.js";
import {guestPath} from "../../client/viewer/page/api.js";

const NOW = Date.parse("2026-11-26T12:00:00Z");
const host = (name, hello = "2026-11-26T11:59:00Z") => ({host: name, revoked: false, last_hello: hello, clock: null});

test("hub: hosts with a fresh crash come first, then silent ones, then the others by name", () => {
	const hosts = [
		host("b"),
		host("a"),
		host("lost", "2026-11-26T11:00:00Z"),
		host("late"),
		host("early"),
		host("old"),
	];
	const newest = [
		{host: "late", last_crash: "2026-11-26T11:00:00Z"},
		{host: "early", last_crash: "2026-11-25T11:00:00Z"},
		{host: "old", last_crash: "2026-10-01T00:00:00Z"},
		{host: "a", last_crash: null},
	];
	const all = joinHosts(hosts, newest, null, NOW);

	assert.deepEqual(
		all.map((it) => it.host),
		["late", "early", "lost", "a", "b", "old"],
	);
	assert.equal(all[3].loss, null);
	assert.deepEqual(
		joinHosts([host("x")], null, null, NOW).map(({newest: it}) => it),
		[null],
	);
});

test("hub: a host is silent after half an hour, and never when it is revoked", () => {
	assert.equal(isSilent(host("a", "2026-11-26T11:31:00Z"), NOW), false);
	assert.equal(isSilent(host("a", "2026-11-26T11:29:00Z"), NOW), true);
	assert.equal(isSilent(host("a", null), NOW), true);
	assert.equal(isSilent({...host("a", null), revoked: true}, NOW), false);
});

test("hub: captures of several lists are in order, each once", () => {
	const one = {id: "a.00000000.1", time: "2026-11-26T10:00:00Z"};
	const two = {id: "b.00000000.1", time: "2026-11-26T11:00:00Z"};
	const three = {id: "b.00000000.2", time: "2026-11-26T10:00:00Z"};

	assert.deepEqual(
		mergeCaptures(
			[
				[one, three],
				[two, one],
			],
			9,
		),
		[two, one, three],
	);
	assert.deepEqual(mergeCaptures([[one, three], [two]], 2), [two, one]);
});

test("hub: the API is asked for crashes and watchdogs, with what the address names", () => {
	assert.deepEqual(queries({crashes: true, host: "a b", cause: undefined}, 26), [
		"v1/captures?limit=26&kind=crash&host=a%20b",
		"v1/captures?limit=26&kind=watchdog&host=a%20b",
	]);
	assert.deepEqual(queries({crashes: false, image: "x"}, 5), ["v1/captures?limit=5&image=x"]);
});

test("hub: a sentence shows its first line", () => {
	assert.equal(firstLine("deadlock: a\nthread 1"), "deadlock: a");
	assert.equal(firstLine(""), null);
	assert.equal(firstLine(null), null);
});

test("hub: an address keeps a capture's id and what is listed", () => {
	for (const view of [
		{capture: "dom0-a.3a2dd9a8.12"},
		{host: "dom0-a"},
		{cause: "deadlock-0c7d2f1a93b5e86655a10b4f", image: "web 1&2"},
		{memtrace: "dom0-a.3a2dd9a8.12.7"},
	])
		assert.deepEqual(parse(format(view)), view);
	assert.ok(namesTrace(parse("#capture=dom0-a.3a2dd9a8.12")));
	assert.ok(!namesTrace(parse("#host=dom0-a")));
	for (const wrong of ["dom0-a.3a2dd9a8", "../x.3a2dd9a8.1", "A.3a2dd9a8.1", "dom0-a.3a2dd9a8.1x", ""])
		assert.equal(parse(`#capture=${encodeURIComponent(wrong)}`).capture, undefined, wrong);
});

test("hub: a guest's path names its host", () => {
	assert.equal(guestPath({host: "dom0-a", name: "we/b", uuid: "x"}), "v1/domains/dom0-a%2Fwe%2Fb");
});
