/*
 * The keys of the time line. The handler of key presses, the help and the tooltips of buttons use the table KEYS. The document
 * docs/viewer.md has the same table, and tests/lint/keys compares the two.
 */
import {make} from "../page/make.js";
import {legend} from "./legend.js";

export const KEYS = [
	{keys: ["w", "+", "="], act: "closer", says: "Zoom in around the pointer, or the middle"},
	{keys: ["s", "-", "_"], act: "farther", says: "Zoom out"},
	{keys: ["a", "ArrowLeft"], act: "left", says: "Go back in time"},
	{keys: ["d", "ArrowRight"], act: "right", says: "Go on in time"},
	{keys: ["ArrowUp"], act: "up", says: "Move the focus to rows above"},
	{keys: ["ArrowDown"], act: "down", says: "Move the focus to rows below"},
	{keys: ["PageUp"], act: "page-left", says: "Go back by one picture"},
	{keys: ["PageDown"], act: "page-right", says: "Go on by one picture"},
	{keys: ["Home"], act: "start", says: "Go to the beginning"},
	{keys: ["End"], act: "end", says: "Go to the end"},
	{keys: ["f", "0"], act: "fit", says: "Show the whole trace"},
	{keys: ["/"], act: "search", says: "Search labels and thread numbers"},
	{keys: ["n"], act: "next", says: "Next match"},
	{keys: ["N", "p"], act: "previous", says: "Previous match"},
	{keys: ["j"], act: "thread-next", says: "Select the thread below"},
	{keys: ["k"], act: "thread-previous", says: "Select the thread above"},
	{keys: ["Enter"], act: "family", says: "Highlight the selected thread and what it becomes"},
	{keys: ["z"], act: "zoom-thread", says: "Show the selected thread, or the selected range, over the whole width"},
	{keys: ["m"], act: "mark", says: "Begin a range at the time under the pointer; press again to end it"},
	{keys: ["e"], act: "note", says: "Write a note on the time under the pointer, or on the selected range"},
	{keys: ["y", "W"], act: "why", says: "Why does it wait?"},
	{keys: ["x", "D"], act: "diff", says: "Differences, if two traces are compared"},
	{keys: ["t"], act: "threads", says: "List the threads in view"},
	{keys: ["i", "S"], act: "stats", says: "Numbers of the selected area, or of what is in view"},
	{keys: ["h"], act: "heap", says: "Show or hide the heap, if a memory profile ran"},
	{keys: ["c"], act: "clock", says: "Write times by another clock: since the start, the guest's, wall time, UTC"},
	{keys: [" "], act: "counters", says: "Show or hide all counters"},
	{keys: ["?"], act: "help", says: "This list"},
	{keys: ["Escape"], act: "escape", says: "Close the open panel or menu; then clear the selection"},
];

/* Names of keys for the user, where they differ from KeyboardEvent.key. */
const NAMES = {
	ArrowLeft: "←",
	ArrowRight: "→",
	ArrowUp: "↑",
	ArrowDown: "↓",
	PageUp: "Page up",
	PageDown: "Page down",
	Escape: "Esc",
	" ": "Space",
};

const keyName = (key) => NAMES[key] ?? key;

/** Return TEXT, the tooltip of a button, with the key number AT that runs the same ACTION. */
export function withKey(text, action, at = 0) {
	return `${text} (${keyName(KEYS.find((row) => row.act === action).keys[at])})`;
}

const byKey = new Map(KEYS.flatMap((row) => row.keys.map((key) => [key, row.act])));

/**
 * Return the name of the action for EVENT, a key press, or null. Keys with Ctrl, Alt or Meta belong
 * to the browser.
 */
export function act(event) {
	return event.ctrlKey || event.altKey || event.metaKey ? null : (byKey.get(event.key) ?? null);
}

const POINTER = [
	["Wheel", "Zoom around the pointer"],
	["Shift and wheel", "Go back or on in time"],
	["Drag", "Move in time and along the rows"],
	["Shift and drag", "Select a range of time and, up or down, of rows: its length and its numbers"],
	["Click", "Select a thread: the panel shows its history"],
	["Double click", "Highlight a thread and what it becomes"],
	["Two fingers", "Zoom"],
];

/**
 * Return the help as a node: signs, gestures and keys. PALETTE (theme.js) has the colours of the
 * signs.
 */
export function help(palette) {
	const rows = [...POINTER, ...KEYS.map((row) => [row.keys.map(keyName).join(" or "), row.says])];

	return make(
		"div",
		{},
		...legend(palette),
		make("h3", {textContent: "Keys and pointer"}),
		make(
			"table",
			{className: "tl-table"},
			make(
				"tbody",
				{},
				...rows.map(([keys, says]) =>
					make("tr", {}, make("th", {scope: "row", textContent: keys}), make("td", {textContent: says})),
				),
			),
		),
	);
}
