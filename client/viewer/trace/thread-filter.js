/*
 * The filter of threads chooses which threads the picture shows: by type, by label, only unresolved
 * ones, or only those that a given thread depends on. The worker applies the filter. This class
 * keeps the conditions and makes the form in which the user changes them.
 */
import {make} from "../page/make.js";

const REST_MS = 250; /* time after the last key until a label is applied, ms */

export class ThreadFilter {
	/**
	 * WANTED are the conditions that the URL names: {types: [name], label, unresolved: true,
	 * depends: {stream, id, index} of a thread}. An absent member is no condition.
	 *
	 * hooks:
	 * - engines(): return [engine of the trace, engine of the compared trace]; each may be null or
	 *   undefined;
	 * - locate(thread): return a Promise of this thread in the present model, or of null;
	 * - selected(): return the selected thread, or null;
	 * - changed(): called when a change is applied;
	 * - failed(error): report an error.
	 */
	constructor(wanted, hooks) {
		this.hooks = hooks;
		this.read(wanted);
	}

	/** Replace the conditions by WANTED. apply() makes them effective. */
	read(wanted) {
		this.wanted = {...wanted};
	}

	/** The conditions for the URL; undefined if there are none. */
	get view() {
		return Object.keys(this.wanted).length ? this.wanted : undefined;
	}

	/** A sentence for the user on which threads are shown; "" if all are. */
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

	/** Apply the conditions to the present models. Call it after each new model. */
	async apply() {
		const {types = [], label = "", unresolved = false, depends} = this.wanted;
		const [engine, compared] = this.hooks.engines();
		const thread = depends ? await this.hooks.locate(depends) : null;
		const filter = {types, label, unresolved, depends: thread?.index ?? null};

		await Promise.all([engine?.filter(filter), compared?.filter({...filter, depends: null})]);
	}

	/**
	 * Change the conditions that CHANGE has, and apply them. A member that is undefined removes the
	 * condition.
	 */
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

	/** Return a list item with a check box; PRESS(checked) is called after each change. */
	box(id, text, checked, press) {
		return make(
			"li",
			{},
			make("input", {type: "checkbox", id, checked, onchange: (event) => press(event.target.checked)}),
			make("label", {for: id, textContent: text}),
		);
	}

	/** Return the form as a node. TYPES are the names of all types of threads in the trace. */
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
