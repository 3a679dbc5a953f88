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
	/*
	 * The page looks only at the shown part of a long text. Take the least of three times: one
	 * may be slow by chance.
	 */
	const long = "\u202e".repeat(10 << 20);
	const took = [1, 2, 3].map(() => {
		const began = performance.now();
		shown(long);
		return performance.now() - began;
	});
	assert.ok(Math.min(...took) < 50, `${took} ms`);
});

test("guest text: lines stay lines", () => {
	assert.equal(shownLines("a\r\nb\u202e\n"), "a\\u000d\nb\\u202e\n");
	assert.match(shownLines("x\n".repeat(10), 4), /^x\nx\n\n… \(20 characters\)$/);
});
