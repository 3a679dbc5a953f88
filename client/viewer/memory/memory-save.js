/*
 * Save the flame graph as a picture, and the profile in formats for other programs. The browser
 * downloads each file.
 */
import {NONE, ROW, pathTo} from "./memory-layout.js";
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
	const {profile, names} = need(flame).view;

	download(new Blob(collapsed(profile.callees, names), {type: "text/plain"}), fileName(name, "collapsed"));
}

/**
 * Return the stacks of TREE that allocate: [{frames: numbers of names, the outermost first, bytes,
 * allocs}].
 */
function* stacks(tree) {
	const n = Math.min(tree.n, NODES_MAX);

	for (let i = 1; i < n; i++) {
		if (!tree.self[i] && !tree.allocs[i]) continue;
		yield {
			frames: pathTo(tree, i).map((node) => tree.name[node]),
			bytes: Math.round(tree.self[i]),
			allocs: tree.allocs[i],
		};
	}
}

/** Return the file of each function: name -> file; "" if it is unknown. */
const filesOf = (profile) => new Map(profile.functions.map((it) => [it.function, it.file ?? ""]));

/** Return the profile as an object of speedscope's file format (speedscope.app). */
export function speedscope(profile, names, title) {
	const used = new Map(); /* number of a name -> index of its frame */
	const files = filesOf(profile);
	const frames = [];
	const samples = [];
	const weights = [];
	const frame = (name) => {
		if (!used.has(name)) {
			const file = files.get(names[name]);

			used.set(name, frames.length);
			frames.push({name: names[name], ...(file ? {file} : {})});
		}
		return used.get(name);
	};

	for (const {frames: stack, bytes} of stacks(profile.callees)) {
		samples.push(stack.map(frame));
		weights.push(bytes);
	}
	return {
		$schema: "https://www.speedscope.app/file-format-schema.json",
		name: title,
		activeProfileIndex: 0,
		exporter: "mprofd",
		shared: {frames},
		profiles: [
			{
				type: "sampled",
				name: title,
				unit: "bytes",
				startValue: 0,
				endValue: weights.reduce((a, b) => a + b, 0),
				samples,
				weights,
			},
		],
	};
}

export function saveSpeedscope(flame, name) {
	const {profile, names} = need(flame).view;

	download(
		new Blob([JSON.stringify(speedscope(profile, names, name))], {type: "application/json"}),
		fileName(name, "speedscope.json"),
	);
}

/* The writer of a message of protocol buffers: only integers, texts and messages. */
class ProtoMessage {
	constructor() {
		this.out = [];
	}

	varint(value) {
		let rest = BigInt(value);

		for (; rest >= 128n; rest >>= 7n) this.out.push(Number(rest & 127n) | 128);
		this.out.push(Number(rest));
		return this;
	}

	/** Append field FIELD with a number. */
	number(field, value) {
		return this.varint(field << 3).varint(value);
	}

	/** Append field FIELD with BYTES. */
	bytes(field, bytes) {
		this.varint((field << 3) | 2).varint(bytes.length);
		for (const byte of bytes) this.out.push(byte);
		return this;
	}

	message(field, message) {
		return this.bytes(field, message.out);
	}

	packed(field, values) {
		const inner = new ProtoMessage();

		for (const value of values) inner.varint(value);
		return this.message(field, inner);
	}
}

/** Return the profile as a message of pprof (profile.proto), not compressed, as a Uint8Array. */
export function pprof(profile, names) {
	const texts = new Map([["", 0]]);
	const text = (it) => {
		if (!texts.has(it)) texts.set(it, texts.size);
		return texts.get(it);
	};
	const type = (what, unit) => new ProtoMessage().number(1, text(what)).number(2, text(unit));
	const out = new ProtoMessage().message(1, type("objects", "count")).message(1, type("space", "bytes"));
	const files = filesOf(profile);
	const used = new Map(); /* number of a name -> id of its function and location, from 1 */
	const id = (name) => {
		if (!used.has(name)) used.set(name, used.size + 1);
		return used.get(name);
	};

	for (const {frames, bytes, allocs} of stacks(profile.callees))
		out.message(2, new ProtoMessage().packed(1, frames.map(id).reverse()).packed(2, [allocs, bytes]));
	for (const [name, n] of used) {
		out.message(4, new ProtoMessage().number(1, n).message(4, new ProtoMessage().number(1, n)));
		out.message(
			5,
			new ProtoMessage()
				.number(1, n)
				.number(2, text(names[name]))
				.number(3, text(names[name]))
				.number(4, text(files.get(names[name]) ?? "")),
		);
	}
	for (const it of texts.keys()) out.bytes(6, new TextEncoder().encode(it));
	return Uint8Array.from(out.out);
}

export async function savePprof(flame, name) {
	const {profile, names} = need(flame).view;
	const packed = new Blob([pprof(profile, names)]).stream().pipeThrough(new CompressionStream("gzip"));

	download(await new Response(packed).blob(), fileName(name, "pb.gz"));
}

/**
 * Save the selection, the functions and the tree as JSON. The tree is a flat list of nodes, because
 * many programs cannot read JSON that is nested so deeply.
 */
export function saveJson(flame, name, about) {
	const {profile, names} = need(flame).view;
	const {callees: tree} = profile;
	const nodes = Array.from({length: Math.min(tree.n, NODES_MAX)}, (_, i) => ({
		parent: i ? tree.parent[i] : null,
		name: i ? names[tree.name[i]] : null,
		self: tree.self[i],
		total: tree.total[i],
		allocs: tree.allocs[i],
	}));
	const {objects, samples, samples_bytes: bytes, relativeError, functions} = profile;

	download(
		new Blob(
			[
				JSON.stringify({
					...about,
					objects,
					samples,
					bytes,
					relative_error: relativeError,
					functions,
					tree: nodes,
				}),
			],
			{type: "application/json"},
		),
		fileName(name, "json"),
	);
}
