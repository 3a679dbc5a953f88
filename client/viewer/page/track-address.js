/*
 * The tracks of a time line in its address: parseTracks() and formatTracks(). Only tracks that the
 * user changed are there, as `cpu0.c_heap.h120_c0-open*20requests.pm2`: items separated by "_", each
 * a track's id and, behind a dot, its changes:
 *   c collapsed, p pinned to the top, x hidden, s shown though it is hidden at first,
 *   hN N pixels high, mN moved to place N from the top.
 * An id is `cpuN` (N: a stream), `heap`, `threads`, or `cN-NAME` of a counter.
 * A malformed item is left out.
 *
 * A state: {id, collapsed, pinned, shown, height, place}; what is usual is undefined.
 */

/** Least and greatest height of a track, pixels. */
export const TRACK_LEAST = 8;
export const TRACK_MOST = 2000;

const ITEMS_MAX = 256;
const NAME_MAX = 64; /* most letters of a counter's name in an id; a longer name is cut, and has a checksum */
const NAME_CUT = 40;
const ITEM =
	/^(cpu[0-9]{1,5}|heap|threads|c[0-9]{1,5}-[A-Za-z0-9*~-]{0,64})\.(?=.)(c?)(p?)([xs]?)(?:h([0-9]{1,4}))?(?:m([0-9]{1,4}))?$/;

/** Return a checksum of TEXT (32-bit FNV-1a) in hexadecimal. */
function checksum(text) {
	let sum = 0x811c9dc5;

	for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193);
	return (sum >>> 0).toString(16).padStart(8, "0");
}

/** Return the id of the counter NAME of STREAM, a number. */
export function counterId(stream, name) {
	const bytes = new TextEncoder().encode(name.slice(0, 4 * NAME_MAX));
	const plain = Array.from(bytes, (it) =>
		/[A-Za-z0-9-]/.test(String.fromCharCode(it)) && it < 128
			? String.fromCharCode(it)
			: `*${it.toString(16).padStart(2, "0")}`,
	).join("");

	return `c${stream}-${plain.length > NAME_MAX ? `${plain.slice(0, NAME_CUT)}~${checksum(name)}` : plain}`;
}

function parsed(text) {
	const found = ITEM.exec(text);

	if (!found) return null;
	const [, id, collapsed, pinned, shown, height, place] = found;
	const state = {id};
	if (collapsed) state.collapsed = true;
	if (pinned) state.pinned = true;
	if (shown) state.shown = shown === "s";
	if (height) state.height = Number(height);
	if (place) state.place = Number(place);
	return height && (state.height < TRACK_LEAST || state.height > TRACK_MOST) ? null : state;
}

/** Return the states in TEXT, each id once. */
export function parseTracks(text) {
	const out = new Map();

	for (const item of text.split("_").slice(0, ITEMS_MAX)) {
		const state = parsed(item);

		if (state && !out.has(state.id)) out.set(state.id, state);
	}
	return [...out.values()];
}

/** Return STATES as text; "" if no track is changed. */
export function formatTracks(states) {
	return states
		.map(({id, collapsed, pinned, shown, height, place}) => {
			const changes = [
				collapsed ? "c" : "",
				pinned ? "p" : "",
				shown === undefined ? "" : shown ? "s" : "x",
				height === undefined ? "" : `h${height}`,
				place === undefined ? "" : `m${place}`,
			].join("");

			return changes && `${id}.${changes}`;
		})
		.filter(Boolean)
		.slice(0, ITEMS_MAX)
		.join("_");
}
