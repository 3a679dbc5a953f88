/*
 * The layout of a flame graph. A node narrower than half a pixel has no box. Children are sorted by
 * weight, so the first narrow one ends its siblings, and a row has at most twice as many boxes as
 * pixels.
 */

export const NONE = 0xffffffff;
export const ROW = 20; /* pixels */
const NARROWEST = 0.5;

export class Layout {
	/** Lay out TREE, from heap.js, from node ROOT on, WIDTH pixels wide. */
	constructor(tree, root, width) {
		this.tree = tree;
		this.root = root;
		this.width = width;
		this.scale = tree.total[root] > 0 ? width / tree.total[root] : 0;
		this.nodes = [root]; /* node of each box, row by row */
		this.xs = [0];
		this.rows = [0]; /* first box of each row */
		if (this.scale) this.descend();
		this.rows.push(this.nodes.length);
	}

	descend() {
		for (let from = 0, to = 1; from < to; from = to, to = this.nodes.length) {
			if (from) this.rows.push(from);
			for (let i = from; i < to; i++) this.under(i);
		}
	}

	/* Append the children of box I from its left edge on. */
	under(i) {
		const {first, next, total} = this.tree;
		let x = this.xs[i];

		for (let node = first[this.nodes[i]]; node !== NONE; node = next[node]) {
			const width = total[node] * this.scale;

			if (width < NARROWEST) return;
			this.nodes.push(node);
			this.xs.push(x);
			x += width;
		}
	}

	get depth() {
		return this.rows.length - 1;
	}

	/** Return the width of box I. */
	wide(i) {
		return this.tree.total[this.nodes[i]] * this.scale;
	}

	/** Return the box in ROW at X, or -1. */
	at(row, x) {
		if (row < 0 || row >= this.depth) return -1;
		let low = this.rows[row];
		let high = this.rows[row + 1] - 1;

		if (x < this.xs[low]) return -1;
		while (low < high) {
			const middle = (low + high + 1) >> 1;

			if (this.xs[middle] <= x) low = middle;
			else high = middle - 1;
		}
		return x < this.xs[low] + Math.max(this.wide(low), 1) ? low : -1;
	}

	/** Return the box of NODE; -1: outside or too narrow. */
	boxOf(node) {
		const row = this.tree.depth[node] - this.tree.depth[this.root];

		for (let i = this.rows[row] ?? 0; i < (this.rows[row + 1] ?? 0); i++) if (this.nodes[i] === node) return i;
		return -1;
	}

	/** Return the row of box I. */
	rowOf(i) {
		return this.tree.depth[this.nodes[i]] - this.tree.depth[this.root];
	}
}

/** Return the nodes from the root's child down to NODE. */
export function pathTo(tree, node) {
	const path = [];

	for (; node > 0 && node !== NONE; node = tree.parent[node]) path.push(node);
	return path.reverse();
}

/** Return the node at the end of PATH, a list of names, as far as it exists. */
export function nodeAt(tree, names, path) {
	let node = 0;

	for (const name of path) {
		let child = tree.first[node];

		while (child !== NONE && names[tree.name[child]] !== name) child = tree.next[child];
		if (child === NONE) break;
		node = child;
	}
	return node;
}

/**
 * Find TEXT in the names, ignoring case. Return {names: Uint8Array by name, nodes: number found,
 * bytes: total of the topmost ones}. One pass over the tree.
 */
export function search(tree, names, text) {
	const wanted = text.toLowerCase();
	const hits = Uint8Array.from(names, (name) => name.toLowerCase().includes(wanted));
	const below = new Uint8Array(tree.n);
	let nodes = 0;
	let bytes = 0;

	/* Parents precede their children. */
	for (let i = 1; i < tree.n; i++) {
		const hit = hits[tree.name[i]] === 1 && tree.total[i] > 0;

		nodes += hit;
		if (hit && !below[tree.parent[i]]) bytes += tree.total[i];
		below[i] = hit || below[tree.parent[i]] ? 1 : 0;
	}
	return {names: hits, nodes, bytes};
}
