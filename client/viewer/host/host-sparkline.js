/*
 * The activity of a guest as a small curve. The curve shows the rates that the page has received.
 * As long as these are few, the newest part of the trace comes first, from its overview. Overviews
 * are requested when a row comes into view, two at a time.
 */
import {guestPath} from "../page/api.js";

const BUCKETS = 48;
const AT_ONCE = 2;
const WIDTH = 96;
const HEIGHT = 20;
const SEEN = 8; /* number of received rates from which on the curve shows only these */
const SVG = "http://www.w3.org/2000/svg";

/**
 * Return the bytes per second in BUCKETS, up to the last one in which a packet begins. The bytes of a
 * packet are spread over the time until the next packet, because the packet was filled during that
 * time. The overview does not tell when the last packet ended, so its rate is unknown.
 */
export function spread(buckets) {
	const last = buckets.findLastIndex(({bytes}) => bytes);
	const out = new Array(Math.max(last, 0)).fill(0);
	const seconds = buckets.length ? Number(BigInt(buckets[0].to) - BigInt(buckets[0].from)) / 1e9 : 0;

	for (let i = 0; i < last;) {
		let next = i + 1;
		while (!buckets[next].bytes) next++;
		for (let k = i; k < next; k++) out[k] = buckets[i].bytes / (next - i) / (seconds || 1);
		i = next;
	}
	return out;
}

/** Return the path of the curve of VALUES, closed at the bottom; "" if there is nothing to see. */
export function curve(values) {
	const most = Math.max(...values, 0);

	if (values.length < 2 || !most) return "";
	const points = values.map((value, i) => {
		const x = (i * WIDTH) / (values.length - 1);
		return `${x.toFixed(1)} ${(HEIGHT - 1 - (value / most) * (HEIGHT - 2)).toFixed(1)}`;
	});
	return `M0 ${HEIGHT}L${points.join("L")}L${WIDTH} ${HEIGHT}Z`;
}

export class Sparklines {
	constructor(api) {
		this.api = api;
		this.waiting = [];
		this.running = 0;
		this.overviews = new Map(); /* key of the guest -> {run, values} */
		this.rows = new WeakMap();
		this.seer = new IntersectionObserver((entries) => entries.forEach((entry) => this.see(entry)), {
			rootMargin: "100px",
		});
		this.stop = new AbortController();
	}

	/** Return the element for a row. GUEST() returns the present guest of the row. */
	make(guest) {
		const svg = document.createElementNS(SVG, "svg");

		svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
		svg.setAttribute("aria-hidden", "true");
		svg.setAttribute("class", "spark");
		svg.append(document.createElementNS(SVG, "path"));
		this.rows.set(svg, guest);
		this.seer.observe(svg);
		return svg;
	}

	/** Draw the curve. */
	draw(svg, guest) {
		const seen = guest.rates.map(({rate}) => rate);
		const values = seen.length >= SEEN ? seen : [...(this.overviews.get(guest.key)?.values ?? []), ...seen];
		const path = curve(values);

		if (svg.firstChild.getAttribute("d") !== path) svg.firstChild.setAttribute("d", path);
		const overview = this.overviews.get(guest.key);
		if (svg.dataset.seen && overview?.run !== guest.domain.run) this.ask(svg);
	}

	see({target, isIntersecting}) {
		if (!isIntersecting) return delete target.dataset.seen;
		target.dataset.seen = "1";
		return this.draw(target, this.rows.get(target)());
	}

	ask(svg) {
		if (!this.waiting.includes(svg)) this.waiting.push(svg);
		this.next();
	}

	async next() {
		if (this.running >= AT_ONCE || !this.waiting.length) return;
		this.running++;
		const svg = this.waiting.shift();
		const guest = this.rows.get(svg)();
		/* Request the overview once per run, also if the request fails. */
		this.overviews.set(guest.key, {run: guest.domain.run, values: []});
		try {
			const stream = guest.domain.streams[0];
			if (stream) {
				const path = `${guestPath(guest.domain)}/packets?buckets=${BUCKETS}&last=5m&run=${guest.domain.run}&stream=${stream.stream}`;
				const overview = await this.api.json(path, {signal: this.stop.signal});
				this.overviews.set(guest.key, {run: guest.domain.run, values: spread(overview.buckets)});
				this.draw(svg, this.rows.get(svg)());
			}
		} catch {
			/* The row is complete without a curve, so the error is ignored. */
		}
		this.running--;
		this.next();
	}

	close() {
		this.stop.abort();
		this.seer.disconnect();
		this.waiting = [];
	}
}
