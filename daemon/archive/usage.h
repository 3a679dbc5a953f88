/*
 * The content bytes that each stream uses. Quotas read them at every flush; a sum over the index
 * would take too long.
 *
 * The usage is a cache in memory, loaded once when the archive is opened. It follows the
 * transaction: changes are kept apart until they are committed.
 */
#ifndef ARCHIVE_USAGE_H
#define ARCHIVE_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct usage_entry {
	int64_t stream;
	int64_t bytes;	 /* of chunks and of captures' tails, uncompressed, with this transaction's changes */
	int64_t pending; /* this transaction's part of BYTES */
	bool is_new;	 /* this transaction added the stream */
	bool is_gone;	 /* this transaction deleted the stream */
};

/* Sorted by stream. A zeroed one is empty and may be deinitialized. */
struct usage {
	struct usage_entry *entries;
	size_t n, room;
	bool changed;
};

void usage_deinit(struct usage *t);

/* Add a stream with no bytes, if it is not there. Return 0 or -ENOMEM. */
int usage_add_stream(struct usage *t, int64_t stream);
void usage_remove_stream(struct usage *t, int64_t stream);
bool usage_has(const struct usage *t, int64_t stream);

/* Add BYTES, which may be negative, to a stream; do nothing if the stream is not there. */
void usage_add(struct usage *t, int64_t stream, int64_t bytes);
/* Return the bytes of a stream; 0 if it is not there. */
int64_t usage_bytes(const struct usage *t, int64_t stream);

void usage_commit(struct usage *t);
void usage_rollback(struct usage *t);

#endif
