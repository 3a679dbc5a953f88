/*
 * The thread that compresses and commits.
 *
 * A guest's ring is the safety copy of its newest bytes, so a commit may wait: for a mebibyte, for
 * something urgent (queue.h), or for the flush interval. If the disk runs short, a commit comes each
 * second.
 *
 * It takes items from the queue, sorts them, joins adjacent chunks of a packet, and writes them in
 * one transaction. When the disk is full, the thread keeps its items and tries the transaction
 * again. Meanwhile the queue fills up, and guests overwrite bytes of their rings that were not
 * copied; these losses are counted. Nothing else stops.
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

#define ARCHIVING_SENTENCE 448u

struct commit_thread_state {
	uint64_t committed;			  /* largest ticket of the items in the archive */
	uint64_t serial;			  /* number of commits */
	bool archiving;				  /* false: the disk is full, or the archive has failed */
	bool failed;				  /* the archive has failed for good: the process must end */
	char sentence[ARCHIVING_SENTENCE];	  /* why ARCHIVING is false */
	uint64_t bytes;				  /* number of content bytes committed */
	uint64_t commit_ns;			  /* ns spent in transactions */
	struct archive_outbox outbox;		  /* zeroed while nothing is sent to a hub */
	uint64_t damaged_pieces, damaged_packets; /* pieces and packets found damaged, and taken out of service */
	uint64_t lost_commits;			  /* commits that a damaged log had lost when the archive was opened */
	struct deletion_totals deleted;
	struct {
		uint64_t steps;	      /* steps of CLOCK_REALTIME since the process began */
		int64_t step;	      /* the last of them, ns */
		int64_t age;	      /* the age clock, ns */
		int64_t step_age;     /* the age clock at the last step */
		uint64_t damaged;     /* times that the age clock began anew, as its rows were damaged */
		int64_t real;	      /* CLOCK_REALTIME when AGE was read */
		bool is_synchronised; /* by the kernel's word */
	} clock;
};

/*
 * Start the thread. It takes over *W, which becomes NULL; on failure *W stays the caller's. QUEUE,
 * CONFIG and the eventfd WAKE are borrowed until commit_thread_stop(). The thread writes to WAKE
 * after each commit and each change of its state. Return 0, with the thread in *TP, or -errno.
 */
int commit_thread_start(struct commit_thread **tp, struct archive_writer **w, struct queue *queue,
			const struct config *config, int wake);
/* Close the queue, commit the items in it, and end the thread. Accept NULL. Return NULL. */
struct commit_thread *commit_thread_stop(struct commit_thread *t);
CLEANUP_DEFINE(struct commit_thread, commit_thread_stop)

void commit_thread_state(struct commit_thread *t, struct commit_thread_state *state);

#endif
