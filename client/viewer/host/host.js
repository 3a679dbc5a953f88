/*
 * The host's page: running guests, ended guests, captures and memory profiles. It assembles the
 * parts and makes the API calls that change something.
 */
import {guestPath} from "../page/api.js";
import {Captures} from "./host-captures.js";
import {HostSelection} from "./host-selection.js";
import {ask, askNote, showContext, showRuns} from "./host-dialogs.js";
import {empty} from "./host-empty.js";
import {Guests} from "./host-guests.js";
import {HostModel, keyOf, STATES} from "./host-model.js";
import {Profiles} from "./host-profiles.js";
import {Profiling} from "./host-profiling.js";
import {Announcer} from "./host-announcer.js";
import {Sparklines} from "./host-sparkline.js";
import {called, captureNews, KINDS, when} from "./host-text.js";
import {Live} from "../page/live-lists.js";
import {make, picker} from "../page/make.js";
import {count} from "../page/times.js";

const AGAIN_MS = 3000;
const FORGOTTEN_MS = 1000; /* ms from the deletion of a run until the lists are read, once for many deletions */
const SHOW_MS = 200; /* least ms between two updates of the tables */
/* Names of the events that host-profiling.js handles. */
const MEMTRACES = ["memtrace", "memtrace-growth", "memtrace-deleted"];
const CAPTURES_PAGES = 2; /* pages of a thousand captures that are fetched at first */

export class HostPage {
	static async open(root, view, services) {
		return new HostPage(root, services);
	}

	constructor(root, {api, events, take, who}) {
		this.root = root;
		this.take = take;
		this.api = api;
		this.who = who;
		this.live = new Live(events);
		this.model = new HostModel();
		this.held = null; /* events that came while the lists were being read; null at other times */
		this.find = "";
		this.build();
		this.listen();
	}

	build() {
		const calls = {
			snapshot: (guest) => this.act(`Snapshot of ${called(guest.domain.name)}`, () => this.snapshot(guest)),
			runs: (guest) => showRuns(this.api, guest.domain),
			context: (guest) => showContext(this.api, guest.crash),
			captures: (guest) => this.showCaptures(guest),
			profile: (guest) =>
				this.act(`Memory profile of ${called(guest.domain.name)}`, () => this.profiling.start(guest)),
			stop: (guest, profile) => this.profiling.calls.stop(profile),
			starting: (guest) => this.profiling.starting.has(guest.key),
			may: (scope, name) => this.api.session.may(scope, name),
		};

		document.title = "mprofd";
		this.selection = new HostSelection();
		this.sparklines = new Sparklines(this.api);
		this.guests = new Guests(this.sparklines, calls, this.selection);
		this.captures = new Captures(
			{
				context: (capture) => showContext(this.api, capture),
				pin: (capture) => this.act("Pin", () => this.patch(capture, {pinned: !capture.pinned})),
				note: (capture) => this.act("Note", () => this.note(capture)),
				remove: (capture) => this.act("Delete", () => this.remove(capture)),
				older: () => this.act("Captures", () => this.fetchOlder()),
				may: (scope, name) => this.api.session.may(scope, name),
				mayTake: () => this.api.session.some("write"),
			},
			this.selection,
		);
		this.profiling = new Profiling(this);
		this.profiles = new Profiles(this.profiling.calls);
		this.announcer = new Announcer();
		this.summary = make("p", {className: "summary"});
		this.alert = make("div", {className: "alert", role: "alert"});
		this.filter = make("input", {
			id: "find",
			type: "search",
			autocomplete: "off",
			spellcheck: false,
			maxLength: 200,
			oninput: () => this.search(),
		});
		this.wanted = () => true;
		this.lists = make("div", {hidden: true});
		this.lists.append(this.guestsSection(), this.captures.element, this.profiles.element);
		this.empty = make("div", {hidden: true}); /* filled once the server has said what one may see */
		this.main = make("main", {className: "host"}, this.alert, this.empty, this.lists, this.selection.element);
		this.root.replaceChildren(
			make(
				"header",
				{className: "top"},
				make("h1", {textContent: "mprofd"}),
				this.summary,
				this.opener(),
				this.live.element,
				this.who,
			),
			this.main,
			make("footer", {}, this.announcer.element),
		);
	}

	/** Return the button that opens a file, with a hint. */
	opener() {
		return make(
			"p",
			{className: "opener"},
			picker("Open a file", "A trace or a memory profile", "open-file", (file) => this.take(file)),
			make("span", {className: "quiet", textContent: " or drop one on this page"}),
		);
	}

	guestsSection() {
		return make(
			"section",
			{"aria-labelledby": "guests-title"},
			make(
				"div",
				{className: "head"},
				make("h2", {id: "guests-title", textContent: "Guests"}),
				make("div", {className: "filters"}, make("label", {for: "find", textContent: "Find"}), this.filter),
			),
			this.guests.element,
			(this.none = make("p", {className: "quiet", hidden: true, textContent: "No guest has that in its name."})),
		);
	}

	listen() {
		const take = (name) =>
			this.live.on(name, (data) => (this.held ? this.held.push([name, data]) : this.apply(name, data)));

		["domain", "forgotten", "capture", "capture-deleted", "gap", "rates", ...MEMTRACES].forEach(take);
		this.live.begin(
			() => this.load(),
			() => this.model.known || this.held,
		);
	}

	/* Read the lists completely. Events that come during the reading are applied afterwards. */
	async load() {
		const mine = (this.held = []);

		try {
			const domains = [];
			for await (const page of this.api.pages("v1/domains", "domains")) domains.push(...page);
			const captures = await this.fetchCaptures(null, CAPTURES_PAGES);
			const profiles = await this.profiling.load();
			if (this.held !== mine || this.closed) return; /* a newer call of load() has begun */
			this.model.reset(domains, captures.list, captures.next !== null);
			this.model.profiles.reset(profiles.list, this.profiling.cursor !== null);
			this.next = captures.next;
			this.trouble(profiles.trouble ? `Memory profiles: ${profiles.trouble.message}` : "");
		} catch (error) {
			if (this.held !== mine || this.closed) return;
			this.trouble(`${error.message}`);
			this.live.after(AGAIN_MS, () => this.load());
			this.held = null;
			return;
		}
		this.held = null;
		for (const [name, data] of mine) this.apply(name, data);
		this.show();
	}

	async fetchCaptures(cursor, pages) {
		const list = [];
		let next = cursor;

		for (let i = 0; i < pages && (next !== null || i === 0); i++) {
			const more = next === null ? "" : `&cursor=${encodeURIComponent(next)}`;
			const page = await this.api.json(`v1/captures?limit=1000${more}`);
			list.push(...page.captures);
			next = page.next;
		}
		return {list, next};
	}

	async fetchOlder() {
		const {list, next} = await this.fetchCaptures(this.next, 1);

		this.next = next;
		this.model.addCaptures(list, next !== null);
		this.show();
	}

	apply(name, data) {
		if (!this.model.known) return; /* the lists, which are still to come, contain this change */
		(
			({domain: this.cameOrWent, forgotten: this.forgotten, capture: this.captured, gap: this.lost})[name] ??
			(() => {})
		).call(this, data);
		if (MEMTRACES.includes(name)) this.profiling.apply(name, data);
		if (name === "rates") this.model.rates(data);
		if (name === "capture-deleted") this.model.captureDeleted(data);
		this.soon();
	}

	cameOrWent(data) {
		const {domain, change} = data;
		const name = called(domain.name);
		const before = this.model.guests.get(keyOf(domain));

		this.model.domain(data);
		if (change === "began") this.announcer.say("started", `${name} started.`);
		else if (change === "ended" && domain.state === "ended") this.announcer.say("ended", `${name} ended.`);
		else if (before && before.domain.name !== domain.name)
			this.announcer.say("were renamed", `${called(before.domain.name)} is called ${name} now.`);
		else if (before && before.domain.state !== domain.state)
			this.announcer.say("changed", `${name}: ${domain.state}.`);
	}

	/*
	 * Read the lists after a run was deleted, because only the lists say whether the guest has
	 * other runs.
	 */
	forgotten({run}) {
		if (this.model.byRun(run) && !this.reading) {
			this.reading = true;
			this.live.after(FORGOTTEN_MS, () => {
				this.reading = false;
				this.load();
			});
		}
	}

	captured(data) {
		const {capture} = data;
		const news = captureNews(data, this.model.captures.get(capture.id));

		this.model.capture(data);
		if (news) this.announcer.say(...news);
	}

	lost(data) {
		const guest = this.model.gap(data);

		if (guest && data.gap.kind === "lost")
			this.announcer.say(
				"lost packets",
				`${called(guest.domain.name)} lost ${count(data.gap.packets, "packet")}.`,
			);
	}

	/* Showing. */

	soon() {
		if (this.pending || this.closed) return;
		this.pending = true;
		this.live.after(SHOW_MS, () => requestAnimationFrame(() => this.show()));
	}

	show() {
		this.pending = false;
		if (this.closed || !this.model.known) return;
		const counts = this.model.counts();

		this.summary.textContent = this.model.guests.size
			? `Traces of this host's guests: ${STATES.filter((state) => counts[state])
					.map((state) => `${counts[state].toLocaleString("en")} ${state}`)
					.join(", ")}`
			: "";
		if (!this.model.guests.size && !this.empty.firstChild) this.empty.append(empty(this.api.session));
		this.empty.hidden = this.model.guests.size > 0;
		this.lists.hidden =
			this.model.guests.size === 0 && this.model.captures.size === 0 && this.model.profiles.all.size === 0;
		if (!this.guests.update(this.model, this.wanted)) requestAnimationFrame(() => this.show());
		this.none.hidden = this.guests.body.childElementCount > 0;
		this.captures.update(this.model);
		this.captures.forget(this.model);
		this.profiles.update(this.model);
	}

	search() {
		const find = this.filter.value.trim().toLowerCase();

		this.wanted = ({domain}) =>
			!find ||
			domain.name.toLowerCase().includes(find) ||
			(domain.uuid ?? "").startsWith(find) ||
			String(domain.domid) === find;
		this.show();
	}

	showCaptures(guest) {
		this.captures.show("all", {key: guest.key, name: guest.domain.name});
		this.captures.title.scrollIntoView({block: "start"});
		this.captures.title.focus({preventScroll: true});
	}

	/* Changing. */

	trouble(sentence) {
		this.alert.replaceChildren();
		if (sentence)
			this.alert.append(
				sentence,
				" ",
				make("button", {type: "button", textContent: "Dismiss", onclick: () => this.trouble("")}),
			);
	}

	async act(what, call) {
		try {
			await call();
			this.trouble("");
		} catch (error) {
			this.trouble(`${what}: ${error.message}`);
		}
	}

	async snapshot({domain}) {
		const capture = await this.api.change("POST", `${guestPath(domain)}/captures`, {kind: "manual", note: ""});

		this.apply("capture", {change: "made", capture});
	}

	async patch(capture, change) {
		this.apply("capture", {
			change: "changed",
			capture: await this.api.change("PATCH", `v1/captures/${capture.id}`, change),
		});
	}

	async note(capture) {
		const note = await askNote(capture);

		if (note !== null && note !== capture.note) await this.patch(capture, {note});
	}

	async remove(capture) {
		const what = `${KINDS[capture.kind] ?? "Capture"}, ${when(capture.time)}. Its packets stay only as long as the guest's policy keeps them.`;

		if (!(await ask(`Delete this capture of ${called(capture.domain)}?`, what, "Delete"))) return;
		try {
			await this.api.change("DELETE", `v1/captures/${capture.id}`);
		} catch (error) {
			if (error.status !== 409) throw error;
			/* The tail at the end of the run is in no other capture. */
			const lost = "Only this capture has the last bytes of the run: they are deleted with it.";

			if (!(await ask(`Delete the end of ${called(capture.domain)}, too?`, lost, "Delete both"))) return;
			await this.api.change("DELETE", `v1/captures/${capture.id}?with=tail`);
		}
		this.apply("capture-deleted", {id: capture.id});
		this.captures.title.focus({preventScroll: true});
	}

	/** Return true: this page can show every address of the host's page. */
	go() {
		return true;
	}

	close() {
		this.closed = true;
		this.live.close();
		this.announcer.close();
		this.sparklines.close();
		this.profiles.close();
	}
}
