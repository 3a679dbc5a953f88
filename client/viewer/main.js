/*
 * The page's entry: opens the page that the address names. It is the page of the host or of the hub, the
 * page of a trace or the page of a memory profile. Each page is a class in a module that is imported when it
 * is needed:
 *
 *     open(element, view, services) -> page;  page.go(view) -> false if the address names another
 *       page;  page.close()
 */
import {format, namesTrace, parse} from "./page/address.js";
import {preload} from "./preload.js";
import {Access} from "./page/access.js";
import {Api} from "./page/api.js";
import {takeDrops} from "./page/drop.js";
import {Events} from "./page/events.js";
import {imported} from "./page/imports.js";
import {namesMemory} from "./page/memory-address.js";
import {Who} from "./page/who.js";

const PAGES = {
	host: async () => (await import("./host/host.js")).HostPage,
	hub: async () => (await import("./hub/hub.js")).HubPage,
	timeline: async () => (await import("./trace/timeline.js")).Timeline,
	memory: async () => (await import("./memory/memory.js")).MemoryPage,
};

/* Import the heap strip of a time line. */
const STRIP = async () => (await imported(() => import("./strip/heap-strip.js"))).HeapStrip;

/* Show the console and the XenStore of CAPTURE, from API, in a dialog. */
const CONTEXT = async (api, capture) =>
	(await imported(() => import("./host/host-dialogs.js"))).showContext(api, capture);

class Main {
	constructor(root) {
		const api = new Api(new URL(".", document.baseURI));

		this.root = root;
		this.access = new Access(api, {away: () => this.away(), here: (other) => this.here(other)});
		this.who = new Who(() => this.access.signOut());
		this.services = {
			api,
			events: new Events(api.url("v1/events"), () => this.checkSession()),
			who: this.who.element,
			take: (file, asTrace) => this.take(file, asTrace),
			strip: STRIP,
			context: (capture) => CONTEXT(api, capture),
		};
		this.kind = null;
		this.page = null;
		this.turn = 0; /* number of the newest address; a page that was opened for an older address is dropped */
		root.addEventListener("mprof-close", () => (location.hash = format({})));
		addEventListener("hashchange", () => this.follow());
		takeDrops((file) => this.take(file));
		this.access.begin();
	}

	/**
	 * Open FILE as a memory profile or as a trace, by its first bytes. ASTRACE() opens it as a
	 * trace in the present page; undefined outside of a time line.
	 */
	async take(file, asTrace) {
		const {isMemtrace} = await imported(() => import("./memory/memory-source.js"));
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

	/** Find out whether the session has ended. Without access control there is none. */
	checkSession() {
		if (this.services.api.session.identity.kind !== "open") this.access.ask();
	}

	/** The sign-in is shown. After a sign-out the page ends. */
	away() {
		this.services.events.pause();
		if (!this.access.left) return;
		this.leave();
		this.root.replaceChildren();
	}

	/** The server has said who one is, and what it serves. OTHER is that of access.js. */
	here(other) {
		this.who.show(this.services.api.session);
		this.services.events.resume();
		if (!other && !(this.kind === "host" && this.services.api.session.isHub)) return;
		this.leave();
		this.follow();
	}

	/** Close the page. */
	leave() {
		this.turn++;
		this.page?.close();
		this.page = null;
	}

	/** Return the kind of the page of VIEW. Until the server has said that it is a hub, it is taken for a host's. */
	kindOf(view) {
		if (namesTrace(view)) return "timeline";
		if (namesMemory(view)) return "memory";
		return this.services.api.session.isHub ? "hub" : "host";
	}

	async follow() {
		const view = parse(location.hash);
		const kind = this.kindOf(view);

		if (this.page && this.kind === kind && this.page.go(view) !== false) return;
		const turn = ++this.turn;
		this.page?.close();
		this.page = null;
		this.kind = kind;
		this.root.replaceChildren();
		preload(kind);
		try {
			const Page = await imported(PAGES[kind], () => turn === this.turn && this.waits());
			if (turn === this.turn) this.root.replaceChildren();
			const page = turn === this.turn ? await Page.open(this.root, view, this.services) : null;

			if (turn === this.turn) this.page = page;
			else page?.close();
		} catch (error) {
			if (turn === this.turn) this.sorry(error);
		}
	}

	/* Say that the page waits for the server. */
	waits() {
		this.say("status", "mprofd-http does not answer. This page goes on when it does.");
	}

	/* Show a sentence and a link to all guests. */
	sorry(error) {
		const back = document.createElement("a");

		back.href = format({});
		back.textContent = "All guests";
		this.say("alert", `This cannot be shown: ${error.message}. `, back);
	}

	/* Show PARTS, texts and nodes, in place of a page. ROLE is that of ARIA. */
	say(role, ...parts) {
		const text = document.createElement("p");

		text.className = "sorry";
		text.setAttribute("role", role);
		text.append(...parts);
		this.root.replaceChildren(text);
	}
}

new Main(document.getElementById("page")).follow();
