/*
 * Text of guests, safe to show. It is put on the page as text, never as markup (textContent). This
 * module bounds it and escapes characters that change direction, break lines or cannot be seen.
 */

const NAME_MAX = 120;

/* The characters that client/trace/decode/text.c escapes, and invisible ones. */
const UNSEEN = new RegExp(
	"[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f" +
		"\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufdd0-\\ufdef\\ufff0-\\ufffb\\ufffe\\uffff]|[\\u{e0000}-\\u{e0fff}]|\\p{Cs}|\\p{Noncharacter_Code_Point}",
	"gu",
);

function escaped(character) {
	const code = character.codePointAt(0).toString(16);

	return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
}

/** Return TEXT on one line of at most MOST characters. A longer one ends with its length. */
export function shown(text, most = NAME_MAX) {
	const whole = String(text ?? "");
	/* Cut first: do not scan ten megabytes for a name. */
	const points = Array.from(whole.slice(0, 2 * most + 2));
	const part = points.slice(0, most).join("").replace(UNSEEN, escaped);

	return points.length > most ? `${part}… (${whole.length.toLocaleString("en")} characters)` : part;
}

/** Return a text of several lines, such as a console. Line feeds stay. */
export function shownLines(text, most = 1 << 20) {
	const whole = String(text ?? "");
	const part = whole.slice(0, most).replace(UNSEEN, (c) => (c === "\n" || c === "\t" ? c : escaped(c)));

	return whole.length > most ? `${part}\n… (${whole.length.toLocaleString("en")} characters)` : part;
}
