/*
 * Choose the part of a long run that is loaded. This module has only functions that compute a range
 * of time from an overview.
 */

/**
 * Bytes of the trace that are loaded at once. The model needs about twenty times as much memory.
 */
export const SLICE_BYTES = 12 << 20;

/**
 * Bytes that are loaded first, so the first picture comes soon. More is loaded when the window
 * leaves this part.
 */
export const FIRST_BYTES = 4 << 20;

/** Return the newest part {from, to} of OVERVIEW that has at most MOST bytes. */
export function newest(overview, most = SLICE_BYTES) {
	return around(overview, overview.to, overview.to, most);
}

/**
 * Return the part {from, to} to load for the window FROM to TO. It is the window, widened evenly on
 * both sides up to MOST bytes. If the window itself has more bytes, the part is the window's
 * middle.
 */
export function around(overview, from, to, most = SLICE_BYTES) {
	const {buckets} = overview;
	const last = buckets.length - 1;
	const at = (time) => {
		const i = buckets.findIndex((it) => it.to > time);

		return i < 0 ? last : i;
	};
	let low = at((from + to) / 2n);
	let high = low;
	let room = most - buckets[low].bytes;

	for (let grew = true; grew;) {
		grew = false;
		/* Add the buckets of the window first, then buckets on both sides in turn. */
		if (high < last && buckets[high + 1].bytes <= room) {
			room -= buckets[++high].bytes;
			grew = true;
		}
		if (low > 0 && buckets[low - 1].bytes <= room) {
			room -= buckets[--low].bytes;
			grew = true;
		}
	}
	return {from: buckets[low].from, to: buckets[high].to};
}

/**
 * Return true if another part must be loaded to show FROM to TO. FEW is true if the loaded part has
 * fewer than SLICE_BYTES.
 */
export function leaves(loaded, overview, from, to, few = false) {
	const first = from > overview.from ? from : overview.from;
	const last = to < overview.to ? to : overview.to;

	if (first >= loaded.from && last <= loaded.to) return false;
	/* If the window is too large to be loaded, keep the loaded part. */
	const more = few ? around(overview, first, last) : null;
	const wide = more ? more.from > first || more.to < last : last - first > loaded.to - loaded.from;
	return !wide || loaded.to <= first || loaded.from >= last;
}

/**
 * Return the bytes in each bucket of OVERVIEW, for the minimap. The bytes of a packet are spread
 * evenly from its begin to the begin of the next packet.
 */
export function density(overview) {
	const {buckets} = overview;
	const out = new Uint32Array(buckets.length);

	for (let i = 0, next; i < buckets.length; i = next) {
		for (next = i + 1; next < buckets.length && !buckets[next].bytes;) next++;
		out.fill(Math.min(Math.ceil(buckets[i].bytes / (next - i)), 4294967295), i, next);
	}
	return out;
}
