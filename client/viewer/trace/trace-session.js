/*
 * A session loads parts of one source (source.js) and makes a model of each part. The part is the
 * whole source; or a range of time of a long run; or the newest data of a run that goes on. Each
 * part gets a new engine, which means a new worker. The old engine is closed when the new model is
 * ready.
 *
 * hooks:
 * - progress(sentence, share): show what is being loaded; SHARE is the part done, 0 to 1, or null
 *   if unknown; a null sentence ends the message;
 * - loaded(summary, how): a new model is ready; SUMMARY is the answer of engine.load(), and HOW is
 *   "begin" for the first model, "slice" for another range of time, or "live" for newer data;
 * - failed(error): a later load failed;
 * - recovered(error): the step that failed with ERROR before has succeeded;
 * - paused(on): following stopped (true) or went on (false);
 * - ended(): the run has ended.
 */
import {FIRST_BYTES, SLICE_BYTES, around, leaves, newest} from "./archive.js";
import {Engine} from "../engine/engine.js";
import {Live} from "./live.js";
import {asLoaded, remarks} from "./source.js";
import {bytes as amount} from "../page/times.js";

const LIVE_LEAST_MS = 500; /* least time between two reads, ms */
const LIVE_MOST_MS = 3000; /* time between two reads if no event announces data, ms */
/*
 * After more than this number of reads without new data, the session asks the server whether the
 * run has ended.
 */
const QUIET_STEPS = 3;
const LIVE = {}; /* in place of a part {from, to}: the newest data of a run that goes on */
const SETTLE_MS = 150; /* time without movement of the camera until another part is loaded, ms */

export class Session {
	/** SOURCE is from source.js. OPEN() returns a Promise of a new engine. */
	constructor(source, hooks, open = () => Engine.open()) {
		Object.assign(this, {source, hooks, open});
		this.engine = null;
		this.summary = null;
		/* Bytes of the source over time, from source.overview(); null for a file. */
		this.overview = null;
		this.loaded = null; /* {from, to} in ns: the loaded part; null: all is loaded */
		this.notes = []; /* sentences on missing data, for the user */
		this.paused = false; /* true: the user stopped following the run */
		this.trouble = null; /* the error of the last request, which is repeated; null: it succeeded */
		this.off = []; /* functions that remove the listeners of follow() */
		this.abort = new AbortController();
	}

	/** Cancel requests and timers, and close the engine. */
	close() {
		this.closed = true;
		this.abort.abort();
		clearTimeout(this.settling);
		clearTimeout(this.timer);
		for (const off of this.off) off();
		this.engine?.close();
	}

	/**
	 * The first and last time {start, end} of the source, ns, also of parts that are not loaded.
	 * There must be a model.
	 */
	get whole() {
		const {start, end} = this.summary;

		if (!this.loaded) return {start, end};
		return {
			start: this.overview.from < start ? this.overview.from : start,
			end: this.overview.to > end ? this.overview.to : end,
		};
	}

	/**
	 * Load the first part. RANGE {from, to} is the window that the URL names, ns, or null. Reject
	 * with a sentence for the user if there are no data or a request fails.
	 */
	async begin(range) {
		const {source} = this;

		if (source.parts) {
			this.notes = source.notes;
			return this.load(source.parts(), "begin");
		}
		this.hooks.progress(source.running ? "Loading the newest part" : "Loading the overview", null);
		const reading = source.running ? this.readNewest() : null;
		[this.overview] = await Promise.all([source.overview({signal: this.abort.signal}), reading]);
		if (!this.overview && !source.running)
			throw new Error(
				`${source.title} has no packets: quotas deleted them, or none were recorded.` +
					(source.mark ? " Context, in the list of captures, has what else was kept of the guest." : ""),
			);
		if (reading) return this.beginLive();
		if (this.overview.bytes <= 2 * SLICE_BYTES) return this.part(null, "begin");
		this.few = !range && !source.compared;
		const part = range
			? around(this.overview, range.from, range.to)
			: newest(this.overview, this.few ? FIRST_BYTES : SLICE_BYTES);
		return this.part(part, "begin");
	}

	/**
	 * Load the range of time PART {from, to} of the source, or everything if PART is null. HOW is
	 * for the hook loaded().
	 */
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

	/**
	 * Make a model of SOURCES (see engine.load()) and give it to the hook loaded(). PART is the
	 * range {from, to} of them, LIVE, or null for everything.
	 */
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
	 * Throw a sentence for the user if the file is no trace: the decoder found neither a packet nor
	 * an event. A trace may have packets without events.
	 */
	check({totals}) {
		const {file} = this.source;

		if (!file || totals.events || totals.packets) return;
		throw new Error(
			`${this.source.title} is no trace: ${file.size ? `nothing in its ${amount(file.size)} is a packet of CTF or an event` : "it is empty"}.`,
		);
	}

	/*
	 * Return PART with its true end. In the overview the last packet ends where it begins, so the
	 * model can end later.
	 */
	reaching(part, {end}) {
		return part.to > this.overview.to && end > part.to ? {from: part.from, to: end} : part;
	}

	/** Report the progress of engine.load() to the user. */
	progress({phase, bytes, total}) {
		this.arrived = performance.now();
		if (phase === "building") return this.hooks.progress(`${amount(bytes)} loaded; building the model`, null);
		const of = total ? ` of ${amount(total)}` : "";
		this.hooks.progress(`Loading: ${amount(bytes)}${of}`, total ? Math.min(bytes / total, 1) : null);
	}

	/**
	 * The camera shows FROM to TO (ns). If data of this window are not loaded, load them when the
	 * camera has rested for SETTLE_MS. While another part is being loaded, wait for its end.
	 */
	look(from, to) {
		clearTimeout(this.settling);
		this.window = {from, to};
		if (!this.loaded || this.loading || this.closed || !leaves(this.loaded, this.overview, from, to, this.few))
			return;
		this.settling = setTimeout(() => this.slice(from, to), SETTLE_MS);
	}

	/**
	 * Load the part around the window FROM to TO (ns). If the server can answer again soon, try again after
	 * LIVE_MOST_MS.
	 */
	async slice(from, to) {
		let again = false;

		this.loading = true;
		try {
			/* The user looks at an older part of a run that goes on, so stop following the run. */
			if (this.live && !this.paused) {
				this.pause(true);
				this.overview = await this.source.overview({signal: this.abort.signal});
			}
			const part = around(this.overview, from, to);
			if (part.from !== this.loaded.from || part.to !== this.loaded.to) await this.part(part, "slice");
			this.few = false;
			this.well();
		} catch (error) {
			again = Boolean(error.passing);
			if (again) this.ill(error);
			else if (!this.closed) this.hooks.failed(error);
		} finally {
			this.loading = false;
		}
		const {window} = this;
		if (again && !this.closed)
			this.settling = setTimeout(() => this.look(this.window.from, this.window.to), LIVE_MOST_MS);
		else if (window.from !== from || window.to !== to) this.look(window.from, window.to);
	}

	// Running runs.

	/** Read the newest data of a run that goes on. */
	async readNewest() {
		this.live = new Live(this.source);
		await this.live.begin({signal: this.abort.signal});
	}

	/** Make the first model of what readNewest() has read. */
	async beginLive() {
		await this.loadLive("begin");
		this.stepped = performance.now();
	}

	/** Make a model of the packets that were read so far. */
	async loadLive(how) {
		this.notes = this.live.notes;
		await this.load(this.live.sources(), how, LIVE);
	}

	/*
	 * Return the loaded part {from, to} of a run that goes on, or null if everything is loaded.
	 * START and END are the times of the model.
	 */
	newestOf({start, end}) {
		const {overview} = this;

		if (!overview) return null;
		if (end > overview.to) overview.to = end;
		return start > overview.from ? {from: start, to: overview.to} : null;
	}

	/**
	 * Read new data of a run again and again until it ends. The server's events (EVENTS, from
	 * events.js) tell when to read; if EVENTS is null, a timer does alone. Do nothing for other
	 * sources.
	 */
	follow(events) {
		const {source} = this;
		const about = {
			rates: ({streams}) => streams.some((it) => source.has(it.run)),
			gap: ({stream}) => source.has(stream.run),
			domain: (it) => source.has(it.run) && ((this.endAnnounced ||= it.change === "ended"), true),
		};

		if (!this.live) return;
		for (const [name, mine] of Object.entries(events ? about : {}))
			this.off.push(events.on(name, (data) => mine(data) && this.wake(LIVE_LEAST_MS)));
		this.wake(LIVE_MOST_MS);
	}

	/** Read MS after the last read, unless an earlier read is planned. */
	wake(ms) {
		const at = this.stepped + ms;

		if (this.closed || this.paused || this.ended || (this.timer && this.due <= at)) return;
		clearTimeout(this.timer);
		this.due = at;
		this.timer = setTimeout(() => this.step(), Math.max(0, at - performance.now()));
	}

	/** Stop following the run if ON is true; else follow it again and load the newest data. */
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

	/** Read once, then plan the next read. If a read is under way, return its Promise. */
	async step() {
		this.timer = 0;
		this.stepping ??= this.stepOnce().finally(() => {
			this.stepping = null;
			this.stepped = performance.now();
			this.wake(this.endAnnounced ? LIVE_LEAST_MS : LIVE_MOST_MS);
		});
		return this.stepping;
	}

	/** Read new packets; if there are any, make a new model. Find out whether the run has ended. */
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
			/*
			 * The run may have ended if the server said so, or after more than QUIET_STEPS reads
			 * without data. Ask only after a read without data, so that the last packets are read
			 * first.
			 */
			const perhaps = !came && (this.endAnnounced || this.quiet > QUIET_STEPS);
			if (this.live.over || (perhaps && !(await this.source.goesOn(options)))) this.end();
			else if (perhaps) this.endAnnounced = false;
			this.well();
		} catch (error) {
			this.ill(error);
		}
	}

	/** A request has succeeded. If the last one failed, say that the session goes on. */
	well() {
		const {trouble} = this;

		this.trouble = null;
		if (trouble) this.hooks.recovered(trouble);
	}

	/** Report ERROR once, not at each request that fails with it. The caller tries again. */
	ill(error) {
		const same = this.trouble?.message === error.message;

		this.trouble = error;
		if (!this.closed && !same) this.hooks.failed(error);
	}

	/** Note that the run has ended. No more data come. */
	end() {
		this.ended = true;
		this.source.death ??= "ended";
		this.hooks.ended();
	}
}
