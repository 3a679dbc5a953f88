/*
 * The sign at the pointer that is no thread: an arrow, a band or a counter. at() finds its mark in
 * the picture on the screen; sentences() says what it means.
 */
import {KINDS} from "../draw/marks.js";
import {called} from "./panel.js";
import {span} from "../page/times.js";

const REACH = 4; /* greatest distance from an arrow at which the pointer is on it, pixels */
const K = Object.fromEntries(KINDS.map((name, i) => [name, i]));

/* Arrows: kind of mark -> [what the actor did, whether the arrow ends at the actor]. */
const ARROWS = {
	resolve: ["resolved", false],
	read: ["read the result of", true],
	"read-failed": ["read the failure of", true],
	"try-read": ["waits for", false],
	signal: ["signalled", false],
};
/* Bands, the most important first: kind of mark -> what happened. */
const BANDS = {
	gap: "Packets are missing",
	collection: "Garbage collection",
	duration: null,
	sleeping: "The guest slept",
	busy: null,
};

/** Return the distance of X, Y from the line of mark I, pixels. */
function distance(marks, i, x, y) {
	const [x0, y0, dx, dy] = [marks.x0(i), marks.y0(i), marks.x1(i) - marks.x0(i), marks.y1(i) - marks.y0(i)];
	const length = dx * dx + dy * dy;
	const part = length ? Math.max(0, Math.min(1, ((x - x0) * dx + (y - y0) * dy) / length)) : 0;

	return Math.hypot(x - x0 - part * dx, y - y0 - part * dy);
}

/** Return {kind, item} of the arrow of MARKS at X, Y that is nearest, or null. */
export function arrowAt(marks, x, y) {
	const arrows = new Set(Object.keys(ARROWS).map((name) => K[name]));
	let best = null;
	let least = REACH;

	for (let i = 0; i < marks.n; i++) {
		const kind = marks.kind(i);

		if (!arrows.has(kind) || !marks.shade(i)) continue;
		const far = distance(marks, i, x, y);
		if (far <= least) [best, least] = [i, far];
	}
	return best === null ? null : {kind: KINDS[marks.kind(best)], item: marks.item(best)};
}

/** Return {kind, item} of the most important band of MARKS at X, Y, or null. */
export function bandAt(marks, x, y) {
	const order = Object.keys(BANDS).map((name) => K[name]);
	let best = null;

	for (let i = 0; i < marks.n; i++) {
		const rank = order.indexOf(marks.kind(i));

		if (rank < 0 || x < marks.x0(i) || x > Math.max(marks.x1(i), marks.x0(i) + 1)) continue;
		if (y < marks.y0(i) || y > marks.y1(i)) continue;
		if (best === null || rank < order.indexOf(marks.kind(best))) best = i;
	}
	return best === null ? null : {kind: KINDS[marks.kind(best)], item: marks.item(best)};
}

/**
 * Return {kind: "counter", item} of the counter whose lane of MARKS has Y, or null. HEAD is the
 * height of a lane's caption, pixels.
 */
export function laneAt(marks, y, head) {
	for (let i = 0; i < marks.n; i++)
		if (marks.kind(i) === K.lane && y >= marks.y0(i) - head && y <= marks.y1(i))
			return {kind: "counter", item: marks.item(i)};
	return null;
}

/** Return the index of the thread to which an arrow of KIND leads. ABOUT is from engine.pointed(). */
export function target(kind, {actor, other}) {
	return (ARROWS[kind][1] ? actor : other).index;
}

/** Return sentences on a sign of KIND. ABOUT is from engine.pointed(). CLOCK writes times. */
export function sentences(kind, about, clock) {
	if (!about) return [];
	if (kind in ARROWS) {
		const [verb, read] = ARROWS[kind];
		const {time, actor, other} = about;
		const after = read
			? time >= other.end
				? `, ${span(time - other.end)} after its end`
				: ""
			: `, ${span(time - other.start)} after its beginning`;

		return [`${called(actor)} ${verb} ${called(other)}`, `at ${clock.at(time)}${time >= other.start ? after : ""}`];
	}
	if (kind === "counter") {
		const {name, kind, value, time, before, to} = about;
		if (kind === "amount") return [`${name}: ${value} with one event`, `at ${clock.at(time)}`];
		const change = before === null ? "" : `, before ${before} (${value >= before ? "+" : ""}${value - before})`;

		return [`${name}: ${value}`, `since ${clock.at(time)}${change}`, `for ${span(to - time)}`];
	}
	if (kind === "busy") return ["The guest ran"];
	const {from, to, packets} = about;
	if (kind === "duration")
		return [
			`${about.name}, for ${span(to - from)}`,
			`by ${called(about.thread)}`,
			`from ${clock.at(from)} to ${clock.at(to)}`,
		];
	const count = packets ? `: ${packets === 1n ? "1 packet" : `${packets} packets`}` : "";

	return [`${BANDS[kind]}${count}, for ${span(to - from)}`, `from ${clock.at(from)} to ${clock.at(to)}`];
}
