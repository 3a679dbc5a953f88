/*
 * The dialogs of the host's page: a capture's context, a guest's runs, a note, a question. Each is
 * a <dialog>: Escape closes it and returns the focus.
 */
import {format} from "../page/address.js";
import {guestPath} from "../page/api.js";
import {shown, shownLines} from "../page/guest-text.js";
import {bytesOf} from "./host-model.js";
import {called, KINDS, when} from "./host-text.js";
import {make} from "../page/make.js";
import {bytes} from "../page/times.js";

const KEYS_SHOWN = 500;

/**
 * Open a dialog with TITLE. BUTTONS are [text, value]. Return a Promise of the value of the pressed
 * button, "" if the dialog was closed in another way.
 */
export function open(title, content, buttons = [["Close", ""]]) {
	const heading = make("h2", {id: "dialog-title", textContent: title});
	const foot = make("div", {className: "foot"});
	const dialog = make("dialog", {"aria-labelledby": "dialog-title"}, heading, ...content, foot);
	const closed = new Promise((resolve) => {
		dialog.addEventListener("close", () => {
			dialog.remove();
			resolve(dialog.returnValue);
		});
	});

	for (const [label, value] of buttons)
		foot.append(make("button", {type: "button", textContent: label, value, onclick: () => dialog.close(value)}));
	dialog.addEventListener("click", (event) => event.target === dialog && dialog.close(""));
	document.body.append(dialog);
	dialog.showModal();
	return {dialog, closed};
}

function facts(pairs) {
	return make(
		"dl",
		{},
		...pairs
			.filter(([, value]) => value !== null && value !== undefined && value !== "")
			.flatMap(([name, value]) => [make("dt", {textContent: name}), make("dd", {}, value)]),
	);
}

/* Return a scrollable text of a guest that the keyboard can scroll too. */
function preformatted(label, text) {
	return make("pre", {tabIndex: 0, role: "region", "aria-label": label, textContent: text});
}

/** Show "Loading…" in a dialog, then the nodes that BODY makes of the result of PROMISE. */
async function later(promise, body) {
	const wait = make("p", {className: "quiet", textContent: "Loading…"});

	return {
		wait,
		done: promise
			.then(body)
			.then((parts) => wait.replaceWith(...parts))
			.catch((error) => {
				wait.className = "bad";
				wait.setAttribute("role", "alert");
				wait.textContent = `${error.message}`;
			}),
	};
}

/** Return a link to the memory profile that ran when the capture was taken. */
function profileLink(id) {
	return make("a", {href: format({memtrace: id}), textContent: `The memory profile that ran then (${id})`});
}

function contextParts(capture, context) {
	const store = Object.entries(context.xenstore ?? {});
	const parts = [
		facts([
			["Guest", called(context.domain)],
			["Why", KINDS[context.kind] ?? shown(context.kind)],
			["Xen says", context.reason ? shown(context.reason) : null],
			["When", when(context.time)],
			["Began", when(context.began_corrected ?? context.began)],
			["Domain", context.domid === null ? null : String(context.domid)],
			["UUID", context.uuid],
			["Note", shown(capture.note, 4096)],
			[
				"Memory",
				context.memtrace === null || context.memtrace === undefined ? null : profileLink(context.memtrace),
			],
		]),
	];

	if (context.console) {
		parts.push(make("h3", {textContent: context.console_complete ? "Console" : "End of the console"}));
		parts.push(preformatted("Console", shownLines(context.console)));
	}
	if (store.length) {
		parts.push(make("h3", {textContent: context.xenstore_complete ? "XenStore" : "XenStore, a part of it"}));
		const lines = store.slice(0, KEYS_SHOWN).map(([path, value]) => `${shown(path, 300)} = ${shown(value, 2000)}`);
		if (store.length > KEYS_SHOWN) lines.push(`… and ${store.length - KEYS_SHOWN} more`);
		parts.push(preformatted("XenStore", lines.join("\n")));
	}
	if (!context.console && !store.length)
		parts.push(
			make("p", {
				className: "quiet",
				textContent:
					"Nothing else was kept: a ring file has no console and no XenStore, and xenconsoled may not log this guest's console.",
			}),
		);
	return parts;
}

/** Show why and when a capture was taken. */
export async function showContext(api, capture) {
	const link = make("a", {className: "button", href: format({capture: capture.id}), textContent: "Open its trace"});
	const {wait, done} = await later(api.json(`v1/captures/${encodeURIComponent(capture.id)}/context`), (context) =>
		contextParts(capture, context),
	);
	const {dialog} = open(`${KINDS[capture.kind] ?? shown(capture.kind)}: ${called(capture.domain)}`, [wait]);

	dialog.querySelector(".foot").prepend(link);
	dialog.addEventListener("click", (event) => event.target.matches("a") && dialog.close(""));
	await done;
}

function runRow(domain, run) {
	const size = bytesOf({domain: {streams: run.streams}});
	const says = run.ended ? `${KINDS[run.reason] ?? "Ended"} ${when(run.ended)}` : run.state;

	return make(
		"li",
		{},
		make("a", {href: format({domain: domain.uuid ?? domain.name, run: run.run}), textContent: `Run ${run.run}`}),
		` began ${when(run.began_corrected ?? run.began)} · ${says} · ${bytes(size)} recorded`,
	);
}

/** Show the runs of a guest, newest first. */
export async function showRuns(api, domain) {
	const {wait, done} = await later(api.json(`${guestPath(domain)}?limit=100`), (guest) => [
		make("ol", {className: "runs"}, ...guest.run_list.map((run) => runRow(domain, run))),
		...(guest.next ? [make("p", {className: "quiet", textContent: "Older ones are listed by mprofctl."})] : []),
	]);
	const {dialog} = open(`Runs of ${called(domain.name)}`, [wait]);

	dialog.addEventListener("click", (event) => event.target.matches("a") && dialog.close(""));
	await done;
}

/**
 * Ask for a note on the guest of CAPTURE, or on WHAT. Return a Promise of the new note, or of null
 * if it stays the same.
 */
export async function askNote(capture, what = called(capture.domain)) {
	const input = make("textarea", {id: "note", value: capture.note, maxLength: 4096, rows: 4});
	const label = make("label", {for: "note", textContent: "Note, for later readers"});
	const {closed} = open(
		`Note on ${what}`,
		[label, input],
		[
			["Save", "save"],
			["Cancel", ""],
		],
	);

	input.focus();
	return (await closed) === "save" ? input.value : null;
}

/** Ask SENTENCE in a dialog. Return a Promise of true if the button ACTION was pressed. */
export async function ask(title, sentence, action) {
	const {closed} = open(
		title,
		[make("p", {textContent: sentence})],
		[
			["Cancel", ""],
			[action, "yes"],
		],
	);

	return (await closed) === "yes";
}
