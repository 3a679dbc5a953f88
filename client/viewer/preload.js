/*
 * Preloading: request the modules of a page before they are imported. An import is found only when
 * the importing module has come, so without preloading the requests would follow each other. The
 * worker and the wasm would be requested only when a trace comes, so they are requested here, too.
 * A name that is missing here only costs time.
 */
const MODULES = {
	timeline: [
		"trace/timeline",
		"trace/actions",
		"trace/camera",
		"trace/clock",
		"trace/stamps",
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
		"trace/user-notes",
		"page/times",
		"page/table",
		"compare/comparison",
		"trace/view-url",
		"trace/save",
		"trace/keys",
		"trace/archive",
		"compare/guest-strips",
		"trace/counters",
		"trace/trace-session",
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
		"draw/tracks",
		"trace/track-area",
		"trace/thread-filter",
		"trace/track-controls",
		"trace/track-layout",
		"page/track-address",
	],
};

/** Preload the modules of the page KIND, a key of MODULES. */
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
