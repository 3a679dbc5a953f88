/*
 * The number of content bytes that each stream uses in the archive. Quotas need it at every flush,
 * and computing the sum from the rows each time would take too long.
 *
 * The numbers are kept in memory and loaded once when the archive is opened. They follow the
 * transaction: usage_commit() keeps the changes since its begin, usage_rollback() takes them back.
 */
#ifndef ARCHIVE_USAGE_H
#define ARCHIVE_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct usage_entry {
	int64_t stream;
	/*
	 * Uncompressed bytes of chunks and of captures' tails, with the changes of this transaction.
	 */
	int64_t bytes;
	int64_t pending;  /* the changes of this transaction in BYTES */
	bool is_new;	  /* this transaction added the stream */
	bool is_gone;	  /* this transaction deleted the stream */
	bool is_unlisted; /* the log says that limits cannot list the stream */
};

/* Sorted by stream. A zeroed struct is empty and may be passed to usage_deinit(). */
struct usage {
	struct usage_entry *entries;
	size_t n, room;
	bool changed;
};

void usage_deinit(struct usage *u);

/* Add an entry with no bytes for STREAM if there is none. Return 0 or -ENOMEM. */
int usage_add_stream(struct usage *u, int64_t stream);
void usage_remove_stream(struct usage *u, int64_t stream);
bool usage_has(const struct usage *u, int64_t stream);

/* Add BYTES, which may be negative, to STREAM. Do nothing if STREAM has no entry. */
void usage_add(struct usage *u, int64_t stream, int64_t bytes);
/* Return the bytes of STREAM, or 0 if it has no entry. */
int64_t usage_bytes(const struct usage *u, int64_t stream);

/* Set is_unlisted of STREAM. Return whether it was not set before. */
bool usage_mark_unlisted(struct usage *u, int64_t stream);

void usage_commit(struct usage *u);
void usage_rollback(struct usage *u);

#endif
