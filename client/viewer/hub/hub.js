/*
 * The hub's page: the newest crashes of a fleet, their causes, and the hosts. It reads the lists when it opens, and
 * again when a capture has come.
 */
import {Announcer} from "../host/host-announcer.js";
import {showContext} from "../host/host-dialogs.js";
import {isCrash} from "../host/host-model.js";
import {filters, press} from "../host/host-table.js";
import {called} from "../host/host-text.js";
import {format, LISTED} from "../page/address.js";
import {shown} from "../page/guest-text.js";
import {Live} from "../page/live-lists.js";
import {make, picker} from "../page/make.js";
import {count} from "../page/times.js";
import {joinHosts, mergeCaptures, queries} from "./hub-model.js";
import {captureRows, causeRows, hostRows, marked} from "./hub-tables.js";

const STEP = 25; /* captures, and causes, that are shown at first */
const AGAIN_MS = 3000; /* after a failure */
const SOON_MS = 500; /* after an event; many captures may come at once */
const TICK_MS = 60000; /* a host may have fallen silent */
const KINDS_SHOWN = {crashes: ["Crashes"], all: ["All captures"]};

export class HubPage {
	static async open(root, view, services) {
		return new HubPage(root, view, services);
	}

	constructor(root, view, {api, events, take, who}) {
		Object.assign(this, {root, api, take, who});
		this.live = new Live(events);
		this.view = view;
		this.crashes = true; /* list crashes only */
		this.most = {captures: STEP, causes: STEP};
		this.reading = 0; /* number of the newest load() */
		this.build();
		this.listen();
	}

	build() {
		document.title = "mprofd: a fleet";
		this.captures = captureRows({
			context: (capture) => showContext(this.api, capture),
			may: (scope, {host, domain}) => this.api.session.may(scope, `${host}/${domain}`),
		});
		this.causes = causeRows();
		this.hosts = hostRows();
		this.announcer = new Announcer();
		this.summary = make("p", {className: "summary"});
		this.alert = make("div", {className: "alert", role: "alert"});
		this.root.replaceChildren(
			make(
				"header",
				{className: "top"},
				make("h1", {textContent: "mprofd"}),
				this.summary,
				make(
					"p",
					{className: "opener"},
					picker("Open a file", "A trace or a memory profile", "open-file", (file) => this.take(file)),
				),
				this.live.element,
				this.who,
			),
			make(
				"main",
				{className: "host hub"},
				this.alert,
				this.capturesSection(),
				(this.causesPart = this.section("causes", "Causes of crashes", this.causes.element)),
				this.section("hosts", "Hosts", this.hosts.element),
			),
			make("footer", {}, this.announcer.element),
		);
	}

	capturesSection() {
		this.kinds = filters(KINDS_SHOWN, "Which captures", (name) => this.choose(name === "crashes"));
		press(this.kinds, "crashes");
		this.only = make("span", {className: "filters"});
		this.kinds.append(this.only);
		return this.section("crashes", "Crashes", this.captures.element, this.kinds);
	}

	/** Return a section with a table of class NAME, what is said if it is empty, and a button for more. */
	section(name, title, list, ...head) {
		const heading = make("h2", {id: `${name}-title`, tabIndex: -1, textContent: title});
		const nothing = make("p", {className: "quiet", "data-nothing": name, textContent: "Loading…"});
		const more = make("button", {type: "button", textContent: "Show more", hidden: true, "data-more": name});

		list.hidden = true;
		more.addEventListener("click", () => this.further(name === "crashes" ? "captures" : name));
		return make(
			"section",
			{"aria-labelledby": heading.id},
			make("div", {className: "head"}, heading, ...head),
			nothing,
			list,
			more,
		);
	}

	part(kind, name) {
		return this.root.querySelector(`[data-${kind}="${name}"]`);
	}

	listen() {
		this.live.on("capture", (data) => this.captured(data));
		this.live.begin(
			() => this.load(),
			() => this.reading,
		);
		/* A page that is shown again reads its lists at the event `reload`. */
		this.ticking = setInterval(() => document.hidden || this.load(), TICK_MS);
	}

	captured({change, capture}) {
		if (change === "made" && capture && isCrash(capture))
			this.announcer.say("crashed", `${called(`${capture.host}/${capture.domain}`)} crashed.`);
		if (this.pending) return;
		this.pending = true;
		this.live.after(SOON_MS, () => this.load());
	}

	/* ---- reading ---- */

	/** Return a Promise of the rows of the fleet's question NAME; of null if one may not see it. */
	async question(name, limit = 1000) {
		try {
			return (await this.api.json(`v1/fleet/${name}?limit=${limit}`)).rows;
		} catch (error) {
			if (error.status !== 403) throw error;
			return null;
		}
	}

	async allHosts() {
		const hosts = [];

		for await (const page of this.api.pages("v1/hosts", "hosts")) hosts.push(...page);
		return hosts;
	}

	/** Return a Promise of the captures to show, one more than fits if there are more. */
	async readCaptures() {
		const limit = Math.min(this.most.captures + 1, 1000);
		const lists = await Promise.all(
			queries({...this.view, crashes: this.crashes}, limit).map((path) => this.api.json(path)),
		);

		return mergeCaptures(
			lists.map(({captures}) => captures),
			limit,
		);
	}

	async load() {
		const mine = ++this.reading;

		this.pending = false;
		try {
			const [captures, causes, hosts, newest, losses] = await Promise.all([
				this.readCaptures(),
				this.question("crashes-by-cause", this.most.causes + 1),
				this.allHosts(),
				this.question("newest"),
				this.question("loss-by-host"),
			]);

			if (mine !== this.reading || this.closed) return;
			this.alert.replaceChildren();
			this.show(captures, causes, joinHosts(hosts, newest, losses));
		} catch (error) {
			if (mine !== this.reading || this.closed) return;
			this.alert.textContent = `${error.message}`;
			this.live.after(AGAIN_MS, () => mine === this.reading && this.load());
		}
	}

	/* ---- showing ---- */

	show(captures, causes, hosts) {
		const silent = hosts.filter(({silent}) => silent).length;

		this.summary.textContent =
			`Captures of ${count(hosts.length, "host")}` +
			(silent ? `, ${silent.toLocaleString("en")} of them silent` : "");
		this.fill("crashes", this.captures, marked(captures), this.most.captures, this.nothingSays());
		this.fill(
			"causes",
			this.causes,
			causes ?? [],
			this.most.causes,
			"No crash has a cause yet: mprof-annotate finds them.",
		);
		this.causesPart.hidden = causes === null;
		this.fill("hosts", this.hosts, hosts, hosts.length, "No host has been registered yet: see docs/fleet.md.");
		this.showFilter();
	}

	fill(name, rows, items, most, nothing) {
		const [empty, more] = [this.part("nothing", name), this.part("more", name)];

		rows.update(items.slice(0, most));
		empty.hidden = items.length > 0;
		empty.textContent = nothing;
		more.hidden = items.length <= most;
	}

	nothingSays() {
		if (LISTED.some((key) => this.view[key])) return "None of these.";
		return this.crashes ? "No guest of any host has crashed." : "No host has sent a capture yet.";
	}

	/* Show a button for each member of the view that limits the list. */
	showFilter() {
		this.only.replaceChildren(
			...LISTED.filter((key) => this.view[key]).map((key) =>
				make("button", {
					type: "button",
					className: "only",
					textContent: `Only ${key} ${shown(this.view[key])} ✕`,
					"aria-label": `Only captures of the ${key} ${shown(this.view[key])}; show those of every ${key}`,
					onclick: () => (location.hash = format({...this.view, [key]: undefined})),
				}),
			),
		);
	}

	choose(crashes) {
		this.crashes = crashes;
		this.most.captures = STEP;
		press(this.kinds, crashes ? "crashes" : "all");
		this.root.querySelector("#crashes-title").textContent = crashes ? "Crashes" : "Captures";
		this.load();
	}

	further(name) {
		this.most[name] += 4 * STEP;
		this.load();
	}

	/** The address is another one of this page: list what VIEW names. */
	go(view) {
		this.view = view;
		this.most.captures = STEP;
		this.load();
		this.root.querySelector("#crashes-title").focus({preventScroll: true});
		scrollTo({top: 0});
		return true;
	}

	close() {
		this.closed = true;
		this.live.close();
		clearInterval(this.ticking);
		this.announcer.close();
	}
}
