/*
 * The overlay is drawn over the picture of the threads: the selected thread and range of time, the
 * chain of waits, the end of the guest, and the line at the pointer. primitives() returns it as a
 * list of objects, which tests read. paintOverlay() draws the list on a canvas; overLayers() adds
 * it to a saved picture.
 */
import {drawn as differences} from "../compare/differences.js";
import {drawn as guests} from "../compare/guest-strips.js";
import {TextPlaces} from "../draw/text-places.js";
import {shown} from "../page/guest-text.js";
import {short} from "../page/make.js";
import {span} from "../page/times.js";

const NOTE_LETTERS = 40; /* most letters of a note in the picture */
const NOTE_GAP = 5; /* distance from a note's line to its words, pixels */
const LETTER = 7; /* estimated width of a bold letter, pixels */
const BELOW = 16; /* distance from a thread's line to the baseline of the text below it, pixels */
const NAME_GAP = 24; /* distance from the begin of a waiting thread to its name, pixels */

/**
 * Return the overlay of STATE as a list of {kind, x0, y0, x1, y1, …} in pixels. CAMERA converts
 * times to x, and YOF(row) returns the y of a row. Members of STATE; all times are in ns:
 * - selected: the selected thread, or null;
 * - range: the selected range {from, to}, or null; rows: its rows {first, last}, or null for all;
 * - unloaded: ranges [{from, to}] that are not in the model;
 * - death: the end of the guest {time, text}, or null;
 * - chain: threads that wait for each other, from chain() of why.js;
 * - pointer: the time at the pointer, or null;
 * - guests: strips from guest-strips.js;
 * - notes: the user's notes [{from, to, text}];
 * - marks: differences between two traces, from differences.js;
 * - labels: the places of the picture's labels, from labelPlaces(); none by default.
 */
export function primitives(state, camera, yOf) {
	const out = guests(state.guests ?? [], camera, yOf, state.pointer);
	const x = (time) => Math.max(-50, Math.min(camera.width + 50, camera.xOf(time)));

	out.push(...differences(state.marks ?? [], camera, yOf, state.labels));
	for (const {from, to} of state.unloaded ?? []) {
		const [x0, x1] = [x(from), x(to)];
		if (x1 > 0 && x0 < camera.width && x1 - x0 > 1)
			out.push({kind: "unloaded", x0, y0: 0, x1, y1: camera.height, text: "not loaded: zoom in here"});
	}
	if (state.range) {
		const [x0, x1] = [x(state.range.from), x(state.range.to)];
		const text = span(state.range.to - state.range.from);
		const [y0, y1] = state.rows ? [yOf(state.rows.first) - 8, yOf(state.rows.last) + 8] : [0, camera.height];
		out.push({kind: "range", x0, y0, x1, y1, text});
	}
	out.push(...notes(state.notes ?? [], camera, x));
	const places = new TextPlaces(state.labels);
	for (const it of state.chain) {
		const y = yOf(it.row);
		const [x0, x1] = [x(it.from), x(it.to)];
		const {text, x: textX} = places.take(it.text, Math.max(x0, 0) + NAME_GAP, y, Math.min(x1, camera.width));
		out.push({kind: "why", x0, y0: y, x1, y1: y, thread: it.thread, text, textX});
		if (it.link)
			out.push({kind: "why-link", x0: x(it.link.time), y0: y, x1: x(it.link.time), y1: yOf(it.link.row)});
	}
	if (state.selected && state.selected.row !== null) {
		const y = yOf(state.selected.row);
		out.push({
			kind: "selected",
			x0: x(state.selected.start),
			y0: y,
			x1: x(state.selected.end),
			y1: y,
			thread: state.selected.index,
		});
	}
	if (state.death) {
		const at = camera.xOf(state.death.time);
		if (at >= 0 && at <= camera.width)
			out.push({kind: "death", x0: at, y0: 0, x1: at, y1: camera.height, text: state.death.text});
	}
	if (state.pointer !== null) {
		const at = camera.xOf(state.pointer);
		out.push({kind: "pointer", x0: at, y0: 0, x1: at, y1: camera.height});
	}
	return out;
}

/**
 * Return the notes LIST as primitives. PLACE is the line of text, from the top, on which a note's
 * words stand; words that would touch others get a line of their own. X(time) returns pixels.
 */
function notes(list, camera, x) {
	const ends = []; /* by line: where its last words end, pixels */
	const out = [];

	for (const {from, to, text} of list) {
		const [x0, x1] = [x(from), x(to)];
		if (x1 < 0 || x0 > camera.width) continue;
		const words = short(shown(text), NOTE_LETTERS);
		const begin = Math.max(x0, 0) + NOTE_GAP;
		const free = ends.findIndex((end) => end < begin);
		const at = free < 0 ? ends.length : free;
		ends[at] = begin + words.length * LETTER + NOTE_GAP;
		out.push({kind: "note", x0, y0: 0, x1, y1: camera.height, text: words, place: at});
	}
	return out;
}

/** Return the base line of the words of a note, pixels. */
const noteY = (it) => 14 + 16 * it.place;

/** Draw a selected range and its length at the bottom. */
function range(ctx, it, palette) {
	const [x0, x1] = [Math.min(it.x0, it.x1), Math.max(it.x0, it.x1)];

	ctx.globalAlpha = 0.16;
	ctx.fillStyle = palette.range;
	ctx.fillRect(x0, it.y0, x1 - x0, it.y1 - it.y0);
	ctx.globalAlpha = 1;
	ctx.fillRect(x0, it.y0, 1, it.y1 - it.y0);
	ctx.fillRect(x1, it.y0, 1, it.y1 - it.y0);
	ctx.font = "bold 12px system-ui, sans-serif";
	ctx.textAlign = "center";
	ctx.lineWidth = 4;
	ctx.strokeStyle = palette.back;
	ctx.strokeText(it.text, (x0 + x1) / 2, it.y1 - 8);
	ctx.fillText(it.text, (x0 + x1) / 2, it.y1 - 8);
}

/**
 * Shade a range of time that is not loaded, and write so, because an unshaded range would look as
 * if nothing happened.
 */
function unloaded(ctx, it, palette) {
	const middle = (Math.max(it.x0, 0) + Math.min(it.x1, ctx.canvas.clientWidth)) / 2;

	ctx.globalAlpha = 0.6;
	ctx.fillStyle = palette.missing;
	ctx.fillRect(it.x0, 0, it.x1 - it.x0, it.y1);
	ctx.globalAlpha = 1;
	ctx.fillStyle = palette.rulerText;
	ctx.font = "13px system-ui, sans-serif";
	ctx.textAlign = "center";
	if (it.x1 - it.x0 > 180) ctx.fillText(it.text, middle, it.y1 / 2);
}

/**
 * Draw a line WIDTH pixels thick. DASH has the lengths of strokes and gaps in pixels. A line of
 * length 0 is drawn 1 pixel long.
 */
function line(ctx, it, colour, width, alpha = 1, dash = []) {
	ctx.globalAlpha = alpha;
	ctx.strokeStyle = colour;
	ctx.lineWidth = width;
	ctx.setLineDash(dash);
	ctx.beginPath();
	ctx.moveTo(it.x0, it.y0);
	ctx.lineTo(it.x1 === it.x0 && it.y0 === it.y1 ? it.x1 + 1 : it.x1, it.y1);
	ctx.stroke();
	ctx.setLineDash([]);
	ctx.globalAlpha = 1;
}

/**
 * Write the name of a waiting thread below the thread's line. Above the line there can be a label.
 */
function name(ctx, it, palette) {
	ctx.font = "12px system-ui, sans-serif";
	ctx.textAlign = "left";
	ctx.lineWidth = 4;
	ctx.strokeStyle = palette.back;
	ctx.fillStyle = palette.why;
	ctx.strokeText(it.text, it.textX, it.y0 + BELOW);
	ctx.fillText(it.text, it.textX, it.y0 + BELOW);
}

/** Draw a frame around a thread's line. The line keeps its colours. */
function outline(ctx, it, colour) {
	ctx.strokeStyle = colour;
	ctx.lineWidth = 2;
	ctx.strokeRect(it.x0 - 4, it.y0 - 6, Math.max(it.x1 - it.x0, 1) + 8, 12);
}

const PLATE = 18; /* height of the heading of a guest's rows, pixels */

/**
 * Draw the heading above a guest's rows. Behind the text draw a horizontal line whose length is the
 * uncertainty of the guest's clock, at the scale of the picture.
 */
function guest(ctx, it, palette) {
	ctx.font = "bold 12px system-ui, sans-serif";
	ctx.textAlign = "left";
	const width = ctx.measureText(it.text).width + 12;

	ctx.globalAlpha = 0.88;
	ctx.fillStyle = palette.ruler;
	ctx.fillRect(0, it.y0, width, PLATE);
	ctx.globalAlpha = 1;
	ctx.fillStyle = palette.rulerText;
	ctx.fillRect(0, it.y0, it.x1, it.y0 ? 1 : 0);
	ctx.fillText(it.text, 6, it.y0 + 13);
	if (it.length < 1) return;
	const y = it.y0 + PLATE / 2;
	line(ctx, {x0: width + 6, y0: y, x1: width + 6 + it.length, y1: y}, palette.uncertain, 3);
	for (const x of [width + 6, width + 6 + it.length])
		line(ctx, {x0: x, y0: y - 4, x1: x, y1: y + 4}, palette.uncertain, 2);
}

/** Shade the interval in which an event of this guest happened that is drawn at the pointer. */
function uncertain(ctx, it, palette) {
	ctx.globalAlpha = 0.25;
	ctx.fillStyle = palette.uncertain;
	ctx.fillRect(it.x0, it.y0, it.x1 - it.x0, it.y1 - it.y0);
	ctx.globalAlpha = 1;
}

/** Draw a flag at the thread where two compared traces begin to differ. */
function divergence(ctx, it, palette) {
	ctx.fillStyle = palette.part;
	ctx.fillRect(it.x0 - 1, it.y0 - 14, 2, 28);
	ctx.beginPath();
	ctx.moveTo(it.x0, it.y0 - 14);
	ctx.lineTo(it.x0 + 10, it.y0 - 10);
	ctx.lineTo(it.x0, it.y0 - 6);
	ctx.fill();
	said(ctx, it, it.textX, it.y0 + BELOW, palette.part, palette);
}

/**
 * Write the text of IT at X, Y pixels. A border in the background colour makes it readable over
 * lines.
 */
function said(ctx, it, x, y, colour, palette) {
	if (!it.text) return;
	ctx.font = "bold 12px system-ui, sans-serif";
	ctx.textAlign = x > ctx.canvas.clientWidth - 120 ? "right" : "left";
	ctx.lineWidth = 4;
	ctx.strokeStyle = palette.back;
	ctx.fillStyle = colour;
	ctx.strokeText(it.text, x, y);
	ctx.fillText(it.text, x, y);
}

/**
 * Draw a vertical line at the guest's end. The reason stands to the left of the line, or to the
 * right if there is too little room.
 */
function death(ctx, it, palette) {
	line(ctx, it, palette.failed, 2);
	ctx.font = "bold 12px system-ui, sans-serif";
	const room = ctx.measureText(it.text).width + 8;
	const before = it.x0 > room;

	ctx.textAlign = before ? "right" : "left";
	ctx.lineWidth = 4;
	ctx.strokeStyle = palette.back;
	ctx.fillStyle = palette.failed;
	ctx.strokeText(it.text, it.x0 + (before ? -5 : 5), it.y1 - 8);
	ctx.fillText(it.text, it.x0 + (before ? -5 : 5), it.y1 - 8);
}

/**
 * Draw a note of the user: a line at its moment, or a band with a line at both ends; its words stand
 * at the top.
 */
function note(ctx, it, palette) {
	ctx.globalAlpha = 0.12;
	ctx.fillStyle = palette.note;
	if (it.x1 > it.x0) ctx.fillRect(it.x0, 0, it.x1 - it.x0, it.y1);
	ctx.globalAlpha = 1;
	for (const x of it.x1 > it.x0 ? [it.x0, it.x1] : [it.x0]) line(ctx, {...it, x0: x, x1: x}, palette.note, 2);
	said(ctx, it, Math.max(it.x0, 0) + NOTE_GAP, noteY(it), palette.note, palette);
}

/* Kind of a primitive -> the function that draws it. */
const PAINTERS = {
	death,
	unmatched: (ctx, it, palette) => line(ctx, {...it, y0: it.y0 + 4, y1: it.y1 + 4}, palette.unmatched, 2, 1, [4, 3]),
	outcome: (ctx, it, palette) => {
		line(ctx, it, palette.part, 6, 0.45);
		said(ctx, it, it.textX, it.y0 + BELOW, palette.part, palette);
	},
	divergence,
	guest,
	uncertain,
	unloaded,
	note,
	range,
	why: (ctx, it, palette) => {
		line(ctx, it, palette.why, 6, 0.55);
		name(ctx, it, palette);
	},
	"why-link": (ctx, it, palette) => line(ctx, it, palette.why, 3, 0.9),
	selected: (ctx, it, palette) => outline(ctx, it, palette.select),
	pointer: (ctx, it, palette) => line(ctx, it, palette.rulerText, 1, 0.4, [3, 3]),
};

/** Draw LIST, from primitives(), on a cleared canvas. SIZE is {width, height} in pixels. */
export function paintOverlay(ctx, list, palette, size) {
	ctx.clearRect(0, 0, size.width, size.height);
	for (const it of list) PAINTERS[it.kind](ctx, it, palette);
}

/**
 * Return LIST, from primitives(), as layers of draw/paint.js for a saved picture. The line at the
 * pointer is left out.
 */
export function overLayers(list, palette) {
	const out = [];
	const layer = (kind, shape, colour, more) =>
		out.push({kind, shape, colour, alpha: 1, width: 1, data: [], texts: [], ...more});

	for (const {kind, x0, y0, x1, y1, text, textX, length, place} of list) {
		if (kind === "guest") {
			layer(kind, "rect", palette.rulerText, {alpha: y0 ? 1 : 0, data: [x0, y0, x1 - x0, 1]});
			layer(kind, "text", palette.rulerText, {texts: [{text, x: 6, y: y0 + 13, align: "left"}]});
			const x = 18 + text.length * LETTER;
			if (length >= 1) layer(kind, "line", palette.uncertain, {width: 3, data: [x, y0 + 9, x + length, y0 + 9]});
		} else if (kind === "range") {
			layer(kind, "rect", palette.range, {alpha: 0.16, data: [x0, y0, x1 - x0, y1 - y0]});
			layer(kind, "text", palette.range, {texts: [{text, x: (x0 + x1) / 2, y: y1 - 8, align: "center"}]});
		} else if (kind === "note") {
			layer(kind, "rect", palette.note, {alpha: 0.12, data: [x0, 0, x1 - x0, y1]});
			layer(kind, "line", palette.note, {width: 2, data: [x0, 0, x0, y1, x1, 0, x1, y1]});
			layer(kind, "text", palette.note, {
				texts: [{text, x: Math.max(x0, 0) + NOTE_GAP, y: noteY({place}), align: "left"}],
			});
		} else if (kind === "why" || kind === "why-link") {
			const width = kind === "why" ? 6 : 3;
			layer(kind, "line", palette.why, {alpha: kind === "why" ? 0.55 : 0.9, width, data: [x0, y0, x1, y1]});
			if (kind === "why")
				layer(kind, "text", palette.why, {
					texts: [{text, x: textX, y: y0 + BELOW, align: "left"}],
				});
		} else if (kind === "unmatched") {
			layer(kind, "line", palette.unmatched, {width: 2, data: [x0, y0 + 4, x1, y1 + 4]});
		} else if (kind === "outcome" || kind === "divergence") {
			layer(
				kind,
				"line",
				palette.part,
				kind === "divergence"
					? {width: 2, data: [x0, y0 - 14, x0, y0 + 14]}
					: {width: 6, alpha: 0.45, data: [x0, y0, x1, y1]},
			);
			layer(kind, "text", palette.part, {
				texts: [{text: text ?? "", x: textX, y: y0 + BELOW, align: "left"}],
			});
		} else if (kind === "death") {
			layer(kind, "rect", palette.failed, {data: [x0 - 1, 0, 2, y1]});
			layer(kind, "text", palette.failed, {texts: [{text, x: x0 - 5, y: y1 - 8, align: "right"}]});
		} else if (kind === "selected") {
			const [l, r, t, b] = [x0 - 4, Math.max(x1, x0 + 1) + 4, y0 - 6, y0 + 6];
			layer(kind, "line", palette.select, {width: 2, data: [l, t, r, t, r, t, r, b, r, b, l, b, l, b, l, t]});
		}
	}
	return out;
}
