/*
 * The fleet as the page of a hub shows it: hosts, causes and captures, from the lists of the API. Nothing
 * here touches the page.
 */
import {CRASHES} from "../host/host-model.js";

const SILENT_MS = 30 * 60 * 1000; /* a host greets each ten minutes */
const FRESH_MS = 7 * 24 * 3600 * 1000;

/**
 * Join the rows of HOSTS (/v1/hosts), NEWEST (/v1/fleet/newest) and LOSSES (/v1/fleet/loss-by-host). The last two
 * may be null: one may not see them. Return the hosts: those that crashed in the last week first, the newest crash
 * first; then those that are silent; then the others by name. NOW is in ms.
 */
export function joinHosts(hosts, newest, losses, now = Date.now()) {
	const by = (rows) => new Map((rows ?? []).map((row) => [row.host, row]));
	const [news, lost] = [by(newest), by(losses)];
	const all = hosts.map((host) => {
		const it = {...host, newest: news.get(host.host) ?? null, loss: lost.get(host.host) ?? null};
		const crash = Date.parse(it.newest?.last_crash ?? "");

		return {...it, crash: now - crash < FRESH_MS ? crash : 0, silent: isSilent(host, now)};
	});

	return all.sort((a, b) => b.crash - a.crash || b.silent - a.silent || (a.host < b.host ? -1 : 1));
}

/** Return whether HOST, which may send, has not been heard of for half an hour. */
export function isSilent({revoked, last_hello: hello}, now = Date.now()) {
	return !revoked && !(now - Date.parse(hello ?? "") < SILENT_MS);
}

/** Return the captures of LISTS, each once, the newest first, at most MOST. */
export function mergeCaptures(lists, most) {
	const all = new Map(lists.flat().map((capture) => [capture.id, capture]));

	return [...all.values()]
		.sort((a, b) => (a.time < b.time ? 1 : a.time > b.time ? -1 : a.id < b.id ? -1 : 1))
		.slice(0, most);
}

/**
 * Return the queries of /v1/captures that list the captures of FILTER {crashes, host, cause, image}: the API takes
 * one kind at a time.
 */
export function queries({crashes, host, cause, image}, limit) {
	const parts = Object.entries({host, cause, image})
		.filter(([, value]) => value)
		.map(([key, value]) => `&${key}=${encodeURIComponent(value)}`)
		.join("");

	return (crashes ? [...CRASHES] : [null]).map(
		(kind) => `v1/captures?limit=${limit}${kind ? `&kind=${kind}` : ""}${parts}`,
	);
}
