/*
 * Convert between the states of the tracks of a time line and their text in the URL. The text has
 * only tracks that the user changed, such as `cpu0.c_heap.h120_c0-open*20requests.pm2`. Its items
 * have "_" between them. An item is the id of a track, a dot, and letters for the changes:
 * - c: collapsed; p: pinned to the top; x: hidden; s: shown, for a track that is hidden at first;
 * - hN: N pixels high; mN: moved to place N of the order, from 0.
 *
 * An id is `cpuN` (the processor track of stream N), `heap`, `threads`, or `cN-NAME` (the counter
 * NAME of stream N). parseTracks() leaves out malformed items.
 *
 * A state is {id, collapsed, pinned, shown, height in pixels, place}; unchanged members are absent.
 */

/** Least and greatest height of a track, pixels. */
export const TRACK_LEAST = 8;
export const TRACK_MOST = 2000;

const ITEMS_MAX = 256; /* most tracks in a URL */
/*
 * Most letters of a counter's name in an id. A longer name is cut to NAME_CUT letters, and a
 * checksum of the whole name follows.
 */
const NAME_MAX = 64;
const NAME_CUT = 40;
const ITEM =
	/^(cpu[0-9]{1,5}|heap|threads|c[0-9]{1,5}-[A-Za-z0-9*~-]{0,64})\.(?=.)(c?)(p?)([xs]?)(?:h([0-9]{1,4}))?(?:m([0-9]{1,4}))?$/;

/** Return a checksum of TEXT: 32-bit FNV-1a over its UTF-16 units, as eight hexadecimal digits. */
function checksum(text) {
	let sum = 0x811c9dc5;

	for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193);
	return (sum >>> 0).toString(16).padStart(8, "0");
}

/**
 * Return the id of the counter NAME of the stream STREAM, an index. Letters other than A to Z, a to
 * z, 0 to 9 and "-" become "*" and two hexadecimal digits for each byte of UTF-8.
 */
export function counterId(stream, name) {
	const bytes = new TextEncoder().encode(name.slice(0, 4 * NAME_MAX));
	const plain = Array.from(bytes, (it) =>
		/[A-Za-z0-9-]/.test(String.fromCharCode(it)) && it < 128
			? String.fromCharCode(it)
			: `*${it.toString(16).padStart(2, "0")}`,
	).join("");

	return `c${stream}-${plain.length > NAME_MAX ? `${plain.slice(0, NAME_CUT)}~${checksum(name)}` : plain}`;
}

/** Return the state in TEXT, an item of the URL; null if it is malformed. */
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

/** Return the states in TEXT. If an id is there twice, the first state counts. */
export function parseTracks(text) {
	const out = new Map();

	for (const item of text.split("_").slice(0, ITEMS_MAX)) {
		const state = parsed(item);

		if (state && !out.has(state.id)) out.set(state.id, state);
	}
	return [...out.values()];
}

/** Return STATES as text for the URL; "" if no track is changed. */
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
