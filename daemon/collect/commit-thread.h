/*
 * The thread that compresses and commits.
 *
 * It takes the items of the queue, sorts them, joins chunks that belong together, and writes them
 * in one transaction. A full disk stops archiving and nothing else: the transaction is kept and
 * tried again, the queue fills up, and rings lose what they overwrite, which is counted.
 */
#ifndef COLLECT_COMMIT_THREAD_H
#define COLLECT_COMMIT_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "cleanup.h"
#include "config.h"
#include "queue.h"
#include "writer.h"

struct commit_thread;

struct commit_thread_state {
	uint64_t committed;			  /* largest ticket in the archive */
	uint64_t serial;			  /* commits so far */
	bool archiving;				  /* false: the disk is full, or the archive failed */
	bool failed;				  /* it failed for good: the process must end */
	char sentence[256];			  /* reason while not archiving */
	uint64_t bytes;				  /* content bytes committed */
	uint64_t commit_ns;			  /* time spent in transactions, ns */
	uint64_t damaged_pieces, damaged_packets; /* found on the disk and taken out of service */
};

/*
 * Start the thread. Take over *W (NULL afterwards, on success). Borrow CONFIG, QUEUE and the
 * eventfd WAKE until commit_thread_stop. The thread writes to WAKE after each commit and each
 * change of state. Return 0 or -errno.
 */
int commit_thread_start(struct commit_thread **tp, struct archive_writer **w, struct queue *queue,
			const struct config *config, int wake);
/* Close the queue, commit the rest of it, end the thread. Accept NULL. */
struct commit_thread *commit_thread_stop(struct commit_thread *t);
CLEANUP_DEFINE(struct commit_thread, commit_thread_stop)

void commit_thread_state(struct commit_thread *t, struct commit_thread_state *state);
/* Commit at once until this moment (CLOCK_MONOTONIC ns): somebody reads live. */
void commit_thread_follow(struct commit_thread *t, uint64_t until);

#endif
