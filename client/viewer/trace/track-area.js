/*
 * An area of tracks above or below the threads. The worker paints its picture together with that of
 * the threads. HTML elements over the picture show the selected range, the line at the pointer and
 * the guest's end.
 */
import {Marks} from "../draw/marks.js";
import {make} from "../page/make.js";

/**
 * Make the elements of LIST the children of ELEMENT, in this order. An element that is a child
 * already is not removed, because it would lose the focus.
 */
function replaced(element, list) {
	const wanted = new Set(list);

	for (const child of [...element.children]) if (!wanted.has(child)) child.remove();
	list.forEach((child, i) => {
		if (element.children[i] !== child) element.insertBefore(child, element.children[i] ?? null);
	});
}

export class TrackArea {
	/** NAME is "pinned", "above" or "below". */
	constructor(name) {
		this.canvas = make("canvas", {className: "tl-track-canvas", "aria-hidden": "true"});
		this.pixels = this.canvas.getContext("bitmaprenderer");
		this.range = make("div", {className: "tl-track-range", hidden: true});
		this.pointer = make("div", {className: "tl-track-pointer", hidden: true});
		this.death = make("div", {className: "tl-track-death", hidden: true});
		this.heads = make("div", {className: "tl-track-heads"});
		this.inner = make(
			"div",
			{className: "tl-track-inner"},
			this.canvas,
			this.range,
			this.pointer,
			this.death,
			this.heads,
		);
		this.places = []; /* places of the tracks, from stacked() of draw/tracks.js */
		this.element = make(
			"div",
			{
				className: `tl-tracks tl-tracks-${name}`,
				hidden: true,
				role: "group",
				tabIndex: name === "above" ? -1 : 0,
			},
			this.inner,
		);
		this.marks = null; /* Marks of the picture on the screen; null: none */
		this.window = null; /* window for which this picture was drawn */
		/*
		 * If the tracks are higher than the area, the wheel scrolls the area, so no other listener
		 * may zoom.
		 */
		this.element.addEventListener(
			"wheel",
			(event) => {
				const {scrollHeight, clientHeight} = this.element;

				if (scrollHeight > clientHeight && !event.shiftKey && !event.ctrlKey) event.stopImmediatePropagation();
			},
			{capture: true},
		);
	}

	/**
	 * Set the area's tracks: {height in pixels, places} from stacked() (draw/tracks.js). Without
	 * tracks the area is hidden. CONTROLS is the TrackControls, or null. INSIDE(id) returns the
	 * element of a track that is not in the picture, such as the heap.
	 */
	size({height, places}, controls, inside) {
		const heads = controls ? places.flatMap((it) => this.head(it, controls)) : [];
		const elements = places.filter(({kind}) => kind === undefined).map((it) => this.within(it, inside(it.id)));

		this.places = places;
		this.element.hidden = !places.length;
		this.inner.style.height = `${height}px`;
		this.element.setAttribute("aria-label", `Tracks: ${places.map(({name}) => name).join("; ")}`.slice(0, 2000));
		replaced(this.heads, [...elements, ...heads]);
	}

	/**
	 * Return the canvases of the area from the back to the front: [{canvas, y}], Y in pixels from
	 * the first one's top.
	 */
	canvases() {
		const all = [...this.inner.querySelectorAll("canvas")].filter((it) => !it.closest("[hidden]"));
		const list = [this.canvas, ...all.filter((it) => it !== this.canvas)].filter((it) => all.includes(it));
		const top = list[0]?.getBoundingClientRect().top;

		return list.map((canvas) => ({canvas, y: canvas.getBoundingClientRect().top - top}));
	}

	/** Return the controls of a track, an item of `places`, at their place: [button, edge]. */
	head({id, name, top, head, height, collapsed}, controls) {
		const [button, edge] = controls.of(id, name);

		button.style.top = `${top}px`;
		edge.style.top = `${top + head + height}px`;
		edge.hidden = collapsed;
		return [button, edge];
	}

	/** Return ELEMENT, put at the place of its track. */
	within({top, height}, element) {
		element.style.top = `${top}px`;
		element.style.height = `${height}px`;
		return element;
	}

	/**
	 * Show PICTURE, the member of engine.frame()'s answer for this area: {marks, n, text, bitmap}.
	 * WINDOW is the window for which it was drawn. If PICTURE is undefined, show none.
	 */
	take(picture, window) {
		const {canvas} = this;

		this.marks = picture ? new Marks(picture.marks, picture.n, picture.text) : null;
		this.window = window;
		canvas.hidden = !picture;
		if (!picture) return;
		canvas.style.width = `${window.width}px`;
		canvas.style.height = this.inner.style.height;
		if (canvas.width !== picture.bitmap.width) canvas.width = picture.bitmap.width;
		if (canvas.height !== picture.bitmap.height) canvas.height = picture.bitmap.height;
		this.pixels.transferFromImageBitmap(picture.bitmap);
	}

	/**
	 * Set the CSS transform that fits the picture to the present window of CAMERA, and place the
	 * range {from, to}, the pointer's time and the guest's end {time}. Each of these is null if
	 * there is none; times are in ns.
	 */
	place(camera, {range, pointer, death}) {
		if (this.element.hidden || !this.window) return;
		const x = (time) => Math.max(-9, Math.min(camera.width + 9, camera.xOf(time)));
		const x0 = camera.xOf(this.window.from);
		const stretch = (camera.xOf(this.window.to) - x0) / this.window.width;
		const still = Math.abs(x0) < 1e-6 && Math.abs(stretch - 1) < 1e-9;

		this.canvas.style.transform = still ? "" : `translate(${x0}px, 0) scale(${stretch}, 1)`;
		this.range.hidden = !range;
		if (range) {
			this.range.style.left = `${x(range.from)}px`;
			this.range.style.width = `${x(range.to) - x(range.from)}px`;
		}
		this.pointer.hidden = pointer === null;
		if (pointer !== null) this.pointer.style.left = `${x(pointer)}px`;
		this.death.hidden = !death;
		if (death) this.death.style.left = `${x(death.time)}px`;
	}
}
