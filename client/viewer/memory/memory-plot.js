/*
 * Paint the chart of live memory over time: axes, lines, the peak and the selection. The class Chart
 * (memory-chart.js) extends the class Plot and handles the input.
 */
import {amount, span, wall} from "./memory-text.js";

export const HEIGHT = 168;
const LEFT = 64;
const RIGHT = 14;
const TOP = 16;
const BOTTOM = 24;
const FONT = "12px system-ui, sans-serif";

const COLOURS = {
	light: {
		back: "#ffffff",
		grid: "#e3e6e9",
		text: "#565c62",
		line: "#0b62c4",
		fill: "#0b62c426",
		part: "#b3470b",
		peak: "#a80000",
		cross: "#1b1d1f",
		range: "#0b62c41f",
		edge: "#0b62c4",
	},
	dark: {
		back: "#1e2124",
		grid: "#33393f",
		text: "#a4abb2",
		line: "#7db4ff",
		fill: "#7db4ff26",
		part: "#ffae70",
		peak: "#ff8f8f",
		cross: "#e4e7ea",
		range: "#7db4ff26",
		edge: "#7db4ff",
	},
};

/**
 * Return the least step 1, 2 or 5 × BASE^k that divides REACH into at most N steps. With BASE 1024,
 * for bytes, the powers of 1024 are used.
 */
export function step(reach, n, base = 10) {
	const rough = reach / n;
	const unit = base === 1024 ? 1024 ** Math.max(0, Math.floor(Math.log2(reach) / 10)) : 1;
	const power = unit * 10 ** Math.floor(Math.log10(rough / unit));

	return [1, 2, 5, 10].map((it) => it * power).find((it) => it >= rough) ?? rough;
}

/**
 * The painting half of Chart. It reads the members info, walled, width, lines, chosen, base, drawn,
 * pointer, mark and hooks, which Chart sets.
 */
export class Plot {
	get plot() {
		return Math.max(1, this.width - LEFT - RIGHT);
	}

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
		return Math.max(this.info.peak_bytes, 1) * 1.06;
	}

	y(bytes) {
		return HEIGHT - BOTTOM - (bytes / this.top) * (HEIGHT - TOP - BOTTOM);
	}

	/** Return the live bytes at US on LINE, an array of this.lines; null if unknown. */
	value(us, line = this.lines?.full) {
		if (!line || !this.lines) return null;
		const {from, to} = this.lines;
		const i = Math.round(((us - from) / Math.max(1, to - from)) * line.length) - 1;

		return i < 0 ? 0 : line[Math.min(line.length - 1, i)];
	}

	/** Return the time US in the form of the axis: time of day, or since the start. */
	timeText(us) {
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
			this.line(ctx, this.lines.full, colours.line, colours.fill, this.info);
			if (this.lines.part) this.line(ctx, this.lines.part, colours.part, null);
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
		for (let bytes = 0; bytes <= this.top && bytes < Infinity; bytes += tall) {
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
		/* Move the time lines of the grid to round times of day. */
		const shift = this.walled
			? (wide - Number(this.info.startUs % BigInt(Math.max(1, Math.round(wide))))) % wide
			: 0;

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

	/* Draw VALUES as steps. PEAK is drawn also if it is shorter than a pixel. */
	line(ctx, values, colour, fill, peak) {
		const {from, to} = this.lines;
		const path = new Path2D();
		const top = peak
			? Math.max(0, Math.round(((Number(peak.peak_us) - from) / Math.max(1, to - from)) * values.length) - 1)
			: -1;
		const floor = this.y(0);
		let y = floor;

		path.moveTo(this.x(from), floor);
		for (let i = 0; i < values.length; i++) {
			const x = this.x(from + ((to - from) * (i + 1)) / values.length);

			path.lineTo(x, y);
			if (i === top) path.lineTo(x, this.y(peak.peak_bytes));
			y = this.y(values[i]);
			path.lineTo(x, y);
		}
		ctx.strokeStyle = colour;
		ctx.lineWidth = 1.5;
		ctx.stroke(path);
		if (!fill) return;
		path.lineTo(this.x(to), floor);
		ctx.fillStyle = fill;
		ctx.fill(path);
	}

	peak(ctx, colours) {
		const {peak_us: peakUs, peak_bytes: peakBytes} = this.info;
		const [x, y] = [this.x(Number(peakUs)), this.y(peakBytes)];
		const text = `peak ${amount(peakBytes)}`;

		if (!peakBytes) return;
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
		const {chosen, base, drawn} = this;
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
		if (!range && chosen?.at !== undefined) upright(chosen.at, colours.edge, []);
		for (const us of base ? (base.to !== undefined ? [base.from, base.to] : [base.at]) : [])
			upright(us, colours.edge, [2, 4]);
		ctx.lineWidth = 1;
		const cross = this.pointer ?? this.mark;
		if (cross !== null) this.crosshair(ctx, colours, cross, upright);
	}

	crosshair(ctx, colours, us, upright) {
		const full = this.value(us);

		upright(us, colours.cross, [3, 3]);
		if (full === null) return;
		const text = this.momentText(us);
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

	/** Return the text for the crosshair at the time US. */
	momentText(us) {
		const part = this.lines?.part ? this.value(us, this.lines.part) : null;

		return `${this.timeText(us)}: ${amount(this.value(us) ?? 0)}${part === null ? "" : `, of it shown ${amount(part)}`}`;
	}
}
