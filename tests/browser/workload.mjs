/*
 * Guests that are the same each time, for pictures of them: a web server with a disk, and the
 * story of the lost ARP reply (tests/integration/story.c).
 */
import {execFileSync} from "node:child_process";
import {mkdtempSync, readFileSync, rmSync} from "node:fs";
import {tmpdir} from "node:os";
import path from "node:path";

import {BUILD} from "./harness.mjs";
import {event, piece} from "./trace-make.mjs";

const HEADER = 30;
const PACKET_EVENTS = 1000;
const MAIN = 1;
const NETWORK = 2;
const TYPES = {wait: {u8: 0}, task: {u8: 1}, bind: {u8: 2}, try: {u8: 3}};

class Server {
	constructor() {
		this.events = [];
		this.now = 5000000000n;
		this.last = NETWORK;
		this.requests = 0;
		this.waiting = [];
		this.random = 12345;
	}

	draw(below) {
		this.random = (Math.imul(this.random, 1103515245) + 12345) & 0x7fffffff;
		return (this.random >> 8) % below;
	}

	add(name, ...parts) {
		this.now += BigInt(2000 + this.draw(9000));
		this.events.push(event(this.now, name, ...parts));
	}

	sleep(ns) {
		this.add("switch", -1);
		this.now += BigInt(ns);
	}

	create(by, type, label) {
		this.add("creates", by, ++this.last, TYPES[type]);
		if (label) this.add("label", this.last, label);
		return this.last;
	}

	/* Begin a request, which waits for a sector. */
	begin() {
		const task = this.create(NETWORK, "task", `GET /page/${this.requests++}`);
		const disk = this.create(task, "wait", `read sector ${8 * this.draw(4000)}`);
		const answer = this.create(task, "try", "respond");

		this.add("try-read", answer, disk);
		this.add("counter", NETWORK, this.waiting.length + 1, "requests");
		this.waiting.push({task, disk, answer});
	}

	/* End the request at AT: the disk has answered. */
	end(at, failure) {
		const [{task, disk, answer}] = this.waiting.splice(at, 1);

		this.add("switch", NETWORK);
		this.add("fulfills", NETWORK, disk);
		this.add("switch", answer);
		this.add("read", answer, disk);
		if (failure) this.add("fails", answer, answer, failure);
		else this.add("fulfills", answer, answer);
		this.add("switch", task);
		this.add("read", task, answer);
		this.add("fulfills", task, task);
		this.add("counter", task, this.waiting.length, "requests");
		this.add("counter", task, 1460 * (this.requests + this.draw(12)), "bytes sent");
	}

	run(steps) {
		this.add("creates", 0, MAIN, TYPES.task);
		this.add("label", MAIN, "main");
		this.add("creates", MAIN, NETWORK, TYPES.task);
		this.add("label", NETWORK, "network");
		for (let i = 0; i < steps; i++) {
			this.add("switch", NETWORK);
			for (let n = 1 + this.draw(2); n; n--) this.begin();
			this.sleep(200000 + this.draw(900000));
			while (this.waiting.length > 3 + this.draw(3))
				this.end(this.draw(this.waiting.length), i % 9 === 5 ? "Timeout" : null);
			if (i % 7 === 3) this.add("gc", 120000);
			if (i % 4 === 2) this.add("signal", NETWORK, MAIN);
		}
		this.sleep(100000);
		this.add("switch", MAIN);
		return this.events;
	}
}

/** Return lines for the archive's writer: guest NAME, a web server, of STEPS wake-ups. */
export function server(name, steps) {
	const events = new Server().run(steps);
	const lines = ["begin", `run 1 xen ${name} ${name} - 7 ended poweroff`, "stream 1 1 0 262144 4 0"];

	for (let i = 0; i * PACKET_EVENTS < events.length; i++)
		lines.push(piece(1, i, events.slice(i * PACKET_EVENTS, (i + 1) * PACKET_EVENTS)));
	return [...lines, "commit"];
}

/**
 * Return lines of the story of the lost ARP reply, "good" or "bad" by HOW, as run RUN of the
 * archive.
 */
export function story(name, how, run = 1) {
	const directory = mkdtempSync(path.join(tmpdir(), "mprof-story."));

	try {
		execFileSync(path.join(BUILD, "tests/integration/story"), [how, path.join(directory, "ring")]);
		return archived(name, readFileSync(path.join(directory, "ring")), run);
	} finally {
		rmSync(directory, {recursive: true});
	}
}

/* Return archive lines of a ring that has not wrapped. */
function archived(name, ring, run) {
	const lines = ["begin", `run ${run} xen ${name} ${name} - 7 ended poweroff`, `stream ${run} ${run} 0 16384 4 0`];

	for (let at = 0, i = 0; at < ring.length; at += ring.readUInt32LE(at + 20) / 8, i++) {
		const end = ring.readUInt32LE(at + 26) / 8;
		const content = ring.subarray(at + HEADER, at + end);
		if (content.length)
			lines.push(
				`piece ${run} ${i} ${HEADER} 1 65536 ${content.readBigUInt64LE(0)} ${end} ${content.toString("hex")}`,
			);
	}
	return [...lines, "commit"];
}
