/*
 * The places of texts over a picture. A text that would touch an earlier one is left out, because both
 * could not be read. A text makes way for the picture's own labels where its line has room.
 */
const LETTER = 8; /* estimated width of a letter, with room to the next text, pixels */
const LINE = 15; /* least distance of two lines of text, pixels */

/* Return the entries of LIST that touch a text from LEFT to RIGHT at the height Y. */
const touching = (list, left, right, y) =>
	list.filter((it) => Math.abs(it.y - y) < LINE && left < it.right && it.left < right);

const LABELS_MOST = 1000; /* most labels that labelPlaces() returns; a picture has room for fewer */
const LABEL_LETTER = 7; /* estimated width of a letter of a label, pixels */
const ABOVE = 19; /* distance from the baseline of a text below a line to that of a label above it, pixels */

/** Return the places of the labels in MARKS (marks.js), for TextPlaces. */
export function labelPlaces(marks) {
	return marks
		.list(["label"])
		.slice(0, LABELS_MOST)
		.map(({x0, y0, text}) => {
			const left = Math.max(x0, 0);

			return {left, right: left + text.length * LABEL_LETTER, y: y0 - ABOVE};
		});
}

export class TextPlaces {
	/** LABELS: places {left, right, y} of the picture's labels, pixels; y as of take(). */
	constructor(labels = []) {
		this.labels = labels;
		this.taken = []; /* the same of each text so far */
	}

	/**
	 * Find a place for TEXT at the height Y, from LEFT on or farther right, and no farther than MOST,
	 * all in pixels. Keep it, and return {text, x}. If only labels are in the way, the place is at
	 * LEFT; if there is none, the text is "".
	 */
	take(text, left, y, most = left) {
		const width = text.length * LETTER;
		const touched = (list, x) => touching(list, x, x + width, y);
		let x = left;

		for (;;) {
			const next = [...touched(this.taken, x), ...touched(this.labels, x)].map((it) => it.right);
			if (!next.length) break;
			x = Math.max(...next);
			if (x > most) {
				x = left;
				break;
			}
		}
		if (!text || touched(this.taken, x).length) return {text: "", x: left};
		this.taken.push({left: x, right: x + width, y});
		return {text, x};
	}
}
