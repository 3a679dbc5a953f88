/* Texts of the host's page. */
import {shown} from "../page/guest-text.js";
import {ended} from "../page/make.js";
import {bytes, count} from "../page/times.js";
import {isCrash} from "./host-model.js";

/** Return a guest's name on one line. */
export function called(name) {
	return name ? shown(name) : "(no name)";
}

/** The reasons of captures. */
export const KINDS = {
	crash: "Crashed",
	watchdog: "Stopped by its watchdog",
	poweroff: "Powered off",
	reboot: "Rebooted",
	suspend: "Suspended",
	destroyed: "Destroyed",
	ended: "Ended",
	unread: "Ended, no verdict yet",
	periodic: "Periodic",
	manual: "Snapshot",
	trigger: "Triggered",
};

/* Kinds of captures that are no news. An unread one becomes a crash, or is deleted, seconds later. */
const QUIET = new Set(["ended", "periodic", "unread"]);

/**
 * Return the group and the sentence (host-announcer.js) of an event `capture`, or null. BEFORE is what the model had of
 * the capture. The page gets its own change twice: in the answer to its request and as an event.
 */
export function captureNews({change, capture}, before) {
	const made = change === "made" && !before;
	const name = called(capture.domain);

	if (isCrash(capture)) return made || (before && !isCrash(before)) ? ["crashed", `${name} crashed.`] : null;
	if (!made || QUIET.has(capture.kind)) return null;
	return ["were captured", `${name}: ${(KINDS[capture.kind] ?? "captured").toLowerCase()}.`];
}

const DAY_MS = 24 * 3600 * 1000;
const day = new Intl.DateTimeFormat("en-GB", {day: "numeric", month: "short", year: "numeric"});
const clock = new Intl.DateTimeFormat("en-GB", {hour: "2-digit", minute: "2-digit", second: "2-digit"});

/** Return a time of the API for people. Today's times have no date. */
export function when(text, now = new Date()) {
	const date = text ? new Date(text) : null;

	if (!date || Number.isNaN(date.getTime())) return "never";
	const today = now - date < DAY_MS && now.getDate() === date.getDate();
	return today ? clock.format(date) : `${day.format(date)}, ${clock.format(date)}`;
}

/** Return the time from BEGAN to ENDED as text. If ENDED is null, the time until now. */
export function lasted({began, ended}, now = Date.now()) {
	const seconds = Math.max(0, Math.round(((ended ? Date.parse(ended) : now) - Date.parse(began)) / 1000));
	const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];

	if (!Number.isFinite(seconds)) return "";
	return h ? `${h.toLocaleString("en")} h ${m} min` : m ? `${m} min ${s} s` : `${s} s`;
}

/** Return the first line of the sentence about a cause, or null. */
export function firstLine(sentence) {
	return sentence?.split("\n", 1)[0] || null;
}

/**
 * Return words on how a capture ended, as far as the server's reader knows: the first line of why, the text of the
 * exception unless that line has it, and why the reader could not read it. MORE are further words. At most MOST characters.
 */
export function reason({exception, sentence, failure}, most, ...more) {
	const why = firstLine(sentence);
	const words = [
		why,
		exception && !why?.includes(exception) ? `exception: ${exception}` : null,
		failure ? `its cause is not known: ${failure}` : null,
		...more,
	];

	return shown(words.filter(Boolean).join(" · "), most);
}

/** Return TEXT with a capital first letter and a full stop. */
export function sentence(text) {
	return ended(`${text.slice(0, 1).toUpperCase()}${text.slice(1)}`);
}

export function rate(n) {
	return n ? `${bytes(n)}/s` : "quiet";
}

/** Return words on the packets that a trace has lost, or null if it has all. */
export function loss({lost, skipped, gaps}) {
	if (lost) return `${count(lost, "packet")} lost`;
	if (skipped) return `${count(skipped, "packet")} skipped`;
	return gaps ? count(gaps, "gap") : null;
}
