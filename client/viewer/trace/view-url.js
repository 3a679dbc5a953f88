/* The view of a trace: apply a view to the page, and write the present view to the URL. */
import {format, sameTrace} from "../page/address.js";

const SETTLE_MS = 300;
const NEWEST_NS = 5000000000n; /* ns at the end of a running guest's trace that are shown first */
const FEW_EVENTS = 20000; /* a trace with up to this many events is shown whole at first */
const LAST_EVENTS = 2000; /* events at the end of a longer trace that are shown first */
const PARTS = 65536; /* number of parts of the trace in which events are counted */

const plain = (value) => JSON.stringify(value ?? null, (_, it) => (typeof it === "bigint" ? String(it) : it));

/**
 * Return the index of the part from which on COUNTS (events in equal parts of time) have at least N
 * events in sum. At least the last two parts are included.
 */
export function lastActivity(counts, n) {
	let sum = 0;
	let i = counts.length;

	while (i > 0 && sum < n) sum += counts[--i];
	return Math.min(i, Math.max(0, counts.length - 2));
}

export class ViewUrl {
	/**
	 * COMPARISON is null without a second trace. LAYOUT is that of the tracks, FILTER that of the
	 * threads. hooks: heap() -> the
	 * heap strip or null, relaid(): the layout changed, moved(): the camera moved, failed(error)
	 */
	constructor({state, camera, canvasView, search, selection, panels, comparison, layout, filter}, hooks) {
		Object.assign(this, {state, camera, canvasView, search, selection, panels, comparison, layout, filter, hooks});
		this.busy = 0;
		this.applying = Promise.resolve();
		this.hash = location.hash; /* hash of the address that was last written or followed */
	}

	/** Stop writing the URL. */
	close() {
		clearTimeout(this.settling);
	}

	go(view) {
		if (!sameTrace(view, this.state.view)) return false;
		this.hash = location.hash;
		this.state.view = view;
		if (this.state.summary) this.apply(view).catch((error) => this.state.closed || this.hooks.failed(error));
		return true;
	}

	/**
	 * Set the focus to the row at the median of the drawn line lengths. Among many rows the middle
	 * one often shows nothing.
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
	 * Return a Promise of the part {from, to} to show first, or of null for all. For a running
	 * guest this is the newest seconds. For an ended guest with many events it is the last events.
	 */
	async opening() {
		const {session} = this.state;
		const {source, loaded, summary, engine} = session;
		const {end} = session.whole;
		const begin = loaded ? loaded.from : summary.start;

		if (this.comparison || source.file) return loaded;
		if (source.running) return end - begin > NEWEST_NS ? {from: end - NEWEST_NS, to: end + 1n} : loaded;
		if (!source.death || summary.totals.events <= FEW_EVENTS) return loaded;
		const counts = await engine.density(summary.start, summary.end + 1n, PARTS);
		const from = lastActivity(counts, LAST_EVENTS);
		const first = summary.start + ((summary.end + 1n - summary.start) * BigInt(from)) / BigInt(PARTS);

		/* The window ends a little after the trace, so that the mark of its end can be seen. */
		return {from: first, to: end + (end - first) / 32n + 1n};
	}

	/** Show the whole trace, or PART {from, to} of it. */
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
	 * Apply VIEW after the views that are being applied, because two at a time would mix. If
	 * several views wait, only the newest is applied. `busy` counts the views that are being
	 * applied.
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

	async see(view) {
		if (this.comparison && plain(view.align) !== plain(this.comparison.how))
			await this.comparison.align(view.align);
		const part = view.from === undefined ? await this.opening() : undefined;
		if (part !== undefined) await this.fit(part);
		else this.camera.show(view.from, view.to);
		if (view.row !== undefined) this.camera.look(view.row);
		if ((view.find ?? "") !== this.search.input.value) await this.search.set(view.find ?? "");
		this.selection.range = view.measure ?? null;
		this.hooks.heap()?.set(view.heap !== "off");
		this.arrange(view);
		if (plain(view.filter) !== plain(this.filter.view)) {
			this.filter.read(view.filter);
			await this.filter.apply();
		}
		const thread = view.thread ? await this.selection.locate(view.thread) : null;
		this.selection.thread = thread;
		await this.panels.show(
			view.panel ?? (thread ? "thread" : view.measure ? "stats" : this.comparison ? "diff" : null),
		);
		if (part !== undefined && this.camera.inset) this.beside(part);
		this.canvasView.renew();
		this.hooks.moved();
	}

	/** Arrange the tracks as in VIEW. */
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

	/** Show the whole trace, or a PART of it, beside the panel of the first view. The rows stay. */
	beside(part) {
		const {camera} = this;
		const {focus, width, inset} = camera;

		camera.fit();
		if (part) {
			const length = part.to - part.from;

			camera.show(part.from, part.from + (length * BigInt(width)) / BigInt(Math.max(1, width - inset)));
		}
		camera.look(focus);
	}

	/** Return the present view. */
	get now() {
		const {camera} = this;
		const {thread, range} = this.selection;
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
		if (this.hooks.heap() ? !this.hooks.heap().on : this.state.view.heap === "off") view.heap = "off";
		if (!this.state.counters.all) view.counters = "off";
		if (this.filter.view) view.filter = this.filter.view;
		if (this.layout.everyRow) view.rows = "all";
		if (this.layout.list.length) view.tracks = this.layout.list;
		if (this.panels.address) view.panel = this.panels.address;
		return view;
	}

	/** Write the URL when the input has rested for SETTLE_MS. Each write is a history entry. */
	settle() {
		clearTimeout(this.settling);
		this.settling = setTimeout(() => this.write(), SETTLE_MS);
	}

	write() {
		clearTimeout(this.settling);
		if (!this.state.summary || this.state.closed) return;
		/*
		 * A view that is only partly applied must not be written: it would make a wrong history
		 * entry, and drop the entries after the present one.
		 */
		if (this.busy) return this.settle();
		/* If the hash differs, the user has opened another address, and go() will be called. */
		if (location.hash !== this.hash) return;
		const view = this.now;
		const address = format(view);
		if (address === location.hash) return;
		this.state.view = view;
		/*
		 * Replace the history entry at the first write, which completes the address, and for a run
		 * that goes on, whose window moves by itself.
		 */
		const same = this.settled === undefined || this.state.session.live;
		history[same ? "replaceState" : "pushState"](null, "", address);
		this.settled = address;
		this.hash = location.hash;
	}
}
