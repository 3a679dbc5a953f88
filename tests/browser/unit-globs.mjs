/* Globs of guest names match as fnmatch() of the C library, which the server uses. */
import assert from "node:assert/strict";
import {spawnSync} from "node:child_process";
import {test} from "node:test";

import {matches} from "../../client/viewer/page/globs.js";

const CASES = [
	["*", "web", true],
	["*", "", true],
	["", "", true],
	["", "web", false],
	["web*", "web-1", true],
	["web*", "web", true],
	["web*", "a web", false],
	["*web", "web web", true],
	["w*b*1", "web-b-1", true],
	["w?b", "web", true],
	["w?b", "wb", false],
	["*/*", "a/b", true],
	["*", ".hidden", true],
	["db-[0-9]", "db-7", true],
	["db-[0-9]", "db-x", false],
	["db-[!0-9]", "db-x", true],
	["db-[!0-9]", "db-7", false],
	["[]a]", "]", true],
	["[!]a]", "]", false],
	["[a-]", "-", true],
	["\\*", "*", true],
	["\\*", "web", false],
	["[\\]]", "]", true],
	["[", "[", true],
	["web\\", "web\\", false],
	["[[:digit:]]", "4", true],
	["é", "é", true],
	["?", "é", false],
	["??", "é", true],
];

test("globs match names of guests", () => {
	for (const [glob, name, wanted] of CASES)
		assert.equal(matches(glob, name), wanted, `${JSON.stringify(glob)} on ${JSON.stringify(name)}`);
});

/* A glob with many stars is decided in time that grows with the product of the lengths only. */
test("a glob with many stars takes no time", () => {
	assert.equal(matches("*a".repeat(200), "a".repeat(10000) + "b"), false);
});

/* Return N pairs of a glob and a name of few different characters, the same for each run. */
function random(n) {
	const letters = "ab-]![^\\*?:";
	let state = 1;
	const draw = (most) => (state = (state * 48271) % 2147483647) % most;
	const text = (alphabet, most) => Array.from({length: draw(most)}, () => alphabet[draw(alphabet.length)]).join("");

	return Array.from({length: n}, () => [text(letters, 9), text("ab-]!\\:[", 5)]);
}

const FNMATCH = `
import ctypes, json, sys
libc = ctypes.CDLL(None)
print(json.dumps([libc.fnmatch(g.encode(), n.encode(), 0) == 0 for g, n in json.load(sys.stdin)]))
`;

test("globs match as fnmatch of the C library", (t) => {
	const pairs = [...random(20000), ...CASES.map(([glob, name]) => [glob, name])];
	const done = spawnSync("python3", ["-c", FNMATCH], {
		input: JSON.stringify(pairs),
		encoding: "utf8",
		maxBuffer: 1 << 24,
		env: {...process.env, LC_ALL: "C"},
	});

	if (done.error) return t.skip("python3 is not installed");
	assert.equal(done.status, 0, done.stderr);
	const wanted = JSON.parse(done.stdout);
	const other = pairs.filter(([glob, name], i) => matches(glob, name) !== wanted[i]);
	assert.deepEqual(other.slice(0, 10), []);
	assert.ok(wanted.filter(Boolean).length > 500, "too few pairs match");
});
