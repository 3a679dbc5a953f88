/*
 * Which page the address names: the host's, or a trace.  Each page is a class of its own module, fetched when it is needed:
 *     open(element, view, services) -> page;  page.go(view) -> false where the address names something else now;  page.close()
 */
import {format, namesTrace, parse} from "./address.js";
import {Api} from "./api.js";
import {Events} from "./events.js";

const PAGES = {
	host: async () => (await import("./host.js")).HostPage,
	timeline: async () => (await import("./timeline.js")).Timeline,
};

class Main {
	constructor(root) {
		const api = new Api(new URL(".", document.baseURI));

		this.root = root;
		this.services = {api, events: new Events(api.url("v1/events"))};
		this.kind = null;
		this.page = null;
		this.turn = 0; /* goes up with each address: what was begun for another one is dropped */
		root.addEventListener("mprof-close", () => (location.hash = format({})));
		addEventListener("hashchange", () => this.follow());
	}

	async follow() {
		const view = parse(location.hash);
		const kind = namesTrace(view) ? "timeline" : "host";

		if (this.page && this.kind === kind && this.page.go(view) !== false)
			return;
		const turn = ++this.turn;
		this.page?.close();
		this.page = null;
		this.kind = kind;
		this.root.replaceChildren();
		try {
			const Page = await PAGES[kind]();
			const page = turn === this.turn ? await Page.open(this.root, view, this.services) : null;

			if (turn === this.turn)
				this.page = page;
			else
				page?.close();
		} catch (error) {
			if (turn === this.turn)
				this.sorry(error);
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
