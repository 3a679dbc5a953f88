/*
 * Load ring files of OCaml 5 into the page's worker, under node: wasm-runtime.mjs SOURCE-ROOT MPROFCTL
 *
 * The worker translates such a file into a stream for each ring. Its events and threads must be those
 * of mprofctl for the same file.
 */
import {execFileSync} from "node:child_process";
import {readFileSync} from "node:fs";
import {join} from "node:path";
import {gzipSync} from "node:zlib";
import {Engine} from "../../client/viewer/engine/engine.js";
import {Port} from "./wasm-port.mjs";

const [root, mprofctl] = process.argv.slice(2);
const file = (name) => join(root, `tests/traces/ocaml5/${name}.events.xz`);
const unpack = (name) => execFileSync("xz", ["-dc", file(name)], {maxBuffer: 1 << 30});
let failures = 0;

function check(holds, what) {
	if (holds) return;
	failures++;
	console.log("FAILED", what);
}

const engine = await Engine.open({worker: new Port(), wasm: readFileSync(process.env.MPROF_WASM)});

for (const name of ["eio", "eio-hang", "domains-gc", "custom", "wrapped"]) {
	const ctl = (verb) =>
		JSON.parse(execFileSync(mprofctl, [verb, "--json", file(name)], {stdio: ["ignore", "pipe", "ignore"]}));
	const stats = ctl("stats"),
		threads = ctl("threads").threads.length;
	const bytes = unpack(name);

	for (const [way, blob] of Object.entries({plain: bytes, gzip: gzipSync(bytes)})) {
		const {totals, streams} = await engine.load([{guest: 0, blob: new Blob([blob])}]);

		check(totals.events === stats.events, `${name}, ${way}: ${totals.events} events, not ${stats.events}`);
		for (const [event, n] of Object.entries(stats.events_by_type))
			check(
				totals.events_by_type[event] === n,
				`${name}, ${way}: ${totals.events_by_type[event]} ${event}, not ${n}`,
			);
		check(totals.threads === threads, `${name}, ${way}: ${totals.threads} threads, not ${threads}`);
		check(totals.lost_packets === stats.lost_packets, `${name}, ${way}: ${totals.lost_packets} lost packets`);
		check(
			streams.length === 1 || streams.every((stream, i) => stream.name === `ring ${i}` && stream.guest === 0),
			`${name}, ${way}: names`,
		);
		const exported = execFileSync(mprofctl, ["export", "--to", "chrome", "-o", "-", file(name)], {
			maxBuffer: 1 << 30,
			stdio: ["ignore", "pipe", "ignore"],
		});
		/* mprofctl names the file before each of several rings; the page has the file in its title. */
		const named = Buffer.from(exported.toString().replaceAll(`"${file(name)} ring `, '"ring '));

		check(
			named.equals(Buffer.from(await (await engine.chrome(file(name))).blob.arrayBuffer())),
			`${name}, ${way}: the page's export is not that of mprofctl`,
		);
	}
}

/* The fibre that hangs, found by its label. */
await engine.load([{guest: 0, blob: new Blob([unpack("eio-hang")])}]);
const {threads} = await engine.find("request 3");
const sentences = JSON.stringify(await engine.why(threads[0]), (key, value) =>
	typeof value === "bigint" ? String(value) : value,
);
check(threads.length && sentences.includes("reply 3"), `why: ${sentences}`);

/* A cut file is refused with a sentence. */
const cut = await engine.load([{blob: new Blob([unpack("nothing").subarray(0, 4096)])}]).then(
	() => "nothing",
	(error) => error.message,
);
check(cut.includes("is cut"), `a cut file: ${cut}`);
engine.close();
if (failures) process.exitCode = 1;
