/*
 * Decoded rows: a copy of the content of rows, in a file, so that a long body without compression need not decode
 * them.
 *
 * The file has no name, so it ends with the process. A row is found by its checksum, which covers its stored bytes
 * and its place. The content that is read is compared with a checksum that this process keeps in memory. A wrong
 * copy is as a missing one: the caller decodes the row.
 *
 * Rows are written by a thread of this object, in order, to a file of at most MOST bytes; new ones overwrite the
 * oldest. The file is emptied when its file system has less than MOST bytes free. Memory: DECODED_ROWS_MOST rows of 40
 * bytes, and the buffers of a row.
 */
#ifndef BODY_DECODED_H
#define BODY_DECODED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "codec.h"

#define DECODED_ROWS_MOST 16384u

struct decoded;
struct decode_batch;

/* A copy of a row. A zeroed place is none. */
struct decoded_place {
	struct decoded *store; /* borrowed */
	uint64_t at, sum;
	uint32_t length;
};

/*
 * Create an empty store, with a file in DIRECTORY, an open directory, and its thread. Return 0, with the store in *DP, or
 * -errno.
 */
int decoded_new(struct decoded **dp, int directory, uint64_t most);
/* Stop the thread, and give back the file. The batch that was stored last may not have ended. Return NULL. */
struct decoded *decoded_free(struct decoded *d);
CLEANUP_DEFINE(struct decoded, decoded_free)

/* Find the row with checksum KEY, which has LENGTH bytes of content. */
bool decoded_find(struct decoded *d, const uint8_t key[CHECKSUM_BYTES], uint32_t length, struct decoded_place *place);
/*
 * Read the content at PLACE to OUT. Return false if it is not there any more, or not as it was written. Any thread may
 * call this.
 */
bool decoded_read(const struct decoded_place *place, uint8_t *out);

/* Return whether decoded_store() may be called: the batch before was stored. */
bool decoded_ready(struct decoded *d);
/* Return a descriptor that is readable when a batch was stored, until decoded_ready() is called. */
int decoded_fd(const struct decoded *d);
/*
 * Have the thread decode the frames of B that have a key and no place, and write them. The caller must not touch B before
 * decoded_ready() returns true.
 */
void decoded_store(struct decoded *d, const struct decode_batch *b);
/* Return how many bytes can be stored without overwriting others. */
uint64_t decoded_room(struct decoded *d);
/* Empty the file if its file system lacks room. Call it now and then. */
void decoded_check(struct decoded *d);

struct decoded_counts {
	uint64_t bytes;		/* in the file */
	uint64_t reads, missed; /* rows that were read, and copies that were wrong or overwritten */
};
struct decoded_counts decoded_counts(struct decoded *d);

#endif
