/*
 * The launcher for Node: a process of tests/launcher/service.py, which starts the programs. Calls
 * of a program are carried out one after the other.
 */
import {spawn} from "node:child_process";
import path from "node:path";
import {createInterface} from "node:readline";
import {fileURLToPath} from "node:url";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const waiting = new Map();
let service = null;
let asked = 0;

function begin() {
	service = spawn("python3", ["-B", path.join(HERE, "service.py")], {stdio: ["pipe", "pipe", "inherit"]});
	createInterface({input: service.stdout}).on("line", (line) => {
		const {id, value, error} = JSON.parse(line);
		const {resolve, reject} = waiting.get(id);

		waiting.delete(id);
		if (error === undefined) resolve(value);
		else reject(new Error(error));
	});
	service.on("exit", () => waiting.forEach(({reject}) => reject(new Error("the launcher has ended"))));
}

/** Ask the launcher. VERB and REQUEST are those of service.py. */
export function launcher(verb, request = {}) {
	if (!service) begin();
	return new Promise((resolve, reject) => {
		waiting.set(++asked, {resolve, reject});
		service.stdin.write(`${JSON.stringify({id: asked, do: verb, ...request})}\n`);
	});
}

/** End the launcher, and kill what it has started. */
export function close() {
	service?.stdin.end();
	service = null;
}

/** A program that runs. Its output is in LOG, with its errors. */
export class Program {
	constructor(words, log, cwd) {
		this.running = true;
		this.last = launcher("start", {words, log, cwd}).then((number) => (this.number = number));
	}

	ask(verb, more = {}) {
		this.last = this.last.catch(() => {}).then(() => launcher(verb, {program: this.number, ...more}));
		return this.last;
	}

	/** Wait until the program is ready. Return the addresses at which it listens. */
	ready() {
		return this.ask("ready");
	}

	/** Wait until the program's output matches EXPRESSION. Return the match and its groups. */
	says(expression) {
		return this.ask("says", {expression: expression.source});
	}

	said() {
		return this.ask("said");
	}

	/** Write TEXT, and wait until the program has printed ANSWERS lines in all. */
	write(text, answers) {
		return this.ask("write", {text, answers});
	}

	/** End the program. It must end well. */
	async stop() {
		if (this.running) await this.ask("stop");
		this.running = false;
	}

	/** Close the program's input, which ends it. It must end well. */
	async close() {
		this.running = false;
		await this.ask("close");
	}

	/** End the program by a signal, however it ends. */
	async end(how = "SIGKILL") {
		if (this.running) await this.ask("end", {how});
		this.running = false;
	}
}
