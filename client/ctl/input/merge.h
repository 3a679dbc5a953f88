/* Several streams of one trace, merged by their timestamps. */
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
	/* Of each, when all is read: */
	uint64_t bytes[MERGE_STREAMS_MAX];
	struct mprof_totals totals[MERGE_STREAMS_MAX];
};

/* One more, by the name NAME (copied), read from FD, an ordinary file that is lanes' own from now on, in any case.  0, -ENOMEM, or -E2BIG
 * where it is one too many. */
int merge_add(struct merge *l, const char *name, int fd);
void merge_deinit(struct merge *l);

/* Give all events to the sink, the oldest first; those of one stream stay in its order.  Returns 0, -errno of reading, -ENOMEM, or what the
 * sink returned. */
int merge_run(struct merge *l);

/* The streams of a CTF directory, or of an archive of one. */

/* Add each stream in the directory at PATH, in the order of their names.  0 or -errno; none may be there. */
int merge_add_directory(struct merge *l, const char *path);

/* May a file at PATH of an archive be a stream?  Not one that is hidden, nor the metadata. */
bool directory_wants(const char *path);

/* Add the file at FD, read to its end, if it begins with a packet, else close it.  As lanes_add(). */
int merge_add_file(struct merge *l, const char *name, int fd);

#endif
