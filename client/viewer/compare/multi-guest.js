/*
 * A source of several guests or captures of one host, shown on one time line, which is dom0's. A
 * member is one of these guests or captures. Its times are shifted by the offset of its clock,
 * which is estimated from the time stamps of its packets. A session uses this source like those of
 * source.js. Its streams also have a guest, an offset and an uncertainty.
 */
import {Engine} from "../engine/engine.js";
import {remote, summed} from "../trace/source.js";
import {stamps} from "../trace/stamps.js";
import {rough} from "../page/times.js";

export const MEMBERS_MAX = 16;

const RENEW_MS = 5000; /* ms between clock estimates; the estimate for a running guest improves with time */
const RENEW_SURE_MS = 60000;
const TIME_MAX = (1n << 63n) - 1n;

/**
 * Return the view of a member from its name in the address ("domain:NAME" or "capture:ID"), or
 * null.
 */
export function memberView(text) {
	const capture = /^capture:([0-9]{1,15})$/.exec(text);

	if (capture) return {capture: Number(capture[1])};
	return text.startsWith("domain:") && text.length > 7 ? {domain: text.slice(7)} : null;
}

/** Return a sentence on how the guest's clock differs from dom0's. */
export function clockText({name, known, offsetNs, uncertaintyNs}) {
	if (!known) return `${name}: the offset of its clock to dom0's is unknown; its own times are shown as dom0's times`;
	if (uncertaintyNs === 0n) return `${name}: its clock is this host's own; events happened where they are drawn`;
	const by =
		offsetNs === 0n
			? "as dom0's"
			: `${rough(offsetNs < 0n ? -offsetNs : offsetNs)} ${offsetNs < 0n ? "ahead of" : "behind"} dom0's`;
	const sure =
		uncertaintyNs === null
			? "events happened where they are drawn, or earlier by an unknown time"
			: `events happened where they are drawn, or up to ${rough(uncertaintyNs)} earlier`;

	return `${name}: its clock is ${by}, and its times are corrected by that; ${sure}`;
}

class MultiGuest {
	constructor(api, members, clocks) {
		const names = named(members);

		this.api = api;
		this.asked = performance.now();
		this.guests = members.map((of, guest) => ({of, guest, name: names[guest], ...clocks.guests[guest]}));
		this.clock = clocks.realtime ? "dom0's wall clock" : "dom0's monotonic clock";
		this.title = names.join(", ");
		this.about = `${members.length} on one time line, which is ${this.clock}`;
		this.name = names.join("+");
		this.run = null;
		this.running = members.some((it) => it.running);
		this.streams = this.guests.flatMap((guest) => this.streamsOf(guest));
	}

	streamsOf({of, guest, name, offsetNs, uncertaintyNs}) {
		return of.streams.map((own) => ({
			of,
			own,
			guest,
			offsetNs,
			uncertaintyNs,
			stream: own.stream,
			name: own.name ? `${name}: ${own.name}` : name,
			save: `${of.name}-${own.stream}`,
		}));
	}

	/** Estimate the clocks again if the last estimate is old. */
	async renew(options) {
		const wait = this.guests.some((it) => it.uncertaintyNs === null) ? RENEW_MS : RENEW_SURE_MS;

		if (performance.now() - this.asked < wait) return;
		this.asked = performance.now();
		const clocks = await ask(
			this.api,
			this.guests.map(({of}) => of),
			options,
		);
		for (const guest of this.guests) Object.assign(guest, clocks.guests[guest.guest]);
		for (const stream of this.streams) {
			const {offsetNs, uncertaintyNs} = this.guests[stream.guest];
			Object.assign(stream, {offsetNs, uncertaintyNs});
		}
	}

	/**
	 * The offset from the common time line to dom0's wall time, in the form of Clock.wall
	 * (trace/clock.js).
	 */
	get wall() {
		const first = this.guests.find((it) => it.known && it.wall.known);

		return first
			? {known: true, offsetNs: first.wall.offsetNs - first.offsetNs, uncertaintyNs: 0n}
			: {known: false};
	}

	/** Return sentences on the clocks, for the About panel. */
	get tells() {
		return this.guests.map((it) => `${clockText(it)}.`);
	}

	has(run) {
		return this.guests.some(({of}) => of.has(run));
	}

	/**
	 * Request bytes of a stream. PARTS selects them; its times are on the common time line, and
	 * are converted to the guest's clock.
	 */
	trace({of, own, offsetNs}, parts = {}, options = {}) {
		const moved = {...parts};

		for (const edge of ["from", "to"])
			if (parts[edge] !== undefined) {
				const time = BigInt(parts[edge]) - offsetNs;
				moved[edge] = String(time < 0n ? 0n : time > TIME_MAX ? TIME_MAX : time);
			}
		return of.trace(own, moved, options);
	}

	url({of, own}) {
		return of.url(own);
	}

	async goesOn(options) {
		return (await Promise.all(this.guests.map(({of}) => of.running && of.goesOn(options)))).some(Boolean);
	}

	async overview(options) {
		const all = await Promise.all(
			this.guests.map(async ({of, offsetNs}) => (await of.overviews(options)).map((it) => moved(it, offsetNs))),
		);

		return summed(all.flat());
	}
}

function moved(overview, by) {
	const time = (text) => BigInt(text) + by;

	return {
		from: time(overview.from),
		to: time(overview.to),
		buckets: overview.buckets.map((it) => ({...it, from: time(it.from), to: time(it.to)})),
	};
}

/** Return names for MEMBERS, all different. */
function named(members) {
	const times = new Map();

	for (const {title} of members) times.set(title, (times.get(title) ?? 0) + 1);
	return members.map(({title, mark}, i) => (times.get(title) > 1 ? `${title} (${mark ?? i + 1})` : title));
}

/** Return the answer of engine.clocks() for MEMBERS: the offset of each member's clock. */
async function ask(api, members, options) {
	const stamped = await Promise.all(members.map((it) => stamps(api, it, options)));
	const local = await Promise.all(members.map((it) => it.isLocal()));
	const engine = await Engine.open();

	try {
		return await engine.clocks(stamped, local);
	} finally {
		engine.close();
	}
}

/** Return the source of the members that VIEW.together names. */
export async function multiGuest(api, view, options) {
	const members = [];

	for (const text of view.together) {
		const it = memberView(text);
		if (!it) throw new Error(`“${text}” names no guest and no capture; it must be domain:NAME or capture:NUMBER`);
		members.push(await remote(api, it, options));
	}
	return new MultiGuest(api, members, await ask(api, members, options));
}
