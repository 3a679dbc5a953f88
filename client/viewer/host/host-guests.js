/*
 * The table of guests. Rows are changed in place, so that focus, selection and scroll position
 * stay.
 */
import {format} from "../page/address.js";
import {bytesOf, lossOf, rateOf, seenOf, stateOf} from "./host-model.js";
import {place, table} from "./host-table.js";
import {called, loss, rate, when} from "./host-text.js";
import {make} from "../page/make.js";
import {bytes, count} from "../page/times.js";

const COLUMNS = [
	["guest", "Guest"],
	["state", "State"],
	["activity", "Activity"],
	["rate", "Rate"],
	["kept", "Recorded"],
	["gaps", "Lost"],
	["captures", "Captures"],
	["seen", "Last seen"],
	["act", "Actions"],
];
const FRAME_MS = 20;
const SAYS = {crashed: "Crashed", running: "Running", suspended: "Suspended", gone: "Gone"};

function text(element, value) {
	if (element.textContent !== value) element.textContent = value;
}

function attribute(element, name, value) {
	if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/**
 * Return the name of a guest for an address of the page: its UUID if the name is empty or too long.
 */
function nameOf(domain) {
	return domain.uuid && (domain.name.length > 200 || !domain.name) ? domain.uuid : domain.name;
}

/** Return the address of a guest's trace. */
export function traceOf(domain) {
	return format({domain: nameOf(domain)});
}

/**
 * CALLS: {snapshot, runs, captures, context, profile, stop}: functions for the buttons, called with
 * the guest; starting(guest): return true if a memory profile of the guest is being requested; and
 * may(scope, name): return true if one may do that to the guest NAME (session.js).
 * SELECTION: the HostSelection.
 */
export class Guests {
	constructor(sparklines, calls, selection) {
		this.selection = selection;
		this.sparklines = sparklines;
		this.calls = calls;
		this.rows = new Map(); /* key -> {guest, row, cells} */
		this.body = make("tbody", {role: "rowgroup"});
		this.element = table(
			"guests",
			COLUMNS.map(([, title]) => title),
			this.body,
		);
	}

	/**
	 * Show the guests of MODEL for which WANTED(guest) is true. Stop after the time of a frame.
	 * Return true if all are shown; otherwise call it again.
	 */
	update(model, wanted) {
		const end = performance.now() + FRAME_MS;
		const arrange = model.order || wanted !== this.wanted;
		const guests = arrange ? model.sorted() : [];
		const keys = arrange ? guests.map(({key}) => key).filter((key) => model.dirty.has(key)) : [...model.dirty];

		for (const key of model.dirty)
			if (!model.guests.has(key)) {
				this.change(key, null);
				model.dirty.delete(key);
			}
		for (const key of keys) {
			if (performance.now() > end) break;
			this.change(key, model.guests.get(key), model.profiles);
			model.dirty.delete(key);
		}
		this.wanted = wanted;
		model.order &&= model.dirty.size > 0;
		if (arrange)
			place(
				this.body,
				guests
					.filter((guest) => this.rows.has(guest.key) && wanted(guest))
					.map(({key}) => this.rows.get(key).row),
			);
		return model.dirty.size === 0;
	}

	change(key, guest, profiles) {
		let entry = this.rows.get(key);

		if (!guest) {
			entry?.row.remove();
			this.rows.delete(key);
			return;
		}
		if (!entry) {
			entry = this.rowOf(key);
			this.rows.set(key, entry);
		}
		entry.guest = guest;
		this.fill(entry);
		this.fillProfile(entry, profiles.recording(guest.domain.run));
		this.fillRingless(entry, profiles.newest(guest.domain.run));
	}

	rowOf(key) {
		const entry = {guest: null, cells: {}};
		const guest = () => entry.guest;
		const cells = entry.cells;
		const call = (name) => () => this.calls[name](entry.guest);

		entry.row = make("tr", {role: "row", "data-key": key});
		for (const [name, title] of COLUMNS) {
			const cell = make(name === "guest" ? "th" : "td", {
				role: name === "guest" ? "rowheader" : "cell",
				className: name,
				"data-label": title,
			});
			if (name === "guest") cell.scope = "row";
			cells[name] = cell;
			entry.row.append(cell);
		}
		cells.link = make("a", {className: "name"});
		cells.detail = make("span", {className: "quiet detail"});
		cells.choose = this.selection.box();
		cells.guest.append(cells.choose, cells.link, cells.detail);
		cells.badge = make("span", {className: "state"});
		cells.profiled = make("a", {className: "profiled", hidden: true});
		cells.state.append(cells.badge, cells.profiled);
		cells.spark = this.sparklines.make(guest);
		cells.activity.append(cells.spark);
		cells.filter = make("button", {type: "button", className: "plain", onclick: call("captures")});
		cells.captures.append(cells.filter);
		cells.snapshot = make("button", {type: "button", textContent: "Snapshot", onclick: call("snapshot")});
		cells.runs = make("button", {type: "button", onclick: call("runs")});
		cells.why = make("button", {type: "button", textContent: "Why it crashed", onclick: call("context")});
		cells.profile = make("button", {
			type: "button",
			onclick: () => this.calls[entry.profile ? "stop" : "profile"](entry.guest, entry.profile),
		});
		cells.act.append(cells.why, cells.snapshot, cells.runs, cells.profile);
		return entry;
	}

	/** Fill the row of a guest that has memory profiles only. PROFILE is the newest, or null. */
	fillRingless({guest: {domain}, cells}, profile) {
		const ringless = !domain.streams.length;

		cells.choose.hidden = ringless;
		if (!ringless) return;
		if (profile) attribute(cells.link, "href", format({memtrace: profile.id}));
		text(cells.kept, "no trace");
		text(cells.rate, "");
		text(cells.gaps, "");
		cells.snapshot.hidden = true;
	}

	/**
	 * Fill the cell of the memory profile. PROFILE is the profile that is being recorded, or
	 * null.
	 */
	fillProfile(entry, profile) {
		const {guest, cells} = entry;
		const name = called(guest.domain.name);
		const starting = this.calls.starting(guest);

		entry.profile = profile;
		cells.profiled.hidden = !profile;
		text(cells.profiled, profile ? "memory profile" : "");
		if (profile) {
			attribute(cells.profiled, "href", format({memtrace: profile.id}));
			attribute(
				cells.profiled,
				"aria-label",
				`The memory of ${name} is being profiled: open profile ${profile.id}`,
			);
		}
		cells.profile.hidden =
			(guest.domain.state !== "running" && !profile) || !this.calls.may("write", guest.domain.name);
		cells.profile.disabled = starting;
		text(cells.profile, starting ? "Connecting…" : profile ? "Stop profiling" : "Profile memory");
		attribute(
			cells.profile,
			"aria-label",
			profile ? `Stop profiling the memory of ${name}` : `Profile the memory of ${name}`,
		);
	}

	fill({guest, row, cells}) {
		const {domain, crash} = guest;
		const state = stateOf(guest);
		const name = called(domain.name);
		const missing = loss(lossOf(guest));
		const details = [
			domain.domid === null ? null : `domain ${domain.domid}`,
			domain.uuid,
			crash ? `crashed ${when(crash.time)}` : null,
		];

		attribute(row, "data-state", crash && state === "running" ? "recovered" : state);
		text(cells.link, name);
		attribute(cells.link, "href", traceOf(domain));
		this.selection.describe(cells.choose, {key: `domain:${nameOf(domain)}`, view: {domain: nameOf(domain)}, name});
		text(cells.detail, details.filter(Boolean).join(" · "));
		text(cells.badge, SAYS[state]);
		this.sparklines.draw(cells.spark, guest);
		text(cells.rate, domain.state === "ended" ? "" : rate(rateOf(guest)));
		text(cells.kept, bytes(bytesOf(guest)));
		text(cells.gaps, missing ?? "nothing");
		cells.gaps.classList.toggle("bad", lossOf(guest).lost > 0);
		text(cells.seen, when(seenOf(guest)));
		text(cells.filter, domain.captures.toLocaleString("en"));
		attribute(cells.filter, "aria-label", `${count(domain.captures, "capture")} of ${name}: show them`);
		cells.filter.disabled = domain.captures === 0;
		attribute(cells.snapshot, "aria-label", `Take a snapshot of ${name}`);
		cells.snapshot.hidden = domain.state === "ended" || !this.calls.may("write", domain.name);
		cells.why.hidden = !crash || !this.calls.may("context", crash.domain);
		attribute(cells.why, "aria-label", `Why it crashed: ${name}`);
		text(cells.runs, `Runs: ${domain.runs.toLocaleString("en")}`);
		attribute(cells.runs, "aria-label", `${count(domain.runs, "run")} of ${name}: show them`);
	}
}
