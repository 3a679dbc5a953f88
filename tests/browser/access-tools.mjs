/* Shared by the tests of access control: a host with a certificate, HTTPS and tokens. */
import {execFileSync, spawnSync} from "node:child_process";
import {appendFileSync} from "node:fs";
import path from "node:path";

import {BUILD, PROGRAMS, fail, sleep, until} from "./harness.mjs";

const EVERYTHING = "read=*;context=*;write=*;metrics=yes";

/** Make a certificate for 127.0.0.1 and its key in the directory of HOST. */
function certify({directory}) {
	const files = ["-keyout", path.join(directory, "key.pem"), "-out", path.join(directory, "cert.pem")];
	const whose = ["-subj", "/CN=mprofd", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"];

	execFileSync(
		"openssl",
		["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", ...whose, ...files],
		{stdio: "ignore"},
	);
}

/** Run mprofd-http --token WORDS for HOST. Return its standard output. */
function tokenCommand({directory}, ...words) {
	const done = spawnSync(
		path.join(BUILD, PROGRAMS["mprofd-http"]),
		["--config", path.join(directory, "mprofd.conf"), "--token", ...words],
		{encoding: "utf8"},
	);

	if (done.status !== 0) fail(`mprofd-http --token ${words.join(" ")}: ${done.stderr}`);
	return done.stdout;
}

/**
 * Make a token of HOST with SCOPES. Return a Promise of {text, id}: the server, if it runs, has read
 * the token.
 */
export async function makeToken(host, name, scopes = EVERYTHING) {
	const text = tokenCommand(host, "new", name, "--scope", scopes).trim();

	if (host.server)
		await until(async () => {
			const {status} = await fetch(`${host.url}/v1/session`, {headers: {Authorization: `Bearer ${text}`}});

			/* The server counts wrong tokens, so ask seldom. */
			if (status !== 200) await sleep(500);
			return status === 200;
		});
	return {text, id: text.split("_")[1]};
}

export function revoke(host, {id}) {
	tokenCommand(host, "revoke", id);
}

/**
 * Start a host with access control; OPTIONS are those of t.host(). The server listens on loopback
 * without TLS (host.url) and with it (host.https), for which t.open() needs SECURE.
 */
export async function accessHost(t, options = {}) {
	const host = await t.host({
		...options,
		prepare: async (it) => {
			const {directory} = it;

			certify(it);
			appendFileSync(
				path.join(directory, "mprofd.conf"),
				`[access]\ncertificate = ${directory}/cert.pem\nkey = ${directory}/key.pem\n` +
					`names = localhost\ntokens = ${directory}/tokens\n`,
			);
			it.listens = ["https:127.0.0.1:0"];
			it.all = await makeToken(it, "harness");
			it.headers = {Authorization: `Bearer ${it.all.text}`};
		},
	});

	host.https = (await host.server.says(/listening on (https:\/\/127\.0\.0\.1:\d+)/))[1];
	host.listens = [host.https.replace("https://", "https:")];
	return host;
}

export const SECURE = {ignoreHTTPSErrors: true};

/** Type TEXT into the sign-in of PAGE, and press Enter. */
export async function signIn(page, text) {
	await page.getByLabel("Token").fill(text);
	await page.getByLabel("Token").press("Enter");
}
