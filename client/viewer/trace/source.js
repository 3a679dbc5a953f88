/*
 * The sources of a trace: a guest of this host, a capture, or a file. A source has streams and
 * requests their bytes. A source over the API also has an overview, which the server makes without
 * decoding.
 */
import {guestPath} from "../page/api.js";
import {shown} from "../page/guest-text.js";
import {bytes as amount, count} from "../page/times.js";

const BUCKETS = 1024;

const KINDS = {
	crash: "a crash",
	watchdog: "the watchdog",
	poweroff: "a power-off",
	reboot: "a reboot",
	suspend: "a suspension",
	destroyed: "its destruction",
	ended: "its end",
	periodic: "the clock",
	manual: "a person",
	trigger: "a trigger",
};

/* The kinds of captures that are taken when a guest ends. */
const ENDS = new Set(["crash", "watchdog", "poweroff", "reboot", "destroyed", "ended"]);

const query = (parts) =>
	Object.entries(parts)
		.filter(([, value]) => value !== null && value !== undefined)
		.map(([key, value]) => `${key}=${encodeURIComponent(value)}`)
		.join("&");

/** Return the description of a stream of a source for engine.load(). */
export const asLoaded = ({name, guest = 0, offsetNs = 0n, uncertaintyNs = 0n}) => ({
	name,
	guest,
	offsetNs,
	uncertaintyNs: uncertaintyNs ?? (1n << 64n) - 1n,
});

/**
 * Return sentences on the data that a trace lacks, from the HTTP HEADERS of its answer. NAME is the
 * name of the stream, or "".
 */
export function remarks(headers, name) {
	const out = [];
	const of = name ? `${name}: ` : "";
	const lost = headers.get("Mprof-Lost-Packets") ?? "0";
	const one = lost.replace("+", "") === "1";
	const cut = /bytes=(\d+); packets=(\d+)/.exec(headers.get("Mprof-Cut") ?? "");

	if (lost !== "0")
		out.push(
			`${of}${lost.endsWith("+") ? "at least " : ""}${lost.replace("+", "")} ${one ? "packet" : "packets"} of it ` +
				`${one ? "was" : "were"} lost.`,
		);
	if (cut)
		out.push(
			`${of}the end was still being written: ${amount(Number(cut[1]))} that could not be shown to be true were cut from ` +
				`${count(Number(cut[2]), "packet")}.`,
		);
	if (headers.get("Mprof-Complete") === "false")
		out.push(`${of}quotas have deleted a part of this capture; the rest is shown.`);
	return out;
}

/** A guest or a capture over the API. */
class Remote {
	constructor(api, path, facts) {
		Object.assign(this, {api, path, ...facts});
	}

	trace(stream, parts = {}, options = {}) {
		return this.api.ask(`${this.path}/trace?${query({run: this.run, stream: stream.stream, ...parts})}`, options);
	}

	/** Return true if this source shows the run RUN. */
	has(run) {
		return run === this.run;
	}

	/** Return the path of the list of STREAM's packets. PARTS are further members of the query. */
	packets(stream, parts = {}) {
		return `${this.path}/packets?${query({run: this.run, stream: stream.stream, ...parts})}`;
	}

	/** Return a Promise of true if the run has not ended. */
	async goesOn(options) {
		const domain = await this.api.json(`${this.path}?limit=1`, options);

		return domain.run === this.run && domain.state !== "ended";
	}

	/** Return the URL of all bytes of STREAM. */
	url(stream) {
		return this.api.url(`${this.path}/trace?${query({run: this.run, stream: stream.stream})}`);
	}

	/**
	 * Return a Promise of the overview of all streams: {from, to, bytes, buckets: [{from, to,
	 * bytes, packets, lost}]}, or of null if there are no data.
	 */
	async overview(options) {
		return summed(await this.overviews(options));
	}

	/** Return a Promise of the overviews of the streams that have data. */
	async overviews(options) {
		const all = await Promise.all(
			this.streams.map((stream) => this.api.json(this.packets(stream, {buckets: BUCKETS}), options)),
		);

		return all.filter((it) => it.from !== null && it.to !== null);
	}
}

/**
 * Return the sum of the overviews ALL, or null if there are none. The streams end at different
 * times, so the sum is made by time and not by the number of the bucket.
 */
export function summed(all) {
	if (!all.length) return null;
	const from = all.map((it) => BigInt(it.from)).reduce((a, b) => (a < b ? a : b));
	const to = all.map((it) => BigInt(it.to)).reduce((a, b) => (a > b ? a : b));
	const span = to - from + 1n;
	const edge = (i) => from + (span * BigInt(i)) / BigInt(BUCKETS);
	const buckets = Array.from({length: BUCKETS}, (_, i) => ({
		from: edge(i),
		to: edge(i + 1),
		bytes: 0,
		packets: 0,
		lost: 0,
	}));

	for (const overview of all)
		for (const it of overview.buckets) {
			const middle = (BigInt(it.from) + BigInt(it.to)) / 2n;
			const at = buckets[Math.min(BUCKETS - 1, Math.max(0, Number(((middle - from) * BigInt(BUCKETS)) / span)))];
			at.bytes += it.bytes;
			at.packets += it.packets;
			at.lost += it.lost_packets;
		}
	return {from, to, buckets, bytes: buckets.reduce((sum, it) => sum + it.bytes, 0)};
}

function streamsOf(list, view) {
	const wanted = view.stream === undefined ? list : list.filter((it) => it.stream === view.stream);

	return wanted.map((it) => ({
		stream: it.stream,
		name: list.length > 1 ? shown(it.name ?? `stream ${it.stream}`) : "",
		lost: it.lost_packets ?? 0,
	}));
}

async function ofDomain(api, view, options) {
	const path = guestPath({uuid: null, name: view.domain});
	const domain = await api.json(`${path}?limit=100`, options);
	const number = view.run ?? domain.run;
	const run = domain.run_list.find((it) => it.run === number) ?? {streams: domain.streams, state: domain.state};

	return new Remote(api, path, {
		title: shown(domain.name),
		about: `run ${number}, ${run.state}`,
		/*
		 * The reason of the run's end in a word; null if the run goes on or the reason is not
		 * known.
		 */
		death: run.state === "ended" ? (run.reason ?? "ended") : null,
		name: domain.name,
		uuid: domain.uuid,
		run: number,
		ofRunNumber: number,
		ofRun: (stream, parts) =>
			`${path}/${parts.what}?${query({run: number, stream: stream.stream, ...parts.select})}`,
		/* Only an ended run can have an unproven tail. */
		mayTail: () => run.state === "ended",
		/* Whether the guest is a program of this host, whose ring is in a file. */
		isLocal: async () => domain.source === "dir",
		running: run.state !== "ended" && number === domain.run,
		streams: streamsOf(run.streams, view),
	});
}

async function ofCapture(api, view, options) {
	const path = `v1/captures/${view.capture}`;
	const capture = await api.json(path, options);
	const guest = guestPath({uuid: capture.uuid, name: capture.domain});

	return new Remote(api, path, {
		title: shown(capture.domain),
		about: `capture ${capture.id}, taken at ${capture.time.slice(0, 19).replace("T", " ")} UTC by ${KINDS[capture.kind] ?? capture.kind}`,
		name: `${capture.domain}-${capture.id}`,
		mark: `capture ${capture.id}`,
		time: capture.time,
		death: ENDS.has(capture.kind) ? capture.kind : null,
		ofRunNumber: capture.run,
		mayTail: ({stream}) => capture.streams.some((it) => it.stream === stream && it.tail_bytes > 0),
		running: false,
		ofRun: (stream, parts) =>
			`${guest}/${parts.what}?${query({run: capture.run, stream: stream.stream, ...parts.select})}`,
		isLocal: async () => {
			const domain = await api.json(`${guest}?limit=1`, options).catch(() => null);

			return domain?.source === "dir";
		},
		streams: streamsOf(capture.streams, view),
	});
}

/** Return the source of VIEW over the API. */
export async function remote(api, view, options) {
	const source =
		view.capture === undefined ? await ofDomain(api, view, options) : await ofCapture(api, view, options);

	if (!source.streams.length)
		throw new Error(
			view.stream === undefined
				? `Nothing was recorded of ${source.title} yet.`
				: `${source.title} has no stream ${view.stream}.`,
		);
	return source;
}

/** Return the source of a local file. */
export function local(file) {
	return {
		title: shown(file.name),
		about: `a file of ${amount(file.size)}`,
		name: file.name.replace(/\.[a-z0-9]{1,5}$/i, ""),
		running: false,
		file,
		streams: [{stream: 0, name: ""}],
		notes: [],
		parts: () => [{name: "", guest: 0, blob: file}],
	};
}
