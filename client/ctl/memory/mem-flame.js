// The group of a frame has its position and width as parts of the whole, data-x and data-w. A click
// makes a frame as wide as the picture.
"use strict";
(() => {
	const svg = document.documentElement;
	const frames = [...svg.querySelectorAll(".frame")];
	const status = svg.querySelector("#status");
	const found = svg.querySelector("#found");
	const width = Number(svg.dataset.width);
	const letter = Number(svg.dataset.letter);
	const place = frame => [Number(frame.dataset.x), Number(frame.dataset.w), Number(frame.dataset.d)];
	const title = frame => frame.querySelector("title").textContent;
	let from = 0, span = 1, focus = 0;

	const draw = () => {
		for (const frame of frames) {
			const [x, w, depth] = place(frame);
			// The callers of the focus are as wide as the picture.
			const holds = depth < focus && x <= from + 1e-12 && x + w >= from + span - 1e-12;
			const left = holds ? 0 : (x - from) / span * width;
			const wide = holds ? width : w / span * width;
			const seen = wide >= 0.3 && left < width - 0.01 && left + wide > 0.01;
			frame.style.display = seen ? "" : "none";
			if (!seen) continue;
			const rect = frame.querySelector("rect");
			const text = frame.querySelector("text");
			const name = title(frame).split("\n")[0];
			const room = Math.floor((wide - 6) / letter);
			rect.setAttribute("x", left);
			rect.setAttribute("width", Math.max(wide - 0.5, 0.3));
			rect.style.opacity = holds ? 0.6 : 1;
			text.setAttribute("x", left + 3);
			text.textContent = room < 3 ? "" : name.length <= room ? name : name.slice(0, room - 2) + "..";
		}
	};
	const zoom = frame => {
		[from, span, focus] = place(frame);
		draw();
	};
	const search = word => {
		let parts = [];
		for (const frame of frames) {
			const hit = word !== "" && title(frame).split("\n")[0].includes(word);
			frame.classList.toggle("hit", hit);
			if (hit) parts.push(place(frame));
		}
		// A hit below another hit counts once.
		let sum = 0, end = -1;
		parts.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
		for (const [x, w] of parts) {
			if (x + w <= end + 1e-12) continue;
			sum += w;
			end = x + w;
		}
		found.textContent = word === "" ? "" : `"${word}": ${(100 * sum).toFixed(1)}%`;
	};
	svg.addEventListener("click", event => {
		const frame = event.target.closest(".frame");
		if (frame) zoom(frame);
		if (event.target.id === "reset") zoom(frames[0]);
		if (event.target.id === "search") search(prompt("Functions whose name contains") ?? "");
	});
	svg.addEventListener("keydown", event => {
		if (event.key === "Escape") { search(""); zoom(frames[0]); }
		if (event.key === "Enter" && event.target.classList.contains("frame")) zoom(event.target);
		if ((event.ctrlKey && event.key === "f") || event.key === "/") {
			event.preventDefault();
			search(prompt("Functions whose name contains") ?? "");
		}
	});
	const showStatus = event => {
		const frame = event.target.closest(".frame");
		status.textContent = frame ? title(frame).replace("\n", ": ") : "";
	};
	svg.addEventListener("mouseover", showStatus);
	svg.addEventListener("focusin", showStatus);
	draw();
})();
