/* Run a reader (reading.h) in a process of its own, and take its answer. */
#ifndef ANNOTATE_READER_PROCESS_H
#define ANNOTATE_READER_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "reading.h"

struct reader_limits {
	uint64_t memory;  /* bytes of address space */
	unsigned seconds; /* of processor time, and twice as long by the clock */
};

/* Texts without a NUL inside, UTF-8, and of the lengths that the hub takes. */
struct reader_result {
	char cause[64]; /* the key of the cause; "" = none */
	char sentence[READING_SENTENCE_MAX + 1];
	char last[READING_LAST_MAX + 1];
	char failure[256]; /* why the capture could not be read; "" = it was */
};

/*
 * Let a reader read the capture of the descriptor IN, from its present position. Fill *RESULT. Return 0, or
 * -errno if no process could be made, which says nothing of the capture.
 */
int reader_process_run(int in, const struct reader_limits *limits, struct reader_result *result);

/*
 * Put an answer of BYTES bytes at ANSWER into *RESULT, after a check of each length and text. Return false if it is
 * no answer.
 */
bool reader_answer_take(const uint8_t *answer, size_t bytes, struct reader_result *result);

/*
 * Be the reader: lock this process, which reader_process_run() has begun, read the descriptor 0 and answer to 1.
 * MEMORY and SECONDS are the words of its command line. Return the exit code.
 */
int reader_process_be(const char *memory, const char *seconds);

#define READER_WORD "--read-one" /* first argument of a reader, which is this program */

#endif
