/*
 * Where the times of a memory profile lie on the time line of the same guest's threads, and how sure that is.
 *
 * The two have different clocks, which meet in dom0's.  A profile's times are the guest's wall clock, of which dom0 need know nothing; but its first packet
 * is made when it begins, and the sink notes when that came (`began`).  So drawn by that, no event of a profile was later.  How much earlier it may have
 * been is bounded too, since a guest begins its profile once it is connected, and the sink notes when that was asked for (`connected_mono`).  Where the
 * end of a profile came before its last event would be drawn, all is drawn by the end instead.  How the trace's clock stands to dom0's the stamps of its
 * packets say (clocks.js), between two bounds; the middle of them is taken, since a ring is copied some time after it was written, and nothing says how long.
 */
import {shown} from "../page/guest-text.js";
import {rough} from "../page/times.js";
import {realNs} from "../compare/multi-guest.js";

const FIRST_NS = 10000000000n; /* daemon/sink/stream.c: a connection without a first packet is closed then */
const ACCEPT_NS = 1000000000n; /* so long the sink may take to see that a guest has connected */

const ns = (text) => (/^\d{1,20}$/.test(text ?? "") ? BigInt(text) : null);

/** How long after its beginning MEMTRACE (as the API says) ended, by dom0's clock; null while it is being recorded. */
function lifeNs({began, ended}) {
	const [from, to] = [realNs(began), realNs(ended)];

	return from === null || to === null ? null : to - from;
}

/** How long before its first packet came MEMTRACE may have begun, at most. */
function firstNs({origin, began_mono: began, connected_mono: connected}) {
	const waited = ns(connected) === null ? FIRST_NS : ns(began) - ns(connected);

	return waited < 0n ? FIRST_NS : waited + (ns(connected) === null || origin === "asked" ? 0n : ACCEPT_NS);
}

/** The events of a trace that are drawn at a time happened then or up to UNCERTAINTY before: the middle. */
const half = (uncertainty) => (uncertainty === null ? 0n : uncertainty / 2n);

/** When MEMTRACE was received, as times of the trace whose clock is {known, offsetNs, uncertaintyNs}: {from, to}, TO null while it is; null: not known. */
export function received(memtrace, {known, offsetNs, uncertaintyNs}) {
	const began = ns(memtrace.began_mono);
	const life = lifeNs(memtrace);

	if (!known || began === null) return null;
	const from = began - offsetNs + half(uncertaintyNs);
	return {from, to: life === null ? null : from + life};
}

/**
 * Where a profile lies: INFO as heap.load() says, CLOCK of the trace {known, offsetNs, uncertaintyNs | null}.
 * -> {base: the trace's time of its beginning, earlierNs: how much earlier than drawn an event may have been (null: not known), laterNs: likewise, aheadNs: of the
 *    guest's wall clock before dom0's}, or null where nothing is known.
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

const upTo = (ns, way) => (ns === null ? `nobody knows how much ${way}` : `up to ${rough(ns)} ${way}`);

/** How sure it is, in a few words. */
export function sure({earlierNs, laterNs}) {
	return `against the threads: here${laterNs === 0n ? " or " : ", "}${upTo(earlierNs, "earlier")}${laterNs === 0n ? "" : `, or ${upTo(laterNs, "later")}`}`;
}

/** The same in sentences, for whoever asks. */
export function tells({id, says}, {earlierNs, laterNs, aheadNs}) {
	const out = [
		`Heap: memory profile ${id}${says.program ? ` of ${shown(says.program)}` : ""}, drawn by when its first packet came to this host.`,
	];

	if (earlierNs === null)
		out.push("Its own times do not fit when it came, as if it had been sent later: it is drawn by when it ended.");
	out.push(
		`Against the threads it may have been ${upTo(earlierNs, "earlier")}, or ${upTo(laterNs, "later")}: ` +
			"so far it is known when the guest was connected and began, and how the clock of the trace stands.",
	);
	if (aheadNs !== null)
		out.push(
			`By that the guest's wall clock is ${rough(aheadNs < 0n ? -aheadNs : aheadNs)} ${aheadNs < 0n ? "behind" : "ahead of"} this host's.`,
		);
	return out;
}
