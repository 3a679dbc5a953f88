/* Shared by the tests of the time line. */
import {until} from "./harness.mjs";

/** Open the page of a trace and wait until it is loaded and painted. */
export async function opened(t, host, address, options) {
	const page = await t.open(host, `/${address}`, options);

	await settled(page);
	return page;
}

/** Wait until the shown pictures are those of the camera and no work is under way. */
export async function settled(page) {
	await until(() =>
		page.evaluate(async () => {
			const it = document.getElementById("page").timeline;
			const alert = document.querySelector("[role=alert].tl-message:not([hidden])");
			const still = ({shown, asking, arrived, wanted}) => shown && !asking && !arrived && !wanted;

			if (alert) throw new Error(alert.textContent);
			/* The model and the picture exist before everything that belongs to them. */
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

/** Return the shown primitives, those of KINDS if any are given. */
export async function drawn(page, ...kinds) {
	await settled(page);
	/* The page chooses: to hand over a primitive costs more than to paint it. */
	return page.evaluate((wanted) => {
		const {painted} = document.getElementById("page").timeline;

		return wanted.length ? painted.filter((it) => wanted.includes(it.kind)) : painted;
	}, kinds);
}

/** Return the window: {from, to, focus, start, end, width, height}, times as BigInt. */
export async function camera(page) {
	await settled(page);
	const it = await page.evaluate(() => {
		const {from, to, focus, start, end, width, height, rows} = document.getElementById("page").timeline.camera;

		return {from: String(from), to: String(to), start: String(start), end: String(end), focus, width, height, rows};
	});

	for (const key of ["from", "to", "start", "end"]) it[key] = BigInt(it[key]);
	return it;
}

/** Return the picture's box in the page's coordinates. */
export function box(page) {
	return page.locator("#tl-canvas").boundingBox();
}
