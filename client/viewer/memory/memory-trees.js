/*
 * Trees that are made of the trees of heap.profile(): weighted by objects, all callers and callees
 * of one function, and the difference of two profiles. They have the same arrays. Each takes one pass
 * over the nodes of its source, in which a parent precedes its children.
 */
import {NONE} from "./memory-layout.js";

const CALLERS_MAX = 256; /* most callers of one call that around() counts */

/** A tree that grows. Node 0 is its root. */
class Builder {
	constructor() {
		this.parent = [NONE];
		this.name = [NONE];
		this.depth = [0];
		this.allocs = [0];
		this.self = [0];
		this.children = [null]; /* for each node a Map: name -> child, or null */
	}

	/** Return the child of NODE that is called NAME, a number. Append it if there is none. */
	child(node, name) {
		const children = (this.children[node] ??= new Map());
		let child = children.get(name);

		if (child === undefined) {
			child = this.parent.length;
			children.set(name, child);
			this.parent.push(node);
			this.name.push(name);
			this.depth.push(this.depth[node] + 1);
			this.allocs.push(0);
			this.self.push(0);
			this.children.push(null);
		}
		return child;
	}

	/** Return the tree. */
	finish() {
		return summed({
			n: this.parent.length,
			parent: Uint32Array.from(this.parent),
			name: Uint32Array.from(this.name),
			depth: Uint32Array.from(this.depth),
			allocs: Float64Array.from(this.allocs),
			self: Float64Array.from(this.self),
		});
	}
}

/** Return the sums of the array OWN over each node of the tree and all nodes below it. */
function sums({n, parent}, own) {
	const out = Float64Array.from(own);

	for (let i = n - 1; i > 0; i--) out[parent[i]] += out[i];
	return out;
}

/**
 * Return TREE with the arrays total, first and next, computed from self, parent and WEIGHT, the width
 * of each node's box. Children are sorted by width, the largest first; nodes of width 0 are no children.
 */
function summed(tree, weight = sums(tree, tree.self)) {
	const {n, parent} = tree;
	const first = new Uint32Array(n).fill(NONE);
	const next = new Uint32Array(n).fill(NONE);
	const order = Uint32Array.from({length: n}, (_, i) => i).sort((a, b) => weight[a] - weight[b] || b - a);

	for (const i of order) {
		if (i === 0 || !weight[i]) continue;
		next[i] = first[parent[i]];
		first[parent[i]] = i;
	}
	return {...tree, first, next, total: weight};
}

/** Return TREE weighted by sampled objects: self and total count objects and not bytes. */
export function byObjects(tree) {
	return summed({...tree, self: Float64Array.from(tree.allocs)});
}

/**
 * Return what is above and below the function NAME, a number, in TREE, a tree of callees: {callers,
 * callees}, two trees whose roots are the function. A call of NAME below another call of NAME is a
 * part of the outer one. Return null if TREE does not have the function.
 */
export function around(tree, name) {
	const callers = new Builder();
	const callees = new Builder();
	const inside = new Uint32Array(tree.n).fill(NONE); /* for each node its node in CALLEES */

	for (let i = 1; i < tree.n; i++) {
		const above = inside[tree.parent[i]];

		if (above === NONE && tree.name[i] !== name) continue;
		inside[i] = above === NONE ? 0 : callees.child(above, tree.name[i]);
		callees.self[inside[i]] += tree.self[i];
		callees.allocs[inside[i]] += tree.allocs[i];
		if (above !== NONE) continue;
		let node = 0;
		for (let at = tree.parent[i], n = 0; at > 0 && n < CALLERS_MAX; at = tree.parent[at], n++)
			node = callers.child(node, tree.name[at]);
		callers.self[node] += tree.total[i];
	}
	return inside.includes(0) ? {callers: callers.finish(), callees: callees.finish()} : null;
}

/**
 * Return the tree of BEFORE and AFTER. Its arrays total and self are of both together, so a box is as
 * wide as both amounts, and a function of either tree has a box. `before` and `after` are the totals,
 * `selfBefore` and `selfAfter` the own amounts, in each tree. RENAME(number) returns the number in
 * AFTER's names of a name of BEFORE.
 */
export function difference(before, after, rename) {
	const both = new Builder();
	const own = [[0], [0]];

	[before, after].forEach((tree, which) => {
		const nodes = new Uint32Array(tree.n);

		own[which][0] = tree.self[0];
		for (let i = 1; i < tree.n; i++) {
			const name = which === 0 ? rename(tree.name[i]) : tree.name[i];
			const node = both.child(nodes[tree.parent[i]], name);

			nodes[i] = node;
			own[which][node] = (own[which][node] ?? 0) + tree.self[i];
			both.allocs[node] += tree.allocs[i];
		}
	});
	const n = both.parent.length;
	const [selfBefore, selfAfter] = own.map((it) => Float64Array.from({length: n}, (_, i) => it[i] ?? 0));
	both.self = Array.from(selfBefore, (it, i) => it + selfAfter[i]);
	const tree = both.finish();
	return {...tree, before: sums(tree, selfBefore), after: sums(tree, selfAfter), selfBefore, selfAfter};
}

/**
 * Return the functions of two profiles: each of AFTER's, and those that only BEFORE has, with
 * `selfBefore` and `totalBefore`.
 */
export function functionsOfBoth(before, after) {
	const key = (it) => `${it.function}\n${it.file ?? ""}`;
	const old = new Map(before.map((it) => [key(it), it]));
	const out = after.map((it) => {
		const was = old.get(key(it));

		old.delete(key(it));
		return {...it, selfBefore: was?.self_bytes ?? 0, totalBefore: was?.total_bytes ?? 0};
	});

	for (const it of old.values())
		out.push({
			...it,
			self_bytes: 0,
			total_bytes: 0,
			callers: [],
			selfBefore: it.self_bytes,
			totalBefore: it.total_bytes,
		});
	return out;
}
