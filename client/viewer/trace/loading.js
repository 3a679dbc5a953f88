/* How a trace comes onto the screen: its source, its session, and what changes with each model that is loaded. */
import {format} from "../page/address.js";
import {density} from "./archive.js";
import {Counters} from "./counters.js";
import {strips} from "../compare/guests.js";
import {Session} from "./session.js";
import {local, remote} from "./source.js";
import {markTails} from "./tail.js";
import {clockWords, together} from "../compare/together.js";

const PARTS = 1024; /* of the strip */

export class Loading {
	constructor(timeline) {
		this.timeline = timeline;
	}

	async start() {
		const {timeline} = this;

		try {
			timeline.frame.progress("Opening", null);
			const source = await this.source();
			if (!source || timeline.closed) return;
			timeline.frame.title(source);
			timeline.session = new Session(
				source,
				{
					progress: (text, share) => timeline.frame.progress(text, share),
					loaded: (summary, how) => this.loaded(summary, how),
					failed: (error) => timeline.failed(error),
					paused: (on) => timeline.frame.sayPause(on),
					ended: () => timeline.frame.ended(),
				},
				timeline.services.engine,
			);
			await timeline.session.begin(timeline.view.from === undefined ? null : timeline.view);
			timeline.session.follow(timeline.services.events);
		} catch (error) {
			if (!timeline.closed) timeline.frame.sorry(error.message);
		}
	}

	async source() {
		const {timeline} = this;
		const {file, api, held} = timeline.services;
		const mine = held?.(timeline.view);

		if (mine) return mine;
		if (timeline.view.together) return this.alone(await together(api, timeline.view));
		if (timeline.view.file === undefined) return this.alone(await remote(api, timeline.view));
		if (file && file.name === timeline.view.file) return local(file);
		timeline.frame.ask(timeline.view.file);
		return null;
	}

	/** What is compared stands still, and as much of it is loaded as may be. */
	alone(source) {
		source.compared = Boolean(this.timeline.versus);
		source.running &&= !this.timeline.versus;
		return source;
	}

	/** A person gave a file. */
	take(file) {
		const {timeline} = this;

		timeline.services.file = file;
		const address = format({file: file.name});
		if (location.hash === address) timeline.services.reopen ? timeline.services.reopen() : this.restart();
		else location.hash = address;
	}

	restart() {
		const {timeline} = this;

		timeline.session?.close();
		timeline.session = null;
		timeline.view = {file: timeline.services.file.name};
		timeline.ready = this.start();
	}

	async loaded(summary, how) {
		const {timeline} = this;
		const {camera, stage, session} = timeline;
		const {start, end} = session.whole;
		const sticks = how === "live" && (camera.to >= camera.end || session.ahead);

		stage.engine = session.engine;
		const was = {span: camera.span, all: camera.from <= camera.start && camera.to >= camera.end};
		camera.trace(start, end, summary.rows);
		if (how !== "begin") this.goOn(was, sticks);
		timeline.counters = timeline.counters?.carry(summary.counters) ?? new Counters(summary.counters, () => {});
		timeline.counters.toggle = (index, shown) => timeline.showCounter(index, shown);
		for (const [index, shown] of timeline.counters.changes()) session.engine.counter(index, shown);
		await timeline.versus?.load(session.engine);
		await this.overlook();
		timeline.strips = strips(summary.streams);
		timeline.frame.notes(this.notes());
		this.mark(session, session.engine);
		if (how === "begin") timeline.beside().catch((error) => timeline.closed || timeline.failed(error));
		if (how === "begin") await timeline.whereabouts.apply(timeline.view);
		else await this.again();
		stage.renew();
	}

	/** Mark what was not proven, when that is known; the picture does not wait for it. */
	async mark(session, engine) {
		const {timeline} = this;

		try {
			await markTails(session.source, engine);
			timeline.stage.renew();
		} catch (error) {
			/* Another model may have taken the place of this one meanwhile. */
			if (session.engine === engine && !timeline.closed) timeline.failed(error);
		}
	}

	/** Where a run goes on, so does a window at its end; one that shows all goes on showing all. */
	goOn(was, sticks) {
		const {timeline} = this;

		if (sticks && was.all) timeline.camera.fit();
		else if (sticks)
			timeline.camera.show(
				timeline.camera.widest + timeline.camera.end - was.span,
				timeline.camera.widest + timeline.camera.end,
			);
	}

	/** The strip of the whole. */
	async overlook() {
		const {session, camera, minimap} = this.timeline;
		const first = camera.start > 0n ? camera.start : 0n;
		const parts = Math.max(
			1,
			Number(((camera.end + 1n - first) * BigInt(PARTS)) / (camera.end + 1n - camera.start)),
		);
		let bars;

		if (session.loaded) {
			bars = density(session.overview);
		} else {
			/* There is no time before 0, though what is compared may lie there. */
			bars = new Uint32Array(PARTS);
			bars.set(await session.engine.density(first, camera.end + 1n, parts), PARTS - parts);
		}
		minimap.trace(camera.start, camera.end, bars, session.loaded);
		this.timeline.mapped = null;
	}

	/** Sentences on what the trace lacks. */
	notes() {
		const {summary, notes, source, loaded} = this.timeline.session;
		const {totals} = summary;
		const out = [
			...notes,
			...(this.timeline.session.source.guests ?? []).filter((it) => !it.known).map((it) => `${clockWords(it)}.`),
		];

		if (!totals.events)
			out.push(`There are no events in it yet: ${source.title} records none, or was not made to trace.`);
		if (totals.lost_packets && !notes.some((it) => it.includes("were lost")))
			out.push(`${totals.lost_packets.toLocaleString("en")} packets are missing; the picture shows where.`);
		out.push(...summary.damages.slice(0, 20).map((it) => `Damage: ${it}.`));
		if (loaded)
			out.push(
				"The run is longer than what is loaded at once: the strip below shows all of it, and what you go to is loaded.",
			);
		return out;
	}

	/** After a new model came in place of the old one: what was selected and sought is found in it again. */
	async again() {
		const {timeline} = this;
		const {selection} = timeline;

		if (timeline.search.input.value) await timeline.search.search(timeline.search.input.value);
		if (!selection.thread) return;
		selection.thread = await selection.locate(selection.thread);
		if (selection.thread && selection.family !== null) await selection.highlight(selection.thread.index);
		timeline.stage.changed();
	}
}
