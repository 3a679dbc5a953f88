/*
 * Keep the page and its URL in agreement. A view (page/address.js) is what the URL says about the
 * page: trace, window of time, selection, panel, tracks. This module applies a view to the page,
 * and writes the page's present view to the URL.
 */
import {format, sameTrace} from "../page/address.js";

const SETTLE_MS = 300; /* time without a change until the URL is written, ms */
/* Length of the last part of a running guest's trace that is shown first, ns. */
const NEWEST_NS = 5000000000n;
const FEW_EVENTS = 20000; /* a trace with at most this number of events is shown whole at first */
const LAST_EVENTS = 2000; /* number of events at the end of a longer trace that are shown first */
const PARTS = 65536; /* number of equal parts of the trace's time in which events are counted */

/* Return VALUE as text, to compare two values by their content. */
const plain = (value) => JSON.stringify(value ?? null, (_, it) => (typeof it === "bigint" ? String(it) : it));

/**
 * Return the index of the last part from which on at least N events follow. COUNTS are the numbers
 * of events in equal parts of time. At least two parts follow from the result on.
 */
export function lastActivity(counts, n) {
	let sum = 0;
	let i = counts.length;

	while (i > 0 && sum < n) sum += counts[--i];
	return Math.min(i, Math.max(0, counts.length - 2));
}

export class ViewUrl {
	/**
	 * COMPARISON is null if the page shows one trace. LAYOUT is the TrackLayout, FILTER the
	 * ThreadFilter.
	 *
	 * hooks:
	 * - heap(): return the heap strip, or null;
	 * - relaid(): called after the layout of tracks changed;
	 * - setClock(kind): write times by the clock of KIND; return a Promise;
	 * - moved(): called after the camera moved;
	 * - failed(error): report an error.
	 */
	constructor({state, camera, canvasView, search, selection, userNotes, panels, comparison, layout, filter}, hooks) {
		Object.assign(this, {
			state,
			camera,
			canvasView,
			search,
			selection,
			userNotes,
			panels,
			comparison,
			layout,
			filter,
			hooks,
		});
		this.busy = 0; /* number of views that are being applied */
		this.applying = Promise.resolve(); /* settles when the last of these views is applied */
		this.hash = location.hash; /* part of the URL behind "#" that was last written or applied */
	}

	/** Stop writing the URL. */
	close() {
		clearTimeout(this.settling);
	}

	/**
	 * Apply VIEW, the content of a new URL. Return false if VIEW names another trace. Before a
	 * trace is loaded, only keep VIEW; loading applies it.
	 */
	go(view) {
		if (!sameTrace(view, this.state.view)) return false;
		this.hash = location.hash;
		this.state.view = view;
		if (this.state.summary) this.apply(view).catch((error) => this.state.closed || this.hooks.failed(error));
		return true;
	}

	/**
	 * Focus the row in the middle of the drawn threads, weighted by the lengths of their lines.
	 * With many rows, the middle row often shows nothing.
	 */
	home() {
		const {shown} = this.canvasView;
		const rows = new Map();
		let all = 0;

		for (const it of shown.marks.list(["thread", "failed"])) {
			const length = Math.max(it.x1 - it.x0, 1);
			rows.set(it.y0, (rows.get(it.y0) ?? 0) + length);
			all += length;
		}
		let sum = 0;
		for (const [y, length] of [...rows].sort((a, b) => a[0] - b[0])) {
			sum += length;
			if (sum >= all / 2) return this.camera.look(shown.rowAt(y));
		}
	}

	/**
	 * Return a Promise of the range {from, to} in ns that a page shows if its URL names none; null
	 * for the whole trace. For a running guest it is the last NEWEST_NS; for a guest that ended after
	 * many events, the last LAST_EVENTS events; for a comparison, the time around the first difference;
	 * else the loaded part.
	 */
	async opening() {
		const {session} = this.state;
		const {source, loaded, summary, engine} = session;
		const {end} = session.whole;
		const begin = loaded ? loaded.from : summary.start;

		if (this.comparison) return (await this.comparison.parting()) ?? loaded;
		if (source.file) return loaded;
		if (source.running) return end - begin > NEWEST_NS ? {from: end - NEWEST_NS, to: end + 1n} : loaded;
		if (!source.death || summary.totals.events <= FEW_EVENTS) return loaded;
		const counts = await engine.density(summary.start, summary.end + 1n, PARTS);
		const from = lastActivity(counts, LAST_EVENTS);
		const first = summary.start + ((summary.end + 1n - summary.start) * BigInt(from)) / BigInt(PARTS);

		/*
		 * Let the window end later than the trace by 1/32 of its length, so that the mark of the
		 * guest's end is in view.
		 */
		return {from: first, to: end + (end - first) / 32n + 1n};
	}

	/**
	 * Show the whole trace, or the range PART {from, to} of it in ns, and focus the row with most
	 * activity. Resolve when it is on the screen.
	 */
	async fit(part = null) {
		this.busy++;
		try {
			this.camera.fit();
			if (part) this.camera.show(part.from, part.to);
			this.canvasView.changed();
			this.hooks.moved();
			await this.canvasView.painted();
			this.home();
			this.hooks.moved();
		} finally {
			this.busy--;
		}
	}

	/**
	 * Apply VIEW when all earlier views are applied, because two at the same time would mix. If
	 * several views wait, only the newest is applied. Resolve when VIEW is applied or skipped.
	 */
	async apply(view) {
		const before = this.applying;

		this.newest = view;
		this.busy++;
		this.applying = before.catch(() => {}).then(() => (this.newest === view ? this.see(view) : undefined));
		try {
			await this.applying;
		} finally {
			this.busy--;
		}
	}

	/** Apply VIEW now. */
	async see(view) {
		if (this.comparison && plain(view.align) !== plain(this.comparison.how))
			await this.comparison.align(view.align);
		const part = view.from === undefined ? await this.opening() : undefined;
		if (part !== undefined) await this.fit(part);
		else this.camera.show(view.from, view.to);
		if (view.row !== undefined) this.camera.look(view.row);
		if ((view.find ?? "") !== this.search.input.value) await this.search.set(view.find ?? "");
		this.selection.range = view.measure ?? null;
		this.selection.rows = view.area ?? null;
		this.userNotes.read(view.notes ?? []);
		this.hooks.heap()?.set(view.heap !== "off");
		this.arrange(view);
		if ((view.time ?? "relative") !== this.state.clock.kind) await this.hooks.setClock(view.time ?? "relative");
		if (plain(view.filter) !== plain(this.filter.view)) {
			this.filter.read(view.filter);
			await this.filter.apply();
		}
		const thread = view.thread ? await this.selection.locate(view.thread) : null;
		this.selection.thread = thread;
		await this.panels.show(
			view.panel ?? (thread ? "thread" : view.measure || view.area ? "stats" : this.comparison ? "diff" : null),
		);
		/* The answer to Why? has moved the camera to the threads and times that it tells about. */
		if (view.from !== undefined) this.camera.show(view.from, view.to);
		if (view.row !== undefined) this.camera.look(view.row);
		if (part !== undefined && this.camera.inset && !this.state.chain.length) this.beside(part);
		this.canvasView.renew();
		this.hooks.moved();
	}

	/** Arrange the tracks as the members of a view say. If they are so already, do nothing. */
	arrange({tracks = [], counters, rows}) {
		const all = counters !== "off";
		const everyRow = rows === "all";

		if (
			plain(tracks) === plain(this.layout.list) &&
			this.state.counters.all === all &&
			this.layout.everyRow === everyRow
		)
			return;
		this.layout.everyRow = everyRow;
		this.layout.read(tracks);
		this.state.counters.all = all;
		this.hooks.relaid();
	}

	/**
	 * Show the whole trace, or the range PART {from, to} of it in ns, in the part of the picture
	 * that the panel does not cover. The focused row stays.
	 */
	beside(part) {
		const {camera} = this;
		const {focus} = camera;

		camera.fit();
		if (part) camera.showBeside(part.from, part.to);
		camera.look(focus);
	}

	/** The view that the page shows now. */
	get now() {
		const {camera} = this;
		const {thread, range, rows} = this.selection;
		const {domain, capture, file, together: several, run, stream, against, align} = this.state.view;
		const view = {
			domain,
			capture,
			file,
			together: several,
			run,
			stream,
			against,
			align,
			from: camera.from,
			to: camera.to,
			row: camera.focus,
		};

		for (const key of Object.keys(view)) if (view[key] === undefined) delete view[key];
		if (thread) view.thread = {stream: thread.stream, id: thread.id, index: thread.index};
		if (this.search.input.value) view.find = this.search.input.value;
		if (range) view.measure = range;
		if (rows) view.area = rows;
		if (this.hooks.heap() ? !this.hooks.heap().on : this.state.view.heap === "off") view.heap = "off";
		if (!this.state.counters.all) view.counters = "off";
		if (this.filter.view) view.filter = this.filter.view;
		if (this.userNotes.unkept.length) view.notes = this.userNotes.unkept;
		if (this.state.clock.kind !== "relative") view.time = this.state.clock.kind;
		if (this.layout.everyRow) view.rows = "all";
		if (this.layout.list.length) view.tracks = this.layout.list;
		if (this.panels.address) view.panel = this.panels.address;
		return view;
	}

	/**
	 * Write the URL when nothing has changed for SETTLE_MS. A write adds an entry to the browser's
	 * history, except in the cases that write() names.
	 */
	settle() {
		clearTimeout(this.settling);
		this.settling = setTimeout(() => this.write(), SETTLE_MS);
	}

	/** Write the present view to the URL now, if it differs from the URL. */
	write() {
		clearTimeout(this.settling);
		if (!this.state.summary || this.state.closed) return;
		/*
		 * Do not write a view that is only partly applied: it would add a wrong entry to the
		 * history, and delete the entries that the user can go forward to. Try again later.
		 */
		if (this.busy) return this.settle();
		/*
		 * The user has opened another URL, for which the browser calls go() next. Do not write over
		 * it.
		 */
		if (location.hash !== this.hash) return;
		const view = this.now;
		const address = format(view);
		if (address === location.hash) return;
		this.state.view = view;
		/*
		 * Replace the entry in the history at the first write, which only completes the URL that
		 * the user opened. Replace it also for a run that goes on, because its window moves without
		 * the user.
		 */
		const same = this.settled === undefined || this.state.session.live;
		history[same ? "replaceState" : "pushState"](null, "", address);
		this.settled = address;
		this.hash = location.hash;
	}
}
