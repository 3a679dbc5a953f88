/*
 * The boxes of a tree of functions: a box for each function of a stack, as wide as its amount.
 * Hovering shows the amounts of a box, and the arrow keys select a box. The canvas is as large as
 * the visible part of the graph and is painted again when the user scrolls.
 */
import {shown} from "../page/guest-text.js";
import {make} from "../page/make.js";
import {count} from "../page/times.js";
import {Layout, NONE, ROW, nodeAt, pathTo} from "./memory-layout.js";
import {Names, paint, rowY} from "./memory-paint.js";
import {amount, change, share} from "./memory-text.js";

/**
 * A subclass has the getters `tree`, a tree of heap.profile() or memory-trees.js, null before the
 * first one, and `up`: the root is at the bottom. It calls setNames() and reset() for a new tree.
 */
export class Graph {
	/**
	 * HOOKS: changed(): the view changed, so write the address; tell(text): announce TEXT to screen
	 * readers; dark(): return true for dark colours; error(bytes): return the error of an estimate as
	 * text. ID is the id of the graph's element, LABEL its description for screen readers.
	 */
	constructor(hooks, id, label) {
		this.hooks = hooks;
		/*
		 * Names from the root to the zoomed function. A filter may remove some of them from the
		 * tree; PATH keeps them, so that the zoom comes back without the filter.
		 */
		this.path = [];
		this.zoomed = 0; /* node whose box is as wide as the graph */
		this.selected = null; /* node that the keys selected, or null */
		this.folded = new Set(); /* names of the functions whose callees are not drawn */
		this.hits = null; /* for each name 1 if the search found it; null without a search */
		this.objects = false; /* the tree's amounts are sampled objects and not bytes */
		this.canvas = make("canvas", {className: "mem-flame-canvas"});
		this.space = make("div", {className: "mem-flame-space"}, this.canvas);
		this.says = make("p", {className: "mem-says", id: `${id}-says`});
		this.tip = make("div", {className: "mem-tip", hidden: true});
		this.scroller = make(
			"div",
			{
				className: "mem-flame",
				id,
				tabIndex: 0,
				role: "application",
				"aria-label": label,
				"aria-describedby": this.says.id,
			},
			this.space,
		);
		this.listen();
		this.observer = new ResizeObserver(() => this.resize());
		this.observer.observe(this.scroller);
	}

	close() {
		this.observer.disconnect();
		cancelAnimationFrame(this.frame);
		this.closed = true;
	}

	/**
	 * Set the texts of names, NAMES, the files of functions, FILES (name -> file), and the text of the
	 * root's box.
	 */
	setNames(names, files, rootText) {
		this.names = names;
		this.shownNames = new Names(names);
		this.files = files;
		this.rootText = rootText;
	}

	/**
	 * Return the scroll distance from the root in pixels. If the tree grows upward, the root is at
	 * the bottom and the distance is counted from there.
	 */
	get far() {
		const {scrollTop} = this.scroller;

		return this.up ? this.height - scrollTop : scrollTop;
	}

	/* Zoom to PATH and select the selected path in a tree that is new. */
	reset() {
		if (!this.tree) return;
		const chosen = this.selected === null ? null : this.selectedPath;

		this.zoomed = nodeAt(this.tree, this.names, this.path);
		this.selected = chosen ? nodeAt(this.tree, this.names, chosen) : null;
		this.lay();
	}

	get selectedPath() {
		return this.pathWas ?? [];
	}

	nameOf(node) {
		return node === 0 ? this.rootText : this.shownNames.text(this.tree.name[node]);
	}

	/** Return the amount VALUE of the tree as text. */
	amountText(value) {
		return this.objects ? count(Math.round(value), "sampled object") : amount(value);
	}

	/** Return the amounts of a box as text. */
	amounts(node) {
		const {total, self, allocs, before, after, selfBefore, selfAfter} = this.tree;
		const text = (value) => this.amountText(value);

		if (before)
			return (
				`${text(before[node])} before, ${text(after[node])} now (${change(before[node], after[node], text)})` +
				`${selfBefore[node] || selfAfter[node] ? `, itself ${text(selfBefore[node])} and ${text(selfAfter[node])}` : ""}`
			);
		const own = self[node] && self[node] !== total[node] ? `, ${text(self[node])} of it itself` : "";
		const error = this.objects ? "" : ` ${this.hooks.error(total[node])}`;

		return (
			`${text(total[node])} (${share(total[node], total[0])})${error}${own}` +
			`${allocs[node] && !this.objects ? `, ${count(allocs[node], "sampled object")}` : ""}`
		);
	}

	/** Return the text of a box: name, amounts, file. */
	boxText(node) {
		const file = node ? this.files.get(this.names[this.tree.name[node]]) : "";

		return (
			`${this.nameOf(node)}: ${this.amounts(node)}${file ? `, in ${shown(file, 80)}` : ""}` +
			`${this.isFolded(node) ? ", folded" : ""}`
		);
	}

	/** Return true if the boxes below NODE's are not drawn. */
	isFolded(node) {
		return node > 0 && this.folded.has(this.names[this.tree.name[node]]);
	}

	/* Compute the positions of all boxes, and paint them. */
	lay() {
		if (!this.tree || !this.width) return;
		const folded = this.folded.size ? Uint8Array.from(this.names, (it) => Number(this.folded.has(it))) : null;
		this.layout = new Layout(this.tree, this.zoomed, this.width, folded);
		/* The graph is as high as the whole tree, so zooming moves nothing else on the page. */
		const whole = this.zoomed ? new Layout(this.tree, 0, this.width, folded) : this.layout;
		this.height = Math.max(this.layout.depth, whole.depth) * ROW;
		this.space.style.height = `${this.height}px`;
		this.scroller.scrollTop = this.up ? this.height : 0;
		this.tip.hidden = true;
		this.laid();
		this.draw();
	}

	/** Called when the positions of the boxes are new. */
	laid() {}

	resize() {
		const width = this.scroller.clientWidth;
		const height = this.scroller.clientHeight;
		const ratio = devicePixelRatio || 1;

		if (!width || (width === this.width && height === this.tall)) return;
		this.width = width;
		this.tall = height;
		this.canvas.width = Math.round(width * ratio);
		this.canvas.height = Math.round(height * ratio);
		this.canvas.style.width = `${width}px`;
		this.canvas.style.height = `${height}px`;
		this.lay();
	}

	draw() {
		this.frame ||= requestAnimationFrame(() => {
			this.frame = 0;
			if (!this.closed && this.layout) this.paint();
		});
	}

	get how() {
		return {
			names: this.shownNames,
			rootText: this.rootText,
			hits: this.hits,
			selected: this.selected,
			up: this.up,
			dark: this.hooks.dark(),
		};
	}

	paint() {
		const ratio = devicePixelRatio || 1;
		const ctx = this.canvas.getContext("2d");

		ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
		this.painted = paint(
			ctx,
			this.layout,
			this.height,
			{from: this.scroller.scrollTop, height: this.tall},
			this.how,
		);
	}

	// Pointer.

	listen() {
		const {scroller} = this;

		scroller.addEventListener("scroll", () => this.draw());
		scroller.addEventListener("pointermove", (event) => this.hover(event));
		scroller.addEventListener("pointerleave", () => (this.tip.hidden = true));
		scroller.addEventListener("click", (event) => this.click(event));
		scroller.addEventListener("keydown", (event) => this.key(event));
	}

	/** Return the node under EVENT, or null. */
	under(event) {
		const area = this.scroller.getBoundingClientRect();
		const y = event.clientY - area.top + this.scroller.scrollTop;
		const row = this.up ? Math.floor((this.height - y) / ROW) : Math.floor(y / ROW);
		const i = this.layout ? this.layout.at(row, event.clientX - area.left) : -1;

		return i < 0 ? null : this.layout.nodes[i];
	}

	hover(event) {
		const node = event.pointerType === "touch" ? null : this.under(event);

		this.tip.hidden = node === null;
		this.scroller.style.cursor = node === null ? "" : "pointer";
		if (node === null) return;
		this.tip.textContent = this.boxText(node);
		const width = document.documentElement.clientWidth;
		const box = this.tip.getBoundingClientRect();
		const below = event.clientY + 18 + box.height < document.documentElement.clientHeight;
		this.tip.style.left = `${Math.max(4, Math.min(event.clientX + 12, width - box.width - 4))}px`;
		this.tip.style.top = `${below ? event.clientY + 18 : event.clientY - box.height - 8}px`;
	}

	click(event) {
		const node = this.under(event);

		if (node === null) return;
		/* Zoom out on a click on the zoomed box. */
		if (node === this.zoomed && node !== 0) this.out();
		else this.zoom(node);
	}

	/** Zoom to NODE, so that its box is as wide as the graph. */
	zoom(node) {
		this.select(node);
		this.zoomed = node;
		this.path = this.pathWas;
		this.lay();
		this.hooks.changed();
	}

	out() {
		if (this.zoomed) this.zoom(this.tree.parent[this.zoomed]);
	}

	/** Zoom to the function at the end of PATH, a list of names. */
	go(path) {
		this.path = path;
		this.reset();
	}

	select(node) {
		this.selected = node;
		this.pathWas = pathTo(this.tree, node).map((it) => this.names[this.tree.name[it]]);
		this.says.textContent = this.boxText(node);
		this.hooks.tell(this.says.textContent);
	}

	// Keys.

	/** Handle a key; an event that is handled goes nowhere else. */
	key(event) {
		if (!this.layout || event.ctrlKey || event.altKey || event.metaKey) return;
		if (!this.pressed(event.key, this.selected ?? this.zoomed)) return;
		event.preventDefault();
		event.stopPropagation();
	}

	/** Do what KEY does; NODE is the selected node, or the zoomed one. Return false if it does nothing. */
	pressed(key, node) {
		const [farther, nearer] = this.up ? ["ArrowUp", "ArrowDown"] : ["ArrowDown", "ArrowUp"];

		if (key === farther) this.walk(this.selected === null ? node : this.child(node));
		else if (key === nearer) this.walk(node === this.zoomed ? NONE : this.tree.parent[node]);
		else if (key === "ArrowLeft" || key === "ArrowRight")
			this.walk(this.neighbour(node, key === "ArrowRight" ? 1 : -1));
		else if (key === "Home") this.walk(this.zoomed);
		else if (key === "Enter") this.zoom(node);
		else if (key === "Escape") this.out();
		else return false;
		return true;
	}

	walk(node) {
		if (node === NONE || node === undefined) return;
		this.select(node);
		const y = rowY(this.tree.depth[node] - this.tree.depth[this.zoomed], this.height, this.up);
		const {scrollTop} = this.scroller;
		if (y < scrollTop || y + ROW > scrollTop + this.tall) this.scroller.scrollTop = y - this.tall / 2;
		this.draw();
	}

	/**
	 * Return the heaviest child of NODE, or NONE if NODE has no child that is wide enough for a
	 * box.
	 */
	child(node) {
		const child = this.tree.first[node];

		return child !== NONE && this.tree.total[child] * this.layout.scale >= 0.5 ? child : NONE;
	}

	/** Return the node of the box to the right (BY 1) or left (-1) of the box of NODE. */
	neighbour(node, by) {
		const i = this.layout.boxOf(node);
		const row = i < 0 ? -1 : this.layout.rowOf(i);

		return i >= 0 && i + by >= this.layout.rows[row] && i + by < this.layout.rows[row + 1]
			? this.layout.nodes[i + by]
			: NONE;
	}
}
