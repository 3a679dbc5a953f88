/*
 * What lives over time.  A click chooses a moment, drawing chooses a range; the same with the arrow keys, Enter, and Shift.  The lines are asked for
 * pixel by pixel, so a frame costs what its pixels cost.
 */
import {make} from "./make.js";
import {amount, span, wall} from "./memory-words.js";

const HEIGHT = 168;
const LEFT = 64;
const RIGHT = 14;
const TOP = 16;
const BOTTOM = 24;
const FONT = "12px system-ui, sans-serif";
const DRAG = 4; /* pixels until a click is a drawing */
const ASKED_MAX = 4096;
const HOW = "Click for what lived at a moment; draw for what was allocated in a range.";
const PART = " The lower line, orange, is what is counted.";

const COLOURS = {
	light: {back: "#ffffff", grid: "#e3e6e9", text: "#565c62", line: "#0b62c4", fill: "#0b62c426", part: "#b3470b", peak: "#a80000", cross: "#1b1d1f", range: "#0b62c41f", edge: "#0b62c4"},
	dark: {back: "#1e2124", grid: "#33393f", text: "#a4abb2", line: "#7db4ff", fill: "#7db4ff26", part: "#ffae70", peak: "#ff8f8f", cross: "#e4e7ea", range: "#7db4ff26", edge: "#7db4ff"},
};

/** Steps of 1, 2, 5 such that at most N are in REACH; of bytes in powers of 1024. */
export function step(reach, n, base = 10) {
	const rough = reach / n;
	const unit = base === 1024 ? 1024 ** Math.max(0, Math.floor(Math.log2(reach) / 10)) : 1;
	const power = unit * 10 ** Math.floor(Math.log10(rough / unit));

	return [1, 2, 5, 10].map((it) => it * power).find((it) => it >= rough) ?? rough;
}

export class Chart {
	/** HOOKS: choose({at} | {from, to} | null), ask(n): the lines on N pixels are wanted, tell(text): for who does not see it, dark(). */
	constructor(hooks) {
		this.hooks = hooks;
		this.canvas = make("canvas", {
			className: "mem-chart",
			id: "mem-chart",
			tabIndex: 0,
			role: "application",
			"aria-label": "What lives over time. Left and Right move, Enter chooses the moment, with Shift they draw a range, Escape chooses everything.",
			"aria-describedby": "mem-chart-says",
		});
		this.says = make("p", {className: "mem-says", id: "mem-chart-says", textContent: HOW});
		this.element = make("div", {className: "mem-chart-box"}, this.canvas);
		this.lines = null; /* {from, to, full, part} */
		this.chosen = null;
		this.pointer = null; /* a time */
		this.mark = null; /* the time at the keys' crosshair */
		this.listen();
		this.observer = new ResizeObserver(() => this.resize());
		this.observer.observe(this.element);
	}

	close() {
		this.observer.disconnect();
		cancelAnimationFrame(this.frame);
		this.closed = true;
	}

	listen() {
		const {canvas} = this;

		canvas.addEventListener("pointerdown", (event) => this.down(event));
		canvas.addEventListener("pointermove", (event) => this.move(event));
		canvas.addEventListener("pointerup", (event) => this.up(event));
		canvas.addEventListener("pointercancel", () => this.drop());
		canvas.addEventListener("pointerleave", () => this.leave());
		canvas.addEventListener("keydown", (event) => this.key(event));
	}

	get plot() {
		return Math.max(1, this.width - LEFT - RIGHT);
	}

	resize() {
		const width = Math.floor(this.element.clientWidth);

		if (width < 1 || width === this.width)
			return;
		this.width = width;
		const ratio = devicePixelRatio || 1;
		this.canvas.width = Math.round(width * ratio);
		this.canvas.height = Math.round(HEIGHT * ratio);
		this.hooks.ask(Math.min(this.plot, ASKED_MAX));
		this.draw();
	}

	/** INFO is the recording's; WALLED: the axis tells wall times. */
	know(info, walled) {
		this.info = info;
		this.walled = walled && info.startUs > 0n;
		this.draw();
	}

	/** The lines: of everything, and of what is filtered or null; values at the ends of as many parts from FROM to TO. */
	show(lines) {
		this.lines = lines;
		this.says.textContent = lines.part ? HOW + PART : HOW;
		this.draw();
	}

	/** What is chosen: {at} or {from, to} or null. */
	choose(chosen) {
		this.chosen = chosen;
		this.draw();
	}

	draw() {
		this.frame ||= requestAnimationFrame(() => {
			this.frame = 0;
			if (!this.closed && this.info && this.width)
				this.paint();
		});
	}

	// Where things are.

	get end() {
		return Math.max(1, Number(this.info.endUs - this.info.startUs));
	}

	x(us) {
		return LEFT + (us / this.end) * this.plot;
	}

	time(x) {
		return Math.min(this.end, Math.max(0, Math.round(((x - LEFT) / this.plot) * this.end)));
	}

	get top() {
		return Math.max(this.info.sums.peakBytes, 1) * 1.06;
	}

	y(bytes) {
		return HEIGHT - BOTTOM - (bytes / this.top) * (HEIGHT - TOP - BOTTOM);
	}

	/** What lives at US, by LINE. */
	value(us, line = this.lines?.full) {
		if (!line || !this.lines)
			return null;
		const {from, to} = this.lines;
		const i = Math.round(((us - from) / Math.max(1, to - from)) * line.length) - 1;

		return i < 0 ? 0 : line[Math.min(line.length - 1, i)];
	}

	/** US as the axis tells times. */
	words(us) {
		return this.walled ? `${wall(this.info.startUs, us)} UTC` : `+${span(us)}`;
	}

	// Painting.

	paint() {
		const ratio = devicePixelRatio || 1;
		const ctx = this.canvas.getContext("2d");
		const colours = COLOURS[this.hooks.dark() ? "dark" : "light"];

		ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
		ctx.fillStyle = colours.back;
		ctx.fillRect(0, 0, this.width, HEIGHT);
		ctx.font = FONT;
		this.axes(ctx, colours);
		if (this.lines) {
			this.line(ctx, this.lines.full, colours.line, colours.fill, this.info.sums);
			if (this.lines.part)
				this.line(ctx, this.lines.part, colours.part, null);
		}
		this.peak(ctx, colours);
		this.over(ctx, colours);
	}

	axes(ctx, colours) {
		const tall = step(this.top, 5, 1024);

		ctx.strokeStyle = colours.grid;
		ctx.fillStyle = colours.text;
		ctx.lineWidth = 1;
		ctx.textAlign = "right";
		ctx.textBaseline = "middle";
		for (let bytes = 0; bytes <= this.top; bytes += tall) {
			const y = Math.round(this.y(bytes)) + 0.5;

			ctx.beginPath();
			ctx.moveTo(LEFT, y);
			ctx.lineTo(this.width - RIGHT, y);
			ctx.stroke();
			ctx.fillText(amount(bytes), LEFT - 6, y);
		}
		this.times(ctx);
	}

	times(ctx) {
		const room = this.walled ? 110 : 80;
		const wide = step(this.end, Math.max(1, Math.floor(this.plot / room)));
		const digits = wide >= 1e6 ? 0 : Math.min(6, Math.ceil(6 - Math.log10(wide)));
		/* Wall times are told where the clock is round. */
		const shift = this.walled ? (wide - Number(this.info.startUs % BigInt(Math.max(1, Math.round(wide))))) % wide : 0;

		ctx.textBaseline = "top";
		for (let us = shift; us <= this.end; us += wide) {
			const x = Math.round(this.x(us)) + 0.5;
			const text = this.walled ? wall(this.info.startUs, us, digits).slice(11) : us === 0 ? "0" : span(us);
			const half = ctx.measureText(text).width / 2;

			ctx.beginPath();
			ctx.moveTo(x, HEIGHT - BOTTOM);
			ctx.lineTo(x, HEIGHT - BOTTOM + 4);
			ctx.stroke();
			ctx.textAlign = x + half > this.width ? "right" : "center";
			ctx.fillText(text, ctx.textAlign === "right" ? this.width - 2 : x, HEIGHT - BOTTOM + 6);
		}
	}

	/* What lives holds until the next event: steps.  The peak, of PEAK, is on the line, though it may have been shorter than a pixel. */
	line(ctx, values, colour, fill, peak) {
		const {from, to} = this.lines;
		const path = new Path2D();
		const top = peak ? Math.max(0, Math.round(((Number(peak.peakUs) - from) / Math.max(1, to - from)) * values.length) - 1) : -1;
		const floor = this.y(0);
		let y = floor;

		path.moveTo(this.x(from), floor);
		for (let i = 0; i < values.length; i++) {
			const x = this.x(from + ((to - from) * (i + 1)) / values.length);

			path.lineTo(x, y);
			if (i === top)
				path.lineTo(x, this.y(peak.peakBytes));
			y = this.y(values[i]);
			path.lineTo(x, y);
		}
		ctx.strokeStyle = colour;
		ctx.lineWidth = 1.5;
		ctx.stroke(path);
		if (!fill)
			return;
		path.lineTo(this.x(to), floor);
		ctx.fillStyle = fill;
		ctx.fill(path);
	}

	peak(ctx, colours) {
		const {peakUs, peakBytes} = this.info.sums;
		const [x, y] = [this.x(Number(peakUs)), this.y(peakBytes)];
		const text = `peak ${amount(peakBytes)}`;

		if (!peakBytes)
			return;
		ctx.fillStyle = colours.peak;
		ctx.beginPath();
		ctx.arc(x, y, 3.5, 0, 7);
		ctx.fill();
		ctx.textBaseline = "bottom";
		const right = x + 8 + ctx.measureText(text).width < this.width - RIGHT;
		ctx.textAlign = right ? "left" : "right";
		ctx.fillText(text, right ? x + 7 : x - 7, y + 3);
	}

	over(ctx, colours) {
		const {chosen, drawn} = this;
		const range = drawn ?? (chosen?.to !== undefined ? chosen : null);
		const upright = (us, colour, dash) => {
			const x = Math.round(this.x(us)) + 0.5;

			ctx.strokeStyle = colour;
			ctx.setLineDash(dash);
			ctx.beginPath();
			ctx.moveTo(x, TOP - 8);
			ctx.lineTo(x, HEIGHT - BOTTOM);
			ctx.stroke();
			ctx.setLineDash([]);
		};

		ctx.lineWidth = 1;
		if (range) {
			ctx.fillStyle = colours.range;
			ctx.fillRect(this.x(range.from), TOP - 8, this.x(range.to) - this.x(range.from), HEIGHT - BOTTOM - TOP + 8);
			upright(range.from, colours.edge, []);
			upright(range.to, colours.edge, []);
		}
		ctx.lineWidth = 2;
		if (!range && chosen?.at !== undefined)
			upright(chosen.at, colours.edge, []);
		ctx.lineWidth = 1;
		const cross = this.pointer ?? this.mark;
		if (cross !== null)
			this.crosshair(ctx, colours, cross, upright);
	}

	crosshair(ctx, colours, us, upright) {
		const full = this.value(us);

		upright(us, colours.cross, [3, 3]);
		if (full === null)
			return;
		const text = this.told(us);
		const half = ctx.measureText(text).width / 2 + 6;
		const middle = Math.min(this.width - half, Math.max(half, this.x(us)));
		ctx.fillStyle = colours.cross;
		ctx.beginPath();
		ctx.arc(this.x(us), this.y(full), 2.5, 0, 7);
		ctx.fill();
		ctx.fillRect(middle - half, 0, 2 * half, 17);
		ctx.fillStyle = colours.back;
		ctx.textAlign = "center";
		ctx.textBaseline = "middle";
		ctx.fillText(text, middle, 9);
	}

	/** What the crosshair tells at US. */
	told(us) {
		const part = this.lines?.part ? this.value(us, this.lines.part) : null;

		return `${this.words(us)}: ${amount(this.value(us) ?? 0)}${part === null ? "" : `, of it shown ${amount(part)}`}`;
	}

	// The hand.

	place(event) {
		return event.clientX - this.canvas.getBoundingClientRect().left;
	}

	down(event) {
		if (event.button !== 0 || !this.info)
			return;
		this.canvas.setPointerCapture(event.pointerId);
		this.held = this.place(event);
		this.mark = null;
	}

	move(event) {
		if (!this.info)
			return;
		const x = this.place(event);

		this.pointer = this.time(x);
		if (this.held !== undefined && (this.drawn || Math.abs(x - this.held) >= DRAG)) {
			const ends = [this.time(this.held), this.pointer].sort((a, b) => a - b);
			this.drawn = {from: ends[0], to: ends[1]};
		}
		this.draw();
	}

	up(event) {
		if (this.held === undefined)
			return;
		const {drawn} = this;

		this.drop();
		if (drawn && drawn.to > drawn.from)
			this.hooks.choose(drawn);
		else
			this.hooks.choose({at: this.time(this.place(event))});
		if (event.pointerType !== "mouse")
			this.leave();
	}

	drop() {
		this.held = undefined;
		this.drawn = null;
		this.draw();
	}

	leave() {
		if (this.held !== undefined)
			return;
		this.pointer = null;
		this.draw();
	}

	// Keys.

	key(event) {
		const steps = {ArrowLeft: -1, ArrowRight: 1, PageUp: -32, PageDown: 32}[event.key];
		const ends = {Home: 0, End: this.end}[event.key];

		if (!this.info || event.ctrlKey || event.altKey || event.metaKey)
			return;
		if (steps !== undefined || ends !== undefined)
			this.walk(ends ?? this.time(this.x(this.mark ?? this.chosen?.at ?? this.end / 2) + 4 * steps), event.shiftKey);
		else if (event.key === "Enter" || event.key === " ")
			this.enter();
		else if (event.key === "Escape")
			this.escape();
		else
			return;
		event.preventDefault();
		event.stopPropagation();
	}

	walk(to, drawing) {
		const from = this.mark ?? this.chosen?.at ?? to;

		this.anchor = drawing ? (this.anchor ?? from) : null;
		this.mark = to;
		this.pointer = null;
		const ends = drawing ? [this.anchor, to].sort((a, b) => a - b) : null;
		this.drawn = ends && ends[0] < ends[1] ? {from: ends[0], to: ends[1]} : null;
		this.hooks.tell(this.drawn ? `From ${this.words(this.drawn.from)} to ${this.words(this.drawn.to)}; Enter chooses the range.` : this.told(to));
		this.draw();
	}

	enter() {
		const {drawn} = this;

		if (this.mark === null && !drawn)
			return;
		this.drawn = null;
		this.anchor = null;
		this.hooks.choose(drawn ?? {at: this.mark});
	}

	escape() {
		this.mark = null;
		this.anchor = null;
		this.drawn = null;
		this.draw();
		this.hooks.choose(null);
	}
}
