/*
 * What a page will need, asked for before it does.  Modules name each other one step after the other, and each step waits for an answer; the worker and the
 * wasm are needed only once a trace comes.  A name that is missing here costs time and nothing else.
 */
const MODULES = {
	timeline: [
		"trace/timeline",
		"trace/actions",
		"trace/camera",
		"trace/frame",
		"trace/gestures",
		"trace/loading",
		"page/make",
		"trace/minimap",
		"trace/panels",
		"trace/search",
		"trace/selection",
		"trace/canvas-view",
		"draw/theme",
		"trace/threads",
		"trace/tooltip",
		"page/times",
		"compare/comparison",
		"trace/view-url",
		"trace/save",
		"trace/keys",
		"trace/archive",
		"compare/guest-strips",
		"trace/counters",
		"trace/session",
		"trace/source",
		"trace/tail",
		"compare/multi-guest",
		"trace/measure",
		"compare/comparison-panel",
		"trace/panel",
		"trace/why",
		"draw/marks",
		"trace/overlay",
		"draw/paint",
		"draw/painter",
		"compare/differences",
		"draw/svg",
		"page/guest-text",
		"engine/engine",
		"trace/live",
		"draw/raster",
	],
};

/** The page of KIND comes. */
export function preload(kind) {
	const names = MODULES[kind] ?? [];

	for (const name of names) {
		const link = document.createElement("link");

		link.rel = "modulepreload";
		link.href = new URL(`${name}.js`, import.meta.url).href;
		document.head.append(link);
	}
	delete MODULES[kind];
	if (names.includes("engine/engine")) import("./engine/engine.js").then(({Engine}) => Engine.warm()).catch(() => {});
}
