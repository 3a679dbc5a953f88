/*
 * The tracks around the threads: one for each processor above, and a lane for each counter below.
 * This module computes heights and captions and has no state.
 */
import {bytes, span} from "../page/times.js";

export const PROCESSOR = 18; /* height of a processor's track, pixels */
export const CAPTION = 18; /* height of a lane's caption, pixels */

const PROCESSORS_MAX = 8;
const GAP = 4; /* pixels between two tracks */
const PART_GAP = 12; /* pixels more between those of two guests */
const PROCESSOR_KIND = 0; /* MPROF_TRACK_PROCESSOR */
const COUNTER_KIND = 1; /* MPROF_TRACK_COUNTER */

/** Return the height of a lane's curve in pixels when N lanes are shown. Fewer lanes are higher. */
const curveHeight = (n) => (n > 8 ? 16 : n > 4 ? 22 : 30);

/** Return the tracks of the processors of STREAMS, an array of numbers: {height, tracks}. */
export function processors(streams) {
	const tracks = streams
		.slice(0, PROCESSORS_MAX)
		.map((item, i) => ({kind: PROCESSOR_KIND, item, top: GAP / 2 + i * (PROCESSOR + 2), height: PROCESSOR}));

	return {height: tracks.length ? tracks.at(-1).top + PROCESSOR + GAP / 2 : 0, tracks};
}

/**
 * Return the lanes of COUNTERS {index, stream}: {height, tracks}. The lanes of one stream are
 * together.
 */
export function lanes(counters) {
	const high = curveHeight(counters.length);
	const sorted = [...counters].sort((a, b) => a.stream - b.stream || a.index - b.index);
	let y = 0;
	const tracks = sorted.map((it, i) => {
		/* The lanes of each guest are a part of their own. */
		if (i && it.stream !== sorted[i - 1].stream) y += PART_GAP;
		const top = y + CAPTION;

		y = top + high + GAP;
		return {kind: COUNTER_KIND, item: it.index, top, height: high};
	});

	return {height: tracks.length ? tracks.at(-1).top + high + GAP : 0, tracks};
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

/** Return the caption of a counter: its name, the range of its values, and a guess of their unit. */
export function caption({name, min, max, scaleMin, scaleMax}) {
	const unit = unitOf(name)?.[0];
	const scale =
		scaleMin === undefined || (scaleMin === min && scaleMax === max)
			? ""
			: `, scale ${amount(name, scaleMin)} to ${amount(name, scaleMax)}`;

	return `${name}  ${amount(name, min)} to ${amount(name, max)}${unit ? ` (${unit}?)` : ""}${scale}`;
}
