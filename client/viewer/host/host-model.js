/*
 * The host's model: guests and captures, built from the lists and the events of the API. It has no
 * elements of the page. The set `dirty` has the guests that the page must draw again.
 *
 * A guest is {key, domain: as in the API, crash: its newest capture of a crash or null, rates:
 * [{at, rate}] that this page received, tail: {bytes, time} of the end of its run, or null; only a
 * capture has a tail}.
 */

import {ProfileModel} from "./host-profile-model.js";

/* Kinds of the captures of a crash. */
export const CRASHES = new Set(["crash", "watchdog"]);
const FRESH_MS = 24 * 3600 * 1000; /* ms; a crash of this age or less is listed first, also if the guest runs again */
const HISTORY = 60; /* rates kept per guest: two minutes */

export const STATES = ["crashed", "running", "suspended", "gone"];

/** Return the key that all runs of a guest share. */
export function keyOf({uuid, name, domain}) {
	return uuid ? `u:${uuid}` : `n:${name ?? domain}`;
}

export function isCrash(capture) {
	return CRASHES.has(capture.kind);
}

function sum(streams, member) {
	return streams.reduce((total, stream) => total + stream[member], 0);
}

export class HostModel {
	constructor() {
		this.guests = new Map();
		this.captures = new Map(); /* id -> capture */
		this.tails = new Map(); /* run -> the tail at its end, if there is one */
		this.older = false; /* the server has older captures that were not fetched */
		this.dirty = new Set(); /* keys of guests that changed since they were shown */
		this.order = true; /* the display order of the guests may have changed */
		this.capturesDirty = true;
		this.known = false; /* the lists were read at least once */
		this.profiles = new ProfileModel((run) => this.touchRun(run));
	}

	/**
	 * Replace the guests and captures by those of the lists. OLDER: the server has more
	 * captures.
	 */
	reset(domains, captures, older) {
		const before = this.guests;

		this.guests = new Map();
		this.captures = new Map(captures.map((capture) => [capture.id, capture]));
		this.tails.clear();
		captures.forEach((capture) => this.tailed(capture));
		this.older = older;
		for (const domain of domains) this.put(domain, before.get(keyOf(domain))?.rates);
		for (const key of before.keys()) this.dirty.add(key);
		for (const capture of captures.filter(isCrash)) this.crashed(capture);
		this.order = this.capturesDirty = this.known = true;
	}

	/** Add older captures. OLDER: the server has still more captures. */
	addCaptures(captures, older) {
		for (const capture of captures) if (!this.captures.has(capture.id)) this.captures.set(capture.id, capture);
		this.older = older;
		this.capturesDirty = true;
		captures.filter(isCrash).forEach((capture) => this.crashed(capture));
		captures.forEach((capture) => this.tailed(capture));
	}

	/* Store the tail that a capture has. */
	tailed({id, run, time, streams}) {
		const bytes = sum(streams, "tail_bytes");
		const guest = this.byRun(run);

		if (!bytes || this.tails.get(run)?.bytes > bytes) return;
		this.tails.set(run, {id, bytes, time});
		if (!guest) return;
		guest.tail = this.tails.get(run);
		this.touch(guest.key);
	}

	/* Make CAPTURE the crash of its guest if it is newer than the one before. */
	crashed(capture) {
		const guest = this.guests.get(keyOf(capture));

		if (!guest || (guest.crash && guest.crash.id >= capture.id)) return;
		guest.crash = capture;
		this.touch(guest.key);
	}

	touch(key) {
		this.dirty.add(key);
		this.order = true;
	}

	/* Mark the guest of RUN and the captures of RUN as changed. */
	touchRun(run) {
		const guest = this.byRun(run);

		if (guest) this.dirty.add(guest.key);
		this.capturesDirty = true;
	}

	put(domain, rates = []) {
		const key = keyOf(domain);
		const before = this.guests.get(key);

		this.guests.set(key, {
			key,
			domain,
			crash: before?.crash ?? null,
			rates: before?.rates ?? rates,
			tail: this.tails.get(domain.run) ?? null,
		});
		this.touch(key);
		return this.guests.get(key);
	}

	byRun(run) {
		for (const guest of this.guests.values()) if (guest.domain.run === run) return guest;
		return null;
	}

	/** Remove a guest whose runs were all deleted from the archive. */
	remove(key) {
		this.guests.delete(key);
		this.touch(key);
	}

	/* Handlers of the events; see schema/http/openapi.yaml. */

	domain({domain}) {
		return this.put(domain);
	}

	rates({streams}, now = Date.now()) {
		const touched = new Set();
		const runs = new Map();

		for (const guest of this.guests.values()) runs.set(guest.domain.run, guest);
		for (const stream of streams) {
			const guest = runs.get(stream.run);

			if (!guest) continue;
			const at = guest.domain.streams.findIndex((one) => one.stream === stream.stream);
			guest.domain.streams.splice(at < 0 ? guest.domain.streams.length : at, at < 0 ? 0 : 1, stream);
			if (seen(stream) > (seen(guest.domain) ?? "")) {
				guest.domain.last_seen = stream.last_seen;
				guest.domain.last_seen_corrected = stream.last_seen_corrected;
			}
			touched.add(guest);
		}
		for (const guest of touched) {
			guest.rates.push({at: now, rate: rateOf(guest)});
			guest.rates.splice(0, guest.rates.length - HISTORY);
			this.dirty.add(guest.key);
		}
	}

	gap({stream}) {
		this.rates({streams: [stream]});
		return this.byRun(stream.run);
	}

	capture({change, capture}) {
		const guest = this.guests.get(keyOf(capture));

		if (guest && change === "made" && !this.captures.has(capture.id)) {
			guest.domain.captures++;
			this.touch(guest.key);
		}
		this.captures.set(capture.id, capture);
		this.capturesDirty = true;
		if (isCrash(capture)) this.crashed(capture);
		this.tailed(capture);
		return guest;
	}

	captureDeleted({id}) {
		const capture = this.captures.get(id);
		const guest = capture && this.guests.get(keyOf(capture));

		this.captures.delete(id);
		this.capturesDirty = true;
		if (capture && this.tails.get(capture.run)?.id === id) this.tails.delete(capture.run);
		if (!guest) return;
		if (guest.tail?.id === id) guest.tail = null;
		guest.domain.captures = Math.max(0, guest.domain.captures - 1);
		if (guest.crash?.id === id) {
			guest.crash = null;
			[...this.captures.values()]
				.filter((other) => isCrash(other) && keyOf(other) === guest.key)
				.forEach((other) => this.crashed(other));
		}
		this.touch(guest.key);
	}

	/**
	 * Return the guests in display order: guests that crashed, then running ones, then ended
	 * ones.
	 */
	sorted(now = Date.now()) {
		const ranked = [...this.guests.values()].map((guest) => ({guest, rank: rankOf(guest, now)}));

		ranked.sort((a, b) => a.rank - b.rank || compare(a.guest, b.guest, a.rank));
		return ranked.map(({guest}) => guest);
	}

	/** Return the number of guests in each state. */
	counts() {
		const counts = Object.fromEntries(STATES.map((state) => [state, 0]));

		for (const guest of this.guests.values()) counts[stateOf(guest)]++;
		return counts;
	}
}

/** Return the state: crashed, running, suspended or gone. */
export function stateOf({domain, crash}) {
	if (domain.state !== "ended") return domain.state;
	return crash && crash.run === domain.run ? "crashed" : "gone";
}

export function rateOf({domain}) {
	return sum(domain.streams, "rate");
}

/** Return the number of bytes in the archive, with the tail at the run's end. */
export function bytesOf({domain, tail}) {
	return sum(domain.streams, "bytes") + (tail?.bytes ?? 0);
}

/** Return when IT, a guest or a stream, was seen last: the right time, if the host knows that its clock was wrong. */
function seen(it) {
	return it.last_seen_corrected ?? it.last_seen;
}

/** Return the time at which the newest bytes were copied, in the form of the API, or null. */
export function seenOf({domain, tail}) {
	return seen(domain) ?? tail?.time ?? null;
}

/** Return the number of lost packets and of gaps. */
export function lossOf({domain}) {
	return {
		lost: sum(domain.streams, "lost_packets"),
		gaps: sum(domain.streams, "gaps"),
		skipped: sum(domain.streams, "skipped_packets"),
	};
}

function rankOf(guest, now) {
	if (guest.crash && (stateOf(guest) === "crashed" || now - Date.parse(guest.crash.time) < FRESH_MS)) return 0;
	return STATES.indexOf(stateOf(guest));
}

const names = new Intl.Collator("en", {numeric: true});

/*
 * Compare two guests of one RANK: crashed ones by the newest crash, running ones by name, ended
 * ones by the latest end.
 */
function compare(a, b, rank) {
	if (rank === 0) return b.crash.id - a.crash.id;
	if (rank === 3 && seenOf(a) !== seenOf(b)) return (seenOf(a) ?? "") < (seenOf(b) ?? "") ? 1 : -1;
	return names.compare(a.domain.name.slice(0, 200), b.domain.name.slice(0, 200)) || (a.key < b.key ? -1 : 1);
}
