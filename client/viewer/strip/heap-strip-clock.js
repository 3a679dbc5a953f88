/*
 * Place the times of a memory profile on the time line of the same guest's threads, and compute the
 * error of the place.
 *
 * Both clocks are related to dom0's CLOCK_MONOTONIC. The times of a profile are the guest's wall
 * clock, which dom0 does not know. The guest makes the first packet when the profile begins, and
 * the sink stores the time at which it arrives (`began`). A profile that is placed by this arrival
 * has no event later than drawn. The guest begins its profile after it has connected. The sink
 * stores the time of the connection (`connected_mono`), which limits how much earlier an event may
 * have happened. If the last event would then be drawn after the end of the profile, the profile is
 * placed by its end. The packet stamps limit the offset from the trace's clock to dom0's
 * (clocks.js). The middle of the two limits is used, because the delay between writing and copying
 * is unknown.
 */
import {shown} from "../page/guest-text.js";
import {rough} from "../page/times.js";
import {realNs} from "../trace/stamps.js";

const FIRST_NS =
	/*
	 * Ns; the sink closes a connection on which no first packet comes for this time
	 * (daemon/sink/guest-stream.c).
	 */
	10000000000n;
const ACCEPT_NS = 1000000000n; /* ns; longest delay until the sink notices a connection */

const ns = (text) => (/^\d{1,20}$/.test(text ?? "") ? BigInt(text) : null);

/**
 * Return the duration of MEMTRACE (a profile as in the API) by dom0's clock, ns; null while it is
 * being recorded.
 */
function lifeNs({began, ended}) {
	const [from, to] = [realNs(began), realNs(ended)];

	return from === null || to === null ? null : to - from;
}

/**
 * Return the longest possible time in ns from the beginning of MEMTRACE until its first packet
 * arrived.
 */
function firstNs({origin, began_mono: began, connected_mono: connected}) {
	const waited = ns(connected) === null ? FIRST_NS : ns(began) - ns(connected);

	return waited < 0n ? FIRST_NS : waited + (ns(connected) === null || origin === "asked" ? 0n : ACCEPT_NS);
}

/**
 * Return half of UNCERTAINTY (ns or null). An event happened at the drawn time or up to UNCERTAINTY
 * earlier.
 */
const half = (uncertainty) => (uncertainty === null ? 0n : uncertainty / 2n);

/**
 * Return the time in which MEMTRACE was received, {from, to} on the trace's clock {known, offsetNs,
 * uncertaintyNs}. TO is null while MEMTRACE is being recorded. Return null if the relation of the
 * clocks is unknown.
 */
export function received(memtrace, {known, offsetNs, uncertaintyNs}) {
	const began = ns(memtrace.began_mono);
	const life = lifeNs(memtrace);

	if (!known || began === null) return null;
	const from = began - offsetNs + half(uncertaintyNs);
	return {from, to: life === null ? null : from + life};
}

/**
 * Return the place of a profile on the time line, or null if it is unknown. INFO is the answer of
 * heap.load(), and CLOCK is that of the trace: {known, offsetNs, uncertaintyNs | null}.
 * -> {base: the trace's time at which the profile begins, earlierNs: how much earlier than drawn
 * an event may have happened (null: unknown), laterNs: how much later, aheadNs: lead of the
 * guest's wall clock over dom0's}
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

/** Return the error of a place in a few words. */
export function sure({earlierNs, laterNs}) {
	return `against the threads: here${laterNs === 0n ? " or " : ", "}${upTo(earlierNs, "earlier")}${laterNs === 0n ? "" : `, or ${upTo(laterNs, "later")}`}`;
}

/** Return sentences on the place of a profile. */
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
