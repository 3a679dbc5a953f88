/*
 * The places of texts over a picture. A text that would touch an earlier one is left out, because both
 * could not be read.
 */
const LETTER = 8; /* estimated width of a letter, with room to the next text, pixels */
const LINE = 15; /* least distance of two lines of text, pixels */

export class TextPlaces {
	constructor() {
		this.taken = []; /* {left, right, y} of each text so far, pixels */
	}

	/**
	 * Return TEXT if it has room from LEFT on at the height Y, in pixels, and keep its place. Otherwise
	 * return "".
	 */
	take(text, left, y) {
		const right = left + text.length * LETTER;
		const touches = (it) => Math.abs(it.y - y) < LINE && left < it.right && it.left < right;

		if (!text || this.taken.some(touches)) return "";
		this.taken.push({left, right, y});
		return text;
	}
}
