/* Times and amounts as text for the user. Times are BigInt ns. */

/* Units of time: [name, ns]. */
const UNITS = [
	["s", 1000000000n],
	["ms", 1000000n],
	["µs", 1000n],
	["ns", 1n],
];

/** Return NS as seconds with nine decimals: "1.250000000 s". */
export function exact(ns) {
	const sign = ns < 0n ? "-" : "";
	const abs = ns < 0n ? -ns : ns;

	return `${sign}${abs / 1000000000n}.${(abs % 1000000000n).toString().padStart(9, "0")} s`;
}

/** Return NS in the largest unit that fits into it, with all digits: "1.25 ms". */
export function span(ns) {
	const sign = ns < 0n ? "-" : "";
	const abs = ns < 0n ? -ns : ns;
	const [name, size] = UNITS.find(([, one]) => abs >= one) ?? UNITS[3];
	const rest = abs % size;
	const digits = rest
		? `.${rest
				.toString()
				.padStart(size.toString().length - 1, "0")
				.replace(/0+$/, "")}`
		: "";

	return `${sign}${abs / size}${digits} ${name}`;
}

/** Return NS in the largest unit that fits into it, rounded to three digits: "1.23 ms". */
export function rough(ns) {
	const abs = ns < 0n ? -ns : ns;
	const [name, size] = UNITS.find(([, one]) => abs >= one) ?? UNITS[3];

	return `${Number((Number(ns) / Number(size)).toPrecision(3))} ${name}`;
}

/**
 * Return the time NS after the trace's begin as text for the ruler, such as "+1.25 ms"; "0" for 0.
 * STEP is the distance of the ruler's lines in ns; the text has as many decimals as make the texts
 * of two lines differ.
 */
export function tick(ns, step) {
	if (ns === 0n) return "0";
	const sign = ns < 0n ? "-" : "+";
	const abs = ns < 0n ? -ns : ns;
	const [name, size] = UNITS.find(([, one]) => abs >= one) ?? UNITS[3];
	const decimals = size.toString().length - 1;
	let shown = 0;

	for (let one = size; shown < decimals && step % one !== 0n; one /= 10n) shown++;
	const rest = (abs % size).toString().padStart(decimals, "0").slice(0, shown);
	return `${sign}${abs / size}${shown ? `.${rest}` : ""} ${name}`;
}

/**
 * Return the time NS after the trace's begin as text, such as "+1.25 ms", with as many decimals as
 * distinguish times in a range of LENGTH ns.
 */
export function moment(ns, length) {
	let step = 1n;

	while (step * 1000n <= length) step *= 10n;
	const text = tick((ns / step) * step, step);
	return text === "0" ? "+0" : text;
}

/**
 * Return N bytes in the largest unit (of 1,024 of the next smaller) that fits into them, rounded:
 * "1.5 KB".
 */
export function bytes(n) {
	const names = ["bytes", "KB", "MB", "GB", "TB"];
	let i = 0;

	for (; n >= 1024 && i < names.length - 1; i++) n /= 1024;
	return `${i && n < 10 ? n.toFixed(1) : Math.round(n)} ${names[i]}`;
}

/** Return the number N and its noun: ONE if N is 1, else MANY, the plural. */
export function count(n, one, many = `${one}s`) {
	return `${n.toLocaleString("en")} ${Number(n) === 1 ? one : many}`;
}
