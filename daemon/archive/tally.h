/*
 * How many content bytes each stream holds: what quotas ask for at every flush and what would otherwise be a sum over the index.
 *
 * A cache in memory, filled once at open.  It follows the transaction: changes are kept apart until they are committed.
 */
#ifndef ARCHIVE_TALLY_H
#define ARCHIVE_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tally_entry {
	int64_t stream;
	int64_t bytes;	 /* of chunks and of captures' tails, uncompressed, with this transaction's changes */
	int64_t pending; /* what of it this transaction changed */
	bool is_new;	 /* the stream itself is of this transaction */
	bool is_gone;	 /* the stream was deleted in this transaction */
};

/* Sorted by stream.  Zeroed is empty and safe to deinit. */
struct tally {
	struct tally_entry *entries;
	size_t n, room;
	bool changed;
};

void tally_deinit(struct tally *t);

/* A stream that is not there yet gets an entry.  0 or -ENOMEM. */
int tally_add_stream(struct tally *t, int64_t stream);
void tally_remove_stream(struct tally *t, int64_t stream);
bool tally_has(const struct tally *t, int64_t stream);

/* Change the bytes of a stream; one that is not there is left alone. */
void tally_add(struct tally *t, int64_t stream, int64_t bytes);
/* Bytes of a stream; 0 where it is not there. */
int64_t tally_bytes(const struct tally *t, int64_t stream);

void tally_commit(struct tally *t);
void tally_rollback(struct tally *t);

#endif
