/* Files that a person drops anywhere on the window, and the sign that they may. */
import {make} from "./make.js";

/**
 * Call TAKE(file) for a file dropped on the window, unless a part of the page took it. While a file
 * is dragged over the window, show a sign over the page.
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
