/*
 * Accounts: how many bytes the streams of one guest have sent, and at which rate.
 *
 * A guest is identified by its UUID, or by its address if the collector does not know it. An
 * account is kept after its last stream until its bucket is full again; otherwise a guest could
 * reset its limit with a new connection. Then it is freed, so that connections from many addresses
 * do not fill the memory with accounts.
 */
#ifndef SINK_ACCOUNT_H
#define SINK_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A token bucket: the number of bytes that may be received now. It fills at a rate, up to the bytes
 * of ten seconds. A zeroed bucket is full.
 */
struct bucket {
	uint64_t at;	  /* last change of BYTES, CLOCK_MONOTONIC ns */
	uint64_t bytes;	  /* bytes that the bucket had at AT */
	uint64_t full_at; /* when the bucket will be full if nothing is taken, CLOCK_MONOTONIC ns */
};

/*
 * Take at most BYTES at NOW (CLOCK_MONOTONIC ns) from a bucket that fills at RATE bytes per second (0 = no
 * limit). Return how many were taken: fewer than BYTES if the bucket has fewer.
 */
uint64_t bucket_take(struct bucket *b, uint64_t rate, uint64_t now, uint64_t bytes);

struct account {
	struct account *next;
	unsigned streams;
	uint64_t bytes; /* bytes in the recordings of its current streams */
	struct bucket bucket;
	char key[];
};

/* All accounts. A zeroed struct has none. */
struct accounts {
	struct account *first;
	uint64_t bytes; /* sum of BYTES over all accounts */
	struct bucket bucket;
};

/*
 * Add a stream that has BYTES to the account of its guest, and create the account if needed. UUID
 * NULL = unknown. Return the account, or NULL without memory.
 */
struct account *account_enter(struct accounts *a, const char *uuid, const char *address, uint64_t bytes);
/*
 * Remove a stream that has BYTES from its account, because the stream has ended or belongs to
 * another guest. The account is freed if a new one would be the same.
 */
void account_leave(struct accounts *a, struct account *account, uint64_t bytes, uint64_t now);
/* Add BYTES to the account. */
void account_add(struct accounts *a, struct account *account, uint64_t bytes);
/* Free the accounts that are the same as new ones. Call it now and then. */
void accounts_tidy(struct accounts *a, uint64_t now);
/* Free all accounts. No stream may exist any more. */
void accounts_deinit(struct accounts *a);

#endif
