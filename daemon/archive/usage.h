/*
 * How many content bytes each stream holds: what quotas ask for at every flush and what would otherwise be a sum over the index.
 *
 * A cache in memory, filled once at open.  It follows the transaction: changes are kept apart until they are committed.
 */
#ifndef ARCHIVE_USAGE_H
#define ARCHIVE_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct usage_entry {
	int64_t stream;
	int64_t bytes;	 /* of chunks and of captures' tails, uncompressed, with this transaction's changes */
	int64_t pending; /* what of it this transaction changed */
	bool is_new;	 /* the stream itself is of this transaction */
	bool is_gone;	 /* the stream was deleted in this transaction */
};

/* Sorted by stream.  Zeroed is empty and safe to deinit. */
struct usage {
	struct usage_entry *entries;
	size_t n, room;
	bool changed;
};

void usage_deinit(struct usage *t);

/* A stream that is not there yet gets an entry.  0 or -ENOMEM. */
int usage_add_stream(struct usage *t, int64_t stream);
void usage_remove_stream(struct usage *t, int64_t stream);
bool usage_has(const struct usage *t, int64_t stream);

/* Change the bytes of a stream; one that is not there is left alone. */
void usage_add(struct usage *t, int64_t stream, int64_t bytes);
/* Bytes of a stream; 0 where it is not there. */
int64_t usage_bytes(const struct usage *t, int64_t stream);

void usage_commit(struct usage *t);
void usage_rollback(struct usage *t);

#endif
