/*
 * Copies: a bounded cache of captures of the fleet's database, each an archive or a file of its own in a private
 * directory, from which bodies are served.
 *
 * A capture that is refused, since its rows are no capture or too large, is remembered as such for ten minutes.
 *
 * A finished capture never changes, so a copy is right as long as the database has the capture; the handler asks
 * that each time. Requests for one capture share one copy. Copies that no exchange uses are removed, the one
 * that was used longest ago first, when there is no room for another one.
 */
#ifndef SERVE_COPIES_H
#define SERVE_COPIES_H

#include <stdbool.h>
#include <stdint.h>

#include "fleet-names.h"
#include "reader.h"
#include "workers.h"

/* A copy has at most this part of all room: so some can be made beside those that are read. */
#define COPIES_PART 8u

struct copies;
struct copy;

/* The thing that is copied. RECORDING -1: a capture, as an archive; else a part of a memory profile, as a file. */
struct copy_key {
	char host[FLEET_HOST];
	char month[16];
	char archive[FLEET_UUID];
	int64_t capture;
	int32_t recording;
	/*
	 * Correction of the capture's stamp, as the hub knows it, ns. A copy has the corrections that the hub knew when it
	 * was made, so another one is made when the hub knows better.
	 */
	int64_t correction;
};

enum copy_state { COPY_MAKING, COPY_READY, COPY_FAILED };

/*
 * Create the cache in a new directory below DIRECTORY, which may have at most LIMIT bytes. Remove what earlier
 * processes left there. ON_READY is called with CONTEXT when a copy is made, or has failed. WORKERS is borrowed.
 * Return 0, with the cache in *CP, or -errno with a sentence in SENTENCE (SIZE bytes).
 */
int copies_new(struct copies **cp, struct workers *workers, const char *directory, uint64_t limit,
	       void (*on_ready)(void *context, struct copy *copy), void *context, char *sentence, size_t size);
/* Remove all copies. Call it after workers_free(), when no exchange is left. Return NULL. */
struct copies *copies_free(struct copies *c);
CLEANUP_DEFINE(struct copies, copies_free)

/* Return the copy of KEY with a reference; if there is none, begin to make it. NULL: there is no room, or no memory. */
struct copy *copies_get(struct copies *c, const struct copy_key *key);
void copy_unref(struct copy *copy);

enum copy_state copy_state(const struct copy *copy);
/* Return why COPY failed: the job, whose RC is a postgres_condition or 0; then *SENTENCE, and a status. */
const struct job *copy_failure(const struct copy *copy, unsigned *status, const char **sentence);
/* Return the reader of a copy that is ready; NULL: it cannot be opened. It lasts as long as the reference. */
struct reader *copy_reader(struct copy *copy);
/* Return a descriptor of the file of a copy of a memory profile, to read; the caller closes it. -errno on failure. */
int copy_open(const struct copy *copy);
/* Return the number of the capture as digits, which last as long as the reference. */
const char *copy_number(const struct copy *copy);

struct copies_counts {
	uint64_t made, failed, bytes;
	unsigned copies;
};
struct copies_counts copies_counts(const struct copies *c);

#endif
