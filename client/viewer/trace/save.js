/* Saving of a trace and its picture, and the transfer to Perfetto. */
import {overLayers} from "./overlay.js";
import {svg} from "../draw/svg.js";
import {shown} from "../page/guest-text.js";

/** Return a file name made of NAME, a guest's name, and ENDING. */
export function fileName(name, ending) {
	const plain = shown(name, 60)
		.replace(/[^\p{L}\p{N}._-]+/gu, "-")
		.replace(/^[-.]+/, "");

	return `${plain || "trace"}.${ending}`;
}

/** Save WHAT, a Blob or a URL, as a file called NAME. */
export function download(what, name) {
	const href = typeof what === "string" ? what : URL.createObjectURL(what);
	const link = document.createElement("a");

	link.href = href;
	link.download = name;
	document.body.append(link);
	link.click();
	link.remove();
	if (href !== what) setTimeout(() => URL.revokeObjectURL(href), 60000);
}

/** Return the pictures of CANVASVIEWS, with rulers and overlays, as an SVG. */
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

	return new Blob([svg(pictures, palette, title)], {type: "image/svg+xml"});
}

/** Return the pictures of CANVASES, with rulers and overlays, as a PNG. */
export function picturePng(canvases) {
	const ratio = devicePixelRatio || 1;
	const whole = document.createElement("canvas");
	const ctx = whole.getContext("2d");
	let y = 0;

	whole.width = Math.max(...canvases.flat().map((it) => it.width));
	whole.height = canvases.reduce((sum, [first]) => sum + first.height, 0);
	for (const row of canvases) {
		for (const canvas of row) ctx.drawImage(canvas, 0, y);
		y += row[0].height;
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
 * Show a trace in the Perfetto UI, which opens in a window of its own. This page sends messages to
 * the window until it answers, then sends the bytes. The bytes go from this page to that window and
 * to no server.
 */

export const PERFETTO = "https://ui.perfetto.dev";

const ASK_MS = 100;
const PATIENCE_MS = 30000;

/** Return the message with BUFFER that the Perfetto UI accepts. */
export function message(buffer, title) {
	return {perfetto: {buffer, title, fileName: `${title}.json`, keepApiOpen: false}};
}

/**
 * Open the Perfetto UI and send it the ArrayBuffer that the Promise of MAKE() resolves to. Call
 * this function in a click, because browsers allow a page to open a window only then.
 */
export async function handOver(make, title, at = PERFETTO) {
	const other = window.open(at);

	if (!other)
		throw new Error(
			"The browser did not open a window for Perfetto; allow it, or save the trace for Perfetto and open it there.",
		);
	const ready = answers(other, at);
	/* The error is reported below; this avoids an unhandled rejection. */
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

/** Resolve when the window OTHER, which shows the page AT, answers a message. */
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
