/* The page preloads the modules that it imports. */
import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import {posix} from "node:path";
import {test} from "node:test";

const viewer = (name) => readFileSync(new URL(`../../client/viewer/${name}.js`, import.meta.url), "utf8");

/** Return NAME and all modules that it imports, directly or not. */
function needed(name, found = new Set()) {
	if (found.has(name)) return found;
	found.add(name);
	for (const [, other] of viewer(name).matchAll(/^import [^;]*? from "(\.{1,2}\/[\w/-]+)\.js";$/gm))
		needed(posix.join(posix.dirname(name), other), found);
	return found;
}

test("a time line's preloaded modules are its imports", () => {
	const list = /timeline: \[([^\]]*)\]/.exec(viewer("preload"))[1];
	const names = [...list.matchAll(/"([\w/-]+)"/g)].map(([, name]) => name);
	const all = needed("trace/timeline");

	assert.deepEqual(
		names.filter((name) => !all.has(name)),
		[],
	);
	/* A missing module only costs time, but few may be missing. */
	assert.ok(names.length > 0.8 * all.size, `of ${[...all].join()}`);
});
