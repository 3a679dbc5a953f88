/*
 * The commit thread of mprofd-sink: it owns the archive's writer, commits one batch at a time, and
 * enforces quotas.
 *
 * The loop hands over a batch when the thread is idle, and takes it back with its results after the
 * commit. So one batch is under way and one grows, and nothing else is shared. On a full disk the
 * thread keeps its batch and waits.
 */
#ifndef SINK_COMMIT_THREAD_H
#define SINK_COMMIT_THREAD_H

#include "batch.h"
#include "config.h"

struct commit_thread;

struct commit_thread_state {
	bool idle;		 /* a batch can be handed over: the last one has been taken back */
	bool failed;		 /* the archive failed for good: the process must end */
	bool full;		 /* the disk is full */
	uint64_t serial;	 /* commits so far */
	uint64_t bytes;		 /* committed by this process */
	uint64_t deleted;	 /* recordings that quotas deleted */
	uint64_t damaged_pieces; /* found on the disk, and out of service */
	char sentence[256];	 /* sentence for users if something is wrong, or "" */
};

/*
 * Open the archive in STATE and start the thread. The eventfd WAKE_FD becomes readable when the
 * state changes; it and CONFIG are borrowed. *LAST_ID is the largest identifier of a recording. On
 * failure return -errno and a SENTENCE of SIZE bytes.
 */
int commit_thread_start(struct commit_thread **ap, const char *state, const struct config *config, int wake_fd,
			int64_t *last_id, char *sentence, size_t size);
/* Commit the batch that was handed over, then end the thread. NULL is allowed. */
struct commit_thread *commit_thread_stop(struct commit_thread *a);
CLEANUP_DEFINE(struct commit_thread, commit_thread_stop)

void commit_thread_state(struct commit_thread *a, struct commit_thread_state *state);
/* Hand over the items of B. The thread must be idle. */
void commit_thread_give(struct commit_thread *a, struct batch *b);
/* Take back the finished batch with its results; empty if there is none. */
void commit_thread_take(struct commit_thread *a, struct batch *b);

#endif
