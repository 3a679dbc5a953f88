/*
 * The filters of the page. Conditions select allocations; an allocation must meet all of them.
 * Hidden functions are left out of the stacks. A complete condition applies at once. An incomplete
 * condition has no effect, and a text beside it says what is missing.
 */
import {button, make} from "../page/make.js";
import {HIDDEN, KINDS, blanks, clauseOf, clauseText, gather, hiddenOf, meaning} from "./memory-clauses.js";
import {count} from "../page/times.js";

const TYPED_MS = 350; /* a typed value applies this long after the last key */
const MOST = 24; /* most clauses of one list */
const HINTS = {time: "1.5 s, or 12:30:05", span: "200 ms", bytes: "4K", name: "name"};

/*
 * A list of clauses, each with a line of form fields. KINDS are the possible kinds, FIRST the clause
 * that the button ADD creates. CHANGED(ms) is called after a change that applies in MS ms.
 */
class List {
	constructor({legend, kinds, first, add, changed}) {
		Object.assign(this, {kinds, first, changed});
		this.clauses = [];
		this.lines = [];
		this.list = make("ul", {className: "mem-clauses"});
		this.adder = make("button", {type: "button", textContent: add, onclick: () => this.add()});
		this.element = make("fieldset", {}, make("legend", {textContent: legend}), this.list, this.adder);
	}

	add() {
		this.clauses.push({...this.first});
		this.build();
		this.changed(0);
		this.lines[this.lines.length - 1].element.querySelector("select").focus();
	}

	remove(i) {
		this.clauses.splice(i, 1);
		this.build();
		this.changed(0);
		(this.lines[Math.min(i, this.lines.length - 1)]?.element.querySelector("select") ?? this.adder).focus();
	}

	/** Replace the clauses by those in TEXTS, from the address. */
	set(texts) {
		this.clauses = texts.map(clauseOf).filter((it) => it && Object.hasOwn(this.kinds, it.kind));
		this.build();
	}

	texts() {
		return this.clauses.map(clauseText).filter((it) => it !== null);
	}

	build() {
		this.lines = this.clauses.map((clause, i) => this.line(clause, i));
		this.list.replaceChildren(...this.lines.map((it) => it.element));
		this.list.hidden = !this.lines.length;
		this.adder.disabled = this.clauses.length >= MOST;
	}

	select(label, options, value, change) {
		return make(
			"select",
			{"aria-label": label, onchange: (event) => change(event.target.value)},
			...options.map(([key, textContent]) => make("option", {value: key, textContent, selected: key === value})),
		);
	}

	line(clause, i) {
		const known = this.kinds[clause.kind];
		const error = make("span", {className: "mem-error", id: `mem-error-${known.fill}-${clause.kind}-${i}`});
		const parts = [];
		const inputs = [];

		if (Object.keys(this.kinds).length > 1)
			parts.push(
				this.select(
					"Condition",
					Object.entries(this.kinds).map(([key, it]) => [key, it.text]),
					clause.kind,
					(kind) => this.rekind(i, kind),
				),
			);
		else parts.push(make("span", {textContent: known.text}));
		parts.push(this.select("How", Object.entries(known.hows), clause.how, (how) => this.rehow(i, how)));
		for (const key of ["a", "b"].slice(0, blanks(clause))) {
			inputs.push(this.input(clause, key, known.fill, error.id));
			parts.push(...(key === "b" ? ["and"] : []), inputs[inputs.length - 1]);
		}
		parts.push(
			button("✕", `Remove condition ${i + 1}`, () => this.remove(i)),
			error,
		);
		return {element: make("li", {}, ...parts), error, inputs};
	}

	input(clause, key, fill, error) {
		return make("input", {
			type: "text",
			value: clause[key],
			placeholder: HINTS[fill],
			"aria-label": {time: "Time", span: "Time span", bytes: "Amount", name: "Name"}[fill],
			"aria-describedby": error,
			maxLength: 500,
			autocomplete: "off",
			spellcheck: false,
			className: fill === "name" ? "mem-wide" : "",
			oninput: (event) => {
				clause[key] = event.target.value;
				this.changed(TYPED_MS);
			},
			onkeydown: (event) => event.key === "Enter" && this.changed(0),
		});
	}

	rekind(i, kind) {
		const same = this.kinds[kind].fill === this.kinds[this.clauses[i].kind].fill;
		const {a, b} = this.clauses[i];

		this.clauses[i] = {kind, how: Object.keys(this.kinds[kind].hows)[0], a: same ? a : "", b: same ? b : ""};
		this.rebuilt(i, 0);
	}

	rehow(i, how) {
		this.clauses[i].how = how;
		this.rebuilt(i, 1);
	}

	/* Rebuild the list and put the focus on the select WHICH of line I. */
	rebuilt(i, which) {
		this.build();
		const selects = this.lines[i].element.querySelectorAll("select");
		selects[Math.min(which, selects.length - 1)].focus();
		this.changed(0);
	}

	/** Show the ERRORS of the clauses: a sentence or null for each. */
	say(errors) {
		errors.forEach((text, i) => {
			const {error, inputs} = this.lines[i];

			if (error.textContent !== (text ?? "")) error.textContent = text ?? "";
			for (const input of inputs) input.setAttribute("aria-invalid", String(Boolean(text)));
		});
	}
}

export class Filters {
	/** HOOKS: changed(): the filter changed. */
	constructor(hooks) {
		this.hooks = hooks;
		const changed = (ms) => this.later(ms);

		this.only = new List({
			legend: "Only show allocations",
			kinds: KINDS,
			first: {kind: "size", how: "least", a: "", b: ""},
			add: "Add a condition",
			changed,
		});
		this.hide = new List({
			legend: "Hide functions",
			kinds: HIDDEN,
			first: {kind: "hide", how: "has", a: "", b: ""},
			add: "Hide a function",
			changed,
		});
		this.title = make("summary", {textContent: "Filters"});
		this.clear = make("button", {
			type: "button",
			textContent: "Remove all",
			hidden: true,
			onclick: () => this.set([], [], true),
		});
		this.element = make(
			"details",
			{className: "mem-filters"},
			this.title,
			this.only.element,
			this.hide.element,
			this.clear,
		);
		this.info = null;
	}

	close() {
		clearTimeout(this.timer);
	}

	later(ms) {
		this.judge();
		clearTimeout(this.timer);
		this.waiting = true;
		this.timer = setTimeout(() => {
			this.waiting = false;
			this.hooks.changed();
		}, ms);
	}

	/**
	 * Add the clause TEXT (memory-clauses.js), unless it is there. Return false if the list is full.
	 */
	add(text) {
		const clause = clauseOf(text);
		const list = Object.hasOwn(this.only.kinds, clause.kind) ? this.only : this.hide;

		if (list.texts().includes(text)) return true;
		if (list.clauses.length >= MOST) return false;
		list.set([...list.texts(), text]);
		this.element.open = true;
		this.later(0);
		return true;
	}

	/** Set INFO, the answer of heap.load(). */
	know(info) {
		this.info = info;
		this.judge();
	}

	/**
	 * Replace all clauses by ONLY and HIDE, texts from the address. TELL: the user did it, so call
	 * the hook changed().
	 */
	set(only, hide, tell = false) {
		this.only.set(only);
		this.hide.set(hide);
		this.element.open ||= this.only.clauses.length + this.hide.clauses.length > 0;
		this.judge();
		if (tell) {
			this.hooks.changed();
			this.only.adder.focus();
		}
	}

	/* Show the errors of the clauses and compute the filter. */
	judge() {
		const {startUs, peak_us: peakUs} = this.info ?? {startUs: 0n, peak_us: 0};
		const {filter, errors} = gather(this.only.clauses, startUs, Number(peakUs));
		const wrong = this.hide.clauses.map((it) => meaning(it, startUs).error ?? null);
		const bad = [...errors, ...wrong].filter(Boolean).length;
		const all = errors.length + wrong.length;

		this.filter = filter;
		this.hidden = hiddenOf(this.hide.clauses);
		this.only.say(errors);
		this.hide.say(wrong);
		this.clear.hidden = !all;
		this.title.textContent = all
			? `Filters: ${all - bad}${bad ? `, and ${count(bad, "incomplete one")}, which ${bad === 1 ? "does" : "do"} not count` : ""}`
			: "Filters";
	}

	get texts() {
		return {only: this.only.texts(), hide: this.hide.texts()};
	}
}
