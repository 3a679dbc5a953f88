/*
 * The choice of the part of a long run that is loaded. Functions only: an overview in, ranges out.
 */

/** Bytes of content loaded at once. A model takes about twenty times as much memory. */
export const SLICE_BYTES = 12 << 20;

/**
 * Bytes loaded first, so that the first picture comes soon. More is loaded when the window leaves
 * them.
 */
export const FIRST_BYTES = 4 << 20;

/** Return the newest part of OVERVIEW with up to MOST bytes: {from, to}. */
export function newest(overview, most = SLICE_BYTES) {
	return around(overview, overview.to, overview.to, most);
}

/**
 * Return the part to load for FROM to TO: that range, widened evenly up to MOST bytes. A larger
 * range is cut to its middle.
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
		/* First the range to show, then evenly on both sides. */
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

/** Return whether another part must be loaded for FROM to TO. FEW: less than possible is loaded. */
export function leaves(loaded, overview, from, to, few = false) {
	const first = from > overview.from ? from : overview.from;
	const last = to < overview.to ? to : overview.to;

	if (first >= loaded.from && last <= loaded.to) return false;
	/* A window that is too large to load keeps the loaded part. */
	const more = few ? around(overview, first, last) : null;
	const wide = more ? more.from > first || more.to < last : last - first > loaded.to - loaded.from;
	return !wide || loaded.to <= first || loaded.from >= last;
}

/**
 * Return the bytes per bucket, for the minimap. A packet is spread evenly from its begin to the
 * next one's.
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
