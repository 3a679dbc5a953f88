/* Files for the person: the trace, the picture. */
import {overLayers} from "./overlay.js";
import {svg} from "../draw/svg.js";
import {shown} from "../page/guest-text.js";

/** A name for a file, of whatever a guest calls itself. */
export function fileName(name, ending) {
	const plain = shown(name, 60)
		.replace(/[^\p{L}\p{N}._-]+/gu, "-")
		.replace(/^[-.]+/, "");

	return `${plain || "trace"}.${ending}`;
}

/** Hand BLOB or the address HREF to the person as a file. */
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

/** The pictures that VIEWS show, with their rulers and what lies over them, as an SVG. */
export function pictureSvg(canvasViews, palette, title) {
	const pictures = canvasViews.map((it) => ({
		layers: [...it.layers(), ...overLayers(it.over, palette)],
		size: it.shown.window,
		ticks: it.tickList,
	}));

	return new Blob([svg(pictures, palette, title)], {type: "image/svg+xml"});
}

/** The same as pixels, with its ruler and what lies over it. */
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
 * A trace in the UI of Perfetto: in a window of its own, which is asked until it answers and then given the bytes.  They go from this page to that
 * window and nowhere else.
 */

export const PERFETTO = "https://ui.perfetto.dev";

const ASK_MS = 100;
const PATIENCE_MS = 30000;

/** The message that Perfetto's page takes. */
export function message(buffer, title) {
	return {perfetto: {buffer, title, fileName: `${title}.json`, keepApiOpen: false}};
}

/**
 * Open Perfetto on what MAKE() promises: an ArrayBuffer.  To be called where a person has just pressed something, since browsers open no window
 * otherwise.
 */
export async function handOver(make, title, at = PERFETTO) {
	const other = window.open(at);

	if (!other)
		throw new Error(
			"The browser did not open a window for Perfetto; allow it, or save the trace for Perfetto and open it there.",
		);
	const ready = answers(other, at);
	/* Told below: here it only must not count as unheard. */
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

/** Until the window OTHER says that it listens. */
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
