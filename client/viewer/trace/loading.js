/*
 * Loading opens the source of a trace (source.js) and a session (trace-session.js), and updates the page
 * after each model that the session makes.
 */
import {format} from "../page/address.js";
import {density} from "./archive.js";
import {Counters} from "./counters.js";
import {count, rough} from "../page/times.js";
import {strips} from "../compare/guest-strips.js";
import {Session} from "./trace-session.js";
import {local, remote} from "./source.js";
import {markTails} from "./tail.js";
import {clockText, multiGuest} from "../compare/multi-guest.js";

const AGAIN_MS = 2000; /* time until the page tries again after a first load that failed, ms */
const PARTS = 1024; /* number of equal parts of the time whose events the minimap shows */

export class Loading {
	/**
	 * COMPARISON is null if the page shows one trace.
	 *
	 * hooks:
	 * - showCounter(index, shown): called after the user showed or hid a counter;
	 * - loadNotes(marks): show the notes MARKS of a capture, in the form of the API;
	 * - addHeapStrip(): add the heap above the threads; return a Promise;
	 * - clockLearnt(): called after dom0's wall time of the trace was estimated again;
	 * - failed(error): report an error.
	 */
	constructor(
		{state, services, frame, camera, canvasView, minimap, search, selection, viewUrl, comparison, layout, filter},
		hooks,
	) {
		Object.assign(this, {
			state,
			services,
			frame,
			camera,
			canvasView,
			minimap,
			search,
			selection,
			viewUrl,
			comparison,
			layout,
			filter,
			hooks,
		});
		this.ready = null;
	}

	/** Begin to load. The Promise `ready` resolves when the trace or an error is on the screen. */
	begin() {
		this.ready = this.start();
	}

	/**
	 * Open the source, load its first part, and follow it if its run goes on. Show an error of any
	 * step.
	 */
	async start() {
		try {
			this.frame.progress("Opening", null);
			const source = await this.source();
			if (!source || this.state.closed) return;
			this.frame.title(source);
			this.hooks.loadNotes(source.marks ?? []);
			this.state.session = new Session(
				source,
				{
					progress: (text, share) => this.frame.progress(text, share),
					loaded: (summary, how) => this.loaded(summary, how),
					failed: (error) => {
						this.hooks.failed(error);
						this.frame.sayLive();
					},
					recovered: (error) => {
						this.frame.recovered(error.message);
						this.frame.sayLive();
					},
					paused: () => this.frame.sayLive(),
					ended: () => this.frame.ended(),
				},
				this.services.engine,
			);
			await this.state.session.begin(this.state.view.from === undefined ? null : this.state.view);
			this.state.session.follow(this.services.events);
		} catch (error) {
			if (!this.state.closed) await this.lacks(error);
		}
	}

	/**
	 * Show ERROR, with which the first load failed. If it is passing (the server can answer again
	 * soon), load again after AGAIN_MS.
	 */
	async lacks(error) {
		if (!error.passing) return this.frame.sorry(error.message);
		this.frame.waits(error.message);
		await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
		if (this.state.closed) return;
		this.forget();
		await this.start();
	}

	/** Close the session, which may have failed, and drop its picture. */
	forget() {
		this.state.session?.close();
		this.state.session = null;
		this.state.clock.wall = null;
		this.learning = null;
		this.canvasView.forget();
	}

	/**
	 * Return a Promise of the source that the view names, or of null if it is a file that the user
	 * must choose again.
	 */
	async source() {
		const {file, api, embedded} = this.services;
		const mine = embedded?.(this.state.view);

		if (mine) return mine;
		if (this.state.view.together) return this.forComparison(await multiGuest(api, this.state.view));
		if (this.state.view.file === undefined) return this.forComparison(await remote(api, this.state.view));
		if (file && file.name === this.state.view.file) return local(file);
		this.frame.ask(this.state.view.file);
		return null;
	}

	/**
	 * Return SOURCE. If it is compared with another trace, mark it: the page then does not follow
	 * its run, and loads as much of it as possible.
	 */
	forComparison(source) {
		source.compared = Boolean(this.comparison);
		source.running &&= !this.comparison;
		return source;
	}

	/**
	 * Open FILE in this page and write its name to the URL. The change of the URL makes main.js
	 * open the page of the file.
	 */
	take(file) {
		const {state} = this;

		this.services.file = file;
		/*
		 * If the URL names this file, it may also name a view of it. The page asked for the file
		 * after a reload, so keep the view; or it shows another file of the same name.
		 */
		if (file.name === state.view.file) this.restart(state.summary ? {file: file.name} : state.view);
		else location.hash = format({file: file.name});
	}

	/**
	 * Load the file in `services` in place of the present trace, and show VIEW of it. The URL names
	 * the file already.
	 */
	restart(view) {
		this.forget();
		this.state.view = view;
		this.begin();
	}

	/** Show a new model. SUMMARY and HOW are those of the hook loaded() of trace-session.js. */
	async loaded(summary, how) {
		const {
			camera,
			canvasView,
			state: {session},
		} = this;
		const {start, end} = session.whole;
		const sticks = how === "live" && (camera.to >= camera.end || session.resumed);

		canvasView.engine = session.engine;
		const was = {span: camera.span, all: camera.from <= camera.start && camera.to >= camera.end};
		camera.trace(start, end, summary.rows);
		if (how !== "begin") this.goOn(was, sticks);
		this.state.counters =
			this.state.counters?.carry(summary.counters) ?? new Counters(summary.counters, () => {}, this.layout);
		if (how === "begin") this.state.counters.all = this.state.view.counters !== "off";
		this.state.counters.toggle = (index, shown) => this.hooks.showCounter(index, shown);
		canvasView.retrack();
		await this.comparison?.load(session.engine);
		if (this.filter.view) await this.filter.apply();
		await this.overlook();
		this.state.strips = strips(summary.streams);
		this.frame.notes(this.notes());
		this.mark(session, session.engine);
		if (how === "begin") this.hooks.addHeapStrip().catch((error) => this.state.closed || this.hooks.failed(error));
		if (how !== "live" || this.state.clock.isOld) this.learnClock();
		if (how === "begin") await this.viewUrl.apply(this.state.view);
		else await this.again();
		canvasView.renew();
	}

	/** Begin to estimate dom0's wall time of the trace. `learning` settles when it is done. */
	learnClock() {
		const {clock, session} = this.state;
		const {source, engine, abort} = session;

		if (!source.running && clock.wall) return;
		this.learning = clock.learn(this.services.api, source, engine, {signal: abort.signal}).then(
			() => this.state.closed || this.hooks.clockLearnt(),
			/* The next model tries again. setClock() tells the user, if he asks for the wall time. */
			(error) => (this.unlearnt = error),
		);
	}

	/** Return a Promise that resolves when dom0's wall time is estimated, or cannot be. */
	async wallTime() {
		if (!this.learning && this.state.summary) this.learnClock();
		await this.learning;
	}

	/** The sentence that says why dom0's wall time of the trace is not known. */
	get noWallTime() {
		const {clock, session} = this.state;
		const {title, api} = session.source;

		if (!clock.wall && this.unlearnt)
			return `The wall time of ${title} could not be asked: ${this.unlearnt.message}`;
		return !api
			? `The file ${title} does not say dom0's wall time; times stay since the start.`
			: `Dom0's wall time of ${title} is not known yet: no packet of it was copied at a time that bounds it.`;
	}

	/**
	 * Mark the parts of the streams that are not proven (tail.js). This asks the server, so the
	 * picture is on the screen before it is done.
	 */
	async mark(session, engine) {
		try {
			const tails = await markTails(session.source, engine);

			if (session.engine === engine) this.state.tails = tails;
			this.canvasView.renew();
		} catch (error) {
			/*
			 * Another model may have replaced ENGINE meanwhile, and closed it. Report only errors
			 * of the present engine.
			 */
			if (session.engine === engine && !this.state.closed) this.hooks.failed(error);
		}
	}

	/**
	 * Move the camera after new data of a run that goes on. WAS is the window before: {span in ns,
	 * all: true if it showed the whole trace}. STICKS is true if the window showed the end of the
	 * trace. Such a window shows the new end with the same length, or the whole trace if it showed
	 * all. Another window stays.
	 */
	goOn(was, sticks) {
		if (sticks && was.all) this.camera.fit();
		else if (sticks) this.camera.showEnd(was.span);
	}

	/** Update the number of events over time that the minimap shows. */
	async overlook() {
		const {
			camera,
			minimap,
			state: {session},
		} = this;
		const first = camera.start > 0n ? camera.start : 0n;
		const parts = Math.max(
			1,
			Number(((camera.end + 1n - first) * BigInt(PARTS)) / (camera.end + 1n - camera.start)),
		);
		let bars;

		if (session.loaded) {
			bars = density(session.overview);
		} else {
			/*
			 * A compared trace may begin before 0. The model has no events there, so the first bars
			 * stay 0.
			 */
			bars = new Uint32Array(PARTS);
			bars.set(await session.engine.density(first, camera.end + 1n, parts), PARTS - parts);
		}
		minimap.trace(camera.start, camera.end, bars, session.loaded);
	}

	/** Return sentences for the user about data that the trace lacks. */
	notes() {
		const {summary, notes, source, loaded} = this.state.session;
		const {totals} = summary;
		const out = [
			...notes,
			...(this.state.session.source.guests ?? []).filter((it) => !it.known).map((it) => `${clockText(it)}.`),
		];

		if (totals.clock_back_ns)
			out.push(
				`The clock went back ${totals.clock_backs > 1 ? `${totals.clock_backs} times, at most ` : ""}` +
					`${rough(totals.clock_back_ns)} at ${this.state.clock.at(totals.clock_back_at)}: ` +
					`times before and behind ${totals.clock_backs > 1 ? "these" : "that"} are not comparable.`,
			);
		if (!totals.events)
			out.push(`There are no events yet: ${source.title} records none, or was built without tracing.`);
		if (totals.lost_packets && !notes.some((it) => / (was|were) lost/.test(it)))
			out.push(`${count(totals.lost_packets, "packet is", "packets are")} missing; the picture shows where.`);
		if (totals.unknown_texts)
			out.push(
				`${count(totals.unknown_texts, "interned text is", "interned texts are")} not in the trace: # and a number ` +
					"stand there.",
			);
		if (totals.unproven_events)
			out.push(
				`${count(totals.unproven_events, "event", "events")} behind damage, to the ends of their packets: unproven.`,
			);
		if (totals.skipped_extras)
			out.push(`${count(totals.skipped_extras, "event", "events")} of an unknown kind skipped: mprofd is older.`);
		out.push(...summary.damages.slice(0, 20).map((it) => `Damage: ${it}.`));
		if (loaded)
			out.push(
				"The run is too long to load whole: the strip below shows all of it, and the part that you go to is loaded.",
			);
		return out;
	}

	/**
	 * Select the same thread and repeat the search in a new model, in which threads have other
	 * indices.
	 */
	async again() {
		const {selection} = this;

		if (this.search.input.value) await this.search.search(this.search.input.value);
		if (!selection.thread) return;
		selection.thread = await selection.locate(selection.thread);
		if (selection.thread && selection.family !== null) await selection.highlight(selection.thread.index);
		this.canvasView.changed();
	}
}
