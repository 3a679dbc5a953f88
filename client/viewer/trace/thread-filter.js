/*
 * The filter of threads: which types, which labels, only unresolved ones, only what a thread depends
 * on. The worker applies it; this class keeps it, and makes its form.
 */
import {make} from "../page/make.js";

const REST_MS = 250; /* ms after the last letter until a label is applied */

export class ThreadFilter {
	/**
	 * WANTED: {types: [name], label, unresolved, depends: {stream, id, index}} of an address; each
	 * may be absent. hooks: engines() -> [engine of the trace, of the compared one], locate(thread)
	 * -> Promise of the thread in the present model or null, selected() -> the selected thread or
	 * null, changed(): the filter changed and is applied, failed(error)
	 */
	constructor(wanted, hooks) {
		this.hooks = hooks;
		this.read(wanted);
	}

	read(wanted) {
		this.wanted = {...wanted};
	}

	/** The filter for an address; undefined: none. */
	get view() {
		return Object.keys(this.wanted).length ? this.wanted : undefined;
	}

	/** A sentence on what is shown; "" without a filter. */
	get text() {
		const {types, label, unresolved, depends} = this.wanted;
		const conditions = [
			types && `of type ${types.join(", ")}`,
			label && `with a label like “${label.slice(0, 60)}”`,
			unresolved && "that are unresolved",
			depends && `that thread ${depends.id} depends on`,
		].filter(Boolean);

		return conditions.length ? `Filtered: only threads ${conditions.join(", and ")}.` : "";
	}

	/** Apply the filter to the present models. */
	async apply() {
		const {types = [], label = "", unresolved = false, depends} = this.wanted;
		const [engine, compared] = this.hooks.engines();
		const thread = depends ? await this.hooks.locate(depends) : null;
		const filter = {types, label, unresolved, depends: thread?.index ?? null};

		await Promise.all([engine?.filter(filter), compared?.filter({...filter, depends: null})]);
	}

	/** Change the filter by CHANGE; a member that is undefined is no condition. */
	async change(change) {
		const wanted = {...this.wanted, ...change};

		for (const key of Object.keys(wanted)) if (wanted[key] === undefined) delete wanted[key];
		this.wanted = wanted;
		try {
			await this.apply();
			this.hooks.changed();
		} catch (error) {
			this.hooks.failed(error);
		}
	}

	box(id, text, checked, press) {
		return make(
			"li",
			{},
			make("input", {type: "checkbox", id, checked, onchange: (event) => press(event.target.checked)}),
			make("label", {for: id, textContent: text}),
		);
	}

	/** Return the form as a node. TYPES: names of the types of the trace's threads. */
	node(types) {
		const shown = new Set(this.wanted.types ?? types);
		const flip = (type, on) => {
			shown[on ? "add" : "delete"](type);
			this.change({types: types.every((it) => shown.has(it)) ? undefined : [...shown]});
		};
		const thread = this.wanted.depends ?? this.hooks.selected();
		const input = make("input", {
			type: "search",
			placeholder: "Label, * for any text",
			"aria-label": "Only threads with this label",
			value: this.wanted.label ?? "",
			maxLength: 64,
			oninput: () => {
				clearTimeout(this.typing);
				this.typing = setTimeout(() => this.change({label: input.value || undefined}), REST_MS);
			},
		});

		return make(
			"div",
			{},
			make("h3", {textContent: "Threads"}),
			input,
			make(
				"ul",
				{className: "tl-choice"},
				this.box("tl-only-unresolved", "Only unresolved", Boolean(this.wanted.unresolved), (on) =>
					this.change({unresolved: on || undefined}),
				),
				thread
					? this.box(
							"tl-only-depends",
							`Only what thread ${thread.id} depends on`,
							Boolean(this.wanted.depends),
							(on) =>
								this.change({
									depends: on
										? {stream: thread.stream, id: thread.id, index: thread.index}
										: undefined,
								}),
						)
					: null,
				...types.map((type) => this.box(`tl-type-${type}`, type, shown.has(type), (on) => flip(type, on))),
			),
		);
	}
}
