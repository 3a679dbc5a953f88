/*
 * The times of a memory profile on the time line of the same guest's threads, with their error.
 *
 * The two clocks are related through dom0's. A profile's times are the guest's wall clock, which
 * dom0 does not know. The first packet is made when the profile begins, and the sink notes its
 * arrival (`began`). A profile drawn by that arrival has no event later than drawn. The guest
 * begins its profile after it connected, and the sink notes that time (`connected_mono`), which
 * bounds how much earlier an event may be. If the profile ended before its last event would be
 * drawn, the end is used instead. The packet stamps bound the offset of the trace's clock to dom0's
 * (clocks.js). The middle of the two bounds is used, because the delay between writing and copying
 * is unknown.
 */
import {shown} from "../page/guest-text.js";
import {rough} from "../page/times.js";
import {realNs} from "../compare/multi-guest.js";

const FIRST_NS =
	10000000000n; /* the sink closes a connection without a first packet after this time (daemon/sink/stream.c) */
const ACCEPT_NS = 1000000000n; /* longest delay until the sink notices a connection */

const ns = (text) => (/^\d{1,20}$/.test(text ?? "") ? BigInt(text) : null);

/**
 * Return the duration of MEMTRACE, from the API, by dom0's clock; null while it is being recorded.
 */
function lifeNs({began, ended}) {
	const [from, to] = [realNs(began), realNs(ended)];

	return from === null || to === null ? null : to - from;
}

/**
 * Return the longest possible time between the beginning of MEMTRACE and the arrival of its first
 * packet.
 */
function firstNs({origin, began_mono: began, connected_mono: connected}) {
	const waited = ns(connected) === null ? FIRST_NS : ns(began) - ns(connected);

	return waited < 0n ? FIRST_NS : waited + (ns(connected) === null || origin === "asked" ? 0n : ACCEPT_NS);
}

/** Return half of UNCERTAINTY: events happened at the drawn time or up to UNCERTAINTY earlier. */
const half = (uncertainty) => (uncertainty === null ? 0n : uncertainty / 2n);

/**
 * Return when MEMTRACE was received, {from, to} by the trace's clock {known, offsetNs,
 * uncertaintyNs}. TO is null while it is being recorded. Return null if it is unknown.
 */
export function received(memtrace, {known, offsetNs, uncertaintyNs}) {
	const began = ns(memtrace.began_mono);
	const life = lifeNs(memtrace);

	if (!known || began === null) return null;
	const from = began - offsetNs + half(uncertaintyNs);
	return {from, to: life === null ? null : from + life};
}

/**
 * Return the position of a profile, or null if unknown. INFO comes from heap.load(), CLOCK is the
 * trace's {known, offsetNs, uncertaintyNs | null}.
 * -> {base: the trace's time of its beginning, earlierNs: how much earlier than drawn an event may
 * be (null: unknown), laterNs: likewise, aheadNs: lead of the guest's wall clock over dom0's}
 */
export function placed(memtrace, info, clock) {
	const when = received(memtrace, clock);
	const real = realNs(memtrace.began);

	if (!when) return null;
	const life = lifeNs(memtrace);
	const over = life === null ? 0n : (info.endUs - info.startUs) * 1000n - life;
	const back = over > 0n ? over : 0n;
	const first = firstNs(memtrace);
	const middle = half(clock.uncertaintyNs);
	return {
		base: when.from - back,
		earlierNs: back > first ? null : first - back + middle,
		laterNs: clock.uncertaintyNs === null ? null : clock.uncertaintyNs - middle,
		aheadNs: real === null ? null : info.startUs * 1000n - (real - back),
	};
}

const upTo = (ns, way) => (ns === null ? `${way} by an unknown time` : `up to ${rough(ns)} ${way}`);

/** Return the error of a position in a few words. */
export function sure({earlierNs, laterNs}) {
	return `against the threads: here${laterNs === 0n ? " or " : ", "}${upTo(earlierNs, "earlier")}${laterNs === 0n ? "" : `, or ${upTo(laterNs, "later")}`}`;
}

/** Return sentences on the position of a profile. */
export function tells({id, says}, {earlierNs, laterNs, aheadNs}) {
	const out = [
		`Heap: memory profile ${id}${says.program ? ` of ${shown(says.program)}` : ""}, drawn by the arrival of its first packet at this host.`,
	];

	if (earlierNs === null)
		out.push(
			"Its own times do not match its arrival, as if it had been sent later: it is drawn by the time of its end.",
		);
	out.push(
		`Against the threads it may have been ${upTo(earlierNs, "earlier")}, or ${upTo(laterNs, "later")}: ` +
			"the begin of the connection and the clock of the trace are known to that precision.",
	);
	if (aheadNs !== null)
		out.push(
			`So the guest's wall clock is ${rough(aheadNs < 0n ? -aheadNs : aheadNs)} ${aheadNs < 0n ? "behind" : "ahead of"} this host's.`,
		);
	return out;
}
