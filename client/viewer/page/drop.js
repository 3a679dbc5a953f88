/*
 * Open files that the user drops anywhere on the window. A sign over the page says that this is
 * possible.
 */
import {make} from "./make.js";

/**
 * Call TAKE(file) for a file that is dropped on the window. A part of the page that handles the
 * drop itself prevents the call. While a file is dragged over the window, show a sign.
 */
export function takeDrops(take) {
	const sign = make("div", {className: "dropping", "aria-hidden": "true", hidden: true, textContent: "Drop to open"});
	const hasFile = (event) => event.dataTransfer?.types.includes("Files");

	document.body.append(sign);
	addEventListener("dragover", (event) => {
		if (!hasFile(event)) return;
		event.preventDefault();
		sign.hidden = false;
	});
	/* The pointer has left the window if the event has no related element. */
	addEventListener("dragleave", (event) => (sign.hidden ||= !event.relatedTarget));
	addEventListener("drop", (event) => {
		const [file] = event.dataTransfer?.files ?? [];
		const taken = event.defaultPrevented;

		sign.hidden = true;
		if (!file) return;
		event.preventDefault();
		if (!taken) take(file);
	});
}
