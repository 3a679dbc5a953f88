/* Load a trace: open its source and its session, and update the page after each loaded model. */
import {format} from "../page/address.js";
import {density} from "./archive.js";
import {Counters} from "./counters.js";
import {count} from "../page/times.js";
import {strips} from "../compare/guest-strips.js";
import {Session} from "./session.js";
import {local, remote} from "./source.js";
import {markTails} from "./tail.js";
import {clockText, multiGuest} from "../compare/multi-guest.js";

const AGAIN_MS = 2000; /* ms until a first load that failed is tried again */
const PARTS = 1024; /* number of parts of the minimap */

export class Loading {
	/**
	 * COMPARISON is null without a second trace. hooks: showCounter(index, shown), addHeapStrip()
	 * -> Promise, failed(error)
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

	/** Begin to load. The Promise `ready` settles when the trace or an error is shown. */
	begin() {
		this.ready = this.start();
	}

	async start() {
		try {
			this.frame.progress("Opening", null);
			const source = await this.source();
			if (!source || this.state.closed) return;
			this.frame.title(source);
			this.state.session = new Session(
				source,
				{
					progress: (text, share) => this.frame.progress(text, share),
					loaded: (summary, how) => this.loaded(summary, how),
					failed: (error) => this.hooks.failed(error),
					recovered: (error) => this.frame.recovered(error.message),
					paused: (on) => this.frame.sayPause(on),
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

	/** Show ERROR of the first load. If the server may answer soon, try again. */
	async lacks(error) {
		if (!error.passing) return this.frame.sorry(error.message);
		this.frame.waits(error.message);
		await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
		if (this.state.closed) return;
		this.forget();
		await this.start();
	}

	/** Close the session. It may have failed in its first load. */
	forget() {
		this.state.session?.close();
		this.state.session = null;
		this.canvasView.forget();
	}

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
	 * Prepare SOURCE for a comparison, if there is one: it is not followed, and as much of it as
	 * possible is loaded.
	 */
	forComparison(source) {
		source.compared = Boolean(this.comparison);
		source.running &&= !this.comparison;
		return source;
	}

	/** Open FILE in this page and write its name to the address. */
	take(file) {
		this.services.file = file;
		const address = format({file: file.name});
		if (location.hash === address) this.restart();
		else location.hash = address;
	}

	restart() {
		this.forget();
		this.state.view = {file: this.services.file.name};
		this.begin();
	}

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
		if (how === "begin") await this.viewUrl.apply(this.state.view);
		else await this.again();
		canvasView.renew();
	}

	/**
	 * Find and mark the unproven parts of the streams. The picture is shown before this is done.
	 */
	async mark(session, engine) {
		try {
			const tails = await markTails(session.source, engine);

			if (session.engine === engine) this.state.tails = tails;
			this.canvasView.renew();
		} catch (error) {
			/*
			 * ENGINE may have been replaced and closed. Report only errors of the present engine.
			 */
			if (session.engine === engine && !this.state.closed) this.hooks.failed(error);
		}
	}

	/**
	 * Move the window of a running run after new data came. WAS is the window before, and STICKS is
	 * true if it showed the end. A window that showed the whole trace shows the whole trace again.
	 */
	goOn(was, sticks) {
		if (sticks && was.all) this.camera.fit();
		else if (sticks)
			this.camera.show(this.camera.widest + this.camera.end - was.span, this.camera.widest + this.camera.end);
	}

	/** Update the density that the minimap shows. */
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
			 * The model has no time before 0, but a compared trace may begin there: leave these
			 * bars empty.
			 */
			bars = new Uint32Array(PARTS);
			bars.set(await session.engine.density(first, camera.end + 1n, parts), PARTS - parts);
		}
		minimap.trace(camera.start, camera.end, bars, session.loaded);
	}

	/** Return sentences on what is missing in the trace. */
	notes() {
		const {summary, notes, source, loaded} = this.state.session;
		const {totals} = summary;
		const out = [
			...notes,
			...(this.state.session.source.guests ?? []).filter((it) => !it.known).map((it) => `${clockText(it)}.`),
		];

		if (!totals.events)
			out.push(`There are no events yet: ${source.title} records none, or was built without tracing.`);
		if (totals.lost_packets && !notes.some((it) => / (was|were) lost/.test(it)))
			out.push(`${count(totals.lost_packets, "packet is", "packets are")} missing; the picture shows where.`);
		out.push(...summary.damages.slice(0, 20).map((it) => `Damage: ${it}.`));
		if (loaded)
			out.push(
				"The run is too long to load whole: the strip below shows all of it, and the part that you go to is loaded.",
			);
		return out;
	}

	/** After a new model, select the same thread and search for the same text again. */
	async again() {
		const {selection} = this;

		if (this.search.input.value) await this.search.search(this.search.input.value);
		if (!selection.thread) return;
		selection.thread = await selection.locate(selection.thread);
		if (selection.thread && selection.family !== null) await selection.highlight(selection.thread.index);
		this.canvasView.changed();
	}
}
