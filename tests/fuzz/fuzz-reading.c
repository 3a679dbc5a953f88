/* Fuzz the check of a reading, from a reader or from a file: what is accepted is text, and ends that are in order. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/trace.h>

#include "fuzz.h"
#include "reading-result.h"

static bool is_text(const char *text, size_t size)
{
	return strlen(text) < size && mprof_text_is_utf8(text, strlen(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reading_result r;

	if (!reading_result_take(data, size, &r)) {
		require(!r.tails && !*r.cause);
		return 0;
	}
	require(is_text(r.cause, sizeof(r.cause)) && is_text(r.sentence, sizeof(r.sentence)));
	require(is_text(r.last, sizeof(r.last)) && is_text(r.exception, sizeof(r.exception)));
	require(is_text(r.failure, sizeof(r.failure)) && (!*r.failure || !*r.cause));
	require(r.n_tails <= READING_TAILS_MAX);
	for (uint32_t i = 0; i < r.n_tails; i++)
		for (uint32_t k = 0; k < r.tails[i].n_cuts; k++)
			require(r.tails[i].cuts[k].sequence < r.tails[i].next &&
				(k == 0 || r.tails[i].cuts[k].sequence > r.tails[i].cuts[k - 1].sequence));
	reading_result_deinit(&r);
	return 0;
}
