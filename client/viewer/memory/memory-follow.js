/* A recording that grows: what came is read from the end of what is known and fed to the heap.  Pausing leaves the picture still; it is recorded on. */
import {shown} from "../page/guest-text.js";

const WAIT_MS = 1500;
const LOST_MS = 5000;
const BUSY = 4; /* times what a profile costs: so long the next one waits */

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

	/** Ms until it may be read again: what a profile costs is not to be all that is done. */
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

	/** Read what there is; one after the other. */
	async now() {
		clearTimeout(this.timer);
		if (this.paused || this.closed) return;
		/* Nobody looks: what comes is read when somebody does. */
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
			page.head.trouble(`What came since is not shown: ${shown(error.message, 500)}`);
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

	/** What was recorded is whole now. */
	ended() {
		const {page} = this;

		this.off();
		page.head.title(page.source);
		page.head.know(page.info, page.source);
		page.live.textContent = "The recording has ended.";
	}
}
