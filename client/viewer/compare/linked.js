/* A camera that looks where another one does, SHIFT apart: only its rows are its own.  It may look at times before 0. */
import {Camera} from "../trace/camera.js";

export class Linked extends Camera {
	/** Look at what CAMERA does, SHIFT before; true where that is somewhere else than before. */
	follow(camera, shift) {
		const from = camera.from - shift;
		const to = camera.to - shift;
		const moved = from !== this.from || to !== this.to;

		this.from = from;
		this.to = to;
		return moved;
	}

	/** It does not go anywhere by itself. */
	show() {}
}
