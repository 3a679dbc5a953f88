/* The tables of the hub's page. A row is made again only when its content has changed, so it keeps the focus. */
import {format} from "../page/address.js";
import {isCrash} from "../host/host-model.js";
import {place, table} from "../host/host-table.js";
import {called, firstLine, KINDS, reason, when} from "../host/host-text.js";
import {shown} from "../page/guest-text.js";
import {make} from "../page/make.js";
import {bytes, count, span} from "../page/times.js";

const SENTENCE_MOST = 400;

/*
 * A table of class NAME with column TITLES. CELLS(item) returns what the cells of a row hold, KEY(item) what names
 * the item.
 */
class Rows {
	constructor(name, titles, key, cells) {
		Object.assign(this, {titles, key, cells});
		this.rows = new Map(); /* key -> {text, row} */
		this.body = make("tbody", {role: "rowgroup"});
		this.element = table(name, titles, this.body);
	}

	update(items) {
		const rows = items.map((item) => this.rowOf(item));
		const keys = new Set(items.map(this.key));

		for (const key of this.rows.keys()) if (!keys.has(key)) this.rows.delete(key);
		place(this.body, rows);
		this.element.hidden = !rows.length;
	}

	rowOf(item) {
		const [key, text] = [this.key(item), JSON.stringify(item)];
		const entry = this.rows.get(key);

		if (entry?.text === text) return entry.row;
		const [first, ...others] = this.cells(item);
		const row = make(
			"tr",
			{role: "row", ...item.data, "data-key": key},
			make("th", {role: "rowheader", scope: "row", className: "guest", "data-label": this.titles[0]}, ...first),
			...others.map((cell, i) =>
				make("td", {role: "cell", "data-label": this.titles[i + 1]}, make("div", {}, ...cell)),
			),
		);

		this.rows.set(key, {text, row});
		return row;
	}
}

const time = (text) => make("time", {dateTime: text ?? "", textContent: when(text)});
const small = (text, className = "quiet detail") => make("span", {className, textContent: text ?? ""});

/** Return a table of captures. CALLS: context(capture); may(scope, capture). */
export function captureRows(calls) {
	return new Rows(
		"crashes",
		["Guest", "Why", "Image", "When", "Actions"],
		({id}) => id,
		(capture) => {
			const name = called(`${capture.host}/${capture.domain}`);
			const kind = KINDS[capture.kind] ?? shown(capture.kind);
			const context = make("button", {
				type: "button",
				textContent: "Context",
				hidden: !calls.may("context", capture),
				onclick: () => calls.context(capture),
			});

			context.setAttribute("aria-label", `Context of ${kind}, ${name}, ${when(capture.time)}`);
			return [
				[
					make("a", {
						className: "name",
						href: format({capture: capture.id}),
						textContent: name,
						"aria-label": `${name}: open the trace of capture ${capture.id}`,
					}),
					small(shown(capture.note, 300)),
				],
				[
					make("span", {className: "kind", textContent: kind}),
					small(
						reason(
							capture,
							SENTENCE_MOST,
							capture.lost_packets ? `${count(capture.lost_packets, "packet")} lost` : null,
						),
					),
				],
				[
					capture.image
						? make("a", {href: format({image: capture.image}), textContent: shown(capture.image)})
						: "",
				],
				[time(capture.time)],
				[context],
			];
		},
	);
}

/** Return a table of causes. */
export function causeRows() {
	return new Rows(
		"causes",
		["Cause", "Crashes", "Hosts", "Images", "First", "Last"],
		({cause}) => cause,
		({cause, sentence, crashes, hosts, images, first, last}) => [
			[
				make("a", {
					className: "name",
					href: format({cause}),
					textContent: shown(firstLine(sentence) ?? cause, SENTENCE_MOST),
					"aria-label": `The captures of the cause ${shown(cause)}`,
				}),
				small(shown(cause)),
			],
			...[crashes, hosts, images].map((n) => [n.toLocaleString("en")]),
			[time(first)],
			[time(last)],
		],
	);
}

/** Return a table of hosts. */
export function hostRows() {
	return new Rows(
		"hosts",
		["Host", "Heard of", "Last crash", "Captures", "Not sent", "Clock"],
		({host}) => host,
		(it) => [
			[
				make("a", {
					className: "name",
					href: format({host: it.host}),
					textContent: shown(it.host),
					"aria-label": `The captures of the host ${shown(it.host)}`,
				}),
				small(it.revoked ? "revoked: nothing is taken from it" : it.silent ? "silent" : "", "bad detail"),
			],
			[time(it.last_hello)],
			[it.newest?.last_crash ? time(it.newest.last_crash) : small("none", "quiet")],
			[it.loss ? it.loss.captures.toLocaleString("en") : ""],
			[unsent(it.loss)],
			[clockText(it.clock)],
		],
	);
}

/* Say what the host lost before it could send it. */
function unsent(loss) {
	if (!loss) return "";
	const words = [];

	if (loss.unsent_captures) words.push(count(loss.unsent_captures, "capture"));
	if (loss.unsent_bytes) words.push(bytes(loss.unsent_bytes));
	return words.length ? small(words.join(", "), "bad") : small("nothing", "quiet");
}

/** Return what the hub knows of a host's clock, in words. */
export function clockText(clock) {
	if (!clock || clock.uncertainty_ns === null) return "not known";
	const off = clock.offset_ns
		? `${span(BigInt(Math.abs(clock.offset_ns)))} ${clock.offset_ns > 0 ? "slow" : "fast"}, `
		: "";

	return `${off}± ${span(BigInt(clock.uncertainty_ns))}`;
}

/** Mark the rows of crashes. */
export function marked(captures) {
	return captures.map((capture) => ({...capture, data: {"data-kind": isCrash(capture) ? "crash" : "other"}}));
}
