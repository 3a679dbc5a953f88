/*
 * A run that is too long to be a model at once: which part of it is loaded.  Pure: an overview in, ranges out.
 */

/** Bytes of content that are loaded at once: a model has about twenty times as many in memory. */
export const SLICE_BYTES = 12 << 20;

/** The first time, when a person waits for the first picture; more as soon as that is left. */
export const FIRST_BYTES = 4 << 20;

/** The newest part of an OVERVIEW that has up to MOST bytes: {from, to}. */
export function newest(overview, most = SLICE_BYTES) {
	return around(overview, overview.to, overview.to, most);
}

/**
 * What to load so that FROM up to TO can be shown: that, and as much on both sides as MOST bytes allow.  Where it has more than that, its
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
		/* First what is to be shown, then evenly on both sides. */
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

/** Must another part be loaded, for a camera that shows FROM up to TO?  FEW: what is loaded is less than might be. */
export function leaves(loaded, overview, from, to, few = false) {
	const first = from > overview.from ? from : overview.from;
	const last = to < overview.to ? to : overview.to;

	if (first >= loaded.from && last <= loaded.to) return false;
	/* A window that holds more than may be loaded shows what is there in its place. */
	const more = few ? around(overview, first, last) : null;
	const wide = more ? more.from > first || more.to < last : last - first > loaded.to - loaded.from;
	return !wide || loaded.to <= first || loaded.from >= last;
}

/**
 * Bytes per bucket, for the minimap.  A packet is counted where it begins and is filled until the next one does: it is spread over that time, as if
 * it had been filled evenly.
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
