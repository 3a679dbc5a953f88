/* Read pictures of a page and compare them. */
import {inflateSync} from "node:zlib";

const MAGIC = Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]);
const CHANNELS = {2: 3, 6: 4}; /* bytes a pixel by colour type: RGB, RGBA */
/* Two pixels are alike if no channel differs by more. */
const LIKE = 48;

function paeth(a, b, c) {
	const [pa, pb, pc] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)];

	return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}

/* Undo the filter of the line at AT in OUT, using the line before it. */
function unfilter(filter, out, at, stride, pixel) {
	for (let i = 0; i < stride; i++) {
		const left = i >= pixel ? out[at + i - pixel] : 0;
		const up = at ? out[at + i - stride] : 0;
		const corner = at && i >= pixel ? out[at + i - stride - pixel] : 0;

		out[at + i] += [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter];
	}
}

/**
 * Return {width, height, pixel: bytes of each, data} of a PNG as browsers write it: 8 bits a
 * channel, not interlaced.
 */
export function read(bytes) {
	const parts = [];
	let head = null;

	if (!bytes.subarray(0, 8).equals(MAGIC)) throw new Error("It is no PNG.");
	for (let at = 8; at < bytes.length; at += bytes.readUInt32BE(at) + 12) {
		const type = bytes.toString("latin1", at + 4, at + 8);
		const body = bytes.subarray(at + 8, at + 8 + bytes.readUInt32BE(at));

		if (type === "IHDR")
			head = {
				width: body.readUInt32BE(0),
				height: body.readUInt32BE(4),
				pixel: body[8] === 8 && !body[12] ? CHANNELS[body[9]] : undefined,
			};
		else if (type === "IDAT") parts.push(body);
	}
	if (!head?.pixel) throw new Error("It is a PNG of another kind than browsers write.");
	const {width, height, pixel} = head;
	const stride = width * pixel;
	const raw = inflateSync(Buffer.concat(parts));
	const data = Buffer.alloc(stride * height);
	for (let y = 0; y < height; y++) {
		raw.copy(data, y * stride, y * (stride + 1) + 1, (y + 1) * (stride + 1));
		unfilter(raw[y * (stride + 1)], data, y * stride, stride, pixel);
	}
	return {...head, data};
}

function like(a, i, b, j) {
	return (
		Math.abs(a.data[i] - b.data[j]) <= LIKE &&
		Math.abs(a.data[i + 1] - b.data[j + 1]) <= LIKE &&
		Math.abs(a.data[i + 2] - b.data[j + 2]) <= LIKE
	);
}

/* Return whether B has no pixel within one of X and Y that is like the pixel of A there. */
function lacks(a, b, x, y) {
	const i = (y * a.width + x) * a.pixel;

	for (let v = Math.max(y - 1, 0); v <= Math.min(y + 1, b.height - 1); v++)
		for (let u = Math.max(x - 1, 0); u <= Math.min(x + 1, b.width - 1); u++)
			if (like(a, i, b, (v * b.width + u) * b.pixel)) return false;
	return true;
}

/**
 * Return the pixels of A that B lacks and those of B that A lacks: {share: part of all pixels,
 * box: [x0, y0, x1, y1] of them}. A line that is one pixel off, or whose edge is smoothed
 * differently, counts as equal.
 */
export function difference(a, b) {
	const box = [a.width, a.height, 0, 0];
	let n = 0;

	if (a.width !== b.width || a.height !== b.height) return {share: 1, box: [0, 0, a.width, a.height]};
	for (let y = 0; y < a.height; y++)
		for (let x = 0; x < a.width; x++) {
			if (
				like(a, (y * a.width + x) * a.pixel, b, (y * b.width + x) * b.pixel) ||
				!(lacks(a, b, x, y) || lacks(b, a, x, y))
			)
				continue;
			n++;
			box[0] = Math.min(box[0], x);
			box[1] = Math.min(box[1], y);
			box[2] = Math.max(box[2], x + 1);
			box[3] = Math.max(box[3], y + 1);
		}
	return {share: n / (a.width * a.height), box};
}
