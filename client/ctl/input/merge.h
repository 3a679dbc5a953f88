/* Merge several streams of one trace by their timestamps. */
#ifndef CTL_MERGE_H
#define CTL_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "consumer.h"

#define MERGE_STREAMS_MAX 256

struct merge_stream;

struct merge {
	const struct consumer *consumer; /* borrowed */
	struct merge_stream *stream[MERGE_STREAMS_MAX];
	char *names[MERGE_STREAMS_MAX];
	unsigned int n;
	uint64_t damages;
	/* Totals of each stream, set when all is read: */
	uint64_t bytes[MERGE_STREAMS_MAX];
	struct mprof_totals totals[MERGE_STREAMS_MAX];
};

/*
 * Add a stream called NAME (copied), read from the regular file FD. Takes FD over, also on failure.
 * Return 0, -ENOMEM, or -E2BIG if there are too many streams.
 */
int merge_add(struct merge *l, const char *name, int fd);
void merge_deinit(struct merge *l);

/*
 * Give all events to the consumer, oldest first; each stream keeps its order. Return 0, -errno of
 * reading, -ENOMEM, or the consumer's error.
 */
int merge_run(struct merge *l);

/*
 * Add each stream of the CTF directory PATH in the order of the names. Return 0 or -errno. The
 * directory may have no stream.
 */
int merge_add_directory(struct merge *l, const char *path);

/*
 * Return true if the member PATH of an archive may be a stream: it is neither hidden nor the
 * metadata.
 */
bool directory_wants(const char *path);

/* Add the file FD if it begins with a packet, else close it. Return as merge_add(). */
int merge_add_file(struct merge *l, const char *name, int fd);

#endif
