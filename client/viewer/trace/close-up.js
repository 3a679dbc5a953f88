/* A close-up is the window of time around a moment in which a person can tell the events apart. */

const PARTS = 512; /* number of equal parts of a range in which events are counted */
const FEW_PARTS = 16; /* a window of fewer parts is found more exactly in a shorter range */
const ROUNDS = 8; /* most ranges in which events are counted; each is a 32nd of the one before */
/** Number of events that a close-up shows, about, but at most a third of the trace's. */
export const CLOSE_EVENTS = 120;

/**
 * Return a Promise of the window {from, to} with TIME in its middle that has N events or more, but need
 * not have more than a third of all, as short as possible. ENGINE answers for the trace from START to END. All times are ns.
 */
export async function closeUp(engine, {start, end}, time, n = CLOSE_EVENTS) {
	let from = start;
	let length = end - start > 1n ? end - start : 1n;
	let half = length;

	for (let round = 0; round < ROUNDS; round++) {
		const part = length / BigInt(PARTS) + 1n;
		const counts = await engine.density(from, from + part * BigInt(PARTS), PARTS);
		if (!round) n = Math.min(n, Math.ceil(counts.reduce((all, one) => all + one, 0) / 3));
		const middle = Math.max(0, Math.min(PARTS - 1, Number((time - from) / part)));
		let sum = counts[middle];
		let by = 0;

		while (sum < n && by < PARTS) {
			by++;
			sum += (counts[middle - by] ?? 0) + (counts[middle + by] ?? 0);
		}
		half = part * BigInt(by + 1);
		if (2 * by >= FEW_PARTS || part <= 1n) break;
		from = time > half + start ? time - half : start;
		length = 2n * half;
	}
	return {from: time - half, to: time + half};
}
