/*
 * The layout of the tracks: what the user changed of their order, heights and visibility. It has no
 * elements. A track is named by its id (track-address.js), which is the same in each model.
 */
import {lanes, processors, stacked} from "../draw/tracks.js";
import {TRACK_LEAST, TRACK_MOST} from "../page/track-address.js";

/** Return the places in NUMBERS of a longest subsequence that rises, as a Set. */
function rising(numbers) {
	const ends = []; /* for each length the place of the least end of a subsequence of that length */
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
	/** STATES: from an address. EVERYROW: rows without a thread in view have height, too. */
	constructor(states = [], everyRow = false) {
		this.everyRow = everyRow;
		this.read(states);
	}

	/** Replace all states by STATES. */
	read(states) {
		this.states = new Map(states.map((it) => [it.id, {...it}]));
	}

	/** The states of the changed tracks, for an address. */
	get list() {
		return [...this.states.values()];
	}

	/** Return the state of the track ID. The caller does not change it. */
	of(id) {
		return this.states.get(id) ?? {id};
	}

	/** Change the state of the track ID by CHANGE. A member that is undefined becomes usual. */
	set(id, change) {
		const state = {...this.of(id), ...change};
		const unusual = ([key, value]) => value !== undefined && (value !== false || key === "shown");

		if (state.height !== undefined)
			state.height = Math.max(TRACK_LEAST, Math.min(TRACK_MOST, Math.round(state.height)));
		const entries = Object.entries(state).filter(unusual);
		if (entries.length > 1) this.states.set(id, Object.fromEntries(entries));
		else this.states.delete(id);
	}

	/** Return IDS, which are in their usual order, in the user's order. */
	order(ids) {
		const place = (id) => this.of(id).place;
		const out = ids.filter((id) => place(id) === undefined);

		for (const id of ids.filter((it) => place(it) !== undefined).sort((a, b) => place(a) - place(b)))
			out.splice(place(id), 0, id);
		return out;
	}

	/**
	 * Return TRACKS, objects with an id in their usual order, as {pinned, rest}, both in the user's
	 * order.
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
	 * Move the track ID before the track BEFORE; null: to the end. IDS are all ids in their usual
	 * order. Of the tracks as few as possible count as moved.
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
const HEAP_HEIGHT = 64;
const HEAP_FLAT = 18;

/** Return the streams of SUMMARY that have a processor's track: [{id, stream, name}]. */
export function streamsOf({streams}) {
	return streams.flatMap(({events, name}, stream) =>
		events ? [{id: `cpu${stream}`, stream, name: streams.length > 1 ? name || `stream ${stream + 1}` : ""}] : [],
	);
}

/** Return the tracks {streams, counters, heap} in their usual order; see CanvasView. */
export function usualTracks({streams, counters, heap}) {
	return [
		...processors(streams),
		...(heap ? [{id: HEAP, name: "Heap", usual: HEAP_HEIGHT, least: HEAP_FLAT, head: 0, gap: 1}] : []),
		{id: THREADS, name: "Threads"},
		...lanes(counters),
	];
}

/**
 * Return the places of TRACKS {streams, counters, heap} in LAYOUT: {pinned, above, below}, areas as
 * of stacked(), and threads: {pinned, shown, height: pixels, or null for what is left}. From top to
 * bottom there are the pinned tracks, those above the threads, the threads, and those below. Pinned
 * threads are directly below the area `pinned`, and `above` has the pinned tracks that follow.
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
