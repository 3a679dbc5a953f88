/*
 * The layout of a flame graph. A node that is narrower than half a pixel has no box. Children are
 * sorted by weight, so the children after the first narrow one are narrow, too. A row therefore has
 * at most twice as many boxes as pixels.
 */

export const NONE = 0xffffffff;
export const ROW = 20; /* height of a row, pixels */
const NARROWEST = 0.5;

export class Layout {
	/**
	 * Lay out the part of TREE below node ROOT, WIDTH pixels wide. TREE is of heap.profile(). FOLDED
	 * has 1 for each name whose boxes get none below them; null: for none.
	 */
	constructor(tree, root, width, folded = null) {
		this.tree = tree;
		this.folded = folded;
		this.root = root;
		this.width = width;
		this.scale = tree.total[root] > 0 ? width / tree.total[root] : 0;
		this.nodes = [root]; /* for each box its node; boxes are in the order of the rows */
		this.xs = [0];
		this.rows = [0]; /* for each row the index of its first box */
		if (this.scale) this.descend();
		this.rows.push(this.nodes.length);
	}

	descend() {
		for (let from = 0, to = 1; from < to; from = to, to = this.nodes.length) {
			if (from) this.rows.push(from);
			for (let i = from; i < to; i++) this.under(i);
		}
	}

	/* Append boxes for the children of box I, beginning at its left edge. */
	under(i) {
		const {first, next, total, name} = this.tree;
		let x = this.xs[i];

		if (this.nodes[i] !== this.root && this.folded?.[name[this.nodes[i]]]) return;

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

	/** Return the width of box I in pixels. */
	wide(i) {
		return this.tree.total[this.nodes[i]] * this.scale;
	}

	/** Return the index of the box in ROW at X pixels, or -1. */
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

	/** Return the index of NODE's box; -1 if NODE is not below the root or too narrow. */
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

/**
 * Return the node that PATH, a list of names, leads to. If a name is not found, return the last
 * node that was.
 */
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
 * Find TEXT in the names, ignoring case. Return {names: Uint8Array with 1 for each name that
 * matches, nodes: number of matching nodes, bytes: sum of the matching nodes that have no matching
 * node above them}. This takes one pass over the tree.
 */
export function search(tree, names, text) {
	const wanted = text.toLowerCase();
	const hits = Uint8Array.from(names, (name) => name.toLowerCase().includes(wanted));
	const below = new Uint8Array(tree.n);
	let nodes = 0;
	let bytes = 0;

	/* Parents come before their children in the tree. */
	for (let i = 1; i < tree.n; i++) {
		const hit = hits[tree.name[i]] === 1 && tree.total[i] > 0;

		nodes += hit;
		if (hit && !below[tree.parent[i]]) bytes += tree.total[i];
		below[i] = hit || below[tree.parent[i]] ? 1 : 0;
	}
	return {names: hits, nodes, bytes};
}
