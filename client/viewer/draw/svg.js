/* The layers of a picture as a self-contained SVG. Texts come from guests and are escaped. */

const ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"};

/**
 * Return TEXT escaped for an element or an attribute. Characters that XML forbids become U+FFFD.
 */
export function escape(text) {
	return text
		.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd")
		.replace(/[&<>"']/g, (c) => ENTITIES[c]);
}

const short = (n) => String(Math.round(n * 100) / 100);

function rects(data) {
	let path = "";

	for (let i = 0; i < data.length; i += 4) {
		const [x, y, w, h] = [data[i], data[i + 1], data[i + 2], data[i + 3]].map(short);
		path += `M${x} ${y}h${w}v${h}h-${w}z`;
	}
	return path;
}

function lines(data) {
	let path = "";

	for (let i = 0; i < data.length; i += 4)
		path += `M${short(data[i])} ${short(data[i + 1])}L${short(data[i + 2])} ${short(data[i + 3])}`;
	return path;
}

function heads(data) {
	let path = "";

	for (let i = 0; i < data.length; i += 6)
		path += `M${[0, 2, 4].map((k) => `${short(data[i + k])} ${short(data[i + k + 1])}`).join("L")}z`;
	return path;
}

const ANCHORS = {left: "start", center: "middle", right: "end"};

function texts(layer, palette) {
	return layer.texts
		.map(
			(it) =>
				`<text x="${short(it.x)}" y="${short(it.y)}" text-anchor="${ANCHORS[it.align]}">` +
				`${escape(it.text)}</text>`,
		)
		.join("\n")
		.replace(
			/^/,
			`<g class="${layer.kind}" fill="${layer.colour}" stroke="${palette.halo}" stroke-width="3" ` +
				`stroke-linejoin="round" paint-order="stroke"${layer.kind === "counter-name" ? ' font-weight="bold"' : ""}>\n`,
		)
		.concat("\n</g>");
}

function element(layer, palette) {
	const alpha = layer.alpha < 1 ? ` opacity="${short(layer.alpha)}"` : "";

	switch (layer.shape) {
		case "rect":
			return `<path class="${layer.kind}" fill="${layer.colour}"${alpha} d="${rects(layer.data)}"/>`;
		case "hatch":
			return `<path class="${layer.kind}" fill="url(#hatch-${layer.kind})" d="${rects(layer.data)}"/>`;
		case "line":
			return (
				`<path class="${layer.kind}" fill="none" stroke="${layer.colour}" ` +
				`stroke-width="${layer.width}"${alpha} d="${lines(layer.data)}"/>`
			);
		case "head":
			return `<path class="${layer.kind}" fill="${layer.colour}"${alpha} d="${heads(layer.data)}"/>`;
		default:
			return layer.texts.length ? texts(layer, palette) : "";
	}
}

/**
 * Height of the ruler, and height of the strip at the ruler's foot that hatches unproven parts,
 * pixels.
 */
export const RULER = 26;
export const UNPROVEN = 5;
const LETTER = 6.6; /* estimated width of a letter of the ruler, pixels */

function ruler(ticks, unproven, palette, width) {
	return [
		`<rect width="${width}" height="${RULER}" fill="${palette.ruler}"/>`,
		`<g class="ruler" fill="${palette.rulerText}" font-size="11">`,
		...ticks.map(
			({x, text}) =>
				`<rect x="${Math.round(x)}" y="${RULER - 10}" width="1" height="10"/>` +
				(x + 3 + text.length * LETTER <= width
					? `<text x="${short(x + 3)}" y="${RULER - 12}">${escape(text)}</text>`
					: ""),
		),
		"</g>",
		...unproven.map(
			({x0, x1}) =>
				`<rect class="unproven" x="${short(x0)}" y="${RULER - UNPROVEN}" width="${short(x1 - x0)}" ` +
				`height="${UNPROVEN}" fill="url(#hatch-tail)"/>`,
		),
	];
}

/**
 * Return one part of a picture as SVG, placed at height Y: its LAYERS, of SIZE. ID is the id of its
 * clip path.
 */
function part({layers, size: {width, height}, back}, palette, id, y) {
	return [
		`<clipPath id="${id}"><rect width="${width}" height="${height}"/></clipPath>`,
		`<g transform="translate(0 ${y})" clip-path="url(#${id})">`,
		`<rect width="${width}" height="${height}" fill="${back ?? palette.back}"/>`,
		...layers.map((layer) => element(layer, palette)).filter(Boolean),
		"</g>",
	];
}

const partsOf = ({pinned, above, below, layers, size}) => [pinned, above, {layers, size}, below].filter(Boolean);

const heightOf = (picture) => partsOf(picture).reduce((sum, {size}) => sum + size.height, RULER);

/**
 * Return picture I as SVG, placed at height Y: a ruler with TICKS, and below it the tracks and the
 * layers.
 */
function picture(it, palette, i, y) {
	let top = RULER;

	return [
		`<g transform="translate(0 ${y})">`,
		...ruler(it.ticks ?? [], it.unproven ?? [], palette, it.size.width),
		...partsOf(it).flatMap((one, k) => {
			const text = part(one, palette, `all-${i}-${k}`, top);

			top += one.size.height;
			return text;
		}),
		"</g>",
	];
}

/**
 * Return an SVG of PICTURES, one below the other. A picture is {layers, size, ticks, unproven:
 * [{x0, x1}], pinned, above, below}; the last three are tracks, or null. TITLE is the text for screen
 * readers.
 */
export function svg(pictures, palette, title) {
	const width = Math.max(...pictures.map(({size}) => size.width));
	const tops = pictures.map((_, i) => pictures.slice(0, i).reduce((sum, it) => sum + heightOf(it), 0));
	const all = tops.at(-1) + heightOf(pictures.at(-1));

	return [
		`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${all}" viewBox="0 0 ${width} ${all}" ` +
			'font-family="system-ui, sans-serif" font-size="12">',
		`<title>${escape(title)}</title>`,
		"<defs>",
		...[
			["gap", palette.gapLine],
			["tail", palette.tailLine],
		].map(
			([name, colour]) =>
				`<pattern id="hatch-${name}" width="8" height="8" patternUnits="userSpaceOnUse">` +
				`<path d="M-8 8L0 0M0 8L8 0M8 8L16 0" stroke="${colour}" opacity="0.45"/></pattern>`,
		),
		"</defs>",
		...pictures.flatMap((it, i) => picture(it, palette, i, tops[i])),
		"</svg>",
		"",
	].join("\n");
}
