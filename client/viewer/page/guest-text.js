/*
 * Make text that a guest wrote safe to show. The page shows it as text (textContent), never as
 * markup. This module limits its length, and escapes characters that are invisible, break lines or
 * change the direction of text.
 */

const NAME_MAX = 120; /* most characters of a name */

/* The characters that client/trace/decode/text.c escapes, and other invisible ones. */
const UNSEEN = new RegExp(
	"[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f" +
		"\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufdd0-\\ufdef\\ufff0-\\ufffb\\ufffe\\uffff]|[\\u{e0000}-\\u{e0fff}]|\\p{Cs}|\\p{Noncharacter_Code_Point}",
	"gu",
);

/** Return CHARACTER as "\u00ad" or "\u{e0001}", its number in hexadecimal. */
function escaped(character) {
	const code = character.codePointAt(0).toString(16);

	return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
}

/**
 * Return TEXT on one line, cut to MOST characters. A cut text ends with its full length. null and
 * undefined become "".
 */
export function shown(text, most = NAME_MAX) {
	const whole = String(text ?? "");
	/* Cut before escaping, because a name can have ten megabytes. */
	const points = Array.from(whole.slice(0, 2 * most + 2));
	const part = points.slice(0, most).join("").replace(UNSEEN, escaped);

	return points.length > most ? `${part}… (${whole.length.toLocaleString("en")} characters)` : part;
}

/**
 * Return TEXT, which may have several lines, such as the output on a console, cut to MOST
 * characters. Line feeds and tabs stay. A cut text ends with its full length. null and undefined
 * become "".
 */
export function shownLines(text, most = 1 << 20) {
	const whole = String(text ?? "");
	const part = whole.slice(0, most).replace(UNSEEN, (c) => (c === "\n" || c === "\t" ? c : escaped(c)));

	return whole.length > most ? `${part}\n… (${whole.length.toLocaleString("en")} characters)` : part;
}
