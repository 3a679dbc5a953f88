/* A worker of node as the worker of a page: of traces, or the one that it is told. */
import {webcrypto} from "node:crypto";
import {parentPort, workerData} from "node:worker_threads";

/* A page always has this object. Node 18 has it in a module alone. */
globalThis.crypto ??= webcrypto;
globalThis.self = {
	postMessage: (message, transfer) => parentPort.postMessage(message, transfer),
	addEventListener: (type, listener) => parentPort.on(type, (data) => listener({data})),
};
await import(`../../client/viewer/worker/${workerData ?? "worker.js"}`);
