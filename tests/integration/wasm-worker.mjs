/*
 * Run a page's worker as a worker of node: the worker of traces, or the module that workerData
 * names.
 */
import {webcrypto} from "node:crypto";
import {parentPort, workerData} from "node:worker_threads";

/* A page always has this object. Node 18 has it only as a module. */
globalThis.crypto ??= webcrypto;
globalThis.self = {
	postMessage: (message, transfer) => parentPort.postMessage(message, transfer),
	addEventListener: (type, listener) => parentPort.on(type, (data) => listener({data})),
};
await import(`../../client/viewer/worker/${workerData ?? "worker.js"}`);
