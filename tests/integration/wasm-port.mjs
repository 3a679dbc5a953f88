/* A page's worker as a worker of node, for the tests of engines. */
import {Worker} from "node:worker_threads";

export class Port {
	/** Start the worker of traces, or the module NAME beside it. */
	constructor(name) {
		this.worker = new Worker(new URL("wasm-worker.mjs", import.meta.url), {workerData: name});
	}

	postMessage(message, transfer) {
		this.worker.postMessage(message, transfer);
	}

	addEventListener(type, listener) {
		this.worker.on(type, (data) => listener(type === "message" ? {data} : data));
	}

	terminate() {
		this.worker.terminate();
	}
}

/** Return a Promise of the message with which PROMISE fails; of "nothing" if it does not. */
export const message = (promise) =>
	promise.then(
		() => "nothing",
		(error) => error.message,
	);
