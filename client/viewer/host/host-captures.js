/*
 * The table of captures. It shows some hundred rows at a time. The row of a capture is reused until
 * the capture changes.
 */
import {format} from "../page/address.js";
import {isCrash, keyOf} from "./host-model.js";
import {filters, place, press, table} from "./host-table.js";
import {called, KINDS, reason, when} from "./host-text.js";
import {shown, shownLines} from "../page/guest-text.js";
import {make} from "../page/make.js";

const STEP = 100;
const NOTE_MOST = 300;
const REASON_MOST = 400;
const SENTENCE_MOST = 2000;
const COLUMNS = ["Guest", "Why", "When", "Note", "Actions"];

const FILTERS = {
	all: ["All", () => true],
	crashes: ["Crashes", isCrash],
	pinned: ["Pinned", (capture) => capture.pinned],
	asked: ["Snapshots", (capture) => capture.kind === "manual" || capture.kind === "trigger"],
};

/**
 * CALLS: {context, pin, note, remove, older}: functions for the buttons, called with a capture;
 * may(scope, name): return true if one may do that to captures of the guest NAME (session.js); and
 * mayTake(): return true if one may take a snapshot of some guest.
 * SELECTION: the HostSelection.
 */
export class Captures {
	constructor(calls, selection) {
		this.selection = selection;
		this.calls = calls;
		this.guest = null; /* {key, name} of the guest whose captures are shown; null: all */
		this.filter = "all";
		this.most = STEP;
		this.rows = new Map(); /* id -> {capture, row} */
		this.stale = true;
		this.body = make("tbody", {role: "rowgroup"});
		this.build();
	}

	build() {
		this.kinds = filters(FILTERS, "Which captures", (name) => this.show(name, this.guest));
		this.only = make("button", {
			type: "button",
			className: "only",
			hidden: true,
			onclick: () => this.show(this.filter, null),
		});
		this.kinds.append(this.only);
		this.nothing = make("p", {className: "quiet"});
		this.more = make("button", {type: "button", textContent: "Show more", onclick: () => this.further()});
		this.table = table("captures", COLUMNS, this.body);
		this.title = make("h2", {id: "captures-title", tabIndex: -1, textContent: "Captures"});
		this.element = make(
			"section",
			{"aria-labelledby": "captures-title"},
			make("div", {className: "head"}, this.title, this.kinds),
			this.nothing,
			this.table,
			this.more,
		);
	}

	/** Show the captures of FILTER, one of FILTERS, and of GUEST {key, name} or all. */
	show(filter, guest) {
		this.filter = filter;
		this.guest = guest;
		this.most = STEP;
		this.stale = true;
		press(this.kinds, filter);
		this.only.hidden = !guest;
		this.only.textContent = guest ? `Only ${called(guest.name)} ✕` : "";
		this.only.setAttribute(
			"aria-label",
			guest ? `Only captures of ${called(guest.name)}; show those of all guests` : "",
		);
		this.update(this.model);
	}

	update(model) {
		this.model = model;
		if (!model.capturesDirty && !this.stale) return;
		const wanted = [...model.captures.values()]
			.filter((capture) => FILTERS[this.filter][1](capture) && (!this.guest || keyOf(capture) === this.guest.key))
			.sort((a, b) => b.id - a.id);
		const rows = wanted.slice(0, this.most).map((capture) => this.rowOf(capture, model.profiles.at(capture)));

		this.stale = model.capturesDirty = false;
		place(this.body, rows);
		this.more.hidden = wanted.length <= this.most && !model.older;
		this.table.hidden = !rows.length;
		this.nothing.hidden = rows.length > 0;
		this.nothing.textContent =
			this.guest || this.filter !== "all"
				? "None of these."
				: `None yet: one is taken when a guest crashes or stops${this.calls.mayTake() ? ", and whenever you press Snapshot" : ""}.`;
	}

	further() {
		this.most += STEP;
		this.stale = true;
		if (this.model.older && this.model.captures.size < this.most) this.calls.older();
		else this.update(this.model);
	}

	/** Return the row of CAPTURE. PROFILE is the guest's memory profile at that time, or null. */
	rowOf(capture, profile) {
		let entry = this.rows.get(capture.id);

		if (!entry) {
			entry = this.make(capture);
			this.rows.set(capture.id, entry);
		} else if (entry.capture !== capture) {
			entry.capture = capture;
			this.fill(entry);
		}
		entry.memory.hidden = !profile;
		if (profile) {
			entry.memory.href = format({memtrace: profile.id});
			entry.memory.setAttribute(
				"aria-label",
				`The memory profile of ${called(capture.domain)} that ran at capture ${capture.id}`,
			);
		}
		return entry.row;
	}

	make(capture) {
		const entry = {capture};
		const call = (name) => () => this.calls[name](entry.capture);
		const press = (name, title) => make("button", {type: "button", textContent: title, onclick: call(name)});

		entry.choose = this.selection.box();
		entry.link = make("a", {className: "name", href: format({capture: capture.id})});
		entry.why = make("span", {className: "kind"});
		entry.when = make("time", {});
		entry.note = make("span", {className: "note"});
		entry.part = make("span", {className: "bad"});
		entry.reason = make("span", {className: "quiet detail"});
		entry.memory = make("a", {className: "profiled", textContent: "memory profile", hidden: true});
		entry.buttons = {
			context: press("context", "Context"),
			pin: press("pin", "Pin"),
			note: press("note", "Note"),
			remove: press("remove", "Delete"),
		};
		entry.pinned = make("span", {className: "quiet"});
		entry.row = make(
			"tr",
			{role: "row", "data-capture": String(capture.id)},
			make(
				"th",
				{role: "rowheader", scope: "row", className: "guest", "data-label": "Guest"},
				entry.choose,
				entry.link,
			),
			make(
				"td",
				{role: "cell", "data-label": "Why"},
				make("div", {}, entry.why, entry.part, entry.memory, entry.reason),
			),
			make("td", {role: "cell", "data-label": "When"}, entry.when),
			make("td", {role: "cell", className: "notes", "data-label": "Note"}, entry.note),
			make(
				"td",
				{role: "cell", className: "act", "data-label": "Actions"},
				...Object.values(entry.buttons),
				entry.pinned,
			),
		);
		this.fill(entry);
		return entry;
	}

	fill(entry) {
		const {capture, buttons} = entry;
		const name = called(capture.domain);
		const which = `${KINDS[capture.kind] ?? shown(capture.kind)}, ${name}, ${when(capture.time_corrected ?? capture.time)}`;

		entry.row.dataset.kind = isCrash(capture) ? "crash" : "other";
		this.selection.describe(entry.choose, {
			key: `capture:${capture.id}`,
			view: {capture: capture.id},
			name: `${name} (capture ${capture.id})`,
			time: capture.time,
		});
		entry.link.textContent = name;
		entry.link.setAttribute("aria-label", `${name}: open the trace of capture ${capture.id}`);
		entry.why.textContent = KINDS[capture.kind] ?? shown(capture.kind);
		entry.part.textContent = capture.complete ? "" : " partly deleted";
		entry.reason.textContent = reason(capture, REASON_MOST);
		entry.reason.title = shownLines(capture.sentence, SENTENCE_MOST);
		entry.when.textContent = when(capture.time_corrected ?? capture.time);
		entry.when.dateTime = capture.time ?? "";
		entry.note.textContent = shown(capture.note, NOTE_MOST);
		buttons.pin.setAttribute("aria-pressed", String(capture.pinned));
		buttons.pin.textContent = capture.pinned ? "Pinned" : "Pin";
		this.hide(entry);
		for (const [what, title] of [
			["context", "Context of"],
			["pin", "Keep for ever:"],
			["note", "Note on"],
			["remove", "Delete"],
		])
			buttons[what].setAttribute("aria-label", `${title} ${which}`);
	}

	/** Hide the buttons for what one may not do. That the capture is pinned is then a word. */
	hide({capture, buttons, pinned}) {
		const mayWrite = this.calls.may("write", capture.domain);

		buttons.context.hidden = !this.calls.may("context", capture.domain);
		for (const name of ["pin", "note", "remove"]) buttons[name].hidden = !mayWrite;
		pinned.textContent = !mayWrite && capture.pinned ? "Pinned" : "";
	}

	/** Drop the rows of captures that MODEL does not have any more. */
	forget(model) {
		for (const id of this.rows.keys()) if (!model.captures.has(id)) this.rows.delete(id);
	}
}
