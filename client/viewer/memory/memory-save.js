/*
 * Files of a memory profile: the recording, the flame graph as a picture, the profile for other
 * tools.
 */
import {NONE, ROW} from "./memory-layout.js";
import {flameSvg, paint} from "./memory-paint.js";
import {download, fileName} from "../trace/save.js";

const PNG_MAX = 16000; /* pixels; browsers make no taller canvas */
const NODES_MAX = 2000000;

function need(flame) {
	if (!flame.layout) throw new Error("There is nothing to save yet");
	return flame;
}

/** Save the zoomed flame graph, all rows, as an SVG. */
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

/* Replace the separators of a folded stack in a name. */
const folded = (name) => name.replace(/[;\n\r]/g, "_");

/** Return folded stacks with their own bytes, for flame graph scripts. */
export function collapsed(tree, names) {
	const lines = [];
	const paths = new Array(Math.min(tree.n, NODES_MAX));

	/* Parents precede their children. */
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
 * Save the selection, the functions and the tree as JSON. The tree is a list, because nested
 * objects would be too deep for many readers.
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
