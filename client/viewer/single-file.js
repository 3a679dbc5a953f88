/*
 * The entry of the single-file page. It shows the traces and memory profiles that are in the
 * document, each on the page that the server would use. onefile.py makes the scripts, and mprofctl
 * appends the traces as elements that contain only base64.
 *
 * `#file=NAME` in the address names one of several traces, `#memfile=NAME` a memory profile. Both
 * can also name a file that was dropped on the page.
 */
import {format, parse} from "./page/address.js";
import {HEAP_WORKER, WASM, WORKER} from "./embedded.js";
import {Engine} from "./engine/engine.js";
import {shown} from "./page/guest-text.js";
import {Heap} from "./engine/heap.js";
import {takeDrops} from "./page/drop.js";
import {make} from "./page/make.js";
import {MemoryPage} from "./memory/memory.js";
import {isMemtrace} from "./memory/memory-source.js";
import {Timeline} from "./trace/timeline.js";

const VERSION = 1;
const ABOUT = "a file by itself";
const LACKS = "This file has no host page and no live data: mprofd-http shows them.";
const CUT = "This file is cut short or was changed; write it again with mprofctl";

function bytesOf(base64) {
	const text = atob(base64);
	const bytes = new Uint8Array(text.length);

	for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
	return bytes;
}

function unpacked(blob) {
	return new Response(blob.stream().pipeThrough(new DecompressionStream("gzip")));
}

/**
 * Return the bytes of the elements whose data-part is WHERE, concatenated and still compressed.
 * Throw if there are not PIECES elements.
 */
function take(where, pieces) {
	const elements = [...document.querySelectorAll(`script[data-part="${where}"]`)];

	if (elements.length !== pieces) throw new Error(CUT);
	return new Blob(elements.map((it) => bytesOf(it.textContent)));
}

/**
 * Return the time TEXT from which a stream is not proven, or null if TEXT is not valid: the
 * document may contain anything.
 */
function tailOf(text) {
	const time = typeof text === "string" && /^[0-9]{1,20}$/.test(text) ? BigInt(text) : null;

	return time !== null && time >> 64n === 0n ? time : null;
}

/**
 * Return WALL, the offset of a trace's clock in the contents, in the form of Clock.wall
 * (trace/clock.js); null if it is absent or malformed.
 */
function wallOf(wall) {
	const number = (text) => (/^-?\d{1,19}$/.test(text ?? "") ? BigInt(text) : null);
	const offsetNs = number(wall?.offset_ns);

	return offsetNs === null ? null : {known: true, offsetNs, uncertaintyNs: number(wall.uncertainty_ns)};
}

/** A trace of this file: a source as in source.js. */
class EmbeddedTrace {
	constructor(name, at, {streams, notes, wall}) {
		Object.assign(this, {name, title: shown(name), about: ABOUT, lacks: LACKS, notes, running: false});
		this.wall = wallOf(wall);
		this.streams = streams.map((it, i) => ({
			stream: i,
			name: shown(it.name),
			part: `${at}.${i}`,
			pieces: it.pieces,
			tail: tailOf(it.tail),
		}));
		/* Only the end of a run has bytes that are not proven. */
		this.death = this.streams.some((it) => it.tail !== null) ? "ended" : null;
	}

	/** Return the streams in the form for engine.load(). */
	parts() {
		return this.streams.map(({name, part, pieces}) => ({name, guest: 0, blob: take(part, pieces)}));
	}

	/** Return a Promise of a URL of STREAM's bytes. */
	async url({part, pieces}) {
		return URL.createObjectURL(await unpacked(take(part, pieces)).blob());
	}
}

/** A memory profile of this file: a source as in memory-source.js. */
class EmbeddedMemory {
	constructor(name, at, {streams: [{pieces}], notes, recording}) {
		Object.assign(this, {
			name,
			title: shown(name),
			about: ABOUT,
			notes,
			number: recording,
			part: `${at}.0`,
			pieces,
		});
		Object.assign(this, {memtrace: null, recording: false, facts: [], file: {name}});
	}

	/** Return the bytes in the form for heap.load(), and keep them for saving. */
	async body() {
		this.saved = await unpacked(take(this.part, this.pieces)).blob();
		return {blob: this.saved, recording: this.number};
	}
}

/** Return the traces that the document lists. */
function traces() {
	const last = document.getElementById("contents");
	const contents = last ? JSON.parse(new TextDecoder().decode(bytesOf(last.textContent))) : null;

	if (contents?.version !== VERSION) throw new Error(CUT);
	const names = new Set();
	return contents.traces.map((it, i) => {
		let {name} = it;
		for (let n = 2; names.has(name); n++) name = `${it.name} (${n})`;
		names.add(name);
		return it.memory ? new EmbeddedMemory(name, i, it) : new EmbeddedTrace(name, i, it);
	});
}

class SingleFile {
	constructor(root) {
		this.root = root;
		this.turn = 0;
		addEventListener("hashchange", () => this.follow());
		takeDrops((file) => this.take(file));
	}

	async begin() {
		this.traces = traces();
		this.module = WebAssembly.compile(await unpacked(new Blob([bytesOf(WASM)])).arrayBuffer());
		this.script = URL.createObjectURL(new Blob([WORKER], {type: "text/javascript"}));
		this.heapScript = URL.createObjectURL(new Blob([HEAP_WORKER], {type: "text/javascript"}));
		this.services = {
			embedded: (view) => this.embedded(view),
			engine: async () => Engine.open({worker: new Worker(this.script), wasm: await this.module}),
			heap: async () => Heap.open({worker: new Worker(this.heapScript), wasm: await this.module}),
			home: () => this.home(),
			take: (file, asTrace) => this.take(file, asTrace),
		};
		await this.follow();
	}

	/**
	 * Return the trace or memory profile that VIEW names; without a name the first one. Return
	 * undefined if the document does not have it.
	 */
	embedded({file, memfile}) {
		const [name, kind] = memfile === undefined ? [file, EmbeddedTrace] : [memfile, EmbeddedMemory];

		return name === undefined ? this.traces[0] : this.traces.find((it) => it instanceof kind && it.name === name);
	}

	/**
	 * Open FILE as a memory profile or as a trace, by its first bytes. ASTRACE() opens it as a
	 * trace in the present page.
	 */
	async take(file, asTrace) {
		if (!(await isMemtrace(file).catch(() => false))) {
			if (asTrace) return asTrace();
			this.services.file = file;
			location.hash = format({file: file.name});
			return;
		}
		this.services.file = file;
		const address = format({memfile: file.name});
		if (location.hash !== address) {
			location.hash = address;
			return;
		}
		this.page?.close();
		this.page = null;
		this.follow();
	}

	/** Return links to the traces of this document, or null if it has only one. */
	home() {
		if (this.traces.length < 2) return null;
		const here = this.services.embedded(parse(location.hash));
		return make(
			"nav",
			{className: "tl-embedded", "aria-label": "Traces in this file"},
			...this.traces.map((it) =>
				make("a", {
					href: format(it instanceof EmbeddedMemory ? {memfile: it.name} : {file: it.name}),
					textContent: it.title,
					"aria-current": it === here ? "page" : null,
				}),
			),
		);
	}

	async follow() {
		const view = parse(location.hash);

		if (this.page && this.page.go(view) !== false) return;
		const turn = ++this.turn;
		this.page?.close();
		this.page = null;
		this.root.replaceChildren();
		const Page =
			view.memfile !== undefined || this.embedded(view) instanceof EmbeddedMemory ? MemoryPage : Timeline;
		const page = await Page.open(this.root, view, this.services);
		if (turn === this.turn) this.page = page;
		else page.close();
	}
}

/* The elements of the traces come after this script, so wait until the document is loaded. */
document.addEventListener("DOMContentLoaded", async () => {
	const root = document.getElementById("page");

	try {
		await new SingleFile(root).begin();
	} catch (error) {
		root.replaceChildren(
			make("p", {className: "sorry", role: "alert", textContent: `This cannot be shown: ${error.message}.`}),
		);
	}
});
