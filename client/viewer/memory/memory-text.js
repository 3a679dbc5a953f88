/*
 * Amounts and times of a memory profile as text, and parsers of typed ones. Times are numbers of
 * microseconds since the start of the recording.
 */
import {rough} from "../page/times.js";

const UNITS = ["B", "KB", "MB", "GB", "TB", "PB", "EB"];
const SPANS = {us: 1, µs: 1, μs: 1, ms: 1e3, s: 1e6, sec: 1e6, m: 6e7, min: 6e7, h: 3.6e9, d: 8.64e10};
const POWERS = {"": 1, b: 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4};
const YEARS_END = Date.UTC(10000, 0);
const DAY_US = 86400000000n;

/**
 * Return BYTES with a unit and three digits: 1.25 MB. A broken recording may claim any amount; past
 * the last unit the text is "> 1000 EB".
 */
export function amount(bytes) {
	let i = 0;

	for (; Math.abs(bytes) >= 999.5 && i < UNITS.length - 1; i++) bytes /= 1024;
	if (Math.abs(bytes) > 1000) return bytes > 0 ? "> 1000 EB" : "< −1000 EB";
	return `${i ? Number(bytes.toPrecision(3)) : Math.round(bytes)} ${UNITS[i]}`;
}

/** Return PART of WHOLE in percent. */
export function share(part, whole) {
	const percent = whole > 0 ? (100 * part) / whole : 0;

	if (percent === 0 || percent >= 99.95) return `${Math.round(percent)} %`;
	return percent < 0.01 ? "< 0.01 %" : `${percent.toFixed(percent < 1 ? 2 : 1)} %`;
}

/** Return the change from BEFORE to AFTER with its sign, TEXT(amount) each: "+2.2 MB". */
export function change(before, after, text = amount) {
	return after === before ? "no change" : `${after > before ? "+" : "−"}${text(Math.abs(after - before))}`;
}

/**
 * Return the error of an estimate as text, such as "± 5 %". RELATIVE is the relative error (1 = 100
 * %).
 */
export function give(relative) {
	if (!Number.isFinite(relative) || relative <= 0) return "";
	const percent = Math.min(100 * relative, 100);

	return percent < 0.01 ? "± < 0.01 %" : `± ${Number(percent.toPrecision(percent < 9.5 ? 1 : 2))} %`;
}

/** Return the time span US with a unit and three digits. */
export function span(us) {
	return us >= 6e7 ? long(us) : us === 0 ? "0 s" : rough(BigInt(Math.round(us)) * 1000n);
}

/* Return a span of minutes or more: 1 min 41 s, 2 h 5 min, 3 d 4 h. */
function long(us) {
	const s = Math.round(us / 1e6);
	const [d, h, m] = [Math.floor(s / 86400), Math.floor(s / 3600) % 24, Math.floor(s / 60) % 60];
	const parts = d
		? [
				[d, "d"],
				[h, "h"],
			]
		: h
			? [
					[h, "h"],
					[m, "min"],
				]
			: [
					[m, "min"],
					[s % 60, "s"],
				];

	return parts
		.filter(([n], i) => n || i === 0)
		.map(([n, unit]) => `${n} ${unit}`)
		.join(" ");
}

/** Return the time span US with all digits, in a form that can be typed in: 12.345678 s. */
export function exactSpan(us) {
	const text = (Math.round(us) / 1e6).toFixed(6).replace(/\.?0+$/, "");

	return `${text} s`;
}

/**
 * Return the UTC time that is US after START_US (BigInt, since 1970), with DIGITS decimals of a
 * second.
 */
export function wall(startUs, us, digits = 3) {
	const at = startUs + BigInt(Math.round(us));
	const date = new Date(Number(at / 1000n));

	/* A broken clock may give a year of more than four digits. */
	if (!(date.getTime() < YEARS_END)) return `${at} µs`;
	const fraction = digits ? `.${(at % 1000000n).toString().padStart(6, "0").slice(0, digits)}` : "";
	return `${date.toISOString().slice(0, 19).replace("T", " ")}${fraction}`;
}

/**
 * Return the span TEXT ("1.5 s", "200 ms", "3" for seconds) in microseconds, or null if TEXT is no
 * span.
 */
export function readSpan(text) {
	const parts = /^\+?(\d{1,15}(?:\.\d{1,12})?|\.\d{1,12})\s*([a-zµμ]*)$/i.exec(text.trim());
	const unit = parts && (parts[2] ? SPANS[parts[2].toLowerCase()] : 1e6);

	return unit ? Math.round(Number(parts[1]) * unit) : null;
}

/** Return the amount TEXT ("512", "4K", "1.5 MB") in bytes, or null if TEXT is no amount. */
export function readBytes(text) {
	const parts = /^(\d{1,15}(?:\.\d{1,12})?|\.\d{1,12})\s*(?:([kmgt])?(?:i?b)?|b)$/i.exec(text.trim());

	return parts ? Math.round(Number(parts[1]) * POWERS[(parts[2] ?? "").toLowerCase()]) : null;
}

/**
 * Return the time TEXT in microseconds since START_US, or null if TEXT is no time. TEXT is a span
 * since the start, or a time of day in UTC with or without a date. A time without a date is the
 * first such time after the start.
 */
export function readTime(text, startUs) {
	const parts = /^(?:(\d{4}-\d\d-\d\d)[T ]\s*)?(\d{1,2}):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?\s*(?:Z|UTC)?$/i.exec(
		text.trim(),
	);

	if (!parts) return readSpan(text);
	if (startUs <= 0n) return null;
	const [, date, hours, minutes, seconds = "00", fraction = ""] = parts;
	const ms = Date.parse(`${date ?? wall(startUs, 0).slice(0, 10)}T${hours.padStart(2, "0")}:${minutes}:${seconds}Z`);
	if (Number.isNaN(ms)) return null;
	let at = BigInt(ms) * 1000n + BigInt(fraction.padEnd(6, "0").slice(0, 6)) - startUs;
	if (at < 0n && !date) at += DAY_US;
	return Number(at);
}
