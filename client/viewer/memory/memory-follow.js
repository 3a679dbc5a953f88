/*
 * Follow a recording that grows: fetch its new bytes, append them to the heap, and update the page.
 * During a pause nothing is fetched, and the page does not change.
 */
import {shown} from "../page/guest-text.js";

const WAIT_MS = 1500; /* usual wait between two reads */
const LOST_MS = 5000; /* wait after an error */
const BUSY = 4; /* the wait is at least this multiple of the time that a profile takes */

export class Follow {
	constructor(page) {
		this.page = page;
		this.paused = false;
		this.asked = null;
		this.aborting = new AbortController();
		this.off = page.services.events.on(
			"memtrace-growth",
			({memtraces}) => memtraces.some((it) => it.id === page.view.memtrace) && this.soon(this.rest),
		);
		page.head.sayPause(false);
		this.soon(WAIT_MS);
	}

	close() {
		this.closed = true;
		this.off();
		this.aborting.abort();
		clearTimeout(this.timer);
	}

	/**
	 * Return the ms until the next read may begin. The page computes a new profile after each read,
	 * and must have time for the user in between.
	 */
	get rest() {
		return Math.max(0, (this.since ?? 0) + BUSY * (this.page.cost ?? 0) - performance.now());
	}

	soon(ms) {
		clearTimeout(this.timer);
		this.timer = setTimeout(() => this.now(), ms);
	}

	pause(on) {
		this.paused = on;
		this.page.head.sayPause(on);
		if (!on) this.now();
	}

	/** Read the new bytes, unless a read is under way. */
	async now() {
		clearTimeout(this.timer);
		if (this.paused || this.closed) return;
		/* Read nothing while the page is hidden. */
		if (document.hidden) return this.soon(WAIT_MS);
		this.asked ??= this.read().finally(() => (this.asked = null));
		await this.asked;
	}

	async read() {
		const {page} = this;
		let wait = WAIT_MS;

		try {
			const was = page.source.recording;
			const bytes = await page.source.more(page.info.bytes, this.aborting.signal);
			if (bytes && !this.closed) await this.take(bytes);
			if (was && this.lost) page.head.trouble("");
			this.lost = false;
			if (!this.closed && !page.source.recording) return this.ended();
			this.since = performance.now();
			wait = Math.max(WAIT_MS, this.rest);
		} catch (error) {
			if (this.closed) return;
			this.lost = true;
			page.head.trouble(`The new data is not shown: ${shown(error.message, 500)}`);
			wait = LOST_MS;
		}
		this.soon(wait);
	}

	async take(bytes) {
		const {page} = this;
		const info = await page.heap.feed(bytes);

		if (this.closed) return;
		page.know(info);
		await page.ask();
	}

	/** Stop following, because the recording is complete. */
	ended() {
		const {page} = this;

		this.off();
		page.head.title(page.source);
		page.head.know(page.info, page.source);
		page.live.textContent = "The recording has ended.";
	}
}
