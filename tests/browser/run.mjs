/*
 * Run the viewer's tests: node run.mjs BUILD NODE-MODULES RESULTS [WORD…]
 *
 * unit-*.mjs need no browser: each is a script of node:test. Every other file here registers
 * tests with harness.mjs.
 *
 * BUILD is a build directory of the project. NODE-MODULES is the folder in which `npm ci` was
 * run. RESULTS gets a line per test: passed, failed or skipped, its name, the reason. With WORDs
 * run only the tests whose name has one of them. Without WORDs a run with MPROF_BRIEF leaves out the
 * long tests. Exit with 1 if a test failed or none ran.
 */
import {spawnSync} from "node:child_process";
import {appendFileSync, readdirSync} from "node:fs";
import path from "node:path";
import {fileURLToPath, pathToFileURL} from "node:url";

const HELPERS = new Set(["run.mjs", "harness.mjs"]);
const [build, modules, results, ...words] = process.argv.slice(2);

if (!results) {
	console.error("usage: node run.mjs BUILD NODE-MODULES RESULTS [WORD...]");
	process.exit(2);
}
process.env.MPROF_BUILD = path.resolve(build);
process.env.MPROF_BROWSER = path.resolve(modules);
const {BRIEF, tests, run, close, compileOnce} = await import("./harness.mjs");

compileOnce();
const counts = {passed: 0, failed: 0, skipped: 0};

function report(verdict, name, reason) {
	counts[verdict]++;
	appendFileSync(results, `${verdict}\tbrowser: ${name}\t${reason.split("\n", 1)[0].replaceAll("\t", " ")}\n`);
	console.log(`${verdict}: ${name}${reason ? `: ${reason}` : ""}`);
}

/* Run one script of node:test and return its tests, read from its TAP. */
function unit(file) {
	const done = spawnSync(process.execPath, ["--test-reporter=tap", file], {
		encoding: "utf8",
		timeout: 600000,
		env: {...process.env, NODE_OPTIONS: ""},
	});
	const verdicts = [...done.stdout.matchAll(/^(not )?ok \d+ - (.*?)( # SKIP(.*))?$/gm)];

	for (const [, not, name, skipped, reason] of verdicts)
		report(not ? "failed" : skipped ? "skipped" : "passed", name, skipped ? (reason ?? "").trim() : "");
	if (done.status !== 0) console.log(done.stdout.slice(-8000), done.stderr.slice(-8000));
	if (!verdicts.length || (done.status !== 0 && !verdicts.some(([, not]) => not)))
		report("failed", path.basename(file), `it ended with ${done.status ?? done.signal}`);
}

const here = path.dirname(fileURLToPath(import.meta.url));

for (const file of readdirSync(here).sort()) {
	if (!file.endsWith(".mjs") || HELPERS.has(file)) continue;
	if (file.startsWith("unit-")) {
		if (!words.length || words.some((word) => file.includes(word))) unit(path.join(here, file));
		continue;
	}
	try {
		await import(pathToFileURL(path.join(here, file)));
	} catch (error) {
		report("failed", file, error.stack);
	}
}
/* Names of the skipped tests by reason. Each reason is printed as one line. */
const skipped = new Map();

const wanted = ({name, long}) => (words.length ? words.some((word) => name.includes(word)) : !(long && BRIEF));

for (const test of tests.filter(wanted)) {
	const began = performance.now();
	const {verdict, reason} = await run(test);
	if (verdict === "skipped") skipped.set(reason, [...(skipped.get(reason) ?? []), test.name]);
	else report(verdict, test.name, reason);
	if (performance.now() - began > 20000) console.log(`  it took ${Math.round((performance.now() - began) / 1000)} s`);
}
await close();
for (const [reason, names] of skipped)
	report("skipped", names.length > 1 ? `${names.length} tests (${names[0]}, ...)` : names[0], reason);
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exitCode = counts.failed || !counts.passed ? 1 : 0;
