/*
 * The session: the part of a source that is loaded. This is the whole source, a part of a long run,
 * or the newest part of a run that goes on. Each new model gets an engine of its own, which
 * replaces the old engine when the model is ready.
 *
 * hooks: progress(sentence or null, share of 1 or null), loaded(summary, how), failed(error),
 * recovered(error): the step that had failed with ERROR succeeds again, paused(on), ended()
 *        HOW is "begin", "slice" or "live"
 */
import {FIRST_BYTES, SLICE_BYTES, around, leaves, newest} from "./archive.js";
import {Engine} from "../engine/engine.js";
import {Live} from "./live.js";
import {asLoaded, remarks} from "./source.js";
import {bytes as amount} from "../page/times.js";

const LIVE_LEAST_MS = 500; /* least interval between two reads */
const LIVE_MOST_MS = 3000; /* ms between two reads when no event announces data */
const QUIET_STEPS = 3; /* number of reads without data after which the session asks whether the run has ended */
const LIVE = {}; /* stands for a part {from, to}: the newest part of a run that goes on */
const SETTLE_MS = 150; /* ms without movement of the camera until another part is loaded */

export class Session {
	/** OPEN returns a Promise of an engine. */
	constructor(source, hooks, open = () => Engine.open()) {
		Object.assign(this, {source, hooks, open});
		this.engine = null;
		this.summary = null;
		this.overview = null; /* overview of the source, see source.js; null for a file */
		this.loaded = null; /* {from, to}: the loaded part; null: all is loaded */
		this.notes = [];
		this.paused = false;
		this.off = [];
		this.abort = new AbortController();
	}

	close() {
		this.closed = true;
		this.abort.abort();
		clearTimeout(this.settling);
		clearTimeout(this.timer);
		for (const off of this.off) off();
		this.engine?.close();
	}

	/** The times {start, end} of the whole trace, also of parts that are not loaded. */
	get whole() {
		const {start, end} = this.summary;

		if (!this.loaded) return {start, end};
		return {
			start: this.overview.from < start ? this.overview.from : start,
			end: this.overview.to > end ? this.overview.to : end,
		};
	}

	/** Load the first part. RANGE is {from, to} of the address, or null. */
	async begin(range) {
		const {source} = this;

		if (source.parts) {
			this.notes = source.notes;
			return this.load(source.parts(), "begin");
		}
		this.hooks.progress("Loading the overview", null);
		this.overview = await source.overview({signal: this.abort.signal});
		if (!this.overview && !source.running)
			throw new Error(`${source.title} has no packets: quotas deleted them, or none were recorded.`);
		if (source.running) return this.beginLive();
		if (this.overview.bytes <= 2 * SLICE_BYTES) return this.part(null, "begin");
		this.few = !range && !source.compared;
		const part = range
			? around(this.overview, range.from, range.to)
			: newest(this.overview, this.few ? FIRST_BYTES : SLICE_BYTES);
		return this.part(part, "begin");
	}

	/** Load PART {from, to} of the source, or all if PART is null. HOW is for the hook loaded(). */
	async part(part, how) {
		const {source} = this;
		const times = part ? {from: String(part.from), to: String(part.to)} : {};
		const answers = await Promise.all(
			source.streams.map((stream) => source.trace(stream, times, {signal: this.abort.signal})),
		);

		this.notes = answers.flatMap((answer, i) => remarks(answer.headers, source.streams[i].name));
		await this.load(
			answers.map((response, i) => ({...asLoaded(source.streams[i]), response})),
			how,
			part,
		);
	}

	async load(sources, how, part = null) {
		const engine = await this.open();
		const old = this.engine;

		try {
			const summary = await engine.load(sources, (it) => how !== "live" && this.progress(it), this.abort.signal);
			if (this.closed) return engine.close();
			this.check(summary);
			Object.assign(this, {
				engine,
				summary,
				loaded: part === LIVE ? this.newestOf(summary) : part && this.reaching(part, summary),
			});
		} catch (error) {
			engine.close();
			throw error;
		}
		this.hooks.progress(null, null);
		try {
			await this.hooks.loaded(this.summary, how);
		} finally {
			/* The old engine may still have questions of the user to answer. */
			old?.retire(engine);
		}
	}

	/**
	 * Throw a sentence if the file is no trace. A file with packets and without events is a trace.
	 */
	check({totals}) {
		const {file} = this.source;

		if (!file || totals.events || totals.packets) return;
		throw new Error(
			`${this.source.title} is no trace: ${file.size ? `nothing in its ${amount(file.size)} is a packet of CTF or an event` : "it is empty"}.`,
		);
	}

	/* Return PART with its true end: the overview has only the begin of the last packet. */
	reaching(part, {end}) {
		return part.to > this.overview.to && end > part.to ? {from: part.from, to: end} : part;
	}

	progress({phase, bytes, total}) {
		this.arrived = performance.now();
		if (phase === "building") return this.hooks.progress(`${amount(bytes)} loaded; building the model`, null);
		const of = total ? ` of ${amount(total)}` : "";
		this.hooks.progress(`Loading: ${amount(bytes)}${of}`, total ? Math.min(bytes / total, 1) : null);
	}

	/** When the camera rests, load the part for the window FROM to TO, unless it is loaded. */
	look(from, to) {
		clearTimeout(this.settling);
		if (!this.loaded || this.loading || this.closed || !leaves(this.loaded, this.overview, from, to, this.few))
			return;
		this.settling = setTimeout(() => this.slice(from, to), SETTLE_MS);
	}

	async slice(from, to) {
		this.loading = true;
		try {
			/* If the user looks at an older part of a run that goes on, stop following the run. */
			if (this.live && !this.paused) {
				this.pause(true);
				this.overview = await this.source.overview({signal: this.abort.signal});
			}
			const part = around(this.overview, from, to);
			if (part.from !== this.loaded.from || part.to !== this.loaded.to) await this.part(part, "slice");
			this.few = false;
		} catch (error) {
			if (!this.closed) this.hooks.failed(error);
		} finally {
			this.loading = false;
		}
	}

	// Running runs.

	async beginLive() {
		this.live = new Live(this.source);
		this.hooks.progress("Loading the newest part", null);
		await this.live.begin({signal: this.abort.signal});
		await this.loadLive("begin");
		this.stepped = performance.now();
	}

	async loadLive(how) {
		this.notes = this.live.notes;
		await this.load(this.live.sources(), how, LIVE);
	}

	/* Return {from, to} of the loaded part of a run that goes on, or null if all is loaded. */
	newestOf({start, end}) {
		const {overview} = this;

		if (!overview) return null;
		if (end > overview.to) overview.to = end;
		return start > overview.from ? {from: start, to: overview.to} : null;
	}

	/** Follow the run. EVENTS (events.js) announce new data; may be null. */
	follow(events) {
		const {source} = this;
		const about = {
			rates: ({streams}) => streams.some((it) => source.has(it.run)),
			gap: ({stream}) => source.has(stream.run),
			domain: (it) => source.has(it.run) && ((this.told ||= it.change === "ended"), true),
		};

		if (!this.live) return;
		for (const [name, mine] of Object.entries(events ? about : {}))
			this.off.push(events.on(name, (data) => mine(data) && this.wake(LIVE_LEAST_MS)));
		this.wake(LIVE_MOST_MS);
	}

	wake(ms) {
		const at = this.stepped + ms;

		if (this.closed || this.paused || this.ended || (this.timer && this.due <= at)) return;
		clearTimeout(this.timer);
		this.due = at;
		this.timer = setTimeout(() => this.step(), Math.max(0, at - performance.now()));
	}

	/** Stop following if ON is true, else go on from the newest part. */
	pause(on) {
		this.paused = on;
		clearTimeout(this.timer);
		this.timer = 0;
		this.hooks.paused(on);
		if (!on) {
			this.resumed = true;
			this.wake(0);
		}
	}

	async step() {
		this.timer = 0;
		this.stepping ??= this.stepOnce().finally(() => {
			this.stepping = null;
			this.stepped = performance.now();
			this.wake(this.told ? LIVE_LEAST_MS : LIVE_MOST_MS);
		});
		return this.stepping;
	}

	async stepOnce() {
		const options = {signal: this.abort.signal};

		/* Do not read while the page is hidden. */
		if (document.hidden) return;
		try {
			const came = await this.live.step(options);
			await this.source.renew?.(options);
			if ((came || this.resumed) && !this.paused) await this.loadLive("live");
			this.resumed = false;
			this.quiet = came ? 0 : (this.quiet ?? 0) + 1;
			/* After the event that the run has ended, read the remaining packets before ending. */
			const perhaps = !came && (this.told || this.quiet > QUIET_STEPS);
			if (this.live.over || (perhaps && !(await this.source.goesOn(options)))) this.end();
			else if (perhaps) this.told = false;
			if (this.trouble) this.hooks.recovered(this.trouble);
			this.trouble = null;
		} catch (error) {
			/* Report the same error once. The next step tries again. */
			if (!this.closed && this.trouble?.message !== error.message) this.hooks.failed(error);
			this.trouble = error;
		}
	}

	end() {
		this.ended = true;
		this.source.death ??= "ended";
		this.hooks.ended();
	}
}
