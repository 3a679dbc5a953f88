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
