/*
 * Paint a flame graph: its colours, and its boxes on a canvas or as an SVG. Painting visits only
 * the rows and boxes that can be seen.
 */
import {shown} from "../page/guest-text.js";
import {ROW} from "./memory-layout.js";
import {escape} from "../draw/svg.js";

const FONT = '12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace';
/*
 * Estimated width of a letter in pixels. A text is cut by this estimate before it is measured,
 * because measuring long texts is slow.
 */
const LETTER = 7.3;
const NAME_MAX = 300;

const LIGHT = {
	back: "#ffffff",
	text: "#1b1d1f",
	root: "#d9dde1",
	hit: "#7a2bbf",
	hitText: "#ffffff",
	edge: "#ffffff",
	select: "#0049b8",
};
const DARK = {
	back: "#1e2124",
	text: "#f2f4f5",
	root: "#3b4147",
	hit: "#d7a6ff",
	hitText: "#1b1d1f",
	edge: "#1e2124",
	select: "#8ab9ff",
};

function hash(text) {
	let h = 2166136261;

	for (let i = 0; i < text.length && i < 200; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619) >>> 0;
	return h;
}

/**
 * Return the colour of function NAME. Functions of one module have the same hue and different
 * lightness.
 */
export function colourOf(name, dark) {
	const hue = 8 + (hash(name.split(".")[0]) % 1000) * 0.052;
	const vary = hash(name) % 9;

	return dark ? `hsl(${hue.toFixed(0)} 46% ${25 + vary}%)` : `hsl(${hue.toFixed(0)} 82% ${69 + 1.6 * vary}%)`;
}

/**
 * Return the colour of a box whose amount changed from BEFORE to AFTER: red if it grew, blue if it
 * shrank, the stronger the greater the change is to both amounts together.
 */
export function colourOfChange(before, after, dark) {
	const part = before + after > 0 ? (after - before) / (before + after) : 0;
	const much = Math.round(100 * Math.abs(part));
	const hue = part > 0 ? 6 : 213;

	return dark
		? `hsl(${hue} ${Math.round(much * 0.6)}% ${28 + Math.round(much * 0.08)}%)`
		: `hsl(${hue} ${Math.round(much * 0.9)}% ${88 - Math.round(much * 0.2)}%)`;
}

/* Return the colour of NODE's box. HIT: the search found it. */
function fillOf(tree, node, hit, how, colours) {
	if (hit) return colours.hit;
	if (tree.before) return colourOfChange(tree.before[node], tree.after[node], how.dark);
	return node === 0 ? colours.root : how.names.colour(tree.name[node], how.dark);
}

/** A cache of the printable, shortened names and of their colours, by the number of the name. */
export class Names {
	constructor(names) {
		this.names = names;
		this.texts = new Map();
		this.colours = new Map();
	}

	text(i) {
		let text = this.texts.get(i);

		if (text === undefined) this.texts.set(i, (text = shown(this.names[i] ?? "", NAME_MAX)));
		return text;
	}

	colour(i, dark) {
		const key = dark ? i : -1 - i;
		let colour = this.colours.get(key);

		if (!colour) this.colours.set(key, (colour = colourOf(this.names[i] ?? "", dark)));
		return colour;
	}
}

/**
 * Return the end of TEXT that fits into WIDTH pixels of CTX, or "". The end is shown and not the
 * beginning, because functions of one module begin with the same text.
 */
function fitting(ctx, text, width) {
	const most = Math.floor((width - 6) / (0.8 * LETTER));
	let part = tail(text, most);

	while (part.length > 2 && ctx.measureText(part).width > width - 6)
		part = tail(text, Math.min(part.length - 1, Math.floor(part.length * 0.9)));
	return part.length > 2 ? part : "";
}

/** Return the last MOST characters of TEXT. */
function tail(text, most) {
	return text.length <= most ? text : most < 3 ? "" : `…${text.slice(1 - most)}`;
}

/** Return the y of ROW in a graph of HEIGHT pixels. UP: row 0 is at the bottom. */
export function rowY(row, height, up) {
	return up ? height - (row + 1) * ROW : row * ROW;
}

function rowsSeen(layout, height, view, up) {
	const from = Math.floor(view.from / ROW);
	const to = Math.ceil((view.from + view.height) / ROW);
	const all = Math.ceil(height / ROW);

	return up
		? [Math.max(0, all - to), Math.min(layout.depth, all - from + 1)]
		: [Math.max(0, from), Math.min(layout.depth, to)];
}

/**
 * Paint LAYOUT on CTX. HOW is {names: Names, rootText, hits: Uint8Array by name or null, selected:
 * a node or null, up, dark}. VIEW {from, height} is the visible part of the graph, which is HEIGHT
 * pixels high. Return the number of painted boxes.
 */
export function paint(ctx, layout, height, view, how) {
	const colours = how.dark ? DARK : LIGHT;
	const [first, last] = rowsSeen(layout, height, view, how.up);
	let n = 0;

	ctx.fillStyle = colours.back;
	ctx.fillRect(0, 0, layout.width, view.height);
	ctx.font = FONT;
	ctx.textBaseline = "middle";
	ctx.textAlign = "left";
	for (let row = first; row < last; row++) {
		const y = rowY(row, height, how.up) - view.from;

		for (let i = layout.rows[row]; i < layout.rows[row + 1]; i++, n++) box(ctx, layout, i, y, how, colours);
	}
	return n;
}

function box(ctx, layout, i, y, how, colours) {
	const node = layout.nodes[i];
	const name = layout.tree.name[node];
	const x = layout.xs[i];
	const wide = layout.wide(i);
	const hit = node !== 0 && how.hits?.[name] === 1;

	ctx.fillStyle = fillOf(layout.tree, node, hit, how, colours);
	ctx.fillRect(x, y, Math.max(wide - (wide > 3 ? 1 : 0), 0.5), ROW - 1);
	if (node === how.selected) {
		ctx.strokeStyle = colours.select;
		ctx.lineWidth = 2;
		ctx.strokeRect(x + 1, y + 1, Math.max(wide - 3, 1), ROW - 3);
	}
	const text = wide > 3 * LETTER ? fitting(ctx, node === 0 ? how.rootText : how.names.text(name), wide) : "";
	if (!text) return;
	ctx.fillStyle = hit ? colours.hitText : colours.text;
	ctx.fillText(text, x + 4, y + ROW / 2);
}

/**
 * Return all rows of LAYOUT as an SVG with TITLE above. BOXTEXT(node) returns the text of a box.
 */
export function flameSvg(layout, how, title, boxText) {
	const colours = how.dark ? DARK : LIGHT;
	const height = layout.depth * ROW;
	const parts = [
		`<svg xmlns="http://www.w3.org/2000/svg" width="${layout.width}" height="${height + 30}" font-family="ui-monospace, DejaVu Sans Mono, monospace" font-size="12">`,
		`<rect width="100%" height="100%" fill="${colours.back}"/><text x="4" y="18" fill="${colours.text}">${escape(title)}</text>`,
	];

	for (let row = 0; row < layout.depth; row++)
		for (let i = layout.rows[row]; i < layout.rows[row + 1]; i++)
			parts.push(boxSvg(layout, i, rowY(row, height, how.up) + 30, how, colours, boxText));
	parts.push("</svg>");
	return parts.join("\n");
}

function boxSvg(layout, i, y, how, colours, boxText) {
	const node = layout.nodes[i];
	const name = layout.tree.name[node];
	const wide = layout.wide(i);
	const hit = node !== 0 && how.hits?.[name] === 1;
	const text = node === 0 ? how.rootText : how.names.text(name);
	const room = Math.floor((wide - 6) / LETTER);
	const part = tail(text, room);
	const fill = fillOf(layout.tree, node, hit, how, colours);
	const x = layout.xs[i].toFixed(2);

	return (
		`<g><title>${escape(boxText(node))}</title><rect x="${x}" y="${y}" width="${Math.max(wide - (wide > 3 ? 1 : 0), 0.5).toFixed(2)}" height="${ROW - 1}" fill="${fill}"/>` +
		`${part ? `<text x="${(layout.xs[i] + 4).toFixed(2)}" y="${y + 14}" fill="${hit ? colours.hitText : colours.text}">${escape(part)}</text>` : ""}</g>`
	);
}
