/* The layers of a picture as an SVG that needs nothing else.  Texts come from guests: they are data, never markup. */

const ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"};

/** TEXT inside an element or an attribute; what XML cannot hold at all becomes the replacement character. */
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
				`stroke-linejoin="round" paint-order="stroke"${layer.bold ? ' font-weight="bold"' : ""}>\n`,
		)
		.concat("\n</g>");
}

function element(layer, palette) {
	const alpha = layer.alpha < 1 ? ` opacity="${short(layer.alpha)}"` : "";

	switch (layer.shape) {
		case "rect":
			return `<path class="${layer.kind}" fill="${layer.colour}"${alpha} d="${rects(layer.data)}"/>`;
		case "hatch":
			return `<path class="${layer.kind}" fill="url(#hatch)" d="${rects(layer.data)}"/>`;
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

/** An SVG of LAYERS, WIDTH by HEIGHT; TITLE is what it says to who cannot see it. */
export function svg(layers, palette, size, title) {
	const {width, height} = size;

	return [
		`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
			`viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12">`,
		`<title>${escape(title)}</title>`,
		'<defs><pattern id="hatch" width="8" height="8" patternUnits="userSpaceOnUse">' +
			`<path d="M-8 8L0 0M0 8L8 0M8 8L16 0" stroke="${palette.gapLine}" opacity="0.45"/></pattern>` +
			`<clipPath id="all"><rect width="${width}" height="${height}"/></clipPath></defs>`,
		`<rect width="${width}" height="${height}" fill="${palette.back}"/>`,
		'<g clip-path="url(#all)">',
		...layers.map((layer) => element(layer, palette)).filter(Boolean),
		"</g>",
		"</svg>",
		"",
	].join("\n");
}
