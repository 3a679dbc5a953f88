/* The sources of a memory profile: a recording of the API, complete or growing, and a file. */
import {shown} from "../page/guest-text.js";
import {count} from "../page/times.js";

const HEAD = 30;

/**
 * Return a Promise of true if the first bytes of FILE are those of a memtrace stream. A CTF stream
 * begins with the same four bytes, but never with a version number of memtrace
 * (client/trace/memory/memtrace.c).
 */
export async function isMemtrace(file) {
	const view = new DataView(await file.slice(0, HEAD).arrayBuffer());

	if (view.byteLength < HEAD || view.getUint32(0, true) !== 0xc1fc1fc1) return false;
	const bits = view.getUint32(4, true);
	const version = view.getUint16(28, true);
	return bits % 8 === 0 && version >= 1 && version <= 3 && bits / 8 >= (version < 3 ? 66 : 68);
}

const REASONS = {
	closed: "the guest ended it",
	cut: "the connection ended within a packet",
	reset: "the connection was reset",
	stopped: "it was stopped",
	damaged: "the guest sent data that is no packet",
	quota: "the guest used up its quota",
	rate: "the guest sent too fast",
	overrun: "the sink could not keep up",
	disk: "the disk was full",
	restart: "the sink was started again",
	shutdown: "the sink was stopped",
};

/** A recording of the API. */
export class Recording {
	static async open(api, id) {
		return new Recording(api, await api.json(`v1/memtraces/${id}`));
	}

	constructor(api, memtrace) {
		this.api = api;
		this.memtrace = memtrace;
		this.path = `v1/memtraces/${memtrace.id}`;
	}

	get recording() {
		return this.memtrace.state === "recording";
	}

	/** True if one may stop, pin and annotate the recording. */
	get mayChange() {
		return this.api.session.may("write", this.memtrace.domain);
	}

	get title() {
		const {domain, says, address} = this.memtrace;

		return shown(domain ?? says.host ?? address);
	}

	get name() {
		return `${this.memtrace.domain ?? this.memtrace.says.program ?? "memory"}-${this.memtrace.id}`;
	}

	/** Return the recording's state as part of a sentence. */
	get about() {
		const {id, began, ended, reason} = this.memtrace;
		const when = `memory profile ${id}, from ${began.slice(0, 19).replace("T", " ")} UTC`;

		if (this.recording) return `${when}, is being recorded`;
		return `${when} to ${(ended ?? began).slice(11, 19)}${reason ? `: ${REASONS[reason] ?? shown(reason)}` : ""}`;
	}

	/** Return sentences on the bytes that mprofd-sink left out. */
	get notes() {
		const {dropped} = this.memtrace;

		return dropped ? [`${count(dropped, "byte")} behind its last whole packet were left out.`] : [];
	}

	get facts() {
		const {address, port, note, pinned} = this.memtrace;

		return [
			["From", `${address}, port ${port}`],
			["Note", note ? shown(note, 4096) : ""],
			["Pinned", pinned ? "yes: quotas do not delete it" : ""],
		];
	}

	/** Return the whole recording in the form for heap.load(). */
	async body(signal) {
		return {response: await this.api.ask(`${this.path}/data`, {signal}), growing: this.recording};
	}

	/**
	 * Fetch the state of the recording. Return the bytes after the first KNOWN as a Uint8Array, or
	 * null if there are no more.
	 */
	async more(known, signal) {
		this.memtrace = await this.api.json(this.path, {signal});
		if (this.memtrace.bytes <= known) return null;
		const {bytes} = await this.api.bytes(`${this.path}/data`, {signal, headers: {Range: `bytes=${known}-`}});
		return bytes;
	}

	async stop() {
		this.memtrace = await this.api.change("DELETE", `${this.path}/recording`);
	}

	async change(change) {
		this.memtrace = await this.api.change("PATCH", this.path, change);
	}

	/** Return the URL or the File from which the recording can be saved. */
	get saved() {
		return this.api.url(`${this.path}/data`);
	}
}

/** A file that the user opened. */
export class LocalFile {
	constructor(file) {
		this.file = file;
		this.memtrace = null;
		this.recording = false;
		this.title = shown(file.name);
		this.name = file.name.replace(/\.[a-z0-9]{1,8}$/i, "");
		this.about = "a file";
		this.notes = [];
		this.facts = [];
		this.saved = file;
	}

	async body() {
		return {blob: this.file};
	}
}
