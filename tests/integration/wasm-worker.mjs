/* A worker of node as the worker of a page. */
import {parentPort} from "node:worker_threads";

globalThis.self = {
	postMessage: (message, transfer) => parentPort.postMessage(message, transfer),
	addEventListener: (type, listener) => parentPort.on(type, (data) => listener({data})),
};
await import("../../client/viewer/worker.js");
