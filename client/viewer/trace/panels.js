/*
 * The contents of the panel beside the picture. A content has a name: "thread", "below", "diff",
 * "why", "counters", "threads", "stats", "trace" or "help". The method of this name returns a
 * Promise of [title, nodes]. PANELS are the names that the URL can have.
 */
import {PANELS} from "../page/address.js";
import {shown} from "../page/guest-text.js";
import {help} from "./keys.js";
import {make} from "../page/make.js";
import {measured} from "./measure.js";
import {comparisonPanel, counterpart} from "../compare/comparison-panel.js";
import {Panel, called, story} from "./panel.js";
import {inView, list} from "./threads.js";
import {bytes, count, exact, span} from "../page/times.js";
import {chain, told} from "./why.js";

export class Panels {
	/**
	 * COMPARISON is null if the page shows one trace.
	 *
	 * hooks:
	 * - heap(): return the heap strip, or null;
	 * - palette(): return the colours;
	 * - tracks(): return a Promise of nodes that choose tracks and filter threads;
	 * - notes(): return sentences on missing data;
	 * - pressed(name): called with the name of the open panel, or null;
	 * - moved(): called after the camera moved;
	 * - settle(): write the URL;
	 * - failed(error): report an error.
	 */
	constructor({state, camera, canvasView, selection, comparison}, hooks) {
		Object.assign(this, {state, camera, canvasView, selection, comparison, hooks});
		this.panel = new Panel({
			closed: () => this.closed(),
			sized: () => (camera.inset = this.panel.covers),
		});
		this.element = this.panel.element;
	}

	/** Name of the open content, or null. */
	get name() {
		return this.panel.name;
	}

	/**
	 * Name of the open content for the URL; null if none is open or the URL cannot name it. The URL
	 * names the selected thread by itself, so "thread" needs no name.
	 */
	get address() {
		return PANELS.includes(this.name) ? this.name : null;
	}

	/** Update the page after the panel was closed. */
	closed() {
		this.turn = {};
		this.state.chain = [];
		this.hooks.pressed(null);
		this.canvasView.changed();
		this.hooks.settle();
	}

	close() {
		this.panel.close();
	}

	/** Show the content NAME. If it is open, close the panel. */
	flip(name) {
		if (this.name === name) this.close();
		else this.show(name);
	}

	/**
	 * Show the content NAME, or close the panel if NAME is null. Before a trace is loaded, only
	 * "help" can be shown.
	 */
	async show(name) {
		if (name === null) return this.close();
		if (name !== "help" && !this.state.summary) return;
		/*
		 * Making the content takes time. If the user opens another content meanwhile, drop this
		 * one.
		 */
		const turn = (this.turn = {});
		if (name !== "why" && this.state.chain.length) {
			this.state.chain = [];
			this.canvasView.changed();
		}
		try {
			const [title, nodes] = await this[name]();
			if (this.turn !== turn) return;
			this.panel.open(name, title, ...nodes);
			this.hooks.pressed(name);
			this.hooks.settle();
		} catch (error) {
			this.hooks.failed(error);
		}
	}

	/** Select the thread INDEX and move the camera to it. */
	select(index) {
		this.selection.select(index, {reveal: true});
	}

	/** Select the thread IT, which is named as for Selection.locate(). */
	async choose(it) {
		const thread = await this.selection.locate(it);

		if (thread) this.select(thread.index);
	}

	/** The selected thread. */
	async thread() {
		const {selection, camera, comparison} = this;
		const {thread} = selection;

		if (!thread)
			return [
				"No thread is selected",
				[make("p", {textContent: "Click a thread, or press j and k to go through those in view."})],
			];
		const nodes = story(thread, camera.start, (index) => this.select(index));
		if (comparison?.diff) nodes.splice(thread.story.length, 0, counterpart(comparison, "bad", thread.index));
		return [called(thread), nodes];
	}

	/** The thread that is selected in the lower trace of a comparison. */
	async below() {
		const {comparison} = this;
		const {thread} = comparison;
		const nodes = story(thread, comparison.camera.start, (index) => comparison.select(index, {reveal: true}));

		nodes.splice(thread.story.length, 0, counterpart(comparison, "good", thread.index));
		return [`Below: ${called(thread)}`, nodes];
	}

	/** The differences between two traces. */
	async diff() {
		const {comparison} = this;

		return [
			"Differences",
			comparison?.diff
				? comparisonPanel(comparison)
				: [
						make("p", {
							textContent: "Nothing is compared: tick two guests or captures on the page of all guests.",
						}),
					],
		];
	}

	/**
	 * Why the selected thread waits, or each thread that was never resolved. The threads that wait
	 * are marked in the picture, and the camera's focus moves to them.
	 */
	async why() {
		const {engine} = this.state;
		const answers = await engine.why(this.selection.thread?.index ?? null);

		this.state.chain = await chain(answers.answers, (index) => engine.thread(index), this.camera.end);
		if (this.state.chain.length) {
			const rows = this.state.chain.map((it) => it.row);
			this.camera.look((Math.min(...rows) + Math.max(...rows)) / 2);
			this.hooks.moved();
		}
		return ["Why does it wait?", told(answers, (index) => this.select(index), this.camera.start)];
	}

	/** The choice of tracks, threads and counters. */
	async counters() {
		const nodes = await this.hooks.tracks();

		return ["Tracks", [...nodes, make("h3", {textContent: "Counters"}), this.state.counters.node()]];
	}

	/** The threads in view, as a list. */
	async threads() {
		const {canvasView, camera} = this;

		/*
		 * Thread indices differ between models. If the picture is of an older model, wait for one
		 * of the present model.
		 */
		if (canvasView.shown && canvasView.shown.engine !== canvasView.engine) await canvasView.painted();
		const indices = canvasView.shown ? inView(canvasView.shown.marks) : [];

		return [
			"Threads in view",
			[await list(indices, this.state.engine, camera.start, (index) => this.select(index))],
		];
	}

	/** The numbers of the selected range, or of the window. */
	async stats() {
		const {
			camera,
			selection,
			state: {session},
		} = this;
		const {range} = selection;
		const what = range ?? {
			from: camera.from > camera.start ? camera.from : camera.start,
			to: camera.to < camera.end ? camera.to : camera.end,
		};
		const stats = await session.engine.stats(what.from, what.to);

		return [
			range ? "The selected range" : "In view",
			[
				...measured(what, stats, camera.start, (it) => this.choose(it), session.source.clock),
				...((await this.hooks.heap()?.measured(what)) ?? []),
			],
		];
	}

	/** What the trace contains, where it comes from, and what it lacks. */
	async trace() {
		const {session} = this.state;
		const {summary, source} = session;
		const {totals} = summary;
		const rows = [
			["Begins", exact(summary.start)],
			["Ends", exact(summary.end)],
			["Lasts", span(summary.end - summary.start)],
			["Events", totals.events.toLocaleString("en")],
			["Threads", (totals.threads ?? summary.rows).toLocaleString("en")],
			["Packets", totals.packets.toLocaleString("en")],
			["Packets lost", totals.lost_packets.toLocaleString("en")],
			["Bytes", bytes(totals.bytes)],
			["Streams", summary.streams.map((it) => it.name || "one").join(", ")],
		];
		const notes = this.hooks.notes();

		return [
			source.title,
			[
				make("p", {textContent: source.about}),
				...[...(source.tells ?? []), ...(this.hooks.heap()?.tells ?? [])].map((text) =>
					make("p", {textContent: text}),
				),
				...this.state.tails.map(({stream, time}) =>
					make("p", {
						textContent:
							`${this.state.summary.streams[stream].name ? `${shown(this.state.summary.streams[stream].name)}: ` : ""}` +
							`from +${span(time - this.camera.start)} on, the trace is not proven. mprofd copied these bytes ` +
							"when the guest had stopped, and the guest may have been inside of an event.",
					}),
				),
				...(source.lacks ? [make("p", {textContent: source.lacks})] : []),
				make(
					"table",
					{className: "tl-table"},
					make(
						"tbody",
						{},
						...rows.map(([key, value]) =>
							make(
								"tr",
								{},
								make("th", {scope: "row", textContent: key}),
								make("td", {textContent: value}),
							),
						),
					),
				),
				...notes.map((text) => make("p", {textContent: text})),
				...(summary.damages.length > 20
					? [
							make("p", {
								className: "tl-quiet",
								textContent: `and ${count(summary.damages.length - 20, "further damage", "further damages")}`,
							}),
						]
					: []),
			],
		];
	}

	/** The signs, keys and pointer gestures. */
	async help() {
		return ["Help", [help(this.hooks.palette())]];
	}
}
