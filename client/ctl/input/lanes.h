/* Several streams of one trace, merged by their timestamps. */
#ifndef CTL_LANES_H
#define CTL_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include "sink.h"

#define LANES_MAX 256

struct lane;

struct lanes {
	const struct sink *sink; /* borrowed */
	struct lane *lane[LANES_MAX];
	char *names[LANES_MAX];
	unsigned int n;
	uint64_t damages;
	/* Of each, when all is read: */
	uint64_t bytes[LANES_MAX];
	struct mprof_totals totals[LANES_MAX];
};

/* One more, by the name NAME (copied), read from FD, an ordinary file that is lanes' own from now on, in any case.  0, -ENOMEM, or -E2BIG
 * where it is one too many. */
int lanes_add(struct lanes *l, const char *name, int fd);
void lanes_deinit(struct lanes *l);

/* Give all events to the sink, the oldest first; those of one stream stay in its order.  Returns 0, -errno of reading, -ENOMEM, or what the
 * sink returned. */
int lanes_run(struct lanes *l);

/* The streams of a CTF directory, or of an archive of one. */

/* Add each stream in the directory at PATH, in the order of their names.  0 or -errno; none may be there. */
int directory_add(struct lanes *l, const char *path);

/* May a file at PATH of an archive be a stream?  Not one that is hidden, nor the metadata. */
bool directory_wants(const char *path);

/* Add the file at FD, read to its end, if it begins with a packet, else close it.  As lanes_add(). */
int directory_add_file(struct lanes *l, const char *name, int fd);

#endif
