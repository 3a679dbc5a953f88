/*
 * The gestures on the parts of a canvas view that are not the picture of the threads: the ruler and
 * the areas of tracks. A drag moves only the time. A click on a band, on a counter or on the unproven
 * part of the ruler selects its time.
 */
import {Gestures} from "./gestures.js";
import {sentences} from "./pointed.js";

/**
 * Listen to the parts of CANVASVIEW. TOOLTIP shows what is at the pointer.
 *
 * hooks:
 * - zoom, pan, pinch, range, key: as for Gestures;
 * - clock(): return the Clock (clock.js) of the trace;
 * - tails(): return the unproven parts [{from, to}] of the trace, ns;
 * - select(from, to): select this range of time of the trace, ns;
 * - failed(error): report an error.
 */
export function listenAtEdges(canvasView, tooltip, hooks) {
	new Gestures(canvasView.ruler, rulerHooks(canvasView, tooltip, hooks));
	for (const [name, area] of Object.entries(canvasView.areas))
		new Gestures(area.canvas, trackHooks(canvasView, tooltip, hooks, name, area));
}

/** Return the hooks of Gestures that are the same for the ruler and the tracks. */
function edgeHooks(tooltip, {zoom, pan, pinch, range, key}) {
	let held = 0;

	return {
		zoom,
		pan,
		pinch,
		/* The rows of the threads are not in these parts. */
		range: (x0, x1, done) => {
			tooltip.carry(x1);
			range(x0, x1, done);
		},
		key,
		grab: (x) => (held = x),
		drag: (x) => {
			tooltip.carry(x);
			pan(x - held);
			held = x;
		},
		drop: () => {},
		double: () => {},
		leave: () => tooltip.leave(),
	};
}

/** Return the y of EVENT's place Y in ELEMENT, as pixels of the pictures. */
const inPictures = (canvasView, element, y) =>
	element.getBoundingClientRect().top + y - canvasView.pictures.getBoundingClientRect().top;

function rulerHooks(canvasView, tooltip, hooks) {
	const tailAt = (x) => {
		const time = canvasView.camera.timeAt(x);

		return hooks.tails().find(({from, to}) => time >= from && time <= to);
	};

	return {
		...edgeHooks(tooltip, hooks),
		click: (x) => {
			const tail = tailAt(x);

			if (tail) hooks.select(tail.from, tail.to);
		},
		hover: (x, y) =>
			tooltip.look("ruler", x, inPictures(canvasView, canvasView.ruler, y), async () => {
				const tail = tailAt(tooltip.x ?? x);

				return [
					...(tail
						? tooltip.sentences([
								"Not proven: copied when the guest had stopped",
								`from ${hooks.clock().at(tail.from)} on`,
							])
						: []),
					...(tooltip.time === null ? [] : [tooltip.now()]),
				];
			}),
	};
}

function trackHooks(canvasView, tooltip, hooks, name, area) {
	return {
		...edgeHooks(tooltip, hooks),
		click: async (x, y) => {
			try {
				const {about} = await canvasView.inTrack(area, x, y);

				if (about?.to > about?.from) hooks.select(about.from, about.to);
			} catch (error) {
				hooks.failed(error);
			}
		},
		hover: (x, y) =>
			tooltip.sign(name, x, inPictures(canvasView, area.canvas, y), async () => {
				const {mark, about} = await canvasView.inTrack(area, tooltip.x ?? x, y);

				return mark ? sentences(mark.kind, about, hooks.clock()) : [];
			}),
	};
}
