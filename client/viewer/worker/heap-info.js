/*
 * Describe a memory profile: libmprof's answer about it, its damage and its limits. This runs in the
 * worker of memory profiles.
 */
/**
 * Return sentences for the user on the damage that the pass at the address PASS found. ALL is the
 * number of damaged places; the last sentence says if there are more than sentences.
 */
function damagesOf(wasm, pass, all) {
	const sentences = [];

	wasm.lend(256, (text) => {
		while (wasm.c.wasm_scan_damage(pass, sentences.length, text, 256)) sentences.push(wasm.cString(text));
	});
	if (all > sentences.length) sentences.push("further damage is not listed");
	return sentences;
}

/** Return the answer of heap.load() about RECORDING (recording.js), whose pass is complete. */
export function infoOf(recording) {
	const {wasm} = recording;
	const answer = wasm.answer(wasm.c.wasm_profile(recording.all, recording.base, Boolean(recording.number)));
	const start = wasm.c.scan_start(recording.base);
	const last = recording.lastUs;

	return {
		...answer,
		startUs: start,
		endUs: last > start ? last : start,
		bytes: Number(recording.bytes),
		damages: damagesOf(wasm, recording.base, Number(answer.damages)),
		memory: wasm.c.memory.buffer.byteLength,
	};
}
