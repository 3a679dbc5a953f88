/* The colours of a picture: marks and text stand out from what is behind them. */
import assert from "node:assert";
import {test} from "node:test";

import {palette, trackPalette} from "../../client/viewer/draw/theme.js";

/* The relative luminance of a colour "#rrggbb", by WCAG 2.2. */
function luminance(colour) {
	const [red, green, blue] = [1, 3, 5].map((at) => {
		const part = parseInt(colour.slice(at, at + 2), 16) / 255;

		return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
	});

	return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one, other) {
	const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);

	return (light + 0.05) / (dark + 0.05);
}

const MARKS = ["thread", "failed", "resolve", "read", "read-failed", "try-read", "signal", "why", "select", "range"];
const MARKS_TOO = ["uncertain", "unmatched", "part", "heap", "note", "gapLine", "tailLine"];

for (const dark of [false, true]) {
	const name = dark ? "dark" : "light";

	test(`${name}: marks stand out by 3:1, awake and asleep`, () => {
		const colours = palette(dark);

		for (const mark of [...MARKS, ...MARKS_TOO])
			for (const behind of ["back", "sleeping"]) {
				const found = contrast(colours[mark], colours[behind]);

				assert.ok(found >= 3, `${mark} on ${behind}: ${found.toFixed(2)}`);
			}
	});

	test(`${name}: counters stand out from their lanes by 3:1`, () => {
		const colours = trackPalette(dark);

		for (const counter of colours.counters)
			for (const behind of ["back", "sleeping"]) {
				const found = contrast(counter, colours[behind]);

				assert.ok(found >= 3, `${counter} on ${behind}: ${found.toFixed(2)}`);
			}
	});

	test(`${name}: text stands out by 4.5:1`, () => {
		const colours = palette(dark);
		const track = trackPalette(dark);
		const texts = [
			...["label", "type"].flatMap((text) =>
				["back", "sleeping"].map((behind) => [colours[text], colours[behind]]),
			),
			[colours.rulerText, colours.ruler],
			...["busy", "idle", "collecting"].map((behind) => [track.trackText, track[behind]]),
			...track.counterNames.map((counter) => [counter, track.back]),
		];

		for (const [text, behind] of texts) {
			const found = contrast(text, behind);

			assert.ok(found >= 4.5, `${text} on ${behind}: ${found.toFixed(2)}`);
		}
	});
}
