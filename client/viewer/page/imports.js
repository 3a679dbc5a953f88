/*
 * Imports of the viewer's modules when they are needed, which may be while the server is away: imported()
 * waits until it answers, and goes on by itself.
 */
const AGAIN_MS = 1000; /* time between two looks at a server that does not answer, ms */
const RELOADED = "mprof-reloaded"; /* item of the session storage: when imported() loaded the page again, ms */
const RELOAD_MS = 30000; /* least time between two such loads, ms */

/** Return a Promise of true if the server sends the files of the viewer. */
async function serves() {
	try {
		return (await fetch(import.meta.url, {method: "HEAD", cache: "no-store"})).ok;
	} catch {
		return false;
	}
}

/**
 * Load the page again, and return a Promise that stays open until the browser does; its address says what it
 * shows. Throw ERROR if that was done a moment ago and did not help.
 */
function reload(error) {
	const now = Date.now();

	if (now - Number(sessionStorage.getItem(RELOADED) ?? 0) < RELOAD_MS) throw error;
	sessionStorage.setItem(RELOADED, String(now));
	location.reload();
	return new Promise(() => {});
}

/**
 * Return a Promise of what LOAD() returns, which imports modules. While the server does not send them, call
 * WAITS() once and try again. Browsers may remember that a module did not come, so if it does not come from a server
 * that answers, load the whole page again. Reject if that did not help.
 */
export async function imported(load, waits = () => {}) {
	try {
		return await load();
	} catch (error) {
		for (let first = true; !(await serves()); first = false) {
			if (first) waits();
			await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
		}
		return load().catch(() => reload(error));
	}
}
