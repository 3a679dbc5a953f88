/*
 * The sink's second thread: it owns the archive's writer, commits one batch at a time, and enforces quotas.
 *
 * The loop hands over a batch when the archivist is idle and takes it back, with results, when it is committed: so there is one batch under
 * way and one that grows, and nothing else is shared.  A full disk is waited out with the batch in hand.
 */
#ifndef SINK_COMMIT_THREAD_H
#define SINK_COMMIT_THREAD_H

#include "batch.h"
#include "config.h"

struct commit_thread;

struct commit_thread_state {
	bool idle;		 /* a batch can be handed over: what was done before has been taken back */
	bool failed;		 /* the archive broke: the process must end */
	bool full;		 /* the disk is full */
	uint64_t serial;	 /* commits so far */
	uint64_t bytes;		 /* committed by this process */
	uint64_t deleted;	 /* recordings that quotas took */
	uint64_t damaged_pieces; /* found on the disk, and out of service */
	char sentence[256];	 /* what is wrong, or "" */
};

/*
 * Open the archive in STATE and start.  WAKE_FD becomes readable (eventfd) when the state changed.  CONFIG is borrowed.  *LAST_ID is the
 * largest identifier of a recording.  On failure -errno and a SENTENCE of SIZE bytes.
 */
int commit_thread_start(struct commit_thread **ap, const char *state, const struct config *config, int wake_fd,
			int64_t *last_id, char *sentence, size_t size);
/* Commits what it has been given, then ends.  NULL too. */
struct commit_thread *commit_thread_stop(struct commit_thread *a);
CLEANUP_DEFINE(struct commit_thread, commit_thread_stop)

void commit_thread_state(struct commit_thread *a, struct commit_thread_state *state);
/* Only when it is idle: take B's items. */
void commit_thread_give(struct commit_thread *a, struct batch *b);
/* The batch that it has finished, for its results; empty where there is none. */
void commit_thread_take(struct commit_thread *a, struct batch *b);

#endif
