/*
 * Match names of guests against globs as fnmatch() of glibc without flags does, byte by byte in the
 * locale C. The server decides what one may do; the page asks this module only which buttons to
 * show.
 */

/* The classes of fnmatch in brackets, [[:digit:]], as ranges of bytes. */
const CLASSES = {
	alnum: "09AZaz",
	alpha: "AZaz",
	blank: "  \t\t",
	cntrl: "\x00\x1f\x7f\x7f",
	digit: "09",
	graph: "!~",
	lower: "az",
	print: " ~",
	punct: "!/:@[`{~",
	space: "\t\r  ",
	upper: "AZ",
	xdigit: "09AFaf",
};
const CLASS = /^\[:([a-z]*):\]/;
const EQUAL = /^\[=([^])=\]/; /* [=x=], the bytes that sort as x: in the locale C, x alone */
const SYMBOL = /^\[\.([^])\.\]/; /* [.x.], the byte x */

/** Return TEXT as one character for each of its bytes in UTF-8. */
function bytesOf(text) {
	return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("");
}

/** Return true if BYTE is in the class NAME; false also if there is no such class. */
function inClass(name, byte) {
	const pairs = CLASSES[name] ?? "";

	for (let i = 0; i < pairs.length; i += 2) if (byte >= pairs[i] && byte <= pairs[i + 1]) return true;
	return false;
}

/**
 * Read one end of a range at AT of GLOB, inside of brackets. Return {byte, at: behind it}, or null
 * if the glob ends there.
 */
function rangeEnd(glob, at) {
	const symbol = SYMBOL.exec(glob.slice(at, at + 5));

	if (symbol) return {byte: symbol[1], at: at + 5};
	if (glob[at] === "\\") at++;
	return at < glob.length ? {byte: glob[at], at: at + 1} : null;
}

/**
 * Match BYTE against the brackets whose content begins at AT of GLOB. Return {matches, at: behind
 * them}, or null if they are not closed.
 */
function bracket(glob, at, byte) {
	const negated = glob[at] === "!" || glob[at] === "^";
	let matches = false;

	if (negated) at++;
	for (let first = true; first || glob[at] !== "]"; first = false) {
		const rest = glob.slice(at);
		const named = CLASS.exec(rest);
		const equal = EQUAL.exec(rest);

		if (named || equal) {
			matches ||= named ? inClass(named[1], byte) : equal[1] === byte;
			at += (named ?? equal)[0].length;
			continue;
		}
		const low = rangeEnd(glob, at);
		if (!low) return null;
		const isRange = glob[low.at] === "-" && glob[low.at + 1] !== "]";
		const high = isRange ? rangeEnd(glob, low.at + 1) : low;
		/* glibc matches nothing if the glob ends within a range. */
		if (!high) return {matches: false, at: glob.length};
		matches ||= byte >= low.byte && byte <= high.byte;
		at = high.at;
	}
	return {matches: matches !== negated, at: at + 1};
}

/**
 * Match BYTE against the element of GLOB at AT, which is not "*". Return the place behind the
 * element, or -1 if BYTE does not match.
 */
function element(glob, at, byte) {
	if (glob[at] === "?") return at + 1;
	if (glob[at] === "[") {
		const found = bracket(glob, at + 1, byte);

		if (found) return found.matches ? found.at : -1;
	}
	/* A backslash at the end matches nothing. */
	if (glob[at] === "\\") at++;
	return glob[at] === byte ? at + 1 : -1;
}

/** Return true if NAME matches GLOB. */
export function matches(glob, name) {
	const pattern = bytesOf(glob);
	const bytes = bytesOf(name);
	let [at, i] = [0, 0];
	/* Behind the last "*", and the number of bytes up to the end of what it matches. */
	let [star, taken] = [-1, 0];

	while (i < bytes.length || at < pattern.length) {
		const next =
			at < pattern.length && i < bytes.length && pattern[at] !== "*" ? element(pattern, at, bytes[i]) : -1;

		if (pattern[at] === "*") {
			star = ++at;
			taken = i;
		} else if (next > 0) {
			at = next;
			i++;
		} else if (star >= 0 && taken < bytes.length) {
			at = star;
			i = ++taken;
		} else {
			return false;
		}
	}
	return true;
}
