/* The view of a trace, both ways: applied to the page and written to the URL. */
import {format, sameTrace} from "../page/address.js";

const SETTLE_MS = 300;
const NEWEST_NS = 5000000000n; /* shown first of a running guest */
const FEW_EVENTS = 20000; /* up to here a whole trace is shown first */
const LAST_EVENTS = 2000; /* shown first of a longer one that has ended */
const PARTS = 65536; /* of the trace, in which they are counted */

const plain = (value) => JSON.stringify(value ?? null, (_, it) => (typeof it === "bigint" ? String(it) : it));

/** Return the first part from which on COUNTS, items by time, have at least N, but not less than two parts. */
export function lastActivity(counts, n) {
	let sum = 0;
	let i = counts.length;

	while (i > 0 && sum < n) sum += counts[--i];
	return Math.min(i, Math.max(0, counts.length - 2));
}

export class ViewUrl {
	/** COMPARISON: null without one. hooks: heap() -> the strip or null, moved(), failed(error) */
	constructor({state, camera, canvasView, search, selection, panels, comparison}, hooks) {
		Object.assign(this, {state, camera, canvasView, search, selection, panels, comparison, hooks});
		this.busy = 0;
		this.applying = Promise.resolve();
		this.hash = location.hash; /* hash that was written or followed last */
	}

	/** Stop writing. */
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
	 * Focus the median of the drawn thread lengths. With many rows the middle one is rarely useful.
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
	 * Return the part to show first, null: all. Of a running guest it is the newest seconds, of an
	 * ended one that recorded much its last activity.
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

		/* A little behind the end, so that its mark is seen. */
		return {from: first, to: end + (end - first) / 32n + 1n};
	}

	/** Show the whole trace, or a PART of it. */
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
	 * Apply VIEW after the views before it, since two at a time would mix. If several
	 * views wait, only the newest is applied. `busy` counts the views under way.
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
		const thread = view.thread ? await this.selection.locate(view.thread) : null;
		this.selection.thread = thread;
		await this.panels.show(
			view.panel ?? (thread ? "thread" : view.measure ? "stats" : this.comparison ? "diff" : null),
		);
		if (part !== undefined && this.camera.inset) this.beside(part);
		this.canvasView.renew();
		this.hooks.moved();
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

	/** Return the current view. */
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
		if (this.panels.address) view.panel = this.panels.address;
		return view;
	}

	/** Write the URL once the input rests. Each write is a history entry. */
	settle() {
		clearTimeout(this.settling);
		this.settling = setTimeout(() => this.write(), SETTLE_MS);
	}

	write() {
		clearTimeout(this.settling);
		if (!this.state.summary || this.state.closed) return;
		/*
		 * A partly applied view is no history entry, and writing one would drop the entries ahead.
		 */
		if (this.busy) return this.settle();
		/* Another address may be set already; the page is about to be told. */
		if (location.hash !== this.hash) return;
		const view = this.now;
		const address = format(view);
		if (address === location.hash) return;
		this.state.view = view;
		/*
		 * The first write completes the address, and a running run moves by itself: both replace
		 * the entry.
		 */
		const same = this.settled === undefined || this.state.session.live;
		history[same ? "replaceState" : "pushState"](null, "", address);
		this.settled = address;
		this.hash = location.hash;
	}
}
