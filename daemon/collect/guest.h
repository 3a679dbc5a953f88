/*
 * A guest: one run of it, its ring and what is wanted of it.
 *
 * A source (a directory of ring files, later XenStore) finds guests, attaches their rings and says when they begin and end; everything
 * between is here: looks, cadence, policy, captures.  Called from the collector's thread only.
 */
#ifndef COLLECT_GUEST_H
#define COLLECT_GUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "cadence.h"
#include "config.h"
#include "queue.h"
#include "ring.h"
#include "writer.h"

/* What all guests of a process share.  Owned by the collector, which outlives them. */
struct guest_shared {
	const struct config *config;
	struct queue *queue;
	struct cadence_budget budget;
	int64_t last_run, last_stream, last_capture; /* identifiers given so far */
	bool archiving;				     /* as the archivist last said */
	struct {
		uint64_t looks, bytes, gaps, lost_packets, skipped_packets, queue_full, bad_sizes, dropped_copies,
			captures, refused_rings;
	} counters;
};

/* A capture on its way: large tails may have to wait for room. */
struct guest_capture {
	int64_t id; /* 0 = none under way */
	bool dead;
	bool begun; /* the range is queued */
	struct ring_mark at;
	uint64_t give_up; /* CLOCK_MONOTONIC ns; what has found no room by then is left out */
};

struct guest {
	struct guest_shared *shared;
	char *name, *key;
	const char *source; /* a constant */
	int64_t run;
	uint64_t began_real;
	struct policy policy;
	struct account *account;

	/* its stream */
	int64_t stream;
	struct ring ring;
	bool attached;
	struct ring_sink sink;
	struct item *reserved; /* between reserve and chunk or drop */
	struct item *gap;      /* declared and not queued yet: gaps with nothing between them become one */
	struct cadence cadence;
	uint32_t flags;	      /* ARCHIVE_STREAM_*, as last queued */
	bool starved;	      /* the queue had no room since the last look that ended well ... */
	bool disk;	      /* ... because nothing was archived */
	uint64_t next_period; /* periodic: when the next snapshot is due */

	struct guest_capture capture;
	bool running; /* as last queued */
};

/* Begin a guest's life.  Copies NAME and KEY; bytes of NAME that are not printable UTF-8 are shown as \xNN.  -ENOMEM. */
int guest_init(struct guest *guest, struct guest_shared *shared, const char *source, const char *name, const char *key);
/* Forget it without a word to the archive. */
void guest_deinit(struct guest *guest);

/* Attach its ring: a new run, or with RESUME the one that the archive has.  MEMORY is borrowed until guest_detach.  As ring_attach. */
int guest_attach(struct guest *guest, const struct memory *memory, uint64_t bytes, const struct archive_resume *resume,
		 bool dead, const char **fault);
void guest_detach(struct guest *guest);

/* One look, and what policy and captures ask for.  *NEXT: when to look again.  0, RING_E_FULL, RING_E_GONE, RING_E_RENEWED. */
int guest_look(struct guest *guest, uint64_t now, uint64_t *next);

/* Take a capture of KIND from now on; returns its identifier, 0 where one is under way or nothing is attached, or -ENOMEM. */
int64_t guest_capture_begin(struct guest *guest, const char *kind, const char *note, bool dead);
/* Is everything of the capture queued? */
bool guest_capture_done(const struct guest *guest);

/* Tell the archive that the run goes on or has ended (REASON: a capture kind).  -ENOMEM. */
int guest_set_running(struct guest *guest, bool running, const char *reason);
/* Tell it that a run that it has ended unseen, when it was heard of last.  -ENOMEM. */
int guest_was(struct guest_shared *shared, const struct archive_resume *resume);

#endif
