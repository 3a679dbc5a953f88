/* Open files that the user drops anywhere on the window. */
import {make} from "./make.js";

/**
 * Call TAKE(file) when the user drops a file on the window; of several files, for the first. If
 * another listener has called preventDefault() for the drop, do not call TAKE. While the user drags
 * a file over the window, show "Drop to open".
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
	/* Without a related element the pointer has left the window. */
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
