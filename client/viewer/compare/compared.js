/* The panel that tells what differs between two traces, and aligns them. */
import {leftOut, summary} from "./differences.js";
import {button, make, short} from "../page/make.js";
import {bytes} from "../page/times.js";

function alignment(versus) {
	const {how, selectedAbove: thread} = versus;
	const on = how?.label
		? `the first label with “${short(how.label, 40)}”`
		: how?.threads
			? "the threads that were selected"
			: "their first events";
	const both = thread && versus.thread;
	const named = (it) => ({stream: it.stream, id: it.id, index: it.index});
	const label = make("input", {
		type: "search",
		placeholder: "a label in both",
		"aria-label": "Align on the first label with",
		maxLength: 1024,
	});
	const press = (text, says, next, more = {}) => button(text, says, () => versus.realign(next()), more);
	const form = make(
		"form",
		{
			className: "tl-align",
			onsubmit: (event) => {
				event.preventDefault();
				if (label.value) versus.realign({label: label.value});
			},
		},
		label,
		make("button", {type: "submit", textContent: "Align"}),
	);

	return [
		make("p", {textContent: `Both stand so that ${on} are above each other.`}),
		make(
			"div",
			{className: "tl-align"},
			press("First events", "Align on the first events", () => null),
			press(
				"Selected threads",
				"Align on the two threads that are selected",
				() => ({threads: [named(thread), named(versus.thread)]}),
				{disabled: !both},
			),
		),
		form,
	];
}

/** Sentences on what of the two was not compared, because they are too long. */
function partial(versus) {
	const sides = [
		["above", versus.above.state.session],
		["below", versus.session],
	];

	return sides
		.filter(([, {loaded}]) => loaded)
		.map(
			([where, {summary, overview}]) =>
				`Of the run ${where}, only ${bytes(summary.totals.bytes)} of ${bytes(overview.bytes)} are compared: what is loaded of it.`,
		);
}

/** The panel's nodes for VERSUS. */
export function compared(versus) {
	const {diff, list} = versus;
	const more = leftOut(diff);

	return [
		make("p", {textContent: summary(diff)}),
		...partial(versus).map((textContent) => make("p", {className: "tl-bad", textContent})),
		make(
			"ol",
			{className: "tl-threads"},
			...list.map((it) =>
				make(
					"li",
					{},
					it.good || it.bad
						? make("button", {
								type: "button",
								className: "tl-link",
								textContent: it.text,
								onclick: () => versus.jump(it),
							})
						: make("span", {textContent: it.text}),
				),
			),
		),
		more
			? make("p", {className: "tl-quiet", textContent: `And ${more.toLocaleString("en")} more of these kinds.`})
			: null,
		make("h3", {textContent: "Alignment"}),
		...alignment(versus),
	].filter(Boolean);
}

/** At a thread's story: who its counterpart is.  SIDE: of the thread. */
export function counterpart(versus, side, index) {
	const other = versus.counterpart(side, index);
	const where = side === "bad" ? "below" : "above";

	if (other === null) return make("p", {className: "tl-quiet", textContent: `It has no counterpart ${where}.`});
	const go = () => (side === "bad" ? versus.select(other, {reveal: true}) : versus.selectAbove(other));
	return make(
		"p",
		{},
		make("button", {type: "button", className: "tl-link", textContent: `Its counterpart ${where}`, onclick: go}),
	);
}
