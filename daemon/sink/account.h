/*
 * What one guest takes of what all may: the bytes of its streams, and how fast they come.
 *
 * A guest is its UUID where the collector knows it, else its address.  An account outlives its streams until the guest may send again all that
 * it may at once, so that connecting anew is no way around the limit; and no longer, so that connecting from ever other addresses is not one
 * to fill memory with accounts.
 */
#ifndef SINK_ACCOUNT_H
#define SINK_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that may still come: filled at a rate, up to what comes in ten seconds.  Zeroed it is full. */
struct bucket {
	uint64_t at; /* CLOCK_MONOTONIC ns ... */
	uint64_t bytes;
	uint64_t full_at; /* CLOCK_MONOTONIC ns: when it is full again, if nothing is taken out */
};

/* Take BYTES out at NOW, of one that fills by RATE bytes per second (0: without a limit).  False: there are not so many. */
bool bucket_take(struct bucket *b, uint64_t rate, uint64_t now, uint64_t bytes);

struct account {
	struct account *next;
	unsigned streams;
	uint64_t bytes; /* of recordings that its streams make */
	struct bucket bucket;
	char key[];
};

/* Zeroed is empty. */
struct accounts {
	struct account *first;
	uint64_t bytes; /* of all guests */
	struct bucket bucket;
};

/* A stream of the guest, with BYTES so far; UUID NULL: not known.  NULL: no memory. */
struct account *account_enter(struct accounts *a, const char *uuid, const char *address, uint64_t bytes);
/* It is over, or another's.  Frees the account where nothing is to be remembered of it. */
void account_leave(struct accounts *a, struct account *account, uint64_t bytes, uint64_t now);
/* BYTES more of a stream of it. */
void account_add(struct accounts *a, struct account *account, uint64_t bytes);
/* Forget of whom nothing is to be remembered any more.  To be called now and then. */
void accounts_tidy(struct accounts *a, uint64_t now);
/* No stream is left. */
void accounts_deinit(struct accounts *a);

#endif
