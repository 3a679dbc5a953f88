/*
 * The memory profiles of the host, from the lists and the events of the API. They are a part of the
 * host's model.
 */

const GRACE_MS = 5000; /* ms; if a guest dies, its profile may end by this time before the capture is taken */

export class ProfileModel {
	/** TOUCHED(run) is called after a profile of RUN changed. */
	constructor(touched) {
		this.touched = touched;
		this.all = new Map(); /* id -> profile as in the API */
		this.runs = new Map(); /* run -> its profiles, newest first */
		this.older = false; /* the server has older profiles that were not fetched */
		this.dirty = true;
	}

	/** Replace the profiles by those of LIST. OLDER: the server has more profiles. */
	reset(list, older) {
		const before = [...this.runs.keys()];

		this.all = new Map();
		this.runs = new Map();
		this.older = older;
		list.forEach((profile) => this.put(profile));
		before.forEach(this.touched);
		this.dirty = true;
	}

	/** Add older profiles. */
	add(list, older) {
		this.older = older;
		list.filter(({id}) => !this.all.has(id)).forEach((profile) => this.put(profile));
		this.dirty = true;
	}

	put(profile) {
		const before = this.all.get(profile.id);

		/*
		 * Ignore an answer that is older than the stored state: an ended profile is never
		 * recorded again.
		 */
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

	/* Remove the profile from the list of its run. */
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

	/** Update the sizes of recordings: GROWN is [{id, bytes, packets}]. */
	grow(grown) {
		for (const {id, bytes, packets} of grown) {
			const profile = this.all.get(id);

			/* Make a new object, so that the table sees the change. */
			if (profile?.state === "recording") this.put({...profile, bytes, packets});
		}
	}

	/** Return the profile of RUN that is being recorded, or null. */
	recording(run) {
		return (this.runs.get(run) ?? []).find(({state}) => state === "recording") ?? null;
	}

	/** Return the newest profile of RUN, or null. */
	newest(run) {
		return this.runs.get(run)?.[0] ?? null;
	}

	/**
	 * Return the profile that was being recorded when the capture with RUN and TIME was taken,
	 * or null.
	 */
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
