/*
 * The clock by which the page writes moments of a trace:
 *
 * - "relative": the time since the trace's first event;
 * - "guest": the guest's own clock;
 * - "wall": dom0's wall clock, in the time zone of the browser;
 * - "utc": dom0's wall clock in UTC.
 *
 * Dom0's wall time of an event is the guest's time plus an offset, which the stamps of the packets
 * bound (stamps.js, <mprof/clocks.h>). A local file has no stamps. While the offset is unknown, a
 * clock of the last two kinds writes times since the first event.
 */
import {exact, moment, rough, span, tick} from "../page/times.js";
import {stamps} from "./stamps.js";

/** The kinds of clocks, and their names for the user. */
export const CLOCKS = {
	relative: "Since the start",
	guest: "Guest's clock",
	wall: "Wall time",
	utc: "Wall time, UTC",
};

const SECOND = 1000000000n;
const DECIMALS = 9; /* decimals of a second that a nanosecond has */
const AGAIN_MS = 5000; /* ms between estimates of a running guest's offset whose error is unknown */
const AGAIN_SURE_MS = 60000; /* the same for a known error */

/* Flags of struct mprof_window (<mprof/scene.h>): where the grid's lines are. */
const GRID_ORIGIN = 64;
const GRID_DAY = 128;

/* Distances of a ruler's ticks at times of day, s, from ten seconds on. */
const ROUND_SECONDS = [10n, 20n, 30n, 60n, 120n, 300n, 600n, 1200n, 1800n, 3600n, 7200n, 10800n, 21600n, 43200n];
const DAY = 86400n;

const two = (n) => String(n).padStart(2, "0");

export class Clock {
	/** CAMERA (camera.js) says when the trace begins and ends. */
	constructor(camera) {
		this.camera = camera;
		this.kind = "relative"; /* the kind that the user chose */
		/*
		 * {known, offsetNs, uncertaintyNs}: what to add to a time of the trace to get dom0's wall
		 * time, ns. An event happened then or up to UNCERTAINTYNS earlier; null: unknown. The clock
		 * itself is null before it is estimated.
		 */
		this.wall = null;
	}

	/** The kind that is in use: the chosen one, or "relative" while the wall time is unknown. */
	get used() {
		return this.isWall && !this.wall?.known ? "relative" : this.kind;
	}

	/** True if the chosen kind needs dom0's wall time. */
	get isWall() {
		return this.kind === "wall" || this.kind === "utc";
	}

	/**
	 * Estimate dom0's wall time of SOURCE (source.js), with ENGINE. Resolve when it is known or
	 * cannot be known. OPTIONS are those of fetch(). Reject if a request fails.
	 */
	async learn(api, source, engine, options) {
		this.asked = performance.now();
		if (source.wall) this.wall = source.wall;
		else if (source.isLocal) {
			const stamped = await stamps(api, source, options);
			const {guests} = await engine.clocks([stamped], [await source.isLocal()]);

			this.wall = guests[0].wall;
		} else this.wall = {known: false};
	}

	/** Return true if a later estimate of a running guest's offset can be better than this one. */
	get isOld() {
		const wait = this.wall?.known && this.wall.uncertaintyNs !== null ? AGAIN_SURE_MS : AGAIN_MS;

		return this.asked !== undefined && performance.now() - this.asked >= wait;
	}

	// Texts.

	/** Return TIME in full, as text: "+1.25 ms", "8.125000000 s" or "03:12:44.123456". */
	at(time) {
		const {used, camera} = this;

		if (used === "relative") return `+${span(time - camera.start)}`;
		if (used === "guest") return exact(time);
		return this.#text(time, this.passesMidnight, true, wholeGroups);
	}

	/** Return TIME by this clock, and in brackets by the others that are known. */
	everywhere(time) {
		const {used, camera} = this;
		const others = [];

		if (used !== "relative") others.push(`+${span(time - camera.start)}`);
		if (this.wall?.known) {
			const text = `${this.#text(time, true, true, wholeGroups)} ${this.zone(time)}`;
			if (used !== "wall" && used !== "utc") others.push(text);
			else return `${text} (${others[0]}, ${exact(time)})`;
		}
		if (used !== "guest") others.push(exact(time));
		return `${this.at(time)} (${others.join(", ")})`;
	}

	/** Return TIME as text for a tick of the ruler. Ticks are STEP ns apart. */
	tick(time, step) {
		const {used, camera} = this;

		if (used === "relative") return tick(time - camera.start, step);
		if (used === "guest") return tick(time, step).replace(/^\+/, "");
		return this.#text(time, this.passesMidnight, step < 60n * SECOND, (digits) => digits.slice(0, decimals(step)));
	}

	/** Return TIME as text with as many decimals as distinguish times in a range of LENGTH ns. */
	moment(time, length) {
		const {used, camera} = this;
		let step = 1n;

		if (used === "relative") return moment(time - camera.start, length);
		if (used === "guest") return moment(time, length).replace(/^\+/, "");
		while (step * 1000n <= length && step < SECOND) step *= 10n;
		return this.#text(time, this.passesMidnight, true, (digits) => digits.slice(0, decimals(step)));
	}

	/** Return the offset of the time zone at TIME, such as "UTC+01:00"; "UTC". */
	zone(time) {
		const minutes = this.kind === "utc" ? 0 : -this.#date(time).getTimezoneOffset();
		const abs = Math.abs(minutes);

		return minutes ? `UTC${minutes < 0 ? "−" : "+"}${two(Math.floor(abs / 60))}:${two(abs % 60)}` : "UTC";
	}

	/** True if the trace begins and ends on different days by this clock. */
	get passesMidnight() {
		return this.#day(this.camera.start) !== this.#day(this.camera.end);
	}

	/** Return a sentence on the wall time: zone, and how sure it is; null if it is not in use. */
	get text() {
		const {used, wall, camera} = this;

		if (used !== "wall" && used !== "utc") return null;
		const sure =
			wall.uncertaintyNs === null
				? "an event happened then, or earlier by an unknown time"
				: wall.uncertaintyNs === 0n
					? "events happened then"
					: `an event happened then, or up to ${rough(wall.uncertaintyNs)} earlier`;

		return `Dom0's wall time on ${this.#day(camera.start)}, ${this.zone(camera.start)}; ${sure}.`;
	}

	// The ruler and the grid.

	/** The members of engine.frame()'s window that place the grid's lines: {flags, dayShift, origin}. */
	get grid() {
		const {used, camera, origin} = this;

		return used === "relative" || used === "guest"
			? {flags: GRID_ORIGIN, dayShift: 0n, origin}
			: {flags: GRID_DAY, dayShift: this.#shift(camera.from), origin: 0n};
	}

	/** Return a time, ns, from which the times of ticks and of the grid's lines count. It may be after the window's begin. */
	get origin() {
		const {used, camera} = this;

		if (used === "relative") return camera.start;
		return used === "guest" ? 0n : -this.#shift(camera.from);
	}

	/** Return the next distance of ticks after STEP, both ns. I is the number of steps before. */
	wider(step, i) {
		if (this.used === "wall" || this.used === "utc") {
			if (step >= DAY * SECOND) return step * 2n;
			if (step >= 5n * SECOND) {
				const next = ROUND_SECONDS.find((it) => it * SECOND > step && (it * SECOND) % step === 0n) ?? DAY;
				return next * SECOND;
			}
		}
		return step * (i % 3 === 1 ? 5n : 2n);
	}

	// Wall time.

	/** Return dom0's wall time at TIME as a Date, which has whole milliseconds. */
	#date(time) {
		return new Date(Number((time + (this.wall?.offsetNs ?? 0n)) / 1000000n));
	}

	/** Return what to add to a time near TIME so that 0 is a midnight of the time zone, ns. */
	#shift(time) {
		const zone = this.kind === "utc" ? 0n : BigInt(-this.#date(time).getTimezoneOffset());

		return this.wall.offsetNs + zone * 60n * SECOND;
	}

	/** Return the date at TIME: "2026-11-23". */
	#day(time) {
		if (!this.wall?.known) return "";
		const date = this.#date(time);

		return this.kind === "utc"
			? date.toISOString().slice(0, 10)
			: `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
	}

	/**
	 * Return the wall time at TIME: with the date if DATED, with seconds if SECONDS, and with the
	 * digits after the second that CUT(nine digits) returns.
	 */
	#text(time, dated, seconds, cut) {
		const date = this.#date(time);
		const parts =
			this.kind === "utc"
				? [date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()]
				: [date.getHours(), date.getMinutes(), date.getSeconds()];
		const wall = time + this.wall.offsetNs;
		const digits = cut(String(((wall % SECOND) + SECOND) % SECOND).padStart(DECIMALS, "0"));

		return (
			(dated ? `${this.#day(time)} ` : "") +
			parts
				.slice(0, seconds ? 3 : 2)
				.map(two)
				.join(":") +
			(digits ? `.${digits}` : "")
		);
	}
}

/** Return the number of decimals of a second that tell times STEP ns apart. */
function decimals(step) {
	let n = 0;

	for (let one = SECOND; n < DECIMALS && step % one !== 0n; one /= 10n) n++;
	return n;
}

/** Return DIGITS without zeros at the end, in groups of three. */
function wholeGroups(digits) {
	return digits.replace(/(000)+$/, "");
}
