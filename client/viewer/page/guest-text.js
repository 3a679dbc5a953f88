/*
 * Make text of guests safe to show. The page shows it as text (textContent) and never as markup.
 * This module limits its length, and escapes characters that change the direction of text, break
 * lines or are invisible.
 */

const NAME_MAX = 120;

/* The characters that client/trace/decode/text.c escapes, and invisible characters. */
const UNSEEN = new RegExp(
	"[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f" +
		"\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufdd0-\\ufdef\\ufff0-\\ufffb\\ufffe\\uffff]|[\\u{e0000}-\\u{e0fff}]|\\p{Cs}|\\p{Noncharacter_Code_Point}",
	"gu",
);

function escaped(character) {
	const code = character.codePointAt(0).toString(16);

	return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
}

/** Return TEXT on one line, cut to MOST characters. A cut text ends with the full length. */
export function shown(text, most = NAME_MAX) {
	const whole = String(text ?? "");
	/* Cut the text before escaping: a name may have ten megabytes. */
	const points = Array.from(whole.slice(0, 2 * most + 2));
	const part = points.slice(0, most).join("").replace(UNSEEN, escaped);

	return points.length > most ? `${part}… (${whole.length.toLocaleString("en")} characters)` : part;
}

/**
 * Return a text of several lines, such as a console, cut to MOST characters. Line feeds and tabs
 * stay.
 */
export function shownLines(text, most = 1 << 20) {
	const whole = String(text ?? "");
	const part = whole.slice(0, most).replace(UNSEEN, (c) => (c === "\n" || c === "\t" ? c : escaped(c)));

	return whole.length > most ? `${part}\n… (${whole.length.toLocaleString("en")} characters)` : part;
}
