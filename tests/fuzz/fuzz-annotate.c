/* Fuzz the check of a reader's answer: what is accepted is text that the hub takes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/trace.h>

#include "fuzz.h"
#include "reader-process.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader_result r;

	if (!reader_answer_take(data, size, &r))
		return 0;
	require(strlen(r.cause) < sizeof(r.cause) && strlen(r.sentence) <= READING_SENTENCE_MAX);
	require(strlen(r.last) <= READING_LAST_MAX && strlen(r.failure) < sizeof(r.failure));
	require(mprof_text_is_utf8(r.sentence, strlen(r.sentence)) && mprof_text_is_utf8(r.last, strlen(r.last)));
	require(!*r.failure || !*r.cause);
	return 0;
}
