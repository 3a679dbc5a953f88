/*
 * The commit thread of mprofd-sink: it owns the archive's writer, commits one batch at a time, and
 * enforces quotas.
 *
 * The loop gives a batch to the thread when the thread is idle, and takes it back with its results
 * after the commit. So one batch is being committed while the next one grows, and the two threads
 * share nothing else. If the disk is full, the thread keeps its batch and tries again.
 */
#ifndef SINK_COMMIT_THREAD_H
#define SINK_COMMIT_THREAD_H

#include "batch.h"
#include "config.h"

struct commit_thread;

struct commit_thread_state {
	bool idle;		/* the thread has no batch: another one can be given to it */
	bool failed;		/* the archive has failed for good: the process must end */
	bool full;		/* the disk is full */
	uint64_t serial;	/* number of commits */
	uint64_t bytes;		/* bytes that this process has committed */
	uint64_t deleted;	/* number of recordings that quotas have deleted */
	uint64_t clock_steps;	/* steps of CLOCK_REALTIME since the process began */
	uint64_t clock_damaged; /* times that the age clock began anew, as its rows were damaged */
	struct deletion_totals deletions;
	uint64_t damaged_pieces; /* pieces found damaged, and taken out of service */
	uint64_t lost_commits;	 /* commits that a damaged log had lost when the archive was opened */
	char sentence[448];	 /* what is wrong, for users; "" = nothing */
};

/*
 * Open the archive below STATE and start the thread. The thread writes to the eventfd WAKE_FD when
 * its state changes. WAKE_FD and CONFIG are borrowed until commit_thread_stop(). Return 0, with the
 * thread in *AP and the largest identifier of a recording in *LAST_ID; or -errno, with a sentence
 * in SENTENCE (SIZE bytes).
 */
int commit_thread_start(struct commit_thread **ap, const char *state, const struct config *config, int wake_fd,
			int64_t *last_id, char *sentence, size_t size);
/* Commit the batch that was given to the thread, and end the thread. Accept NULL. Return NULL. */
struct commit_thread *commit_thread_stop(struct commit_thread *c);
CLEANUP_DEFINE(struct commit_thread, commit_thread_stop)

void commit_thread_state(struct commit_thread *c, struct commit_thread_state *state);
/* Give the items of B to the thread, which must be idle. B is empty then. */
void commit_thread_give(struct commit_thread *a, struct batch *b);
/* Move the batch that is committed, with its results, to B. B is empty if there is none. */
void commit_thread_take(struct commit_thread *a, struct batch *b);

#endif
