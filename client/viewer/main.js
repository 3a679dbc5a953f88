/*
 * The page's entry: opens the page that the address names. It is the page of the host or of the hub, the
 * page of a trace or the page of a memory profile. Each page is a class:
 *
 *     open(element, view, services) -> page;  page.go(view) -> false if the address names another
 *       page;  page.close()
 */
import {format, namesTrace, parse} from "./page/address.js";
import {Engine} from "./engine/engine.js";
import {HostPage} from "./host/host.js";
import {showContext} from "./host/host-dialogs.js";
import {HubPage} from "./hub/hub.js";
import {MemoryPage} from "./memory/memory.js";
import {isMemtrace} from "./memory/memory-source.js";
import {Access} from "./page/access.js";
import {Api} from "./page/api.js";
import {takeDrops} from "./page/drop.js";
import {Events} from "./page/events.js";
import {namesMemory} from "./page/memory-address.js";
import {Who} from "./page/who.js";
import {HeapStrip} from "./strip/heap-strip.js";
import {Timeline} from "./trace/timeline.js";

const ADDRESS_MAX = 80; /* characters of an address that a sentence repeats */
const PAGES = {host: HostPage, hub: HubPage, timeline: Timeline, memory: MemoryPage};

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
			strip: HeapStrip,
			context: (capture) => showContext(api, capture),
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
		if (!Object.keys(view).length && /^#./.test(location.hash))
			return this.sorry(
				new Error(`the address ends with ${location.hash.slice(0, ADDRESS_MAX)}, which names nothing`),
			);
		if (kind === "timeline") Engine.warm();
		try {
			const page = await PAGES[kind].open(this.root, view, this.services);

			if (turn === this.turn) this.page = page;
			else page?.close();
		} catch (error) {
			if (turn === this.turn) this.sorry(error);
		}
	}

	/* Show a sentence and a link to all guests in place of a page. */
	sorry(error) {
		const text = document.createElement("p");
		const back = document.createElement("a");

		text.className = "sorry";
		text.setAttribute("role", "alert");
		back.href = format({});
		back.textContent = "All guests";
		text.append(`This cannot be shown: ${error.message}. `, back);
		this.root.replaceChildren(text);
	}
}

new Main(document.getElementById("page")).follow();
