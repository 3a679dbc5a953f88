/*
 * Shared by the browser tests: real daemons over a directory of rings, a real browser, and a
 * watch for errors in the page.
 *
 *     test("what it shows", async (t) => {
 *         const host = await t.host({rings: {web: reference("small.ctf")}});
 *         const page = await t.open(host, "/");
 *         ...
 *     });
 *
 * The harness ends whatever a test starts. A test fails when the page writes an error or a
 * warning to its console, throws, breaks its Content-Security-Policy, or requests anything from
 * another host. `t.allow(/…/)` names the errors that a test provokes on purpose.
 */
import {execFileSync} from "node:child_process";
import {once} from "node:events";
import {appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from "node:fs";
import {createRequire} from "node:module";
import {connect, createServer} from "node:net";
import {tmpdir} from "node:os";
import path from "node:path";
import {fileURLToPath} from "node:url";

import {close as closeLauncher, launcher, Program} from "../launcher/launcher.mjs";

const require = createRequire(path.join(process.env.MPROF_BROWSER, "package.json"));
const {chromium} = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

export const TOP = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
export const BUILD = process.env.MPROF_BUILD;
/*
 * Directories of reference traces: this project's in the tree, then published ones, which are
 * not in the tree.
 */
const REFERENCE = [
	path.join(TOP, "tests/traces"),
	path.join(process.env.MPROF_REFERENCE ?? path.join(TOP, "../shared"), "traces"),
];
const CONFIG = "[collector]\nflush-interval = 100ms\n[archive]\nfree-space = 1M\nreserve = 0\n";
export const PROGRAMS = {
	mprofd: "daemon/mprofd/mprofd",
	"mprofd-http": "daemon/serve/mprofd-http",
	"mprofd-sink": "daemon/sink/mprofd-sink",
	mprofctl: "client/ctl/mprofctl",
	"demo-guest": "client/recorder/demo/mprof-demo-guest",
	"archive-driver": "tests/integration/archive-driver",
};
/*
 * Debian's package chromium-headless-shell has the engine alone, and takes two thirds of Chromium's processor time.
 * Without that package the tests run Chromium itself.
 */
const CHROMIUM = ["/usr/lib/chromium/chromium-headless-shell", "/usr/bin/chromium"];
/* Limits for what never ends. A busy machine may be slow without running into them. */
const TIMEOUT = 600000;
const WAIT = 300000;
/* The longer a state takes, the more seldom until() asks for it, ms: an answer is work of several processes. */
const LONGEST_PAUSE = 200;
/* Directory for the screenshots that tests leave for a person to look at. */
const SHOTS = process.env.MPROF_SCREENSHOTS;

/* A brief run, as that of CI, leaves long tests to the suite browser-all. */
export const BRIEF = Boolean(process.env.MPROF_BRIEF);

export const tests = [];

/**
 * Register a test. OPTIONS: {timeout} in ms, if it takes more than ten minutes; {long: true} if it takes long and a shorter
 * test looks at its subject, too: a brief run (MPROF_BRIEF) leaves it out.
 */
export function test(name, options, run) {
	tests.push(typeof options === "function" ? {name, run: options} : {name, run, ...options});
}

/** Return the forms of a thing that this run looks at: all of LIST, or in a brief run the first one. */
export const forms = (list) => (BRIEF ? list.slice(0, 1) : list);

class Skip extends Error {}

export function fail(sentence) {
	throw new Error(sentence);
}

export function equal(got, wanted, what = "it") {
	const [a, b] = [got, wanted].map((value) => JSON.stringify(value, (_, v) => (typeof v === "bigint" ? `${v}n` : v)));

	if (a !== b) fail(`${what} is ${a}, not ${b}`);
}

export function ok(value, what = "it") {
	if (!value) fail(`${what} is ${String(value)}`);
}

const referenceFile = (name) =>
	REFERENCE.flatMap((directory) => [path.join(directory, name), path.join(directory, `${name}.xz`)]).find((file) =>
		existsSync(file),
	);

export const hasReference = (name) => referenceFile(name) !== undefined;

/**
 * Return the bytes of a reference trace, unpacked. Skip the test if it needs a published trace
 * that MPROF_REFERENCE does not have.
 */
export function reference(name) {
	const file = referenceFile(name);

	if (file)
		return file.endsWith(".xz") ? execFileSync("xz", ["-dc", file], {maxBuffer: 1 << 28}) : readFileSync(file);
	if (name.startsWith("public/"))
		throw new Skip(`there are no published traces at ${path.join(REFERENCE[1], "public")}`);
	return fail(`there is no ${name} in ${REFERENCE.join(" or ")}`);
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Call WHAT until it returns something true, and return that. On a timeout, report the last
 * exception that WHAT threw.
 */
export async function until(what, wait = WAIT) {
	const end = performance.now() + wait;
	let pause = 30;
	let last;

	for (;;) {
		try {
			const value = await what();
			if (value) return value;
			last = undefined;
		} catch (error) {
			last = error;
		}
		if (performance.now() > end) fail(`it did not come within ${wait / 1000} s: ${last ? last.message : what}`);
		await sleep(pause);
		pause = Math.min(pause * 1.2, LONGEST_PAUSE);
	}
}

/** Wait until ASK returns WANTED. On a timeout, report the difference as equal() does. */
export function becomes(ask, wanted, what) {
	return until(async () => {
		equal(await ask(), wanted, what);
		return true;
	});
}

/** Start a program of the build in DIRECTORY. */
function start(name, options, directory) {
	return new Program([path.join(BUILD, PROGRAMS[name]), ...options], path.join(directory, `${name}.log`), directory);
}

/* A guest is ended by a signal at any time. */
class Guest {
	constructor(program) {
		this.program = program;
	}

	stop(how = "SIGTERM") {
		return this.program.end(how);
	}
}

/** A collector over a directory of rings, and its server. */
export class Host {
	constructor(directory) {
		this.directory = directory;
		this.rings = path.join(directory, "rings");
		this.port = 0;
		this.guests = [];
		this.sockets = [];
		this.listens = []; /* further addresses to listen on, as for --listen */
		this.headers = {}; /* of the harness's own requests */
		for (const name of ["rings", "state", "run"]) mkdirSync(path.join(directory, name), {recursive: true});
	}

	/** Write ring NAME as a file of BYTES whose writer is gone. */
	ring(name, bytes) {
		writeFileSync(path.join(this.rings, `${name}.ctf`), bytes);
	}

	/**
	 * Send lines to the archive's writer (tests/integration/serve/archive-driver.c). Call it
	 * only while no collector runs.
	 */
	async archive(lines) {
		const write = this.writer();

		await write(...lines);
		await this.guests.pop().program.close();
	}

	/** Start a writer of the archive that keeps running: `await line(…)` writes more. */
	writer() {
		const driver = start("archive-driver", [path.join(this.directory, "state")], this.directory);
		let asked = 1; /* it says that it has begun */

		this.guests.push(new Guest(driver));
		return async (...lines) => {
			asked += lines.length;
			await driver.write(lines.map((line) => `${line}\n`).join(""), asked);
			const said = await driver.said();
			if (/error/.test(said)) fail(`the archive was not written: ${said.slice(-2000)}`);
		};
	}

	async startCollector(config = CONFIG) {
		writeFileSync(path.join(this.directory, "mprofd.conf"), config);
		this.collector = start("mprofd", ["--source", `dir:${this.rings}`, ...this.places()], this.directory);
		await this.collector.ready();
	}

	/** Start mprofd-sink, which receives memory profiles. Guests connect to `sinkPort`. */
	async startSink() {
		appendFileSync(
			path.join(this.directory, "mprofd.conf"),
			"[sink]\nlisten = 127.0.0.1:0\nstreams-per-guest = 100\n",
		);
		this.sink = start("mprofd-sink", this.places(), this.directory);
		this.sinkPort = Number(new URL((await this.sink.ready())[0]).port);
	}

	/**
	 * Connect a guest that sends a memtrace stream to the sink: `guest.write(bytes)`,
	 * `guest.end()`.
	 */
	profiled(bytes) {
		const guest = connect(this.sinkPort, "127.0.0.1");

		guest.on("error", () => {});
		this.sockets.push(guest);
		guest.write(bytes);
		return guest;
	}

	/**
	 * Start a guest that offers a memtrace stream on a port of its own. It sends BYTES to each
	 * client that connects, then what `offer.send(bytes)` passes, until the other side shuts the
	 * connection.
	 */
	async offered(bytes) {
		const offer = {clients: [], send: (more) => offer.clients.forEach((client) => client.write(more))};
		const server = createServer({allowHalfOpen: true}, (client) => {
			offer.clients.push(client);
			this.sockets.push(client);
			client
				.on("error", () => {})
				.on("end", () => client.end())
				.resume();
			client.write(typeof bytes === "function" ? bytes() : bytes);
		});

		server.listen(0, "127.0.0.1");
		await once(server, "listening");
		this.sockets.push({destroy: () => server.close()});
		offer.port = server.address().port;
		return offer;
	}

	/** Start the server, on its last port if it had one, which nobody else gets meanwhile. */
	async startServer() {
		this.port ||= await launcher("port");
		this.server = start(
			"mprofd-http",
			[`127.0.0.1:${this.port}`, ...this.listens].flatMap((it) => ["--listen", it]).concat(this.places()),
			this.directory,
		);
		await this.server.ready();
		this.url = `http://127.0.0.1:${this.port}`;
	}

	places() {
		const config = path.join(this.directory, "mprofd.conf");

		return [
			"--state",
			path.join(this.directory, "state"),
			"--run",
			path.join(this.directory, "run"),
			"--config",
			config,
		];
	}

	async stopServer() {
		await this.server.stop();
		this.server = null;
	}

	/** Start a guest that records a simulated unikernel until `await guest.stop()`. */
	guest(name, ...options) {
		const guest = new Guest(
			start("demo-guest", ["--ring", path.join(this.rings, `${name}.ctf`), ...options], this.directory),
		);

		this.guests.push(guest);
		return guest;
	}

	async get(address) {
		const answer = await fetch(this.url + address, {headers: this.headers});

		if (!answer.ok) fail(`GET ${address}: ${answer.status} ${await answer.text()}`);
		return answer.json();
	}

	/** Return the server's entry for a guest, or undefined. */
	async domain(name) {
		return (await this.get("/v1/domains?limit=1000")).domains.find((domain) => domain.name === name);
	}

	async stop() {
		const faults = [];

		await Promise.all(this.guests.map((guest) => guest.stop("SIGKILL")));
		this.sockets.forEach((socket) => socket.destroy());
		for (const program of [this.server, this.collector, this.sink])
			await program?.stop().catch((error) => faults.push(error.message));
		rmSync(this.directory, {recursive: true, force: true});
		if (faults.length) fail(faults.join("\n"));
	}
}

let browser = null;

const chromiumOptions = [
	"--no-sandbox",
	"--force-color-profile=srgb",
	"--font-render-hinting=none",
	"--disable-lcd-text",
];

/**
 * Compile WebAssembly once, not a second time for speed, in the browser that run() starts. A test ends before that would
 * repay: it is a quarter of the processor time of most tests. A measurement does not call this.
 */
export function compileOnce() {
	chromiumOptions.push("--js-flags=--liftoff-only --wasm-lazy-compilation");
}

class Test {
	constructor(name) {
		this.name = name;
		this.problems = [];
		this.allowed = [];
		this.later = [];
	}

	/** Ignore console messages that match. */
	allow(expression) {
		this.allowed.push(expression);
	}

	skip(reason) {
		throw new Skip(reason);
	}

	/**
	 * Start a host. RINGS: {name: bytes}; ARCHIVE: lines to write to the archive first;
	 * COLLECTOR false: start the server alone; SINK true: start the sink too; PREPARE(host) is
	 * called before the server starts.
	 */
	async host({rings = {}, archive = [], collector = true, sink = false, config, prepare} = {}) {
		const host = new Host(mkdtempSync(path.join(tmpdir(), "mprof-browser.")));

		this.later.push(() => host.stop());
		for (const [name, bytes] of Object.entries(rings)) host.ring(name, bytes);
		if (archive.length) await host.archive(archive);
		writeFileSync(path.join(host.directory, "mprofd.conf"), CONFIG);
		if (collector) await host.startCollector(config);
		if (sink) await host.startSink();
		await prepare?.(host);
		await host.startServer();
		for (const name of Object.keys(rings)) await until(async () => (await host.domain(name))?.state === "ended");
		return host;
	}

	/**
	 * Open a page of HOST. OPTIONS: width, height, dark, touch, INIT to run before the page, and
	 * any other option of a playwright context.
	 */
	async open(host, address = "/", {width = 1280, height = 800, dark = false, touch = false, init, ...more} = {}) {
		const context = await browser.newContext({
			viewport: {width, height},
			colorScheme: dark ? "dark" : "light",
			hasTouch: touch,
			reducedMotion: "reduce",
			...more,
		});
		const page = await context.newPage();

		this.later.push(() => context.close());
		this.watch(page, host);
		if (init) await page.addInitScript(init);
		await page.goto(host.url + address);
		return page;
	}

	/** Note every error in PAGE. */
	watch(page, host) {
		page.setDefaultTimeout(WAIT);
		page.on("console", (message) => {
			if (["error", "warning"].includes(message.type()))
				this.problems.push(`console: ${message.text()} (${message.location().url})`);
		});
		page.on("pageerror", (error) => this.problems.push(`thrown: ${error.stack ?? error}`));
		page.on("crash", () => this.problems.push("the page crashed"));
		page.on("request", (request) => {
			if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(`${host.url}/`))
				this.problems.push(`asked for ${request.url()}`);
		});
	}

	/** Check that axe-core finds no fault in PAGE, or below SELECTOR. A brief run looks at the first rows of each table: the others are like them. */
	async accessible(page, selector) {
		if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe);
		const context = {include: [selector ?? "html"], exclude: BRIEF ? ["tbody tr:nth-child(n + 11)"] : []};
		const faults = await page.evaluate(async (where) => {
			const result = await globalThis.axe.run(where, {resultTypes: ["violations"]});
			return result.violations.map(
				(v) =>
					`${v.id} (${v.help}): ${v.nodes
						.slice(0, 3)
						.map((n) => `${n.html} ${n.failureSummary}`)
						.join("; ")}`,
			);
		}, context);

		if (faults.length) fail(`axe-core: ${faults.join("\n")}`);
	}

	/** Save a screenshot of PAGE if $MPROF_SCREENSHOTS names a directory. */
	async look(page, name) {
		if (!SHOTS) return;
		mkdirSync(SHOTS, {recursive: true});
		await page.screenshot({path: path.join(SHOTS, `${name}.png`)});
	}

	async end() {
		const faults = [];

		for (const call of this.later.reverse()) await call().catch((error) => faults.push(error.message));
		faults.push(...this.problems.filter((problem) => !this.allowed.some((expression) => expression.test(problem))));
		return faults;
	}
}

async function bounded(work, ms) {
	let timer;
	const late = new Promise((_, reject) => {
		timer = setTimeout(() => reject(new Error(`it took more than ${ms / 1000} s`)), ms);
	});

	try {
		return await Promise.race([work, late]);
	} finally {
		clearTimeout(timer);
	}
}

/** Run one test. Return {verdict, reason}. */
export async function run({name, run: body, timeout = TIMEOUT}) {
	const t = new Test(name);
	let verdict = "passed";
	let reasons = [];

	browser ??= await chromium.launch({
		executablePath: process.env.MPROF_CHROMIUM ?? CHROMIUM.find(existsSync),
		args: chromiumOptions,
		env: {...process.env, FONTCONFIG_FILE: path.join(TOP, "tests/browser/fonts.conf")},
	});
	try {
		await bounded(body(t), Math.max(timeout, TIMEOUT));
	} catch (error) {
		verdict = error instanceof Skip ? "skipped" : "failed";
		reasons = [error instanceof Skip ? error.message : error.stack];
	}
	const faults = await t.end();
	if (faults.length && verdict !== "skipped") {
		verdict = "failed";
		reasons.push(...faults);
	}
	return {verdict, reason: reasons.join("\n  ")};
}

export async function close() {
	await browser?.close();
	closeLauncher();
}
