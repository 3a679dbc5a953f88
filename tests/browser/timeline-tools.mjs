/* What the tests of the time line share. */
import {until} from "./harness.mjs";

/** The page of a trace, loaded and painted. */
export async function opened(t, host, address, options) {
	const page = await t.open(host, `/${address}`, options);

	await settled(page);
	return page;
}

/** Until the pictures that are shown are those of the camera, and nothing is under way. */
export async function settled(page) {
	await until(() =>
		page.evaluate(async () => {
			const it = document.getElementById("page").timeline;
			const alert = document.querySelector("[role=alert].tl-message:not([hidden])");
			const still = ({shown, asking, arrived, wanted}) => shown && !asking && !arrived && !wanted;

			if (alert) throw new Error(alert.textContent);
			/* A model is there before all is that belongs to it, and so is a picture. */
			if (
				!(await Promise.race([
					it?.ready?.then(() => true),
					new Promise((resolve) => setTimeout(resolve, 0, false)),
				]))
			)
				return false;
			const canvasViews = [it.canvasView, it.comparison?.canvasView].filter(Boolean);
			return (
				!it.closed &&
				it.session?.summary &&
				!it.session.loading &&
				!it.viewUrl.busy &&
				canvasViews.every((canvasView) => still(canvasView) && !canvasView.isOld())
			);
		}),
	);
}

/** The primitives that are shown, of KINDS where they are given. */
export async function drawn(page, ...kinds) {
	await settled(page);
	const all = await page.evaluate(() => document.getElementById("page").timeline.painted);

	return kinds.length ? all.filter((it) => kinds.includes(it.kind)) : all;
}

/** The window: {from, to, focus, start, end, width, height}, times as BigInt. */
export async function camera(page) {
	await settled(page);
	const it = await page.evaluate(() => {
		const {from, to, focus, start, end, width, height, rows} = document.getElementById("page").timeline.camera;

		return {from: String(from), to: String(to), start: String(start), end: String(end), focus, width, height, rows};
	});

	for (const key of ["from", "to", "start", "end"]) it[key] = BigInt(it[key]);
	return it;
}

/** Where the picture is on the page. */
export function box(page) {
	return page.locator("#tl-canvas").boundingBox();
}
