/* Save a trace or its picture as a file, and send a trace to the Perfetto UI. */
import {overLayers} from "./overlay.js";
import {svg} from "../draw/svg.js";
import {shown} from "../page/guest-text.js";

/**
 * Return a file name from NAME, the name of a guest or a capture, and ENDING, without a dot.
 * Characters that are not safe in file names become "-".
 */
export function fileName(name, ending) {
	const plain = shown(name, 60)
		.replace(/[^\p{L}\p{N}._-]+/gu, "-")
		.replace(/^[-.]+/, "");

	return `${plain || "trace"}.${ending}`;
}

/** Let the browser save WHAT, a Blob or a URL, as a file called NAME. */
export function download(what, name) {
	const href = typeof what === "string" ? what : URL.createObjectURL(what);
	const link = document.createElement("a");

	link.href = href;
	link.download = name;
	document.body.append(link);
	link.click();
	link.remove();
	/* The browser needs the URL until it has read the Blob. */
	if (href !== what) setTimeout(() => URL.revokeObjectURL(href), 60000);
}

/**
 * Return the pictures of CANVASVIEWS, with rulers, tracks and overlays, one below the other, as the
 * text of an SVG. TITLE is its title.
 */
export function pictureSvg(canvasViews, palette, title) {
	const pictures = canvasViews.map((it) => ({
		layers: [...it.layers(), ...overLayers(it.over, palette)],
		pinned: it.part("pinned"),
		above: it.part("above"),
		below: it.part("below"),
		size: it.shown.window,
		ticks: it.tickList,
		unproven: it.unproven,
	}));

	return svg(pictures, palette, title);
}

/**
 * Draw ROWS one below the other and return a Promise of a Blob of PNG. A row is a list of {canvas, y},
 * each drawn over the one before, at Y pixels below the row's top. The first canvas of a row is as
 * high as the row. Reject if the browser cannot make a picture of this size.
 */
export function picturePng(rows) {
	const ratio = devicePixelRatio || 1;
	const whole = document.createElement("canvas");
	const ctx = whole.getContext("2d");
	let y = 0;

	whole.width = Math.max(...rows.flat().map(({canvas}) => canvas.width));
	whole.height = rows.reduce((sum, [first]) => sum + first.canvas.height, 0);
	for (const row of rows) {
		for (const it of row) ctx.drawImage(it.canvas, 0, y + Math.round(it.y * ratio));
		y += row[0].canvas.height;
	}
	return new Promise((resolve, reject) =>
		whole.toBlob(
			(blob) =>
				blob ? resolve(blob) : reject(new Error(`The picture of ${y / ratio} pixels could not be made.`)),
			"image/png",
		),
	);
}

/*
 * Send a trace to the Perfetto UI, which opens in another window. This page sends "PING" to the
 * window until the window answers "PONG", then sends the bytes. The bytes go from this page to that
 * window, not to a server.
 */

export const PERFETTO = "https://ui.perfetto.dev";

const ASK_MS = 100; /* time between two messages "PING", ms */
const PATIENCE_MS = 30000; /* time after which handOver() gives up waiting for the answer, ms */

/** Return the message that gives BUFFER, an ArrayBuffer of JSON, to the Perfetto UI. */
export function message(buffer, title) {
	return {perfetto: {buffer, title, fileName: `${title}.json`, keepApiOpen: false}};
}

/**
 * Open the Perfetto UI at the URL AT, and send it the ArrayBuffer that the Promise of MAKE()
 * resolves to. Call this in the handler of a click, because browsers let a page open a window only
 * then. Reject with a sentence for the user.
 */
export async function handOver(make, title, at = PERFETTO) {
	const other = window.open(at);

	if (!other)
		throw new Error(
			"The browser did not open a window for Perfetto; allow it, or save the trace for Perfetto and open it there.",
		);
	const ready = answers(other, at);
	/*
	 * `await ready` below reports an error. Without this line the browser would also report an
	 * unhandled rejection if READY is rejected while MAKE() runs.
	 */
	ready.catch(() => {});
	let buffer;
	try {
		buffer = await make();
	} catch (error) {
		other.close();
		throw error;
	}
	await ready;
	other.postMessage(message(buffer, title), at);
}

/**
 * Resolve when the window OTHER, with a page of the origin AT, answers. Reject if the user closes
 * it, or after PATIENCE_MS.
 */
function answers(other, at) {
	return new Promise((resolve, reject) => {
		const end = Date.now() + PATIENCE_MS;
		const finish = (call, value) => {
			clearInterval(timer);
			removeEventListener("message", listen);
			call(value);
		};
		const listen = (event) =>
			event.source === other && event.origin === at && event.data === "PONG" && finish(resolve);
		const timer = setInterval(() => {
			if (other.closed) finish(reject, new Error("The window of Perfetto was closed before it was ready."));
			else if (Date.now() > end)
				finish(reject, new Error("Perfetto does not answer; save the trace for Perfetto and open it there."));
			else other.postMessage("PING", at);
		}, ASK_MS);

		addEventListener("message", listen);
	});
}
