/* The loop of mprof-annotate: take a capture from the hub, have it read, store its cause. */
#ifndef ANNOTATE_ANNOTATOR_H
#define ANNOTATE_ANNOTATOR_H

#include "reader-process.h"

struct annotator_options {
	const char *connection; /* libpq's connection string of the hub */
	const char *work;	/* directory for copies of captures */
	uint64_t most;		/* bytes of the largest capture that is read */
	struct reader_limits limits;
};

/*
 * Run until the process is killed, which may be at any time. Return the exit code for a mistake in OPTIONS (2), or if
 * there is no memory (1), with a sentence in SENTENCE (SIZE bytes).
 */
int annotator_run(const struct annotator_options *options, char *sentence, size_t size);

#endif
