/* Traces and archives for the viewer's benchmarks. */
import {execFileSync} from "node:child_process";
import {closeSync, openSync, readSync} from "node:fs";
import path from "node:path";

import {BUILD} from "../browser/harness.mjs";
import {event, trace} from "../browser/trace-make.mjs";

const PACKET = 262144; /* the packet size of decode-load.c */
const HEADER = 30;
const PACKET_EVENTS = 5000;
const BATCH = 32; /* packets written to the archive at once */

/**
 * Write a trace of BYTES to FILE, as a busy guest records it, with NS between two events. Return
 * the number of events.
 */
export function make(file, bytes, pieces = 1, ns = 240) {
	const said = execFileSync(path.join(BUILD, "tests/bench/decode-load"), [
		"make",
		file,
		String(bytes),
		String(pieces),
		String(ns),
	]);

	return JSON.parse(said).events;
}

/**
 * Return a trace of N threads. Each waits for the thread before it, all live until the end, and
 * all are resolved there.
 */
export function wide(n) {
	const all = [];
	const packets = [];

	for (let i = 0; i < n; i++) {
		const at = 1000000000n + BigInt(i) * 1000n;
		all.push(event(at, "creates", 0, i + 1, {u8: 1}), event(at + 1n, "label", i + 1, `connection ${i}`));
		if (i) all.push(event(at + 2n, "try-read", i + 1, i));
	}
	for (let i = 0; i < n; i++) all.push(event(1000000000n + BigInt(n) * 1000n + BigInt(i), "fulfills", 0, i + 1));
	for (let i = 0; i < all.length; i += PACKET_EVENTS) packets.push(all.slice(i, i + PACKET_EVENTS));
	return trace(packets);
}

/** Write the packets of FILE to the archive as guest NAME. HOST runs no collector. */
export async function archive(host, name, file, bytes) {
	const write = host.writer();
	const fd = openSync(file, "r");
	const packet = Buffer.alloc(PACKET);
	const packets = Math.floor(bytes / PACKET);
	let lines = [`run 1 xen ${name} ${name} - 1 ended poweroff`, `stream 1 1 0 ${PACKET * 4} 4 0`];

	for (let i = 0; i < packets; i++) {
		readSync(fd, packet, 0, PACKET, i * PACKET);
		const end = packet.readUInt32LE(26) / 8;
		const content = packet.subarray(HEADER, end);
		lines.push(
			`piece 1 ${i} ${HEADER} 1 ${PACKET} ${content.readBigUInt64LE(0)} ${end} ${content.toString("hex")}`,
		);
		if (lines.length >= BATCH || i === packets - 1) {
			await write("begin", ...lines, "commit");
			lines = [];
		}
	}
	closeSync(fd);
}

/** Return archive lines for N guests, some of them crashed. */
export function guests(n) {
	const lines = ["begin"];

	for (let i = 1; i <= n; i++) {
		const crashed = i % 50 === 0;
		lines.push(
			`run ${i} xen k${i} guest-${i} - ${i} ${crashed ? "ended crash" : "running -"}`,
			`stream ${i} ${i} 0 65536 4 0`,
		);
		if (crashed) lines.push(`capture ${i} ${i} crash -`);
	}
	return [...lines, "commit"];
}
