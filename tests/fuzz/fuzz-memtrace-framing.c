/*
 * Fuzz the framing of memtrace streams. The first byte says how many bytes come at a time. The
 * packets found must be the same as if all bytes came at once.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "framing.h"
#include "fuzz.h"

/*
 * Frame DATA as a reader does that gets STEP more bytes at a time and drops whole packets. Return
 * the number of bytes in whole packets.
 */
static size_t in_pieces(const uint8_t *data, size_t size, size_t step, struct framing *f, bool *good)
{
	size_t at = 0, whole;

	*good = true;
	for (size_t end = step < size ? step : size; *good; end = size - end > step ? end + step : size) {
		*good = framing_whole(f, data + at, end - at, &whole);
		require(whole <= end - at);
		at += whole;
		if (end == size)
			break;
	}
	return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct framing once = {0}, pieces = {0};
	struct framing_info info;
	size_t whole, at;
	bool good, good_pieces;

	if (size < 2)
		return 0;
	good = framing_whole(&once, data + 1, size - 1, &whole);
	at = in_pieces(data + 1, size - 1, (size_t)data[0] + 1, &pieces, &good_pieces);
	require(at == whole && good == good_pieces && once.packets == pieces.packets);
	require(whole <= size - 1 && (once.packets > 0) == (whole > 0));
	if (whole && framing_info(data + 1, whole, &info)) {
		require(info.version == once.version && info.rate > 0 && info.rate <= 1);
		require(strlen(info.program) <= FRAMING_LABEL_MAX && strlen(info.context) <= FRAMING_LABEL_MAX);
	}
	return 0;
}
