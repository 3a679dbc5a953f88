/*
 * A reader of a buffer of marks, laid out as in <mprof/scene.h>. It returns fields by index and
 * makes no object for each mark.
 */

/** The names of enum mprof_mark_kind, in its order. */
export const KINDS = [
	"sleeping",
	"collection",
	"gap",
	"grid",
	"shade",
	"highlight",
	"thread",
	"running",
	"creation",
	"becomes",
	"open-end",
	"failed",
	"resolve",
	"read",
	"read-failed",
	"try-read",
	"signal",
	"label",
	"type",
	"counter",
	"counter-name",
	"band-name",
	"tick",
	"tail",
	"busy",
	"lane",
	"envelope",
	"duration",
];

const BYTES = 32;
const decoder = new TextDecoder();

/**
 * Return the Marks of LIST, objects as list() returns them. A member that an object lacks is 0 or
 * "".
 */
export function marksOf(list) {
	const buffer = new ArrayBuffer(list.length * BYTES);
	const view = new DataView(buffer);
	const parts = [];

	list.forEach((it, i) => {
		const text = new TextEncoder().encode(it.text ?? "");
		const at = i * BYTES;

		["x0", "y0", "x1", "y1"].forEach((name, k) => view.setFloat32(at + k * 4, it[name] ?? 0, true));
		view.setUint32(at + 16, it.item ?? 0, true);
		view.setUint32(at + 20, parts.length, true);
		view.setUint16(at + 24, text.length, true);
		view.setUint8(at + 26, KINDS.indexOf(it.kind));
		view.setUint8(at + 27, it.stream ?? 0);
		view.setUint16(at + 28, it.shade ?? 0, true);
		view.setUint16(at + 30, it.count ?? 0, true);
		parts.push(...text);
	});
	return new Marks(buffer, list.length, new Uint8Array(parts));
}

export class Marks {
	/** Read N marks at the start of BUFFER. TEXT is the picture's text, UTF-8. */
	constructor(buffer, n, text) {
		this.n = Math.min(n, Math.floor(buffer.byteLength / BYTES));
		this.place = new Float32Array(buffer, 0, this.n * 8);
		this.word = new Uint32Array(buffer, 0, this.n * 8);
		this.half = new Uint16Array(buffer, 0, this.n * 16);
		this.byte = new Uint8Array(buffer, 0, this.n * BYTES);
		this.bytes = text;
	}

	x0(i) {
		return this.place[i * 8];
	}

	y0(i) {
		return this.place[i * 8 + 1];
	}

	x1(i) {
		return this.place[i * 8 + 2];
	}

	y1(i) {
		return this.place[i * 8 + 3];
	}

	item(i) {
		return this.word[i * 8 + 4];
	}

	text(i) {
		const at = this.word[i * 8 + 5];

		return decoder.decode(this.bytes.subarray(at, at + this.half[i * 16 + 12]));
	}

	kind(i) {
		return this.byte[i * BYTES + 26];
	}

	stream(i) {
		return this.byte[i * BYTES + 27];
	}

	shade(i) {
		return this.half[i * 16 + 14];
	}

	/** The number of items that share a line, less 1, at most 65,535. */
	count(i) {
		return this.half[i * 16 + 15];
	}

	/** Return the marks of KINDS as objects. Use it for tests and for few marks. */
	list(kinds = KINDS) {
		const out = [];

		for (let i = 0; i < this.n; i++) {
			const kind = KINDS[this.kind(i)] ?? String(this.kind(i));

			if (kinds.includes(kind))
				out.push({
					kind,
					x0: this.x0(i),
					y0: this.y0(i),
					x1: this.x1(i),
					y1: this.y1(i),
					item: this.item(i),
					text: this.text(i),
					stream: this.stream(i),
					shade: this.shade(i),
					count: this.count(i),
				});
		}
		return out;
	}
}
