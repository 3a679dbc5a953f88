/* The panel that lists the differences of two traces and aligns them. */
import {leftOut, summary} from "./differences.js";
import {button, make, short} from "../page/make.js";
import {bytes} from "../page/times.js";

function alignment(comparison) {
	const {how, selectedAbove: thread} = comparison;
	const on = how?.label
		? `the first label with “${short(how.label, 40)}”`
		: how?.threads
			? "the threads that were selected"
			: "their first events";
	const both = thread && comparison.thread;
	const named = (it) => ({stream: it.stream, id: it.id, index: it.index});
	const label = make("input", {
		type: "search",
		placeholder: "a label in both",
		"aria-label": "Align on the first label with",
		maxLength: 1024,
	});
	const press = (text, says, next, more = {}) => button(text, says, () => comparison.realign(next()), more);
	const form = make(
		"form",
		{
			className: "tl-align",
			onsubmit: (event) => {
				event.preventDefault();
				if (label.value) comparison.realign({label: label.value});
			},
		},
		label,
		make("button", {type: "submit", textContent: "Align"}),
	);

	return [
		make("p", {textContent: `The traces are aligned on ${on}.`}),
		make(
			"div",
			{className: "tl-align"},
			press("First events", "Align on the first events", () => null),
			press(
				"Selected threads",
				"Align on the two threads that are selected",
				() => ({threads: [named(thread), named(comparison.thread)]}),
				{disabled: !both},
			),
		),
		form,
	];
}

/**
 * Return a sentence for each trace that is too long to be loaded as a whole, so only a part of it
 * is compared.
 */
function partial(comparison) {
	const sides = [
		["above", comparison.above.state.session],
		["below", comparison.session],
	];

	return sides
		.filter(([, {loaded}]) => loaded)
		.map(
			([where, {summary, overview}]) =>
				`Only ${bytes(summary.totals.bytes)} of the ${bytes(overview.bytes)} ${where} are compared: the loaded part.`,
		);
}

/** Return the panel's nodes for COMPARISON. */
export function comparisonPanel(comparison) {
	const {diff, list} = comparison;
	const more = leftOut(diff);

	return [
		make("p", {textContent: summary(diff)}),
		...partial(comparison).map((textContent) => make("p", {className: "tl-bad", textContent})),
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
								onclick: () => comparison.jump(it),
							})
						: make("span", {textContent: it.text}),
				),
			),
		),
		more
			? make("p", {className: "tl-quiet", textContent: `And ${more.toLocaleString("en")} more of these kinds.`})
			: null,
		make("h3", {textContent: "Alignment"}),
		...alignment(comparison),
	].filter(Boolean);
}

/**
 * Return a node about the counterpart of thread INDEX of SIDE ("bad" or "good"), with a link to it.
 * The counterpart is the thread that plays the same role in the other trace.
 */
export function counterpart(comparison, side, index) {
	const other = comparison.counterpart(side, index);
	const where = side === "bad" ? "below" : "above";

	if (other === null) return make("p", {className: "tl-quiet", textContent: `It has no counterpart ${where}.`});
	const go = () => (side === "bad" ? comparison.select(other, {reveal: true}) : comparison.selectAbove(other));
	return make(
		"p",
		{},
		make("button", {type: "button", className: "tl-link", textContent: `Its counterpart ${where}`, onclick: go}),
	);
}
