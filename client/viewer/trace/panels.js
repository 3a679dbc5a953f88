/*
 * The contents of the panel beside the picture. A content has a name: "thread", "below", "diff",
 * "why", "counters", "threads", "stats", "notes", "trace" or "help". The method of this name returns a
 * Promise of [title, nodes]. PANELS are the names that the URL can have.
 */
import {PANELS} from "../page/address.js";
import {shown} from "../page/guest-text.js";
import {help} from "./keys.js";
import {make} from "../page/make.js";
import {measured} from "./measure.js";
import {comparisonPanel, counterpart} from "../compare/comparison-panel.js";
import {Panel, called, story} from "./panel.js";
import {download, fileName} from "./save.js";
import {ThreadsTable, longestInView} from "./threads.js";
import {bytes, count, span} from "../page/times.js";
import {answerNodes, chain, told} from "./why.js";

/* Least distance of the first and the last time of an answer at which both can be seen, pixels. */
const TOLD_LEAST = 60;

/**
 * Return a sentence, as a node, for each of TAILS, the unproven ends of streams (tail.js). SUMMARY and
 * CLOCK are of their trace. BEFORE is the beginning of the sentences.
 */
function unproven(tails, {streams}, clock, before = "") {
	return tails.map(({stream, time}) => {
		const name = streams[stream].name ? `${shown(streams[stream].name)}: ` : "";

		return make("p", {
			textContent:
				`${before}${name}from ${clock.at(time)} on, the trace is not proven. mprofd copied these bytes ` +
				"when the guest had stopped, and the guest may have been inside of an event.",
		});
	});
}

/* The kinds of captures at a guest's end -> the sentence on it. */
const ENDS = {
	crash: "The guest crashed",
	watchdog: "Its watchdog stopped the guest",
	poweroff: "The guest powered off",
	reboot: "The guest rebooted",
	destroyed: "The guest was destroyed",
};

export class Panels {
	/**
	 * COMPARISON is null if the page shows one trace.
	 *
	 * hooks:
	 * - heap(): return the heap strip, or null;
	 * - palette(): return the colours;
	 * - tracks(): return a Promise of nodes that choose tracks and filter threads;
	 * - userNotes(): return the UserNotes (user-notes.js);
	 * - notes(): return sentences on missing data;
	 * - pressed(name): called with the name of the open panel, or null;
	 * - moved(): called after the camera moved;
	 * - approach(time): show TIME, ns, and the events around it;
	 * - settle(): write the URL;
	 * - failed(error): report an error;
	 * - context(capture): show the console and the XenStore of a capture; null without a server.
	 */
	constructor({state, camera, canvasView, selection, comparison}, hooks) {
		Object.assign(this, {state, camera, canvasView, selection, comparison, hooks});
		this.measured = null; /* what the shown numbers are of: {from, to: ns, engine} */
		this.kept = {}; /* the tables of the numbers, by caption: their order and filter outlive a move */
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
	 * "help" can be shown. The method of this name returns a Promise of [title, nodes], and of a
	 * function that is called when they are shown, if there is one.
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
			const [title, nodes, opened] = await this[name]();
			if (this.turn !== turn) return;
			this.panel.open(name, title, ...nodes);
			opened?.();
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

	/** The functions that a click on a thread or on a time of a sentence calls; see panel.js. */
	get goes() {
		return {thread: (index) => this.select(index), time: (time) => this.hooks.approach(time)};
	}

	/**
	 * Move the camera to the times RANGE {from, to}, ns, that an answer tells about, unless they are in
	 * view beside the panel and can be told apart.
	 */
	showTold(range) {
		const {camera} = this;

		if (!range || camera.tells(range.from, range.to, TOLD_LEAST)) return;
		const margin = (range.to - range.from) / 2n + 1n;
		camera.showBeside(range.from - margin, range.to + margin);
	}

	/** Select the thread IT, which is named as for Selection.locate(). */
	async choose(it) {
		const thread = await this.selection.locate(it);

		if (thread) this.select(thread.index);
	}

	/** The selected thread. */
	async thread() {
		const {selection, comparison} = this;
		const {thread} = selection;

		if (!thread)
			return [
				"No thread is selected",
				[make("p", {textContent: "Click a thread, or press j and k to go through those in view."})],
			];
		const nodes = story(thread, this.state.clock, this.goes);
		if (comparison?.diff) nodes.splice(thread.story.length, 0, counterpart(comparison, "bad", thread.index));
		return [called(thread), nodes];
	}

	/** The thread that is selected in the lower trace of a comparison. */
	async below() {
		const {comparison} = this;
		const {thread} = comparison;
		const nodes = story(thread, comparison.clock, {
			thread: (index) => comparison.select(index, {reveal: true}),
			time: (time) => comparison.approach(time).catch(this.hooks.failed),
		});

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
		const nodes = [...(await this.ending()), ...answerNodes(answers, this.goes, this.state.clock)];

		/* How much of the picture the panel covers is known when it is open. */
		return ["Why does it wait?", nodes, () => this.showChain(told(answers.answers))];
	}

	/** Focus the rows of the chain, and show the TIMES that its answer tells about; see told(). */
	showChain(times) {
		const rows = this.state.chain.map((it) => it.row);

		if (!rows.length) return;
		this.camera.look((Math.min(...rows) + Math.max(...rows)) / 2);
		this.showTold(times);
		this.hooks.moved();
	}

	/**
	 * Return a Promise of nodes on the guest's end: the reason, and a button that shows what the
	 * capture of its end has beside the trace, such as its console.
	 */
	async ending() {
		const {source} = this.state.session;
		const {context} = this.hooks;
		/* The panel has an answer without it, too. */
		const capture = context ? await source.endCapture?.().catch(() => null) : null;

		if (!capture) return [];
		return [
			make(
				"p",
				{},
				`${ENDS[capture.kind] ?? "The guest ended"}. `,
				make("button", {
					type: "button",
					className: "tl-link",
					textContent: "Its console and its XenStore",
					onclick: () => context(capture),
				}),
			),
		];
	}

	/** The choice of tracks, threads and counters. */
	async counters() {
		const nodes = await this.hooks.tracks();

		const below = this.comparison?.counters?.without(this.state.counters);

		return [
			"Tracks",
			[
				...nodes,
				await this.state.counters.node(this.saver("counters")),
				...(below?.counters.length
					? [make("h3", {textContent: "Only below"}), await below.node(this.saver("counters-below"))]
					: []),
			],
		];
	}

	/** The threads in view, as a table. */
	async threads() {
		this.threadsTable = new ThreadsTable(this.state.clock, (index) => this.select(index), this.saver("threads"));
		await this.showThreads();
		return ["Threads in view", this.threadsTable.nodes];
	}

	/** Show what is in view now, if the open panel is about that. */
	async renew() {
		if (this.name === "threads") await this.showThreads();
		await this.renewStats();
	}

	async showThreads() {
		const {canvasView} = this;

		/*
		 * Thread indices differ between models. If the picture is of an older model, wait for one
		 * of the present model.
		 */
		if (canvasView.shown && canvasView.shown.engine !== canvasView.engine) await canvasView.painted();
		const {shown} = canvasView;
		await this.threadsTable.show(shown ? longestInView(shown.marks) : {indices: [], all: 0}, this.state.engine);
	}

	/** Return a function that saves a text as the CSV file of the table NAME. */
	saver(name) {
		return (text) =>
			download(
				new Blob([text], {type: "text/csv"}),
				fileName(`${this.state.session.source.name}-${name}`, "csv"),
			);
	}

	/** The part {from, to} of the trace, ns, that the numbers are of: the selected range, or what is in view. */
	get measures() {
		const {camera, selection} = this;

		return (
			selection.range ?? {
				from: camera.from > camera.start ? camera.from : camera.start,
				to: camera.to < camera.end ? camera.to : camera.end,
			}
		);
	}

	/**
	 * Show the numbers of what is in view now, if the panel has those of another view or of an older
	 * model.
	 */
	async renewStats() {
		const {measured: was, measures: is} = this;

		if (
			this.name !== "stats" ||
			this.selection.range ||
			(was?.from === is.from && was.to === is.to && was.engine === this.state.engine)
		)
			return;
		const {turn} = this;
		const [title, nodes] = await this.stats();
		/* Another content, or the numbers of a newer view, may have been asked for meanwhile. */
		const {measured} = this;
		const isNewest = measured.from === is.from && measured.to === is.to;
		if (this.turn === turn && this.name === "stats" && isNewest) this.panel.renew(title, ...nodes);
	}

	/** The numbers of the selected area, or of the window. */
	async stats() {
		const {
			camera,
			selection,
			state: {session, clock},
		} = this;
		const {range, rows} = selection;
		const what = this.measures;

		this.measured = {...what, engine: session.engine};
		if (this.name !== "stats") this.kept = {};
		return [
			rows ? "The selected area" : range ? "The selected range" : "In view",
			[
				...(await measured(
					{...what, firstRow: rows?.first, lastRow: rows?.last, rows: camera.rows},
					session.engine,
					clock,
					{
						choose: (it) => this.choose(it),
						select: (index) => this.select(index),
						rows: (first, last) => selection.setRows(first, last),
						go: this.goes,
						sheet: (name) => ({save: this.saver(name), kept: this.kept}),
					},
					session.source.clock,
				)),
				...((await this.hooks.heap()?.measured(what)) ?? []),
			],
		];
	}

	/** The user's notes. */
	async notes() {
		return ["Notes", this.hooks.userNotes().nodes()];
	}

	/** Return elements that say what the trace contains, where it comes from, and what it lacks. */
	async trace() {
		const {session} = this.state;
		const {summary, source} = session;
		const {totals} = summary;
		const rows = [
			["Begins", this.state.clock.everywhere(summary.start)],
			["Ends", this.state.clock.everywhere(summary.end)],
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
				...unproven(this.state.tails, summary, this.state.clock),
				...(this.comparison
					? unproven(this.comparison.tails, this.comparison.summary, this.comparison.clock, "Below: ")
					: []),
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
