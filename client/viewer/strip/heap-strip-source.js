/*
 * The memory profiles that were recorded during a trace, as tracks, and the clock that places them
 * on the time line. Events of the API keep the tracks up to date.
 */
import {stamps} from "../trace/stamps.js";
import {Track} from "./heap-strip-track.js";

const PAGES_MAX = 5; /* most pages of the host's list of profiles to read */
const TRACKS_MAX = 4; /* most tracks whose bytes are in memory at a time */
const CLOCK_MS = 15000; /* ms between clock estimates; an estimate improves with time */

export class Tracks {
	/** hooks: changed(): draw again; failed(error) */
	constructor({api, events}, session, hooks) {
		Object.assign(this, {api, events, session, hooks});
		this.list = []; /* oldest first */
		this.off = [];
	}

	get source() {
		return this.session.source;
	}

	get run() {
		return this.source.ofRunNumber;
	}

	/** Load the profiles and follow the events. */
	async begin() {
		const wake = () => this.read().catch((error) => this.closed || this.hooks.failed(error));
		const on = (name, call) => this.events && this.off.push(this.events.on(name, call));

		on("reload", wake);
		on("memtrace", ({memtrace}) => this.hear(memtrace));
		on("memtrace-growth", ({memtraces}) => memtraces.forEach((it) => this.track(it.id)?.update(it)));
		on("memtrace-deleted", ({id}) => this.drop(id));
		await this.read();
	}

	track(id) {
		return this.list.find((it) => it.id === id);
	}

	async hear(memtrace) {
		const known = this.track(memtrace.id);

		if (known) known.update(memtrace);
		else if (memtrace.run === this.run)
			await this.add([memtrace]).catch((error) => this.closed || this.hooks.failed(error));
		this.hooks.changed();
	}

	drop(id) {
		this.track(id)?.close();
		this.list = this.list.filter((it) => it.id !== id);
		this.hooks.changed();
	}

	async read() {
		const mine = [];
		let pages = 0;

		for await (const page of this.api.pages("v1/memtraces", "memtraces")) {
			mine.push(...page.filter(({run}) => run !== null && run === this.run));
			if (++pages === PAGES_MAX) break;
		}
		for (const memtrace of mine) this.track(memtrace.id)?.update(memtrace);
		await this.add(mine.filter(({id}) => !this.track(id)));
		this.hooks.changed();
	}

	async add(memtraces) {
		if (!memtraces.length) return;
		this.clock ??= await this.ask();
		for (const memtrace of memtraces) {
			const track = new Track(this.api, memtrace, this.clock, this.hooks);
			if (track.received && !this.track(memtrace.id) && !this.closed) this.list.push(track);
		}
		this.list.sort((a, b) => a.id - b.id);
	}

	/** Estimate the clock of the trace against dom0's. */
	async ask() {
		this.asked = performance.now();
		const {guests} = await this.session.engine.clocks([await stamps(this.api, this.source)]);
		return guests[0];
	}

	/** Estimate the clock of a running guest again, if the last estimate is old. */
	async renew() {
		if (!this.clock || !this.source.running || performance.now() - this.asked < CLOCK_MS) return;
		try {
			this.clock = await this.ask();
			this.list.forEach((track) => track.stand(this.clock));
			this.hooks.changed();
		} catch (error) {
			/* The session may have replaced its engine. Report only errors of the API. */
			if (error.status !== undefined && !this.closed) this.hooks.failed(error);
		}
	}

	/**
	 * Return the tracks that overlap the time FROM to TO. Begin to load a few of them. Forget the
	 * bytes of the tracks that are farthest away.
	 */
	meeting(from, to) {
		const met = this.list.filter((it) => it.meets(from, to));
		let loading = this.list.filter((it) => it.state === "loading").length;

		/* Limit the loads, because a guest that reconnects often has thousands of profiles. */
		for (const track of met.slice(-TRACKS_MAX).filter((it) => it.state === "waiting"))
			if (loading++ < TRACKS_MAX) track.load();
		const held = this.list.filter((it) => it.heap && !met.includes(it));
		for (const track of held.slice(0, Math.max(0, held.length + met.length - TRACKS_MAX))) track.forget();
		return met;
	}

	close() {
		this.closed = true;
		this.off.forEach((off) => off());
		this.list.forEach((track) => track.close());
	}
}
