/*
 * Find the address of a guest's time line at a moment of its memory profile. Profile and time line
 * have different clocks; strip/heap-strip-clock.js describes how they are related.
 */
import {format} from "../page/address.js";
import {guestPath} from "../page/api.js";
import {placed} from "../strip/heap-strip-clock.js";

const AROUND_NS = 500000000n;

/** Return dom0's CLOCK_MONOTONIC minus the clock of the guest's trace, in ns; null if unknown. */
async function offset(api, {domain, uuid, run}) {
	const path = guestPath({uuid, name: domain});
	const guest = await api.json(`${path}?limit=100`);
	const {streams} = guest.run_list.find((it) => it.run === run) ?? {streams: []};
	let least = null;

	if (!streams.length) return null;
	const {packets} = await api.json(`${path}/packets?run=${run}&stream=${streams[0].stream}&limit=1000`);
	for (const it of packets) {
		const [copied, event] = [it.copied?.first?.mono, it.first_timestamp].map((text) =>
			/^\d{1,19}$/.test(text ?? "") ? BigInt(text) : null,
		);
		/*
		 * The host copies an event some time after it happened. The least difference has the
		 * least delay, so it is nearest to the offset of the clocks.
		 */
		const apart = copied !== null && event !== null ? copied - event : null;

		if (apart !== null && (least === null || apart < least)) least = apart;
	}
	return least;
}

export class Threads {
	constructor(api) {
		this.api = api;
		this.offsetNs = null;
	}

	/**
	 * Return the address of the time line of MEMTRACE's guest around MARKED: {at}, {from, to} or
	 * null for the whole profile. Return null if the guest has no trace.
	 */
	async address(memtrace, info, marked) {
		const {run, domain, uuid} = memtrace;

		if (run === null || domain === null) return null;
		this.offsetNs ??= await offset(this.api, memtrace);
		const place =
			this.offsetNs === null
				? null
				: placed(memtrace, info, {known: true, offsetNs: this.offsetNs, uncertaintyNs: null});
		if (!place) return null;
		const time = (us) => place.base + BigInt(Math.round(us)) * 1000n;
		const {from, to} =
			marked?.from !== undefined
				? marked
				: marked
					? {from: marked.at, to: marked.at}
					: {from: 0, to: Number(info.endUs - info.startUs)};
		const around = from === to ? AROUND_NS : 0n;
		const begin = time(from) - around;
		const end = time(to) + around + 1n;
		return end > 0n ? format({domain: uuid ?? domain, run, from: begin > 0n ? begin : 0n, to: end}) : null;
	}
}
