/*
 * Strips of guests, for several guests in one picture. A strip is the rows of one guest, with the
 * name of the guest and the error of its clock. An event of a guest happened at the time at which
 * it is drawn, or earlier by up to the clock's uncertainty.
 */
import {rough} from "../page/times.js";

const HEADED = 16; /* least height of a strip with a heading, pixels */

/**
 * Return the strips of STREAMS, a member of the answer of engine.load(). The list is empty if all
 * streams are of one guest.
 */
export function strips(streams) {
	if (new Set(streams.map((it) => it.guest)).size < 2) return [];
	return streams.map(({name, first_row: row, rows, start, end, events, uncertainty_ns: most}, stream) => ({
		name,
		stream,
		row,
		rows,
		start,
		end: events ? end : start,
		uncertaintyNs: most === (1n << 64n) - 1n ? null : most,
	}));
}

/** Return a few words on the uncertainty of the strip's times. */
export function sure({uncertaintyNs}) {
	if (uncertaintyNs === 0n) return "exactly";
	return uncertaintyNs === null ? "or earlier by an unknown time" : `or up to ${rough(uncertaintyNs)} earlier`;
}

/** Return the heading of a strip. */
function heading({name, uncertaintyNs}) {
	if (uncertaintyNs === 0n) return `${name} · on this host's clock`;
	return uncertaintyNs === null
		? `${name} · its clock may be ahead by any amount`
		: `${name} · each event where it is drawn, or up to ${rough(uncertaintyNs)} earlier`;
}

/**
 * Return primitives for overlay.js: for each strip a heading, and a line (the whisker) as long as
 * the uncertainty; and for the time POINTER the interval in which an event drawn there can have
 * happened.
 */
export function drawn(list, camera, yOf, pointer) {
	const out = [];
	const rows = list.reduce((sum, it) => Math.max(sum, it.row + it.rows), 0);

	for (const it of list) {
		if (!it.rows) continue;
		const y0 = it.row ? yOf(it.row - 0.5) : 0;
		const y1 = it.row + it.rows < rows ? yOf(it.row + it.rows - 0.5) : camera.height;
		const length =
			it.uncertaintyNs === null ? Infinity : (Number(it.uncertaintyNs) / Number(camera.span)) * camera.width;
		if (y1 - y0 < HEADED) continue;
		out.push({
			kind: "guest",
			x0: 0,
			y0,
			x1: camera.width,
			y1,
			text: heading(it),
			item: it.stream,
			length: Math.min(length, camera.width),
		});
		if (pointer !== null && length >= 1) {
			const x1 = camera.xOf(pointer);
			out.push({kind: "uncertain", x0: Math.max(x1 - length, 0), y0, x1, y1, item: it.stream});
		}
	}
	return out;
}
