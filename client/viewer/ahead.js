/*
 * What a page will need, asked for before it does.  Modules name each other one step after the other, and each step waits for an answer; the worker and the
 * wasm are needed only once a trace comes.  A name that is missing here costs time and nothing else.
 */
const MODULES = {
	timeline: [
		"timeline", "actions", "camera", "frame", "input", "loading", "make", "minimap", "panels", "search", "selection", "stage", "theme",
		"threads", "tip", "times", "versus", "whereabouts", "perfetto", "save", "keys", "archive", "guests", "counters", "session", "source",
		"tail", "together", "measure", "compared", "panel", "why", "marks", "overlay", "paint", "painter", "differences", "linked", "svg",
		"guest-text", "engine", "live", "crowd", "raster",
	],
};

/** The page of KIND comes. */
export function ahead(kind) {
	const names = MODULES[kind] ?? [];

	for (const name of names) {
		const link = document.createElement("link");

		link.rel = "modulepreload";
		link.href = new URL(`${name}.js`, import.meta.url).href;
		document.head.append(link);
	}
	delete MODULES[kind];
	if (names.includes("engine"))
		import("./engine.js").then(({Engine}) => Engine.warm()).catch(() => {});
}
