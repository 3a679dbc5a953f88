/* The table of leaks: places whose live memory grew, with their stacks. */
import {shown} from "../page/guest-text.js";
import {make} from "../page/make.js";
import {amount, share} from "./memory-text.js";
import {count} from "../page/times.js";

const ROWS = 100;
const WIDE = 120;
const TALL = 22;

/** Return a small drawing of PARTS: how much of what lives at the end each eighth of the recording allocated, in bytes. */
function drawing(parts) {
	const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
	const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
	const top = Math.max(...parts, 1);
	const points = parts.map(
		(it, i) =>
			`${((i * WIDE) / Math.max(1, parts.length - 1)).toFixed(1)} ${(TALL - 1 - (it / top) * (TALL - 2)).toFixed(1)}`,
	);

	svg.setAttribute("viewBox", `0 0 ${WIDE} ${TALL}`);
	svg.setAttribute("class", "mem-spark");
	svg.setAttribute("role", "img");
	svg.setAttribute(
		"aria-label",
		`${amount(parts[0])} of the first eighth, ${amount(parts[parts.length - 1])} of the last`,
	);
	path.setAttribute("d", points.length ? `M${points.join("L")}` : "");
	svg.append(path);
	return svg;
}

/** Return the text of a frame of a stack: the function and its place. */
const frameText = ({function: name, file, line}) => shown(file === null ? name : `${name} (${file}:${line})`, 300);

export class Leaks {
	/** HOOKS: error(bytes): return the error of an estimate as text. */
	constructor(hooks) {
		this.hooks = hooks;
		this.limit = ROWS;
		this.leaks = null;
		this.about = make("p", {className: "mem-quiet"});
		this.body = make("tbody");
		this.more = make("button", {type: "button", hidden: true, onclick: () => this.further()});
		const head = (textContent, title, className = "mem-number") =>
			make("th", {scope: "col", className, title, textContent});
		this.element = make(
			"div",
			{},
			this.about,
			make(
				"table",
				{className: "mem-table mem-leaks"},
				make(
					"thead",
					{},
					make(
						"tr",
						{},
						head("Allocated at", "", ""),
						head("Lives at the end", ""),
						head(
							"Growth",
							"Lives at the end, and was allocated between the first and the last eighth of the recording",
						),
						head(
							"A leak?",
							"The number of the first eighths of the recording of which something is left, and the verdict from that and its samples",
						),
						head(
							"Over time",
							"Lives at the end, by the eighth of the recording that allocated it",
							"mem-lesser",
						),
						head("Error", "The error of the number of what lives at the end", "mem-number mem-lesser"),
					),
				),
				this.body,
			),
			this.more,
		);
	}

	/** Show the answer of heap.leaks(). */
	show({leaks, live, live_bytes: bytes}) {
		Object.assign(this, {leaks, live, bytes});
		this.fill();
	}

	further() {
		this.limit += ROWS;
		this.fill();
	}

	fill() {
		const {leaks} = this;

		this.about.textContent = leaks.length
			? "Memory that is live at the end of the recording and was made after its beginning, by allocating stack, the largest growth first. Filters and moments do not apply here."
			: this.live
				? "No place of allocation left enough samples between the first and the last eighth of the recording to tell a leak."
				: "Without a sample no leak can be seen.";
		this.body.replaceChildren(...leaks.slice(0, this.limit).map((it) => this.row(it)));
		this.more.hidden = leaks.length <= this.limit;
		this.more.textContent = `Show more of the ${count(leaks.length, "place")}`;
	}

	row({stack, live_bytes: live, growth_bytes, allocated_growth_bytes, steady, sure, parts}) {
		const growth = growth_bytes || allocated_growth_bytes;
		/* On a narrow page a line may end between two TEXTS only. */
		const number = (texts, more = "") =>
			make(
				"td",
				{className: `mem-number${more}`},
				...texts.flatMap((it, i) => [i ? " " : null, make("span", {textContent: it})]),
			);
		const [place, ...callers] = stack.length ? stack.map(frameText) : ["(no stack)"];

		return make(
			"tr",
			{},
			make(
				"th",
				{scope: "row"},
				callers.length
					? make(
							"details",
							{},
							make("summary", {textContent: place}),
							make(
								"ol",
								{className: "mem-stack"},
								...callers.map((it) => make("li", {textContent: `called by ${it}`})),
							),
						)
					: place,
			),
			number([amount(live), `(${share(live, this.bytes)})`]),
			number([`${growth > 0 ? "+" : ""}${amount(growth)}`]),
			number([`${steady} of ${parts.length - 1},`, sure]),
			make("td", {className: "mem-lesser"}, drawing(Array.from(parts))),
			number([this.hooks.error(live)], " mem-lesser"),
		);
	}
}
