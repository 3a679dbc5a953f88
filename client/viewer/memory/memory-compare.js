/*
 * The profile that the shown one is compared with: another selection of the same recording, or the
 * same selection of another recording.
 */
import {make} from "../page/make.js";
import {shown} from "../page/guest-text.js";
import {Recording} from "./memory-source.js";
import {Selection} from "./memory-selection.js";

const LISTED = 100; /* most recordings in the list */
const LEGEND = "Red: more than there. Blue: less. A box is as wide as both amounts together.";
const HINT = "To compare two moments, click one, choose what is counted now here, and click the other.";

export class Compare {
	/**
	 * HOOKS: changed(): ask for the profiles again; timeText(us): return a time as the axis shows it;
	 * selection(): return the page's Selection; heap(): return a Promise of a new Heap; api: the API of
	 * the server, or null without one; own(): number of the page's recording.
	 */
	constructor(hooks) {
		this.hooks = hooks;
		this.base = null; /* a Selection of the same recording, or null */
		this.other = null; /* number of another recording, or null */
		this.loaded = null; /* {id, heap, info} of the other recording */
		this.recordings = [];
		this.select = make("select", {
			id: "mem-compare",
			onchange: () => this.pick(this.select.value),
			onfocus: () => this.list(),
			onpointerdown: () => this.list(),
		});
		this.element = make(
			"span",
			{className: "mem-check mem-compare"},
			make("label", {for: "mem-compare", textContent: "Compare with"}),
			this.select,
			(this.legend = make("span", {className: "mem-quiet"})),
		);
		this.build();
	}

	close() {
		this.closed = true;
		this.loaded?.heap.close();
	}

	/** Return true if the page shows a difference. */
	get on() {
		return this.base !== null || this.other !== null;
	}

	/** The members `base` and `other` of the page's view (page/memory-address.js). */
	get view() {
		return {...(this.base ? {base: this.base.view} : {}), ...(this.other !== null ? {other: this.other} : {})};
	}

	set({base, other = null}) {
		this.base = base && other === null ? new Selection(base) : null;
		this.other = other;
		this.build();
	}

	/** Compare what is selected from now on with the present selection. */
	keep() {
		this.set({base: this.hooks.selection().view});
	}

	pick(value) {
		const [kind, what] = value.split(":");

		if (kind === "kept") this.keep();
		else if (kind === "weight") this.set({base: {weight: what}});
		else if (kind === "recording") this.set({other: Number(what)});
		else if (kind !== "base") this.set({});
		this.build();
		this.hooks.changed();
	}

	/* Read the list of recordings once. Without a server there is none. */
	async list() {
		if (this.listed || !this.hooks.api) return;
		this.listed = true;
		try {
			const {memtraces} = await this.hooks.api.json(`v1/memtraces?limit=${LISTED}`);

			this.recordings = memtraces.filter((it) => it.id !== this.hooks.own());
			if (!this.closed) this.build();
		} catch {
			this.listed = false;
		}
	}

	build() {
		const {base, other, hooks} = this;
		const option = ([value, textContent]) => make("option", {value, textContent});
		const now = hooks.selection().text(hooks.timeText);
		const named = (it) =>
			`${shown(it.domain ?? it.says?.host ?? it.address, 40)}, profile ${it.id}, ${it.began.slice(0, 19).replace("T", " ")} UTC`;
		const others = this.recordings.map((it) => [`recording:${it.id}`, named(it)]);

		if (other !== null && !this.recordings.some((it) => it.id === other))
			others.unshift([`recording:${other}`, `profile ${other}`]);
		this.select.replaceChildren(
			option(["", "nothing"]),
			...(base ? [option(["base", base.text(hooks.timeText)])] : []),
			option(["kept", `what is counted now: ${now}`]),
			option(["weight:peak", "objects that lived at the peak"]),
			option(["weight:live", "objects that live at the end"]),
			...(others.length ? [make("optgroup", {label: "The same of another profile"}, ...others.map(option))] : []),
		);
		this.legend.textContent = this.on ? LEGEND : HINT;
		this.select.value = other !== null ? `recording:${other}` : base ? "base" : "";
	}

	/* Return a Promise of {heap, info} of the other recording. */
	async load() {
		const {api} = this.hooks;
		const id = this.other;

		if (this.loaded?.id === id) return this.loaded;
		this.loaded?.heap.close();
		this.loaded = null;
		const recording = await Recording.open(api, id);
		const heap = await this.hooks.heap();
		const info = await heap.load(await recording.body());
		if (this.closed || this.other !== id) {
			heap.close();
			return null;
		}
		return (this.loaded = {id, heap, info});
	}

	/**
	 * Return a Promise of {profile, names} of the profile to compare with; null if there is none. HEAP
	 * and INFO are the page's recording, FILTER its filter, OPTIONS the other members of the question.
	 */
	async profile(heap, info, filter, objects, options) {
		const other = this.other !== null ? await this.load() : null;
		const selection = this.base ?? this.hooks.selection();
		const it = other ?? {heap, info};

		if (!this.on || (this.other !== null && !other)) return null;
		const profile = await it.heap.profile({
			...selection.question(filter, Number(it.info.peak_us), objects),
			...options,
		});
		return profile && {profile, names: it.heap.names};
	}
}
