/*
 * The table of memory profiles, ended ones and those that are being recorded. It works as
 * host-captures.js does.
 */
import {format} from "../page/address.js";
import {shown} from "../page/guest-text.js";
import {keyOf} from "./host-model.js";
import {filters, place, press, table} from "./host-table.js";
import {called, lasted, when} from "./host-text.js";
import {make} from "../page/make.js";
import {bytes} from "../page/times.js";

const STEP = 100;
const NOTE_MOST = 300;
const TICK_MS = 5000; /* interval between updates of a recording's duration */
const COLUMNS = ["Guest", "Program", "Began", "Lasted", "Size", "State", "Note", "Actions"];

const FILTERS = {
	all: ["All", () => true],
	recording: ["Recording", ({state}) => state === "recording"],
	pinned: ["Pinned", ({pinned}) => pinned],
};

/* The reasons why recordings end: a short text and a sentence. */
const ENDS = {
	closed: ["Ended", "The guest ended it."],
	cut: ["Broke off", "The connection ended within a packet; the data before it is complete."],
	reset: ["Broke off", "The connection broke, as it does when a guest dies; the data before that is complete."],
	stopped: ["Stopped", "It was stopped here."],
	damaged: ["Damaged", "The guest sent data that is no memory profile; the data before it is complete."],
	quota: ["Cut off", "The guest used up its quota, which mprofd.conf sets."],
	rate: ["Cut off", "The guest sent faster than the limit in mprofd.conf."],
	overrun: ["Cut off", "The disk was too slow for the data."],
	disk: ["Cut off", "The disk was full."],
	restart: ["Broke off", "mprofd-sink was restarted."],
	shutdown: ["Ended", "mprofd-sink was stopped."],
};

/** Return the name of the profile's guest. */
export function whose({domain, domid, address}) {
	if (domain) return shown(domain);
	return domid === null ? `guest at ${shown(address)}` : `domain ${domid}`;
}

/**
 * CALLS: {pin, note, stop, remove, older}: functions for the buttons, called with a profile;
 * other(): profile another guest; mayOther(): return true if one may profile some guest; and
 * may(profile): return true if one may change the profile.
 */
export class Profiles {
	constructor(calls) {
		this.calls = calls;
		this.filter = "all";
		this.most = STEP;
		this.rows = new Map(); /* id -> {profile, row} */
		this.body = make("tbody", {role: "rowgroup"});
		this.build();
		this.timer = setInterval(() => this.tick(), TICK_MS);
	}

	close() {
		clearInterval(this.timer);
	}

	build() {
		this.kinds = filters(FILTERS, "Which memory profiles", (name) => this.show(name));
		this.nothing = make("p", {className: "quiet"});
		this.more = make("button", {type: "button", textContent: "Show more", onclick: () => this.further()});
		this.table = table("profiles", COLUMNS, this.body);
		this.title = make("h2", {id: "profiles-title", tabIndex: -1, textContent: "Memory profiles"});
		this.other = make("button", {
			type: "button",
			textContent: "Profile another guest…",
			onclick: () => this.calls.other(),
			hidden: true,
		});
		this.element = make(
			"section",
			{"aria-labelledby": "profiles-title"},
			make("div", {className: "head"}, this.title, make("div", {className: "filters"}, this.kinds, this.other)),
			this.nothing,
			this.table,
			this.more,
		);
	}

	show(filter) {
		this.filter = filter;
		this.most = STEP;
		press(this.kinds, filter);
		this.model.profiles.dirty = true;
		this.update(this.model);
	}

	update(model) {
		const {profiles} = (this.model = model);

		if (!profiles.dirty) return;
		const wanted = [...profiles.all.values()].filter(FILTERS[this.filter][1]).sort((a, b) => b.id - a.id);
		const rows = wanted.slice(0, this.most).map((profile) => this.rowOf(profile));

		profiles.dirty = false;
		place(this.body, rows);
		this.more.hidden = wanted.length <= this.most && !profiles.older;
		this.table.hidden = !rows.length;
		this.other.hidden = !this.calls.mayOther();
		this.nothing.hidden = rows.length > 0;
		this.nothing.textContent =
			this.filter === "all"
				? this.calls.mayOther()
					? "None yet: press Profile memory at a guest that runs OCaml with memtrace, or let guests connect to mprofd-sink by themselves."
					: "None yet."
				: "None of these.";
		for (const id of this.rows.keys()) if (!profiles.all.has(id)) this.rows.delete(id);
	}

	further() {
		this.most += STEP;
		this.model.profiles.dirty = true;
		if (this.model.profiles.older && this.model.profiles.all.size < this.most) this.calls.older();
		else this.update(this.model);
	}

	/* Update the durations of the recordings. */
	tick() {
		for (const {profile, lasted: cell} of this.rows.values())
			if (profile.state === "recording") cell.textContent = lasted(profile);
	}

	rowOf(profile) {
		const entry = this.rows.get(profile.id);

		if (entry?.profile === profile) return entry.row;
		if (!entry) {
			const made = this.make(profile);
			this.rows.set(profile.id, made);
			return made.row;
		}
		entry.profile = profile;
		this.fill(entry);
		return entry.row;
	}

	make(profile) {
		const entry = {profile};
		const press = (name, title) =>
			make("button", {type: "button", textContent: title, onclick: () => this.calls[name](entry.profile)});
		const cell = (title, className, ...content) =>
			make("td", {role: "cell", className, "data-label": title}, ...content);

		entry.link = make("a", {className: "name", href: format({memtrace: profile.id})});
		entry.detail = make("span", {className: "quiet detail"});
		entry.threads = make("a", {className: "profiled", hidden: true});
		entry.program = make("span");
		entry.began = make("time");
		entry.lasted = make("span");
		entry.size = make("span");
		entry.state = make("span", {className: "state"});
		entry.note = make("span", {className: "note"});
		entry.buttons = {
			pin: press("pin", "Pin"),
			note: press("note", "Note"),
			stop: press("stop", "Stop"),
			remove: press("remove", "Delete"),
		};
		entry.pinned = make("span", {className: "quiet"});
		entry.row = make(
			"tr",
			{role: "row", "data-memtrace": String(profile.id)},
			make(
				"th",
				{role: "rowheader", scope: "row", className: "guest", "data-label": "Guest"},
				entry.link,
				entry.detail,
				entry.threads,
			),
			cell("Program", "program", entry.program),
			cell("Began", "", entry.began),
			cell("Lasted", "", entry.lasted),
			cell("Size", "", entry.size),
			cell("State", "", entry.state),
			cell("Note", "notes", entry.note),
			cell("Actions", "act", ...Object.values(entry.buttons), entry.pinned),
		);
		this.fill(entry);
		return entry;
	}

	/** Show a link to the guest's trace with the heap above it, if the guest is traced. */
	threadsLink({profile, threads}) {
		const {run, uuid, domain} = profile;
		const guest = run === null ? null : this.model.guests.get(keyOf({uuid, name: domain}));

		threads.hidden = !guest?.domain.streams.length;
		threads.textContent = threads.hidden ? "" : "beside its threads";
		if (threads.hidden) return;
		threads.href = format({domain: uuid ?? domain, run});
		threads.setAttribute("aria-label", `${whose(profile)}: memory profile ${profile.id} beside the threads`);
	}

	fill(entry) {
		const {profile, buttons} = entry;
		const {says, state} = profile;
		const name = whose(profile);
		const [word, sentence] =
			state === "recording"
				? ["Recording", "It is being recorded now."]
				: (ENDS[profile.reason] ?? ["Ended", ""]);
		const which = `the memory profile of ${name}, ${when(profile.began_corrected ?? profile.began)}`;

		entry.row.dataset.state = state;
		entry.link.textContent = name;
		entry.link.setAttribute("aria-label", `${name}: open memory profile ${profile.id}`);
		entry.detail.textContent = says.context ? shown(says.context) : "";
		this.threadsLink(entry);
		entry.program.textContent = says.program ? called(says.program) : "";
		entry.began.textContent = when(profile.began_corrected ?? profile.began);
		entry.began.dateTime = profile.began_corrected ?? profile.began ?? "";
		entry.lasted.textContent = lasted(profile);
		entry.size.textContent = bytes(profile.bytes);
		entry.state.textContent = word;
		entry.state.title = sentence;
		entry.note.textContent = shown(profile.note, NOTE_MOST);
		buttons.pin.setAttribute("aria-pressed", String(profile.pinned));
		buttons.pin.textContent = profile.pinned ? "Pinned" : "Pin";
		const may = this.calls.may(profile);
		for (const it of [buttons.pin, buttons.note]) it.hidden = !may;
		buttons.stop.hidden = state !== "recording" || !may;
		buttons.remove.hidden = state === "recording" || !may;
		entry.pinned.textContent = !may && profile.pinned ? "Pinned" : "";
		for (const [what, title] of [
			["pin", "Keep for ever:"],
			["note", "Note on"],
			["stop", "Stop"],
			["remove", "Delete"],
		])
			buttons[what].setAttribute("aria-label", `${title} ${which}`);
	}
}
