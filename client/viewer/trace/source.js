/*
 * A source is where a trace comes from: a run of a guest on this host, a capture, or a local file.
 * It has streams (rings of the guest), and requests their bytes. A source over the HTTP API also
 * has an overview: the number of bytes over time, which the server computes without decoding
 * events.
 */
import {guestPath} from "../page/api.js";
import {shown} from "../page/guest-text.js";
import {bytes as amount, count} from "../page/times.js";

const BUCKETS = 1024; /* number of equal parts of time in an overview */

/* Why a capture was taken: the word of the API -> words for the user. */
const KINDS = {
	crash: "a crash",
	watchdog: "the watchdog",
	poweroff: "a power-off",
	reboot: "a reboot",
	suspend: "a suspension",
	destroyed: "its destruction",
	ended: "its end",
	unread: "its end",
	periodic: "the clock",
	manual: "a person",
	trigger: "a trigger",
};

/* Why a run ended, as in the API -> words for the user. */
const ENDED = {
	crash: "crashed",
	watchdog: "stopped by its watchdog",
	poweroff: "powered off",
	reboot: "rebooted",
	destroyed: "destroyed",
};

/* The kinds of captures that mprofd takes when a guest ends. */
const ENDS = new Set(["crash", "watchdog", "poweroff", "reboot", "destroyed", "ended", "unread"]);

/* Return PARTS as a query of a URL. Members that are null or undefined are left out. */
const query = (parts) =>
	Object.entries(parts)
		.filter(([, value]) => value !== null && value !== undefined)
		.map(([key, value]) => `${key}=${encodeURIComponent(value)}`)
		.join("&");

/**
 * Return what engine.load() needs to know about a stream of a source, without the bytes. An
 * uncertainty of null means that it is unknown; the engine takes 2^64 - 1 ns for that.
 */
export const asLoaded = ({name, guest = 0, offsetNs = 0n, uncertaintyNs = 0n}) => ({
	name,
	guest,
	offsetNs,
	uncertaintyNs: uncertaintyNs ?? (1n << 64n) - 1n,
});

/**
 * Return sentences for the user about data that are missing in a stream, from the HEADERS of the
 * HTTP answer with its bytes. NAME is the stream's name, or "" if it is the only one.
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
		out.push(
			`${of}a part of this capture is missing: quotas deleted it, or it was damaged on the disk. The rest is shown.`,
		);
	return out;
}

/**
 * A run of a guest or a capture, over the HTTP API. API is from api.js. PATH is its path on the
 * server. FACTS are further members: title, about, name, run, streams, running and death are used
 * by other modules.
 */
class Remote {
	constructor(api, path, facts) {
		Object.assign(this, {api, path, ...facts});
	}

	/**
	 * Return a Promise of the HTTP answer with the bytes of STREAM. PARTS are members of the query,
	 * such as {from, to} in ns.
	 */
	trace(stream, parts = {}, options = {}) {
		return this.api.ask(`${this.path}/trace?${query({run: this.run, stream: stream.stream, ...parts})}`, options);
	}

	/** Return true if RUN, a number, is the run of this source. */
	has(run) {
		return run === this.run;
	}

	/**
	 * Return the path and query of the list of STREAM's packets. PARTS are further members of the
	 * query.
	 */
	packets(stream, parts = {}) {
		return `${this.path}/packets?${query({run: this.run, stream: stream.stream, ...parts})}`;
	}

	/** Return a Promise of true if the guest still runs, in the same run. */
	async goesOn(options) {
		const domain = await this.api.json(`${this.path}?limit=1`, options);

		return domain.run === this.run && domain.state !== "ended";
	}

	/** Return the URL of all bytes of STREAM, for a download. */
	url(stream) {
		return this.api.url(`${this.path}/trace?${query({run: this.run, stream: stream.stream})}`);
	}

	/**
	 * Return a Promise of the overview, the sum over all streams: {from, to, bytes, buckets:
	 * [{from, to, bytes, packets, lost}]}, times in ns. Return a Promise of null if the archive has
	 * no packets.
	 */
	async overview(options) {
		return summed(await this.overviews(options));
	}

	/** Return a Promise of the server's overviews, one for each stream that has packets. */
	async overviews(options) {
		const all = await Promise.all(
			this.streams.map((stream) => this.api.json(this.packets(stream, {buckets: BUCKETS}), options)),
		);

		return all.filter((it) => it.from !== null && it.to !== null);
	}
}

/**
 * Return the sum of the overviews ALL, or null if ALL is empty. Each stream has other times, so
 * each bucket of a stream is added to the bucket of the sum that has its middle time.
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

/** Return the streams of LIST, from the API, that VIEW wants: the one that it names, or all. */
function streamsOf(list, view) {
	const wanted = view.stream === undefined ? list : list.filter((it) => it.stream === view.stream);

	return wanted.map((it) => ({
		stream: it.stream,
		name: list.length > 1 ? shown(it.name ?? `stream ${it.stream}`) : "",
		lost: it.lost_packets ?? 0,
	}));
}

/*
 * Return a Promise of the newest capture at the end of run NUMBER of the guest NAME, whose path is
 * PATH; of null if there is none, or if one may not see its context.
 */
async function endCapture(api, path, name, number) {
	if (!api.session.may("context", name)) return null;
	const {captures} = await api.json(`${path}/captures?limit=100`);

	return captures.find((it) => it.run === number && ENDS.has(it.kind)) ?? null;
}

/** Return a Promise of the source of a guest's run: the run in VIEW, or the present one. */
async function ofDomain(api, view, options) {
	const path = guestPath({uuid: null, name: view.domain});
	const domain = await api.json(`${path}?limit=100`, options);
	const number = view.run ?? domain.run;
	const known = domain.run_list.find((it) => it.run === number);
	/* A run that is not among the newest ones is an older one, if it is one at all. */
	const run = known ?? {streams: domain.streams, state: number === domain.run ? domain.state : "ended"};

	return new Remote(api, path, {
		title: shown(domain.name),
		about:
			known || number === domain.run
				? `run ${number}, ${run.state === "ended" ? (ENDED[run.reason] ?? "ended") : run.state}`
				: `run ${number}`,
		/* Return a Promise of the capture of the run's end, as in the API, or of null. */
		endCapture: () => endCapture(api, path, domain.name, number),
		/* Reason of the run's end, one word; null if the run goes on. */
		death: run.state === "ended" ? (run.reason ?? "ended") : null,
		name: domain.name,
		uuid: domain.uuid,
		run: number,
		ofRunNumber: number,
		ofRun: (stream, parts) =>
			`${path}/${parts.what}?${query({run: number, stream: stream.stream, ...parts.select})}`,
		/*
		 * Return true if the stream can have an unproven tail (tail.js), which only an ended run
		 * has.
		 */
		mayTail: () => run.state === "ended",
		/*
		 * Return a Promise of true if the guest is a program of this host that writes its ring to a
		 * file, so it has the host's clock.
		 */
		isLocal: async () => domain.source === "dir",
		running: run.state !== "ended" && number === domain.run,
		streams: streamsOf(run.streams, view),
	});
}

/** Return a Promise of the source of the capture in VIEW. */
async function ofCapture(api, view, options) {
	const path = `v1/captures/${encodeURIComponent(view.capture)}`;
	const capture = await api.json(path, options);
	const {host} = capture; /* of a hub, which has captures and no runs */
	const guest = guestPath({uuid: capture.uuid, name: capture.domain, host});

	/* Streams that the archive has lost have no bytes. */
	const kept = capture.streams.filter((it) => !it.lost);
	const lost = capture.streams.filter((it) => it.lost);

	return new Remote(api, path, {
		title: host ? `${shown(host)}/${shown(capture.domain)}` : shown(capture.domain),
		about: `capture ${capture.id}, taken at ${(capture.time_corrected ?? capture.time).slice(0, 19).replace("T", " ")} UTC by ${KINDS[capture.kind] ?? capture.kind}${lost.length ? `; lost by damage on the disk: stream ${lost.map((it) => it.stream).join(", ")}` : ""}`,
		name: `${capture.domain}-${capture.id}`,
		mark: `capture ${capture.id}`,
		time: capture.time,
		marks: capture.marks ?? [] /* the notes on its picture, as in the API */,
		mayKeep: !host && api.session.may("write", capture.domain) /* true if one may change MARKS */,
		death: ENDS.has(capture.kind) ? capture.kind : null,
		endCapture: async () => (ENDS.has(capture.kind) && api.session.may("context", capture.domain) ? capture : null),
		ofRunNumber: capture.run,
		mayTail: ({stream}) => capture.streams.some((it) => it.stream === stream && it.tail_bytes > 0),
		running: false,
		ofRun: (stream, parts) =>
			host
				? `${path}/${parts.what}?${query({stream: stream.stream, ...parts.select})}`
				: `${guest}/${parts.what}?${query({run: capture.run, stream: stream.stream, ...parts.select})}`,
		isLocal: async () => {
			const domain = await api.json(`${guest}?limit=1`, options).catch(() => null);

			return domain?.source === "dir";
		},
		streams: streamsOf(kept.length ? kept : capture.streams, view),
	});
}

/**
 * Return a Promise of the source of VIEW over the HTTP API. Reject with a sentence for the user if
 * the source has no such stream, or none.
 */
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

/** Return the source of FILE, a local File that the user chose. */
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
