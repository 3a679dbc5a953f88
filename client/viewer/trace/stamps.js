/*
 * The stamps of packets: when mprofd copied each packet, by dom0's two clocks. They bound the offset
 * from a guest's clock to dom0's (worker/clocks.js).
 */
const PAGES_MAX = 20; /* most pages of a stream's packets to read; with fewer packets the clock is less certain */
/* Bytes of a run whose stamps are read when a capture is too short for its clock. */
const RUN_AMOUNT = String(64 << 20);

const HEADER = 30; /* bytes of a packet's header */

/* Streams from this number on are mprofd's own: their times are estimates (schema/vcpu.md). */
const STREAM_HOST = 1024;

/** Return the RFC 3339 time TEXT with up to nine digits of a second as ns since 1970, or null. */
export function realNs(text) {
	const parts = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z$/.exec(text ?? "");
	const ms = parts ? Date.parse(`${parts[1]}Z`) : NaN;

	return ms >= 0 ? BigInt(ms) * 1000000n + BigInt((parts[2] ?? "").padEnd(9, "0")) : null;
}

const ns = (text) => (/^\d{1,20}$/.test(text ?? "") ? BigInt(text) : null);

/* The right time counts, if the host knows that its clock was wrong. */
function stamp(it) {
	return [
		ns(it?.mono),
		realNs(it?.real_corrected ?? it?.real),
		Number.isInteger(it?.offset) ? BigInt(it.offset) : null,
	];
}

const NEWEST_MAX = 5; /* MPROF_CLOCKS_POLLS */
const UNKNOWN = (1n << 64n) - 1n; /* a guest time that is not known */

/** Return the newest stamps of IT as numbers: how many there are, and NEWEST_MAX of them, with zeros for missing ones. */
function newest(it) {
	const list = Array.isArray(it) && it.length <= NEWEST_MAX ? it.map(stamp) : [];
	const known = list.flat().includes(null) ? [] : list;

	return [BigInt(known.length), ...known.flat(), ...Array(3 * (NEWEST_MAX - known.length)).fill(0n)];
}

/**
 * Return the clock stamps of PACKETS of one stream in the form for engine.clocks(). Packets without
 * stamps are left out.
 */
export function copied(packets) {
	const out = [];

	for (const it of packets) {
		const numbers = [
			ns(it.first_timestamp),
			...stamp(it.copied?.first),
			...stamp(it.copied?.last),
			it.clock_stepped ? 1n : 0n,
			ns(it.copied?.last_chunk) ?? UNKNOWN,
			...newest(it.copied?.newest),
		];

		/* If a packet's bytes are unproven, the server has verified its first event, or serves none of it. */
		if ((!it.unproven || it.bytes > HEADER) && !numbers.includes(null)) out.push(...numbers);
	}
	return BigUint64Array.from(out);
}

/** Return the clock stamps of MEMBER's packets: one item for each stream, for engine.clocks(). */
export async function stamps(api, member, options) {
	const out = [];
	const read = async (path) => {
		const packets = [];
		let pages = 0;

		for await (const page of api.pages(path, "packets", options)) {
			packets.push(...page);
			if (++pages === PAGES_MAX) break;
		}
		out.push(copied(packets));
	};

	for (const stream of member.streams) {
		if (stream.stream >= STREAM_HOST) continue;
		await read(member.packets(stream));
		/*
		 * A capture may be too short to determine its clock. Read the stamps of the whole
		 * run too, if the archive still has it.
		 */
		if (member.mark)
			await read(member.ofRun(stream, {what: "packets", select: {last: RUN_AMOUNT}})).catch((error) => {
				if (error.status !== 404 && error.status !== 410) throw error;
			});
	}
	return out;
}
