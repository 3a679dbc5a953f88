/*
 * The colours of a picture. The light palette has the hues of mirage-trace-viewer, darker where a
 * mark would not stand out from the background by 3:1. The dark palette has the same hues, but
 * lighter.
 */

const LIGHT = {
	dark: false,
	back: "#e6e6e6",
	sleeping: "#cccccc",
	collection: "#b39999",
	gap: "#d9b3e6",
	gapLine: "#7a2e99",
	busy: "#74c68a",
	duration: "#8fb4e3",
	idle: "#dfe3e7",
	collecting: "#c9b3ee",
	trackText: "#1b1d1f",
	tail: "#e0d5b8",
	tailLine: "#8a6d1f",
	band: "#5c5c5c",
	grid: "#d6d6d6",
	gridTenth: "#b4b4b4",
	ruler: "#f7f7f7",
	rulerText: "#333333",
	highlight: "#ffff00",
	thread: "#333333",
	running: "#ffffff",
	failed: "#cc0000",
	resolve: "#008000",
	read: "#0000ff",
	"read-failed": "#d6001c",
	"try-read": "#6f6b00",
	signal: "#a85400",
	label: "#000000",
	type: "#555555",
	halo: "#e6e6e6",
	counters: ["#c94444", "#c06400", "#2b8680", "#a64fd9"],
	counterNames: ["#a81f1f", "#8f4a00", "#0f635d", "#7418a8"],
	shadow: "#000000",
	select: "#0057d9",
	range: "#0057d9",
	why: "#c2007a",
	uncertain: "#00707a",
	unmatched: "#8a4b00",
	part: "#6a1fb0",
	missing: "#b9c6d6",
	heap: "#a84b00",
	note: "#3d2e8f",
};

const DARK = {
	dark: true,
	back: "#1e2124",
	sleeping: "#33393f",
	collection: "#4d3838",
	gap: "#42284d",
	gapLine: "#c58ae0",
	busy: "#287a43",
	duration: "#2c5a91",
	idle: "#30363b",
	collecting: "#56408a",
	trackText: "#f2f4f5",
	tail: "#3d3825",
	tailLine: "#d1b25c",
	band: "#a5abb0",
	grid: "#2c3034",
	gridTenth: "#454b51",
	ruler: "#16181a",
	rulerText: "#d5d9dc",
	highlight: "#6b6400",
	thread: "#9aa2a9",
	running: "#ffffff",
	failed: "#ff6b6b",
	resolve: "#43c443",
	read: "#7b9bff",
	"read-failed": "#ff5050",
	"try-read": "#cccc66",
	signal: "#ffab2e",
	label: "#f2f4f5",
	type: "#9aa2a9",
	halo: "#1e2124",
	counters: ["#e87878", "#ee9433", "#62c9c3", "#bb7ae3"],
	counterNames: ["#ff9a9a", "#ffb366", "#7fe0da", "#d9a3f7"],
	shadow: "#000000",
	select: "#6aa8ff",
	range: "#6aa8ff",
	why: "#ff6ec4",
	uncertain: "#4fd0da",
	unmatched: "#ffb866",
	part: "#c79bff",
	missing: "#2c3a4a",
	heap: "#ffa04d",
	note: "#b9aaff",
};

/** Return the palette, light or dark. */
export function palette(dark) {
	return dark ? DARK : LIGHT;
}

/** Return the palette of the tracks around the threads. */
export function trackPalette(dark) {
	const colours = palette(dark);

	return {
		...colours,
		back: colours.ruler,
		sleeping: colours.idle,
		collection: colours.collecting,
		band: colours.trackText,
		halo: colours.ruler,
	};
}

/**
 * Call CHANGE(dark) at each switch between light and dark until SIGNAL aborts. Return true if the
 * page is dark now.
 */
export function watchDark(change, signal) {
	const query = matchMedia("(prefers-color-scheme: dark)");

	query.addEventListener("change", () => change(query.matches), {signal});
	return query.matches;
}
