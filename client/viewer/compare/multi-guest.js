/*
 * Several guests or captures of one host on one time line, which is dom0's: each one's times are moved by what the stamps of its packets say of
 * its clock.  To a session this is a source as any other (source.js), whose streams have a guest, an offset and an uncertainty.
 */
import {Engine} from "../engine/engine.js";
import {remote, summed} from "../trace/source.js";
import {rough} from "../page/times.js";

export const MEMBERS_MAX = 16;

const RENEW_MS = 5000; /* a running guest's clock is known the better the longer it is watched */
const RENEW_SURE_MS = 60000;
const PAGES_MAX = 20; /* of a stream's packets: fewer only bound its clock less tightly */
const RUN_AMOUNT = String(64 << 20); /* of a capture's run, to know its clock by */
const TIME_MAX = (1n << 63n) - 1n;

/** RFC 3339 with nine digits of a second, in ns; null for anything else. */
export function realNs(text) {
	const parts = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z$/.exec(text ?? "");
	const ms = parts ? Date.parse(`${parts[1]}Z`) : NaN;

	return ms >= 0 ? BigInt(ms) * 1000000n + BigInt((parts[2] ?? "").padEnd(9, "0")) : null;
}

const ns = (text) => (/^\d{1,20}$/.test(text ?? "") ? BigInt(text) : null);

function stamp(it) {
	return [ns(it?.mono), realNs(it?.real), Number.isInteger(it?.offset) ? BigInt(it.offset) : null];
}

/** The PACKETS of one stream that say something of its clock, as engine.clocks() takes them. */
export function copied(packets) {
	const out = [];

	for (const it of packets) {
		const numbers = [
			ns(it.first_timestamp),
			Number.isInteger(it.room) && it.room >= 0 ? BigInt(it.room) : null,
			...stamp(it.copied?.first),
			...stamp(it.copied?.last),
			it.clock_stepped ? 1n : 0n,
		];

		if (!it.unproven && !numbers.includes(null)) out.push(...numbers);
	}
	return BigUint64Array.from(out);
}

/** What names a member in the address, as a view of it alone; null for nothing that could be. */
export function memberView(text) {
	const capture = /^capture:([0-9]{1,15})$/.exec(text);

	if (capture) return {capture: Number(capture[1])};
	return text.startsWith("domain:") && text.length > 7 ? {domain: text.slice(7)} : null;
}

/** How a guest's clock stands to the line's, as a sentence. */
export function clockText({name, known, offsetNs, uncertaintyNs}) {
	if (!known)
		return `${name}: nothing says how its clock stands to dom0's; its own times are shown as if they were dom0's`;
	const by =
		offsetNs === 0n
			? "as dom0's"
			: `${rough(offsetNs < 0n ? -offsetNs : offsetNs)} ${offsetNs < 0n ? "ahead of" : "behind"} dom0's`;
	const sure =
		uncertaintyNs === null
			? "what is drawn happened there, or nobody knows how long before"
			: `what is drawn happened there, or up to ${rough(uncertaintyNs)} before`;

	return `${name}: its clock is ${by}, and that is taken out; ${sure}`;
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

	/** Ask again how the clocks stand, where that was some time ago: more is known of guests that run. */
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

	/** Sentences on the clocks, for whoever asks what this is. */
	get tells() {
		return this.guests.map((it) => `${clockText(it)}.`);
	}

	has(run) {
		return this.guests.some(({of}) => of.has(run));
	}

	/** PARTS name times of the line; the guest is asked by its own clock. */
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

/** Names that tell members apart. */
function named(members) {
	const times = new Map();

	for (const {title} of members) times.set(title, (times.get(title) ?? 0) + 1);
	return members.map(({title, mark}, i) => (times.get(title) > 1 ? `${title} (${mark ?? i + 1})` : title));
}

/** What the stamps of a member's packets say: a list of streams for engine.clocks(). */
export async function stamps(api, member, options) {
	const out = [];
	const read = async (path) => {
		const packets = [];
		let pages = 0;

		for await (const page of api.pages(path, "packets", options)) {
			packets.push(...page);
			if (++pages === PAGES_MAX) break;
		}
		out.push(copied(packets));
	};

	for (const stream of member.streams) {
		await read(member.packets(stream));
		/* A capture can be too short to say from when on its clock is known: the rest of its run says more, where it is still there. */
		if (member.mark)
			await read(member.ofRun(stream, {what: "packets", select: {last: RUN_AMOUNT}})).catch((error) => {
				if (error.status !== 404 && error.status !== 410) throw error;
			});
	}
	return out;
}

/** What engine.clocks() says of MEMBERS now. */
async function ask(api, members, options) {
	const stamped = await Promise.all(members.map((it) => stamps(api, it, options)));
	const engine = await Engine.open();

	try {
		return await engine.clocks(stamped);
	} finally {
		engine.close();
	}
}

/** The source of what VIEW names together. */
export async function multiGuest(api, view, options) {
	const members = [];

	for (const text of view.together) {
		const it = memberView(text);
		if (!it) throw new Error(`“${text}” names no guest and no capture; it must be domain:NAME or capture:NUMBER`);
		members.push(await remote(api, it, options));
	}
	return new MultiGuest(api, members, await ask(api, members, options));
}
