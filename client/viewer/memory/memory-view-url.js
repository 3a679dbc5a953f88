/*
 * The view of a memory profile's page is the state of its controls. This file sets the controls from
 * a view (an object of page/memory-address.js), and writes the view to the URL after a change.
 */
import {format, sameTrace} from "../page/address.js";
import {SORTS} from "../page/memory-address.js";

const SETTLE_MS = 300; /* the URL is written this long after the last change */

export class MemoryViewUrl {
	constructor(page) {
		this.page = page;
		this.hash = location.hash; /* hash of the address that was last written or followed */
	}

	/** Stop writing the URL. */
	close() {
		clearTimeout(this.settling);
	}

	/** Follow a new address. Return false if it names another memory profile. */
	go(view) {
		const {page} = this;

		if (!sameTrace(view, page.view)) return false;
		this.hash = location.hash;
		page.view = view;
		this.put(view);
		page.asking = page.ask();
		return true;
	}

	/** Apply VIEW to the controls of the page. */
	put(view) {
		const {flame, functions, sandwich, choice, compare, chart, clock, info, filters, tabs} = this.page;

		choice.set(view);
		compare.set(view);
		clock.value = view.clock ?? "";
		if (info) chart.know(info, clock.value === "wall");
		choice.build();
		filters.set(view.only ?? [], view.hide ?? []);
		flame.treeChoice.value = view.tree ?? "callees";
		flame.growChoice.value = view.grow ?? "up";
		flame.countChoice.value = view.count ?? "bytes";
		flame.sites.checked = Boolean(view.sites);
		flame.recursion.checked = Boolean(view.recursion);
		flame.find.value = functions.find.value = view.find ?? "";
		flame.folded = new Set(view.fold ?? []);
		flame.go(view.path ?? []);
		sandwich.name = view.around ?? "";
		sandwich.stale = true;
		functions.sort = view.sort ?? SORTS[0];
		functions.mark();
		tabs.show(view.tab ?? "flame");
		if (tabs.name === "sandwich") sandwich.turn();
		chart.choose(choice.marked, compare.base?.marked ?? null);
		this.page.link();
	}

	/** Return the present view. */
	get now() {
		const {flame, functions, sandwich, tabs, view, filters, source, choice, compare, clock} = this.page;
		const {only, hide} = filters.texts;
		const given = (key, value, usual) => (value && value !== usual ? {[key]: value} : {});

		return {
			...(view.memtrace !== undefined ? {memtrace: view.memtrace} : {memfile: view.memfile ?? source.file.name}),
			...choice.view,
			...compare.view,
			...given("clock", clock.value),
			...(only.length ? {only} : {}),
			...(hide.length ? {hide} : {}),
			...given("tree", flame.treeChoice.value, "callees"),
			...given("grow", flame.growChoice.value, "up"),
			...given("count", flame.countChoice.value, "bytes"),
			...given("around", tabs.name === "sandwich" ? sandwich.name : ""),
			...given("sites", flame.sites.checked),
			...given("recursion", flame.recursion.checked),
			...(flame.folded.size ? {fold: [...flame.folded]} : {}),
			...(flame.path.length ? {path: flame.path} : {}),
			...given("find", (tabs.name === "functions" ? functions : flame).find.value),
			...given("sort", functions.sort, SORTS[0]),
			...given("tab", tabs.name, "flame"),
		};
	}

	/** Write the URL when the input has rested for SETTLE_MS. */
	settle() {
		clearTimeout(this.settling);
		this.settling = setTimeout(() => this.write(), SETTLE_MS);
	}

	write() {
		const {page} = this;

		/* If the hash differs, the user has opened another address, and go() will be called. */
		if (!page.info || page.closed || location.hash !== this.hash) return;
		const view = this.now;
		const address = format(view);
		if (address === location.hash) return;
		page.view = view;
		history.pushState(null, "", address);
		this.hash = location.hash;
	}
}
