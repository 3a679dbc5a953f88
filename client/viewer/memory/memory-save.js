/*
 * Save the flame graph as a picture, and the profile in formats for other programs. The browser
 * downloads each file.
 */
import {NONE, ROW} from "./memory-layout.js";
import {flameSvg, paint} from "./memory-paint.js";
import {download, fileName} from "../trace/save.js";

const PNG_MAX = 16000; /* greatest height in pixels of a canvas in all browsers */
const NODES_MAX = 2000000;

/* Return FLAME. Throw if it has no profile yet. */
function need(flame) {
	if (!flame.layout) throw new Error("There is nothing to save yet");
	return flame;
}

/** Save the flame graph as it is zoomed, with all rows, as an SVG. */
export function saveSvg(flame, name, title) {
	const {layout, how} = need(flame);

	download(
		new Blob([flameSvg(layout, {...how, selected: null}, title, (node) => flame.boxText(node))], {
			type: "image/svg+xml",
		}),
		fileName(name, "svg"),
	);
}

export async function savePng(flame, name) {
	const {layout, how} = need(flame);
	const height = Math.min(layout.depth * ROW, PNG_MAX);
	const canvas = document.createElement("canvas");

	canvas.width = layout.width;
	canvas.height = height;
	paint(
		canvas.getContext("2d"),
		layout,
		layout.depth * ROW,
		{from: how.up ? layout.depth * ROW - height : 0, height},
		{...how, selected: null},
	);
	const blob = await new Promise((resolve) => canvas.toBlob(resolve));
	if (!blob) throw new Error("The picture could not be made; save it as an SVG");
	download(blob, fileName(name, "png"));
}

/* Return NAME without the characters that separate names in a folded stack. */
const folded = (name) => name.replace(/[;\n\r]/g, "_");

/**
 * Return one line for each stack that allocates: the names and the stack's own bytes, the input of
 * flame graph scripts ("folded stacks").
 */
export function collapsed(tree, names) {
	const lines = [];
	const paths = new Array(Math.min(tree.n, NODES_MAX));

	/* Parents come before their children in the tree. */
	for (let i = 1; i < paths.length; i++) {
		const parent = paths[tree.parent[i]];
		const name = folded(names[tree.name[i]]);

		paths[i] = parent === undefined ? name : `${parent};${name}`;
		if (tree.self[i]) lines.push(`${paths[i]} ${Math.round(tree.self[i])}\n`);
		if (tree.first[i] === NONE) paths[i] = "";
	}
	return lines;
}

export function saveCollapsed(flame, name) {
	const {profile, names} = need(flame);

	download(new Blob(collapsed(profile.callees, names), {type: "text/plain"}), fileName(name, "collapsed"));
}

/**
 * Save the selection, the functions and the tree as JSON. The tree is a flat list of nodes, because
 * many programs cannot read JSON that is nested so deeply.
 */
export function saveJson(flame, name, about) {
	const {profile, names} = need(flame);
	const {callees: tree} = profile;
	const nodes = Array.from({length: Math.min(tree.n, NODES_MAX)}, (_, i) => ({
		parent: i ? tree.parent[i] : null,
		name: i ? names[tree.name[i]] : null,
		self: tree.self[i],
		total: tree.total[i],
		allocs: tree.allocs[i],
	}));
	const {objects, samples, bytes, relativeError, spots} = profile;

	download(
		new Blob(
			[
				JSON.stringify({
					...about,
					objects,
					samples,
					bytes,
					relative_error: relativeError,
					functions: spots,
					tree: nodes,
				}),
			],
			{type: "application/json"},
		),
		fileName(name, "json"),
	);
}
