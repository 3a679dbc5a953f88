/*
 * Starting, stopping and keeping of memory profiles: the API calls, and the dialog for a guest's
 * address.
 */
import {guestPath} from "../page/api.js";
import {ask, askNote, open} from "./host-dialogs.js";
import {whose} from "./host-profiles.js";
import {called, lasted, sentence, when} from "./host-text.js";
import {make} from "../page/make.js";
import {bytes} from "../page/times.js";

const PORT = 4242; /* default port of memtrace-mirage */
/*
 * Statuses for which another address or port may help: no address is known, or nothing answers
 * there.
 */
const ASKS = new Set([404, 502]);

function field(id, text, props) {
	return [
		make("label", {for: id, textContent: text}),
		make("input", {id, autocomplete: "off", spellcheck: false, ...props}),
	];
}

/** Return the values of the form as a request body. Throw a sentence if a value is wrong. */
function body(address, port) {
	const out = {};

	if (address) out.address = address;
	if (port) {
		if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65535)
			throw new Error("The port is a number from 1 to 65535.");
		out.port = Number(port);
	}
	return out;
}

/**
 * Ask for the address at which a guest offers its memory profile, then call START(name, body). If
 * START fails, the dialog shows the error and stays open. NAME is the guest's name, or null to ask
 * for the name too. BECAUSE is the reason for the question, or null. Return a Promise of the result
 * of START, or of null if the dialog was closed.
 */
export async function askWhere(name, because, start) {
	const who =
		name === null
			? field("profile-name", "Guest: a name for it, or its number (domid)", {maxLength: 200, required: true})
			: [];
	const address = field("profile-address", "Address of the guest, such as 10.0.0.5", {
		maxLength: 63,
		inputMode: "url",
	});
	const port = field("profile-port", "Port, if not 4242", {
		maxLength: 5,
		inputMode: "numeric",
		placeholder: String(PORT),
	});
	const wrong = make("p", {className: "bad", role: "alert", textContent: because ? sentence(because) : ""});
	const go = make("button", {type: "submit", textContent: "Start"});
	const form = make("form", {className: "where", id: "where"}, ...who, ...address, ...port, wrong);
	let made = null;
	const {dialog, closed} = open(
		name === null ? "Profile the memory of another guest" : `Profile the memory of ${name}`,
		[
			make("p", {
				className: "quiet",
				textContent: "The guest must offer the profile: memtrace-mirage does, by default on port 4242.",
			}),
			form,
		],
		[["Cancel", ""]],
	);

	go.setAttribute("form", "where");
	dialog.querySelector(".foot").append(go);
	form.addEventListener("submit", async (event) => {
		event.preventDefault();
		if (go.disabled) return;
		wrong.textContent = "";
		go.disabled = true;
		go.textContent = "Connecting…";
		try {
			made = await start(who[1]?.value.trim() ?? null, body(address[1].value.trim(), port[1].value.trim()));
			dialog.close("");
		} catch (error) {
			wrong.textContent = sentence(error.message);
			(who[1] && !who[1].value ? who[1] : address[1]).focus();
		}
		go.disabled = false;
		go.textContent = "Start";
	});
	(who[1] ?? address[1]).focus();
	await closed;
	return made;
}

/** PAGE: the HostPage. */
export class Profiling {
	constructor(page) {
		this.page = page;
		this.api = page.api;
		this.starting = new Set(); /* keys of guests for which a request is under way */
		this.calls = {
			pin: (profile) => page.act("Pin", () => this.patch(profile, {pinned: !profile.pinned})),
			note: (profile) => page.act("Note", () => this.note(profile)),
			stop: (profile) => page.act("Stop", () => this.stop(profile)),
			remove: (profile) => page.act("Delete", () => this.remove(profile)),
			older: () => page.act("Memory profiles", () => this.fetchOlder()),
			other: () => page.act("Memory profile", () => this.other()),
			mayOther: () => this.api.session.some("write"),
			may: (profile) => this.api.session.may("write", profile.domain),
		};
	}

	get profiles() {
		return this.page.model.profiles;
	}

	/* Reading. */

	async fetch() {
		const {memtraces, next} = await this.api.json(`v1/memtraces?limit=1000${this.cursor ?? ""}`);

		this.cursor = next === null ? null : `&cursor=${encodeURIComponent(next)}`;
		return memtraces;
	}

	/** Load the list. The page shows guests also if this fails. */
	async load() {
		this.cursor = "";
		try {
			return {list: await this.fetch(), trouble: null};
		} catch (error) {
			return {list: [], trouble: error};
		}
	}

	async fetchOlder() {
		this.profiles.add(await this.fetch(), this.cursor !== null);
		this.page.show();
	}

	/**
	 * Apply the event NAME with DATA to the profiles. If NEWS is true, announce it to screen
	 * readers.
	 */
	apply(name, data) {
		if (name === "memtrace-growth") return this.profiles.grow(data.memtraces);
		if (name === "memtrace-deleted") return this.profiles.remove(data.id);
		const before = this.profiles.all.get(data.memtrace.id);

		this.profiles.put(data.memtrace);
		if (data.change === "began" && !before)
			this.page.announcer.say("are being profiled", `The memory of ${whose(data.memtrace)} is being profiled.`);
		else if (data.change === "ended" && before?.state === "recording")
			this.page.announcer.say("were profiled", `The memory profile of ${whose(data.memtrace)} ended.`);
	}

	tell(change, memtrace) {
		this.page.apply("memtrace", {change, memtrace});
	}

	/* Changing. */

	async post(path, wanted) {
		const memtrace = await this.api.change("POST", `${path}/memtraces`, wanted);

		this.tell("began", memtrace);
		return memtrace;
	}

	/** Start a memory profile of GUEST. Ask for the address if it is unknown. */
	async start(guest) {
		const path = guestPath(guest.domain);

		if (this.starting.has(guest.key)) return;
		this.mark(guest, true);
		try {
			await this.post(path, {});
		} catch (error) {
			if (!ASKS.has(error.status)) throw error;
			await askWhere(called(guest.domain.name), error.message, (_, wanted) => this.post(path, wanted));
		} finally {
			this.mark(guest, false);
		}
	}

	mark({key}, on) {
		if (on) this.starting.add(key);
		else this.starting.delete(key);
		this.page.model.touch(key);
		this.page.soon();
	}

	/**
	 * Start a memory profile of a guest that is not traced. Such a guest is not on this page,
	 * so ask for its name.
	 */
	async other() {
		await askWhere(null, null, (name, wanted) => this.post(`v1/domains/${encodeURIComponent(name)}`, wanted));
	}

	async stop(profile) {
		this.tell("ended", await this.api.change("DELETE", `v1/memtraces/${profile.id}/recording`));
	}

	async patch(profile, change) {
		this.tell("changed", await this.api.change("PATCH", `v1/memtraces/${profile.id}`, change));
	}

	async note(profile) {
		const note = await askNote(profile, `the memory profile of ${whose(profile)}`);

		if (note !== null && note !== profile.note) await this.patch(profile, {note});
	}

	async remove(profile) {
		const what = `It began ${when(profile.began_corrected ?? profile.began)}, lasted ${lasted(profile)} and has ${bytes(profile.bytes)}. There is no other copy.`;

		if (!(await ask(`Delete this memory profile of ${whose(profile)}?`, what, "Delete"))) return;
		await this.api.change("DELETE", `v1/memtraces/${profile.id}`);
		this.page.apply("memtrace-deleted", {id: profile.id});
		this.page.profiles.title.focus({preventScroll: true});
	}
}
