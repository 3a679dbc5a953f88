/*
 * The profile that the page shows: an answer of heap.profile(), or the difference of two, in bytes or
 * in sampled objects. Trees are made when they are first asked for.
 */
import {count} from "../page/times.js";
import {amount, change, give} from "./memory-text.js";
import {byObjects, difference, functionsOfBoth} from "./memory-trees.js";

export class ProfileView {
	/**
	 * PROFILE is an answer of heap.profile(), NAMES the array heap.names of the same heap. BEFORE is
	 * {profile, names} of the profile to compare with, or null. OBJECTS: amounts are sampled objects
	 * and not bytes.
	 */
	constructor(profile, names, before = null, objects = false) {
		const other = before !== null && before.names !== names;

		this.profile = profile;
		this.before = before;
		this.objects = objects;
		this.names = other ? [...names] : names;
		this.numbers = other ? new Map(names.map((name, i) => [name, i])) : null;
		this.trees = new Map();
		this.functions = before ? functionsOfBoth(before.profile.functions, profile.functions) : profile.functions;
		this.files = new Map(this.functions.map((it) => [it.function, it.file ?? ""]));
	}

	/* Return the number in this.names of name NUMBER of the profile before. */
	renamed(number) {
		if (!this.numbers) return number;
		const name = this.before.names[number];
		let found = this.numbers.get(name);

		if (found === undefined) {
			found = this.names.push(name) - 1;
			this.numbers.set(name, found);
		}
		return found;
	}

	tree(kind) {
		const counted = (tree) => (this.objects ? byObjects(tree) : tree);
		let tree = this.trees.get(kind);

		if (!tree) {
			tree = counted(this.profile[kind]);
			if (this.before)
				tree = difference(counted(this.before.profile[kind]), tree, (number) => this.renamed(number));
			this.trees.set(kind, tree);
		}
		return tree;
	}

	/** The tree with the outermost callers below its root. */
	get callees() {
		return this.tree("callees");
	}

	/** The tree with the allocating functions below its root. */
	get callers() {
		return this.tree("callers");
	}

	/** The text of the box of the root of both trees. */
	get rootText() {
		const {profile, before, objects} = this;
		const value = (it) => (objects ? it.objects : it.samples_bytes);
		const text = (it) => (objects ? count(it, "sampled object") : amount(it));

		if (before) {
			const [was, is] = [before.profile, profile].map(value);

			return `all: ${text(was)} before, ${text(is)} now (${change(was, is, text)})`;
		}
		return `all: ${text(value(profile))}${objects ? "" : ` ${give(profile.relativeError)}`}`;
	}
}
