/* The memory profiles of the host, as the list said and the events changed it: part of host-model.js, which is told of guests that are to be shown anew. */

const GRACE_MS = 5000; /* so long before a capture a profile may have ended and still be the one that ran: death takes both */

export class ProfileModel {
	/** TOUCHED(run): a profile of that run is not what it was. */
	constructor(touched) {
		this.touched = touched;
		this.all = new Map(); /* id -> as the API says */
		this.runs = new Map(); /* run -> its profiles, newest first */
		this.older = false; /* there are profiles that were not fetched */
		this.dirty = true;
	}

	/** The list as it is: forget what was known before. */
	reset(list, older) {
		const before = [...this.runs.keys()];

		this.all = new Map();
		this.runs = new Map();
		this.older = older;
		list.forEach((profile) => this.put(profile));
		before.forEach(this.touched);
		this.dirty = true;
	}

	/** More of them, older ones. */
	add(list, older) {
		this.older = older;
		list.filter(({id}) => !this.all.has(id)).forEach((profile) => this.put(profile));
		this.dirty = true;
	}

	put(profile) {
		const before = this.all.get(profile.id);

		/* What ended is never recorded again: this was said before that, and came later, as the answer to a request may. */
		if (before?.state === "ended" && profile.state === "recording") return;
		if (before) this.leave(before);
		this.all.set(profile.id, profile);
		if (profile.run !== null) {
			const list = this.runs.get(profile.run) ?? [];
			list.push(profile);
			list.sort((a, b) => b.id - a.id);
			this.runs.set(profile.run, list);
			this.touched(profile.run);
		}
		this.dirty = true;
	}

	/* Out of the list of its run. */
	leave({id, run}) {
		const rest = (this.runs.get(run) ?? []).filter((other) => other.id !== id);

		if (rest.length) this.runs.set(run, rest);
		else this.runs.delete(run);
		if (run !== null) this.touched(run);
	}

	remove(id) {
		const profile = this.all.get(id);

		if (!profile) return;
		this.all.delete(id);
		this.leave(profile);
		this.dirty = true;
	}

	/** Some that are being recorded have GROWN: [{id, bytes, packets}]. */
	grow(grown) {
		for (const {id, bytes, packets} of grown) {
			const profile = this.all.get(id);

			/* Another object, so that who shows it sees that it is not the same. */
			if (profile?.state === "recording") this.put({...profile, bytes, packets});
		}
	}

	/** The one that is being recorded of RUN, or null. */
	recording(run) {
		return (this.runs.get(run) ?? []).find(({state}) => state === "recording") ?? null;
	}

	/** The newest of RUN, or null. */
	newest(run) {
		return this.runs.get(run)?.[0] ?? null;
	}

	/** The one that ran when CAPTURE was taken, or null. */
	at({run, time}) {
		const when = Date.parse(time);

		return (
			(this.runs.get(run) ?? []).find(
				({began, ended}) =>
					Date.parse(began) <= when && (ended === null || Date.parse(ended) >= when - GRACE_MS),
			) ?? null
		);
	}
}
