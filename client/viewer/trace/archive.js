/*
 * Choose which part of a long run is loaded. The functions of this module only compute a range of
 * time from an overview, the bytes over time (see source.js). Times are BigInt ns.
 */

/**
 * Most bytes of a trace that are loaded at once. The model needs about twenty times as much memory.
 */
export const SLICE_BYTES = 12 << 20;

/**
 * Most bytes that are loaded at first, so that the first picture comes soon. Up to SLICE_BYTES are
 * loaded when the window leaves this part.
 */
export const FIRST_BYTES = 4 << 20;

/** Return the newest part {from, to} of OVERVIEW with at most MOST bytes. */
export function newest(overview, most = SLICE_BYTES) {
	return around(overview, overview.to, overview.to, most);
}

/**
 * Return the part {from, to} of OVERVIEW to load for the window FROM to TO: buckets of at most MOST
 * bytes around the middle of the window, as many on one side as on the other if they are of equal
 * size. The part is smaller than the window if the window has more bytes.
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
		/* Add a bucket on each side in turn, as long as its bytes fit. */
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
 * Return true if another part must be loaded to show the window FROM to TO. LOADED {from, to} is
 * the present part. FEW is true if it was limited to FIRST_BYTES.
 */
export function leaves(loaded, overview, from, to, few = false) {
	const first = from > overview.from ? from : overview.from;
	const last = to < overview.to ? to : overview.to;

	if (first >= loaded.from && last <= loaded.to) return false;
	/*
	 * The window does not fit into memory as a whole. Load another part only if the window shows
	 * nothing of the present one.
	 */
	const more = few ? around(overview, first, last) : null;
	const wide = more ? more.from > first || more.to < last : last - first > loaded.to - loaded.from;
	return !wide || loaded.to <= first || loaded.from >= last;
}

/**
 * Return the number of bytes in each bucket of OVERVIEW, for the bars of the minimap. The overview
 * counts a packet in the bucket where it begins; here its bytes are spread evenly over the buckets
 * up to the begin of the next packet.
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
