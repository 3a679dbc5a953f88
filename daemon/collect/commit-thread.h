/*
 * The thread that compresses and commits.
 *
 * It takes what the queue holds, brings it in order, joins what belongs together, and writes it in one transaction.  A full disk stops
 * archiving and nothing else: the transaction is kept and tried again, the queue fills up, and rings lose what they overwrite, counted.
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
	uint64_t committed;			  /* the largest ticket in the archive */
	uint64_t serial;			  /* commits so far */
	bool archiving;				  /* false: the disk is full, or the archive failed */
	bool failed;				  /* for good: the process must end */
	char sentence[256];			  /* why not, when it is not */
	uint64_t bytes;				  /* content bytes committed */
	uint64_t commit_ns;			  /* time spent in transactions */
	uint64_t damaged_pieces, damaged_packets; /* found on the disk, and out of service */
};

/*
 * Start the thread.  Takes over *W (NULL afterwards, on success); CONFIG and QUEUE are borrowed until commit_thread_stop.  After each
 * commit and each change of state it writes to the eventfd WAKE, borrowed too.  -errno.
 */
int commit_thread_start(struct commit_thread **ap, struct archive_writer **w, struct queue *queue,
			const struct config *config, int wake);
/* Close the queue, commit what is in it, end the thread.  NULL too. */
struct commit_thread *commit_thread_stop(struct commit_thread *a);
CLEANUP_DEFINE(struct commit_thread, commit_thread_stop)

void commit_thread_state(struct commit_thread *a, struct commit_thread_state *state);
/* Somebody reads live: flush at once what comes, until this moment (CLOCK_MONOTONIC ns). */
void commit_thread_follow(struct commit_thread *a, uint64_t until);

#endif
