/*
 * The choice of the objects that the page counts (memory-selection.js). The user selects on the chart,
 * with the list "Count" below the chart, or by the page's address.
 */
import {make} from "../page/make.js";
import {Selection} from "./memory-selection.js";
import {amount, give, share} from "./memory-text.js";
import {count} from "../page/times.js";

export class Choice extends Selection {
	/**
	 * HOOKS: changed(): called after a change; timeText(us): return the time US as the axis shows
	 * it.
	 */
	constructor(hooks) {
		super();
		this.hooks = hooks;
		this.select = make("select", {id: "mem-what", onchange: () => this.pick(this.select.value)});
		this.says = make("p", {className: "mem-says", role: "status", "aria-live": "polite"});
		this.whole = make("button", {
			type: "button",
			textContent: "Everything",
			title: "Choose no moment and no range (Escape on the chart)",
			hidden: true,
			onclick: () => this.choose(null),
		});
		this.element = make(
			"div",
			{className: "mem-bar"},
			make("label", {for: "mem-what", textContent: "Count"}),
			this.select,
			this.whole,
			this.says,
		);
		this.build();
	}

	/**
	 * Set the selection to the moment {at} or range {from, to} that the user selected in the chart;
	 * null: no moment and no range.
	 */
	choose(chosen) {
		const still = this.what === "still";

		if (!chosen) this.set({});
		else if (chosen.at !== undefined) this.set({at: chosen.at});
		else this.set({during: chosen, still});
		this.build();
		this.hooks.changed();
	}

	pick(what) {
		this.what = what;
		this.build();
		this.hooks.changed();
	}

	build() {
		const {timeText} = this.hooks;
		const whats = ["all", "live", "peak"];

		if (this.at !== null) whats.push("at");
		if (this.during) whats.push("during", "still");
		const options = whats.map((what) => [what, this.text(timeText, what)]);
		this.select.replaceChildren(...options.map(([value, textContent]) => make("option", {value, textContent})));
		this.select.value = this.what;
		this.whole.hidden = this.what === "all";
	}

	/** Show the sums of PROFILE, and their share of WHOLE, all bytes allocated in the recording. */
	tell({samples_bytes: bytes, objects, samples, relativeError}, whole) {
		this.says.textContent = samples
			? `${amount(bytes)} ${give(relativeError)} in ${count(objects, "sampled object")}, ${share(bytes, whole)} of all allocations`
			: "No sampled object fits the choice.";
	}
}
