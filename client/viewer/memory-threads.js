/*
 * Where the guest's threads were at a moment of its memory profile.  The profile's clock is taken to stand at dom0's wall clock when the sink got
 * its beginning; the trace's clock is bound by the stamps of its packets: no event was copied before it happened.
 */
import {format} from "./address.js";
import {guestPath} from "./api.js";
import {realNs} from "./together.js";

const AROUND_NS = 500000000n;
const known = new Map(); /* by recording: dom0's wall clock minus the guest's, a promise */

async function offset(api, {domain, uuid, run}) {
	const path = guestPath({uuid, name: domain});
	const guest = await api.json(`${path}?limit=100`);
	const {streams} = guest.run_list.find((it) => it.run === run) ?? {streams: []};
	let least = null;

	if (!streams.length)
		return null;
	const {packets} = await api.json(`${path}/packets?run=${run}&stream=${streams[0].stream}&limit=1000`);
	for (const it of packets) {
		const copied = realNs(it.copied?.first?.real);
		const apart = copied !== null && /^\d{1,19}$/.test(it.first_timestamp ?? "") ? copied - BigInt(it.first_timestamp) : null;

		if (apart !== null && (least === null || apart < least))
			least = apart;
	}
	return least;
}

/** The address of the threads of MEMTRACE's guest around MARKED ({at} or {from, to}, null: all of it); null where it has no trace. */
export async function threadsAddress(api, memtrace, info, marked) {
	const {run, domain, uuid} = memtrace;
	const began = realNs(memtrace.began);

	if (run === null || domain === null || began === null)
		return null;
	if (!known.has(memtrace.id))
		known.set(memtrace.id, offset(api, memtrace));
	const apart = await known.get(memtrace.id);
	if (apart === null)
		return null;
	const guest = (us) => began + BigInt(Math.round(us)) * 1000n - apart;
	const range = marked?.from !== undefined ? marked : marked ? {from: marked.at, to: marked.at} : {from: 0, to: Number(info.endUs - info.startUs)};
	const around = marked && marked.from === undefined ? AROUND_NS : 0n;
	const from = guest(range.from) - around;
	const to = guest(range.to) + around + 1n;
	return to > 0n ? format({domain: uuid ?? domain, run, from: from > 0n ? from : 0n, to}) : null;
}
