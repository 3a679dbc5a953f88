/*
 * The legend: each sign of the picture, painted by the same code as the picture, with its meaning.
 * The signs stand in groups.
 */
import {make} from "../page/make.js";
import {KINDS, marksOf} from "../draw/marks.js";
import {paint, plan} from "../draw/paint.js";
import {trackPalette} from "../draw/theme.js";

const WIDTH = 64; /* size of a sample, pixels */
const HEIGHT = 24;
const TOP = 4; /* heights of two threads with an arrow between them */
const MIDDLE = 12;
const BOTTOM = 20;
const FULL = 65535; /* opacity, and share of time, in a mark */

/** Return the mark of a horizontal line at height Y from X0 to X1, in pixels. */
const line = (kind, y = MIDDLE, x0 = 4, x1 = WIDTH - 4) => ({kind, x0, x1, y0: y, y1: y, shade: FULL});

/** Return the mark of an upright line or arrow at X, from the height Y0 to Y1. */
const upright = (kind, x, y0 = TOP, y1 = BOTTOM) => ({kind, x0: x, x1: x, y0, y1, shade: FULL});

/** Return the mark of a band from X0 to X1 with a share of its time, FULL = all. */
const band = (kind, x0 = 4, x1 = WIDTH - 4, shade = FULL) => ({kind, x0, x1, y0: 0, y1: HEIGHT, shade});

/** Return the marks of two threads with an arrow of KIND from the upper to the lower one. */
const arrow = (kind) => [line("thread", TOP), line("thread", BOTTOM), upright(kind, WIDTH / 2)];

/** Return the mark of the area from X0 to X1 with many marks of KIND. */
const shade = (x0, x1, strength, kind = "signal") => ({
	...band("shade", x0, x1, strength),
	item: KINDS.indexOf(kind),
});

/*
 * The groups: [title, [[marks, meaning], …]]. COLOUR in place of marks is the name of a colour of
 * the palette, for signs that are not made of marks.
 */
const GROUPS = [
	[
		"Threads",
		[
			[[line("thread")], "A thread, from its creation to its end"],
			[[line("thread"), line("running", MIDDLE, 18, 44)], "It runs where the line is white"],
			[[line("failed", MIDDLE, 4, 52)], "It failed, or should have been resolved and never was"],
			[
				[line("thread", MIDDLE, 4, 52), {...line("open-end"), x0: 52, x1: 52}],
				"It was not resolved before the trace ended",
			],
			[
				[line("thread", TOP), upright("creation", 22), line("thread", BOTTOM, 22)],
				"The upper thread created the lower one",
			],
			[
				[line("thread", TOP, 4, 36), upright("becomes", 36), line("thread", BOTTOM, 36)],
				"The upper thread became the lower one",
			],
			[[line("highlight"), line("thread")], "Highlighted: found, or a thread with all that it became"],
		],
	],
	[
		"Arrows",
		[
			[arrow("resolve"), "The upper thread resolved the lower one"],
			[arrow("read"), "The lower thread read the result of the upper one"],
			[arrow("read-failed"), "The lower thread read the failure of the upper one"],
			[arrow("try-read"), "The upper thread read the lower one, which was not resolved yet"],
			[arrow("signal"), "The upper thread signalled the lower one"],
			[
				[shade(4, 24, FULL / 8), shade(24, 44, FULL / 2), shade(44, 60, FULL)],
				"Too many arrows of one kind to draw one by one; stronger: more",
			],
			[
				[shade(4, 24, FULL / 8, "label"), shade(24, 44, FULL / 2, "label"), shade(44, 60, FULL, "label")],
				"Too many labels to write; stronger: more",
			],
			[
				[
					{...line("thread", MIDDLE, 4, 32), shade: 1, count: 9},
					{...line("thread", MIDDLE, 32), count: 9},
				],
				"Many short threads; stronger: they take more of the time",
			],
		],
	],
	[
		"Bands",
		[
			[[band("sleeping")], "The guest slept"],
			[[band("collection")], "Garbage was collected"],
			[[band("gap")], "Packets of this time are missing"],
			[
				[upright("tail", WIDTH / 2, 0, HEIGHT)],
				"From this line on nothing is proven: copied when the guest had stopped",
			],
		],
	],
	[
		"Tracks",
		[
			[
				[band("busy"), band("duration", 6, 16), band("sleeping", 20, 34), band("collection", 44, 52)],
				"The processor: running, with a duration that has a name; sleeping, garbage collection",
				trackPalette,
			],
			[
				[
					{...band("lane", 0, WIDTH), text: ""},
					line("counter", 18, 4, 24),
					upright("counter", 24, 18, 8),
					line("counter", 8, 24, 40),
					...[40, 41, 42, 43, 44, 45].map((x) => ({kind: "envelope", x0: x, x1: x + 1, y0: 6, y1: 18})),
					line("counter", 14, 46),
				],
				"A counter; a band: least and greatest of the values of one pixel",
				trackPalette,
			],
			["heap", "The heap: live bytes over time, from a memory profile; a click opens the profile there"],
		],
	],
	[
		"Several traces",
		[
			["part", "A difference, or a thread that resolved in one of two traces only"],
			["unmatched", "A thread without a counterpart in the other trace"],
			["uncertain", "Uncertainty of a guest's clock: an event may be earlier by that much"],
		],
	],
];

/** Return a canvas with MARKS painted in COLOURS. */
function sample(marks, colours) {
	const ratio = devicePixelRatio || 1;
	const canvas = make("canvas", {
		className: "tl-sample",
		width: Math.round(WIDTH * ratio),
		height: Math.round(HEIGHT * ratio),
		"aria-hidden": "true",
	});
	const size = {width: WIDTH, height: HEIGHT};
	const ctx = canvas.getContext("2d");

	ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
	paint(ctx, plan(marksOf(marks), colours, size), colours, size);
	return canvas;
}

/** Return a patch of COLOUR. */
function swatch(colour) {
	const patch = make("span", {className: "tl-swatch", "aria-hidden": "true"});

	patch.style.background = colour;
	return patch;
}

/** Return the legend as nodes, in the colours of PALETTE (theme.js). */
export function legend(palette) {
	return GROUPS.flatMap(([title, signs]) => [
		make("h3", {textContent: title}),
		make(
			"ul",
			{className: "tl-signs"},
			...signs.map(([sign, says, coloursOf]) =>
				make(
					"li",
					{},
					typeof sign === "string"
						? swatch(palette[sign])
						: sample(sign, coloursOf ? coloursOf(palette.dark) : palette),
					says,
				),
			),
		),
	]);
}
