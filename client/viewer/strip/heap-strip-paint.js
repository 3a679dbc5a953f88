/*
 * The picture of the heap strip. primitives() turns tracks and a camera into primitives, which
 * tests read. paint() paints them on a canvas.
 */
import {bytes} from "../page/times.js";

export const HEIGHT = 64; /* usual height of the strip, pixels */
const TOP = 14; /* pixels above the top line of the scale, for the line's number */
const BASE = 2; /* pixels below the line of 0 bytes */

/** Return the end of a scale that shows PEAK: a round number of bytes, at least PEAK. */
export function scaleOf(peak) {
	let unit = 1;

	while (unit * 1024 <= peak && unit < Number.MAX_VALUE) unit *= 1024;
	return (
		[1, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40, 50, 60, 80, 100, 150, 200, 300, 400, 500, 600, 800, 1024]
			.map((n) => n * unit)
			.find((n) => n >= peak) ?? peak
	);
}

/** Return the y of VALUE bytes on a scale from 0 to MOST in a strip of HEIGHT pixels. */
export function yOf(value, most, height = HEIGHT) {
	const top = Math.min(TOP, height / 4);

	return height - BASE - (value / most) * (height - top - BASE);
}

/* Return the line of TRACK's live bytes in the window: [x, y, …], with a step at each change. */
function line(track, camera, most, height) {
	const {from, to, times, values} = track.steps;
	const end = to < track.lasts ? to : track.holds;
	const x0 = camera.xOf(track.time(from));
	const k = to > from ? (camera.xOf(track.time(to)) - x0) / (to - from) : 0;
	const out = [];

	for (let i = 0; i < times.length; i++) {
		const x = x0 + (times[i] - from) * k;
		const next = x0 + ((times[i + 1] ?? end) - from) * k;
		if (next < -1 || x > camera.width + 1) continue;
		const y = yOf(values[i], most, height);
		out.push(Math.max(x, -2), y, Math.min(next, camera.width + 2), y);
	}
	return out;
}

/**
 * Return the length of NS in pixels, at most the width of the picture. If NS is null, return the
 * width.
 */
function length(ns, camera) {
	return ns === null ? camera.width : Math.min((Number(ns) / Number(camera.span)) * camera.width, camera.width);
}

/**
 * Return the primitives of the TRACKS that are ready: {kind: "heap", track, points}, {kind:
 * "scale", y, text}, {kind: "uncertain", x0, x1}, {kind: "dot", x, y, text}, {kind: "range", x0,
 * x1}, {kind: "says", text}. MOST is the end of the scale in bytes. POINTER is a time and RANGE is
 * {from, to}; each may be null. HEIGHT is that of the strip.
 */
export function primitives(tracks, camera, most, {pointer, range}, height = HEIGHT) {
	const ready = tracks.filter((it) => it.state === "ready" && it.steps);
	const x = (time) => Math.max(-50, Math.min(camera.width + 50, camera.xOf(time)));
	const out = [];

	if (ready.length)
		out.push(
			...[1, 0.5].map((part) => ({kind: "scale", y: yOf(most * part, most, height), text: bytes(most * part)})),
		);
	for (const track of ready) out.push({kind: "heap", track: track.id, points: line(track, camera, most, height)});
	if (range) out.push({kind: "range", x0: x(range.from), x1: x(range.to)});
	if (pointer === null) return out;
	const at = camera.xOf(pointer);
	for (const track of ready) {
		const value = track.at(pointer);
		if (value === null) continue;
		const [before, behind] = [length(track.place.earlierNs, camera), length(track.place.laterNs, camera)];
		out.push({kind: "uncertain", x0: at - before, x1: at + behind, y: yOf(value, most, height)});
		out.push({kind: "dot", x: at, y: yOf(value, most, height), value, text: bytes(value)});
	}
	out.push({kind: "pointer", x: at});
	return out;
}

function text(ctx, said, x, y, palette, align = "left") {
	ctx.textAlign = align;
	ctx.lineWidth = 3;
	ctx.strokeStyle = palette.ruler;
	ctx.strokeText(said, x, y);
	ctx.fillText(said, x, y);
}

const PAINTERS = {
	scale(ctx, it, palette, width) {
		ctx.globalAlpha = 0.35;
		ctx.fillStyle = palette.rulerText;
		ctx.fillRect(0, Math.round(it.y), width, 1);
		ctx.globalAlpha = 1;
	},
	heap(ctx, {points}, palette, width, height) {
		if (!points.length) return;
		ctx.beginPath();
		ctx.moveTo(points[0], height - BASE);
		for (let i = 0; i < points.length; i += 2) ctx.lineTo(points[i], points[i + 1]);
		ctx.lineTo(points.at(-2), height - BASE);
		ctx.globalAlpha = 0.28;
		ctx.fillStyle = palette.heap;
		ctx.fill();
		ctx.globalAlpha = 1;
		ctx.strokeStyle = palette.heap;
		ctx.lineWidth = 1.5;
		ctx.beginPath();
		for (let i = 0; i < points.length; i += 2) ctx.lineTo(points[i], points[i + 1]);
		ctx.stroke();
	},
	range(ctx, {x0, x1}, palette, width, height) {
		ctx.globalAlpha = 0.16;
		ctx.fillStyle = palette.range;
		ctx.fillRect(x0, 0, x1 - x0, height);
		ctx.globalAlpha = 1;
		ctx.fillRect(x0, 0, 1, height);
		ctx.fillRect(x1, 0, 1, height);
	},
	/** Draw the interval in which an event at the pointer can have happened. */
	uncertain(ctx, {x0, x1, y}, palette, width, height) {
		ctx.fillStyle = palette.uncertain;
		ctx.globalAlpha = 0.1;
		ctx.fillRect(x0, 0, x1 - x0, height);
		ctx.globalAlpha = 1;
		ctx.fillRect(x0, y - 1, Math.max(x1 - x0, 1), 2);
		for (const x of [x0, x1]) ctx.fillRect(x - 1, y - 5, 2, 10);
	},
	dot(ctx, it, palette, width, height) {
		ctx.fillStyle = palette.heap;
		ctx.beginPath();
		ctx.arc(it.x, it.y, 4, 0, 2 * Math.PI);
		ctx.fill();
		ctx.font = "bold 12px system-ui, sans-serif";
		ctx.fillStyle = palette.rulerText;
		const left = it.x > width - 90;
		text(
			ctx,
			it.text,
			it.x + (left ? -8 : 8),
			Math.min(Math.max(it.y + 4, 24), height - 4),
			palette,
			left ? "right" : "left",
		);
	},
	pointer(ctx, {x}, palette, width, height) {
		ctx.globalAlpha = 0.4;
		ctx.strokeStyle = palette.rulerText;
		ctx.lineWidth = 1;
		ctx.setLineDash([3, 3]);
		ctx.beginPath();
		ctx.moveTo(x, 0);
		ctx.lineTo(x, height);
		ctx.stroke();
		ctx.setLineDash([]);
		ctx.globalAlpha = 1;
	},
};

/**
 * Return the scale and the curves of LIST, a list of primitives, as layers of draw/paint.js for a
 * saved picture. The strip is at Y in the picture, WIDTH and HEIGHT pixels large.
 */
export function layersOf(list, palette, width, height, y) {
	const scale = list.filter(({kind}) => kind === "scale");
	const layer = {alpha: 1, width: 1, data: [], texts: []};
	const curves = list.filter(({kind, points}) => kind === "heap" && points.length);
	const columns = ({points}) =>
		points.flatMap((x, i) =>
			i % 4 ? [] : [x, y + points[i + 1], points[i + 2] - x, height - BASE - points[i + 1]],
		);
	const steps = ({points}) =>
		points.flatMap((x, i) =>
			i % 2 || i + 3 >= points.length ? [] : [x, y + points[i + 1], points[i + 2], y + points[i + 3]],
		);

	return [
		{
			...layer,
			kind: "heap-scale",
			shape: "rect",
			colour: palette.rulerText,
			alpha: 0.35,
			data: scale.flatMap((it) => [0, y + Math.round(it.y), width, 1]),
		},
		{...layer, kind: "heap-area", shape: "rect", colour: palette.heap, alpha: 0.28, data: curves.flatMap(columns)},
		{...layer, kind: "heap", shape: "line", colour: palette.heap, width: 1.5, data: curves.flatMap(steps)},
		{
			...layer,
			kind: "heap-number",
			shape: "text",
			colour: palette.rulerText,
			texts: scale.map((it) => ({text: it.text, x: 6, y: y + Math.round(it.y) - 3, align: "left"})),
		},
	];
}

/** Paint the primitives of LIST, then the texts of the scale. */
export function paint(ctx, list, palette, width, height = HEIGHT) {
	ctx.fillStyle = palette.ruler;
	ctx.fillRect(0, 0, width, height);
	for (const it of list) PAINTERS[it.kind](ctx, it, palette, width, height);
	ctx.font = "11px system-ui, sans-serif";
	ctx.fillStyle = palette.rulerText;
	for (const it of list.filter(({kind}) => kind === "scale")) text(ctx, it.text, 6, Math.round(it.y) - 3, palette);
	ctx.fillRect(0, height - 1, width, 1);
}
