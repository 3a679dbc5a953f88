/*
 * Several guests in one picture: which rows are whose, and how far each one's clock may be off.  What is drawn of a guest at a time happened then,
 * or up to its uncertainty before.
 */
import {rough} from "../page/times.js";

const HEADED = 16; /* pixels of height from which on a strip has a heading */

/** The strips of a model of several guests: STREAMS as the summary has them.  None where all are of one guest. */
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

/** How sure a strip's times are, in a few words. */
export function sure({uncertaintyNs}) {
	return uncertaintyNs === null ? "how much earlier it was is not known" : `or up to ${rough(uncertaintyNs)} earlier`;
}

/** What stands at its beginning. */
function heading({name, uncertaintyNs}) {
	return uncertaintyNs === null
		? `${name} · its clock may be ahead by any amount`
		: `${name} · each event where it stands, or up to ${rough(uncertaintyNs)} before`;
}

/**
 * The strips as primitives for overlay.js: a heading for each; a whisker below it as long as the uncertainty, at the camera's scale; and at the
 * POINTER's time the part of the past in which what is drawn there happened.
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
