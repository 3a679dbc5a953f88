/*
 * The layout of the tracks: the user's changes of their order, heights and visibility. It makes no
 * elements. Each track has an id (page/track-address.js), which stays the same when another model
 * is loaded. A changed track has a state {id, collapsed, pinned, shown, height, place}; unchanged
 * members are absent.
 */
import {lanes, processors, stacked} from "../draw/tracks.js";
import {TRACK_LEAST, TRACK_MOST} from "../page/track-address.js";

/** Return a longest rising subsequence of NUMBERS, as the Set of its indices in NUMBERS. */
function rising(numbers) {
	/* ends[n]: index of the least number at which a rising subsequence of n + 1 numbers ends. */
	const ends = [];
	/* before[i]: index of the number before number i in its subsequence; -1: none. */
	const before = [];

	numbers.forEach((number, i) => {
		let at = ends.findIndex((end) => numbers[end] >= number);

		if (at < 0) at = ends.length;
		before[i] = at ? ends[at - 1] : -1;
		ends[at] = i;
	});
	const out = new Set();
	for (let i = ends.at(-1) ?? -1; i >= 0; i = before[i]) out.add(i);
	return out;
}

export class TrackLayout {
	/**
	 * STATES are the states of the changed tracks. EVERYROW: true gives height also to rows of
	 * threads without a thread in view.
	 */
	constructor(states = [], everyRow = false) {
		this.everyRow = everyRow;
		this.read(states);
	}

	/** Replace all states by copies of STATES. */
	read(states) {
		this.states = new Map(states.map((it) => [it.id, {...it}]));
	}

	/** The states of the changed tracks, for the URL. */
	get list() {
		return [...this.states.values()];
	}

	/**
	 * Return the state of the track ID; {id} if it is unchanged. The caller must not change the
	 * object.
	 */
	of(id) {
		return this.states.get(id) ?? {id};
	}

	/**
	 * Change the members of the state of the track ID that CHANGE has. A member that is undefined
	 * becomes as usual. The height is limited to TRACK_LEAST to TRACK_MOST pixels.
	 */
	set(id, change) {
		const state = {...this.of(id), ...change};
		const unusual = ([key, value]) => value !== undefined && (value !== false || key === "shown");

		if (state.height !== undefined)
			state.height = Math.max(TRACK_LEAST, Math.min(TRACK_MOST, Math.round(state.height)));
		const entries = Object.entries(state).filter(unusual);
		if (entries.length > 1) this.states.set(id, Object.fromEntries(entries));
		else this.states.delete(id);
	}

	/** Sort IDS, which are in their usual order, into the user's order. Return a new array. */
	order(ids) {
		const place = (id) => this.of(id).place;
		const out = ids.filter((id) => place(id) === undefined);

		for (const id of ids.filter((it) => place(it) !== undefined).sort((a, b) => place(a) - place(b)))
			out.splice(place(id), 0, id);
		return out;
	}

	/**
	 * Sort TRACKS, objects with an id in their usual order, into the user's order. Return {pinned,
	 * rest}: the pinned tracks and the others.
	 */
	arrange(tracks) {
		const byId = new Map(tracks.map((it) => [it.id, it]));
		const sorted = this.order(tracks.map(({id}) => id)).map((id) => byId.get(id));

		return {
			pinned: sorted.filter(({id}) => this.of(id).pinned),
			rest: sorted.filter(({id}) => !this.of(id).pinned),
		};
	}

	/**
	 * Move the track ID before the track BEFORE, or to the end if BEFORE is null. IDS are all ids
	 * in their usual order. Only the tracks whose order differs from the usual one keep a place in
	 * their state, as few as possible, so that the URL stays short.
	 */
	move(ids, id, before) {
		const order = this.order(ids).filter((it) => it !== id);

		order.splice(before === null ? order.length : order.indexOf(before), 0, id);
		const still = rising(order.map((it) => ids.indexOf(it)));
		order.forEach((it, i) => this.set(it, {place: still.has(i) ? undefined : i}));
	}
}

export const THREADS = "threads";
export const HEAP = "heap";

const THREADS_FLAT = 26; /* height of the collapsed threads, pixels */
const HEAP_HEIGHT = 64; /* usual height of the heap, pixels */
const HEAP_FLAT = 18; /* least height of the heap, pixels */

/**
 * Return the streams with events of SUMMARY, the answer of engine.load(), which get a processor
 * track: [{id, stream, name}]. STREAM is the index. NAME is "" if there is only one stream.
 */
export function streamsOf({streams}) {
	return streams.flatMap(({events, name}, stream) =>
		events ? [{id: `cpu${stream}`, stream, name: streams.length > 1 ? name || `stream ${stream + 1}` : ""}] : [],
	);
}

/**
 * Return all tracks in their usual order, as objects with an id and a name. The argument is that of
 * the hook tracks() of CanvasView.
 */
export function usualTracks({streams, counters, heap}) {
	return [
		...processors(streams),
		...(heap ? [{id: HEAP, name: "Heap", usual: HEAP_HEIGHT, least: HEAP_FLAT, head: 0, gap: 1}] : []),
		{id: THREADS, name: "Threads"},
		...lanes(counters),
	];
}

/**
 * Compute the places of TRACKS, the result of the hook tracks() of CanvasView, with the user's
 * changes in LAYOUT. From top to bottom the page has the pinned tracks, the tracks above the
 * threads, the threads, and the tracks below. If the threads are pinned, they are directly below
 * the area `pinned`, and the area `above` has the pinned tracks that follow them.
 *
 * Return {areas: {pinned, above, below}, threads}. An area is a result of stacked()
 * (draw/tracks.js). THREADS is {pinned, shown, collapsed, height: in pixels, or null for the room
 * that is left}.
 */
export function areas(tracks, layout) {
	const isShown = ({id}) => id === THREADS || layout.of(id).shown !== false;
	const {pinned, rest} = layout.arrange(usualTracks(tracks).filter(isShown));
	const at = (list) => list.findIndex(({id}) => id === THREADS);
	const isPinned = at(pinned) >= 0;
	const list = isPinned ? pinned : rest;
	const before = list.slice(0, at(list));
	const after = list.slice(at(list) + 1);
	const {collapsed, height, shown} = layout.of(THREADS);
	const state = (id) => layout.of(id);

	return {
		areas: {
			pinned: stacked(isPinned ? before : pinned, state),
			above: stacked(isPinned ? after : before, state),
			below: stacked(isPinned ? rest : after, state),
		},
		threads: {
			pinned: isPinned,
			shown: shown !== false,
			collapsed: Boolean(collapsed),
			height: collapsed ? THREADS_FLAT : (height ?? null),
		},
	};
}
