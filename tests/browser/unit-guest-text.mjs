/* Hostile text: the page shows its characters as they are, and bounds its length. */
import assert from "node:assert/strict";
import {test} from "node:test";

import {shown, shownLines} from "../../client/viewer/page/guest-text.js";

test("guest text: readable text stays as it is", () => {
	for (const text of ["web", "Größe", "日本語", "emoji 🐫", "<b>&amp;", "a\\b"]) assert.equal(shown(text), text);
	assert.equal(shown(null), "");
});

test("guest text: characters that change direction or line, or cannot be seen, are escaped", () => {
	assert.equal(shown("a\u202egpj.exe"), "a\\u202egpj.exe");
	assert.equal(shown("a\nb\tc\0\x1b[31m"), "a\\u000ab\\u0009c\\u0000\\u001b[31m");
	assert.equal(
		shown("\u2066\u2069\u061c\u200f\ufeff\u200b\u00ad"),
		"\\u2066\\u2069\\u061c\\u200f\\ufeff\\u200b\\u00ad",
	);
	assert.equal(shown("\u{e0041}\ud800x\udc00"), "\\u{e0041}\\ud800x\\udc00");
	assert.equal(shown("\u2028\u2029\x85"), "\\u2028\\u2029\\u0085");
});

test("guest text: long text is cut, with its length", () => {
	assert.equal(shown("x".repeat(120)), "x".repeat(120));
	assert.equal(shown("x".repeat(10240)), `${"x".repeat(120)}… (10,240 characters)`);
	assert.equal(shown("🐫".repeat(200), 3), "🐫🐫🐫… (400 characters)");
	/* The page looks only at the shown part of a long text: nothing of the language that reads all of a text gets more. */
	const {from} = Array;
	const {replace} = String.prototype;
	const lengths = [];
	Array.from = (text, ...more) => (lengths.push(text.length), from.call(Array, text, ...more));
	String.prototype.replace = function (...how) {
		lengths.push(this.length);
		return replace.apply(this, how);
	};
	try {
		shown("\u202e".repeat(10 << 20));
	} finally {
		Array.from = from;
		String.prototype.replace = replace;
	}
	assert.ok(lengths.length >= 2 && Math.max(...lengths) < 1000, `${lengths} characters`);
});

test("guest text: lines stay lines", () => {
	assert.equal(shownLines("a\r\nb\u202e\n"), "a\\u000d\nb\\u202e\n");
	assert.match(shownLines("x\n".repeat(10), 4), /^x\nx\n\n… \(20 characters\)$/);
});
