/*
 * An area of tracks above or below the threads. The worker paints it together with the threads.
 * Lines at certain times, such as the pointer's, are drawn over it.
 */
import {Marks} from "../draw/marks.js";
import {make} from "../page/make.js";

/** Make LIST the children of ELEMENT. What is there already keeps the focus. */
function replaced(element, list) {
	const wanted = new Set(list);

	for (const child of [...element.children]) if (!wanted.has(child)) child.remove();
	list.forEach((child, i) => {
		if (element.children[i] !== child) element.insertBefore(child, element.children[i] ?? null);
	});
}

export class TrackArea {
	/** NAME: "pinned", "above" or "below". */
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
		this.places = []; /* from stacked() of tracks.js */
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
		this.marks = null;
		this.window = null;
		/* If the lanes are higher than the area, the wheel scrolls them; otherwise it zooms. */
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
	 * Make room for an area {height, places} of stacked(); without tracks it is hidden. CONTROLS
	 * are those of its tracks (track-controls.js), or null. INSIDE(id) returns the element of a
	 * track that the scene does not draw.
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

	/** Return the controls of the track at PLACE. */
	head({id, name, top, head, height, collapsed}, controls) {
		const [button, edge] = controls.of(id, name);

		button.style.top = `${top}px`;
		edge.style.top = `${top + head + height}px`;
		edge.hidden = collapsed;
		return [button, edge];
	}

	/** Put ELEMENT at its place. */
	within({top, height}, element) {
		element.style.top = `${top}px`;
		element.style.height = `${height}px`;
		return element;
	}

	/**
	 * Show PICTURE {marks, n, text, bitmap}, which was drawn for WINDOW. If it is undefined, show
	 * nothing.
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
	 * Move and stretch the picture to where CAMERA is now, and draw the lines of STATE: the range,
	 * the pointer and the guest's end.
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
