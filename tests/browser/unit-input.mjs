/* The input of a load: pieces that the page sends (client/viewer/worker/input.js). */
import assert from "node:assert/strict";
import test from "node:test";

import {Input} from "../../client/viewer/worker/input.js";

const piece = (...bytes) => new Uint8Array(bytes);

/* Return an Input, the numbers of the sources of which it wanted pieces, and the pieces of source 3. */
function asked() {
	const wants = [];
	const input = new Input(1, ({want}) => want !== undefined && wants.push(want));

	return {input, wants, pieces: input.pieces({}, 3)};
}

test("the next piece is requested before the present one is used", async () => {
	const {input, wants, pieces} = asked();
	const first = pieces.next();

	assert.deepEqual(wants, [3]);
	input.give(piece(1));
	assert.deepEqual(await first, {value: piece(1), done: false});
	assert.deepEqual(wants, [3, 3]);
	/* It comes while the first one is used. */
	input.give(piece(2));
	assert.deepEqual(await pieces.next(), {value: piece(2), done: false});
	assert.deepEqual(wants, [3, 3, 3]);
	input.give(null);
	assert.deepEqual(await pieces.next(), {value: undefined, done: true});
	assert.deepEqual(wants, [3, 3, 3]);
});

test("a load that is cancelled gets no more pieces", async () => {
	const {input, pieces} = asked();
	const first = pieces.next();

	input.give(piece(1));
	await first;
	input.cancel();
	assert.deepEqual(await pieces.next(), {value: undefined, done: true});
	assert.throws(() => input.check(), /cancelled/);
});
