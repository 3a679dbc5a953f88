/*
 * The bytes of one guest's streams, and the rate at which they come.
 *
 * A guest is its UUID, or its address if the collector does not know it. An account outlives its
 * streams until its bucket is full again, so that a new connection is no way around the limit. It
 * is freed then, so that connections from many addresses cannot fill the memory with accounts.
 */
#ifndef SINK_ACCOUNT_H
#define SINK_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A token bucket: bytes that may still come. It fills at a rate, up to ten seconds of it. A zeroed
 * bucket is full.
 */
struct bucket {
	uint64_t at; /* CLOCK_MONOTONIC ns of the last change ... */
	uint64_t bytes;
	uint64_t full_at; /* CLOCK_MONOTONIC ns when it is full again if nothing is taken */
};

/*
 * Take BYTES at NOW from a bucket that fills at RATE bytes per second (0 = without a limit). Return
 * false if it has fewer.
 */
bool bucket_take(struct bucket *b, uint64_t rate, uint64_t now, uint64_t bytes);

struct account {
	struct account *next;
	unsigned streams;
	uint64_t bytes; /* in the recordings of its streams */
	struct bucket bucket;
	char key[];
};

/* All accounts. A zeroed one is empty. */
struct accounts {
	struct account *first;
	uint64_t bytes; /* of all guests */
	struct bucket bucket;
};

/*
 * Add a stream with BYTES so far to the guest's account; UUID NULL = unknown. Return NULL if there
 * is no memory.
 */
struct account *account_enter(struct accounts *a, const char *uuid, const char *address, uint64_t bytes);
/*
 * Take a stream with BYTES out of its account, because it ended or belongs to another guest. Frees
 * an account that would be the same as a new one.
 */
void account_leave(struct accounts *a, struct account *account, uint64_t bytes, uint64_t now);
/* Add BYTES to the account. */
void account_add(struct accounts *a, struct account *account, uint64_t bytes);
/* Free the accounts that would be the same as new ones. Call it now and then. */
void accounts_tidy(struct accounts *a, uint64_t now);
/* Free all accounts. No stream may be left. */
void accounts_deinit(struct accounts *a);

#endif
