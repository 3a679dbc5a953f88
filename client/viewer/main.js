/*
 * Which page the address names: the host's, a trace, or a memory profile.  Each page is a class of its own module, fetched when it is needed:
 *     open(element, view, services) -> page;  page.go(view) -> false where the address names something else now;  page.close()
 */
import {format, namesTrace, parse} from "./page/address.js";
import {preload} from "./preload.js";
import {Api} from "./page/api.js";
import {Events} from "./page/events.js";
import {namesMemory} from "./page/memory-address.js";

const PAGES = {
	host: async () => (await import("./host/host.js")).HostPage,
	timeline: async () => (await import("./trace/timeline.js")).Timeline,
	memory: async () => (await import("./memory/memory.js")).MemoryPage,
};

/* What a time line shows above its threads, where a memory profile ran: fetched when it is needed, too. */
const STRIP = async () => (await import("./strip/heap-strip.js")).HeapStrip;

class Main {
	constructor(root) {
		const api = new Api(new URL(".", document.baseURI));

		this.root = root;
		this.services = {
			api,
			events: new Events(api.url("v1/events")),
			take: (file, asTrace) => this.take(file, asTrace),
			strip: STRIP,
		};
		this.kind = null;
		this.page = null;
		this.turn = 0; /* goes up with each address: what was begun for another one is dropped */
		root.addEventListener("mprof-close", () => (location.hash = format({})));
		addEventListener("hashchange", () => this.follow());
		root.addEventListener("dragover", (event) => event.preventDefault());
		root.addEventListener("drop", (event) => this.drop(event));
	}

	/* Where the page itself does not take it. */
	drop(event) {
		const [file] = event.dataTransfer?.files ?? [];

		if (event.defaultPrevented || !file) return;
		event.preventDefault();
		this.take(file);
	}

	/** A person gave FILE: its first bytes say whose page it is.  ASTRACE, of a page of traces, takes one itself. */
	async take(file, asTrace) {
		const {isMemtrace} = await import("./memory/memory-source.js");
		const memory = await isMemtrace(file).catch(() => false);

		if (!memory && asTrace) return asTrace();
		this.services.file = file;
		const address = format(memory ? {memfile: file.name} : {file: file.name});
		if (location.hash !== address) {
			location.hash = address;
			return;
		}
		this.page?.close();
		this.page = null;
		this.follow();
	}

	async follow() {
		const view = parse(location.hash);
		const kind = namesTrace(view) ? "timeline" : namesMemory(view) ? "memory" : "host";

		if (this.page && this.kind === kind && this.page.go(view) !== false) return;
		const turn = ++this.turn;
		this.page?.close();
		this.page = null;
		this.kind = kind;
		this.root.replaceChildren();
		preload(kind);
		try {
			const Page = await PAGES[kind]();
			const page = turn === this.turn ? await Page.open(this.root, view, this.services) : null;

			if (turn === this.turn) this.page = page;
			else page?.close();
		} catch (error) {
			if (turn === this.turn) this.sorry(error);
		}
	}

	/* A sentence where the page should be, and the way back. */
	sorry(error) {
		const text = document.createElement("p");
		const back = document.createElement("a");

		text.className = "sorry";
		text.setAttribute("role", "alert");
		text.textContent = `This cannot be shown: ${error.message}. `;
		back.href = format({});
		back.textContent = "All guests";
		text.append(back);
		this.root.replaceChildren(text);
	}
}

new Main(document.getElementById("page")).follow();
