/*
 * The tracks around the threads: the processors, the heap, and a lane for each counter. This module
 * computes places, heights and captions and has no state.
 */
import {bytes, span} from "../page/times.js";

export const PROCESSOR = 18; /* height of a processor's track, pixels */
export const CAPTION = 18; /* height of a lane's caption, pixels */

const PROCESSORS_MAX = 8;
const GAP = 4; /* pixels between two tracks */
const PART_GAP = 12; /* pixels more between those of two guests */
const THIN = 6; /* height of a collapsed processor's track, pixels */
const FLAT = 2; /* height of a collapsed lane's curve, pixels */
const PROCESSOR_KIND = 0; /* MPROF_TRACK_PROCESSOR */
const COUNTER_KIND = 1; /* MPROF_TRACK_COUNTER */

/** Return the height of a lane's curve in pixels when N lanes are shown. Fewer lanes are higher. */
const curveHeight = (n) => (n > 8 ? 16 : n > 4 ? 22 : 30);

/** Return the tracks of the processors of STREAMS [{id, stream, name}], in their usual order. */
export function processors(streams) {
	return streams.slice(0, PROCESSORS_MAX).map(({id, stream, name}) => ({
		id,
		name: name ? `Processor of ${name}` : "Processor",
		kind: PROCESSOR_KIND,
		item: stream,
		usual: PROCESSOR,
		least: THIN,
		head: 0,
		gap: 2,
	}));
}

/**
 * Return the lanes of COUNTERS [{id, index, stream, name}], in their usual order: the lanes of one
 * stream are together.
 */
export function lanes(counters) {
	return [...counters]
		.sort((a, b) => a.stream - b.stream || a.index - b.index)
		.map(({id, index, stream, name}) => ({
			id,
			name: `Counter ${name}`,
			kind: COUNTER_KIND,
			item: index,
			stream,
			usual: curveHeight(counters.length),
			least: FLAT,
			head: CAPTION,
			gap: GAP,
		}));
}

/**
 * Place TRACKS one below the other; STATE(id) returns a track's {collapsed, height}. Return {height,
 * tracks: those that the scene draws (struct mprof_track), places: [{id, name, item, top, head,
 * height, collapsed}] of all, in pixels}. TOP is that of the caption, which is HEAD pixels high.
 */
export function stacked(tracks, state) {
	let y = tracks.length && !tracks[0].head ? GAP / 2 : 0;
	const places = tracks.map((it, i) => {
		const {collapsed, height} = state(it.id);
		const before = tracks[i - 1];

		/* The lanes of each guest are a part of their own. */
		if (before && before.kind === COUNTER_KIND && it.kind === COUNTER_KIND && it.stream !== before.stream)
			y += PART_GAP;
		const place = {
			id: it.id,
			name: it.name,
			kind: it.kind,
			item: it.item,
			top: y,
			head: it.head,
			height: collapsed ? it.least : (height ?? it.usual),
			collapsed: Boolean(collapsed),
		};
		y += it.head + place.height + it.gap;
		return place;
	});
	const last = tracks.at(-1);

	return {
		height: last ? y + (last.head ? 0 : GAP / 2 - last.gap) : 0,
		tracks: places
			.filter(({kind}) => kind !== undefined)
			.map(({kind, item, top, head, height}) => ({kind, item, top: top + head, height})),
		places,
	};
}

/*
 * The units of counters: a name, a pattern of counter names that have this unit, and a function
 * that formats a value.
 */
const UNITS = [
	["bytes", /byte|octet|heap|memory|(^|[^a-z])(mem|buf)|buflen|(_|-|\b)size\b/i, (n) => bytes(Number(n))],
	["time", /(_|-|\b)(ns|nsec|nanoseconds)\b/i, (n) => span(n)],
	["time", /(_|-|\b)(us|usec|microseconds)\b/i, (n) => span(n * 1000n)],
	["time", /(_|-|\b)(ms|msec|milliseconds)\b/i, (n) => span(n * 1000000n)],
];

/** Return the entry of UNITS that NAME suggests. A number of words is a number. */
const unitOf = (name) => (/words?\b/i.test(name) ? undefined : UNITS.find(([, names]) => names.test(name)));

/** Return a number as text, with the unit that the name suggests. */
function amount(name, n) {
	const unit = unitOf(name);

	return unit ? unit[2](BigInt(n)) : n.toLocaleString("en");
}

/**
 * Return the caption of a counter: its name, the range of its values, a guess of their unit, and the sum if each
 * sample is an amount.
 */
export function caption({name, min, max, scaleMin, scaleMax, kind, sum, samples}) {
	const unit = unitOf(name)?.[0];
	const scale =
		scaleMin === undefined || (scaleMin === min && scaleMax === max)
			? ""
			: `, scale ${amount(name, scaleMin)} to ${amount(name, scaleMax)}`;

	const all = kind === "amount" ? `, ${amount(name, sum)} in ${samples.toLocaleString("en")} samples` : "";

	return `${name}  ${amount(name, min)} to ${amount(name, max)}${unit ? ` (${unit}?)` : ""}${all}${scale}`;
}
