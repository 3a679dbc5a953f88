/*
 * A guest: one run of it, its streams, and what is wanted of them: policy and captures.
 *
 * A source (a directory of ring files, or XenStore) finds guests, attaches their rings (stream.h) and says when they begin and end.
 * Called from the collector's thread only.
 */
#ifndef COLLECT_GUEST_H
#define COLLECT_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "queue.h"
#include "stream.h"

/* What all guests of a process share.  Owned by the collector, which outlives them. */
struct guest_shared {
	const struct config *config;
	struct queue *queue;
	struct cadence_budget budget;
	int64_t last_run, last_stream, last_capture; /* identifiers given so far */
	bool archiving;				     /* as the archivist last said */
	struct {
		uint64_t polls, bytes, gaps, lost_packets, skipped_packets, queue_full, bad_sizes, unsteady,
			dropped_copies, captures, refused_rings, evicted_bytes;
	} counters;
};

/* Who it is.  Texts are copied; bytes of NAME that are not printable UTF-8 are shown as \xNN. */
struct guest_identity {
	const char *source; /* "dir" or "xen": a constant, not copied */
	const char *name;
	const char *key;  /* the life's identity at its source */
	const char *uuid; /* NULL = none */
	int64_t domid;	  /* -1 = none */
};

/* A capture on its way: large tails may have to wait for room. */
struct guest_capture {
	int64_t id; /* 0 = none under way */
	bool dead;
	size_t streams;	  /* that are not through yet */
	uint64_t give_up; /* CLOCK_MONOTONIC ns; what has found no room by then is left out */
};

struct guest {
	struct guest_shared *shared;
	const char *source;
	char *name, *key, *uuid;
	int64_t domid;
	int64_t run;	     /* 0 = none yet: the first attach gives it one */
	uint64_t began_real; /* 0 = with its first ring; a source that knows better writes it before that */
	uint64_t patience;   /* ns that a capture of the dead may wait for room */
	struct policy policy;
	struct account *account;
	struct stream *streams;
	uint64_t next_period; /* periodic: when the next snapshot is due */
	struct guest_capture capture;
	const char *state; /* as last queued: "running", "suspended" or "ended"; NULL: not at all */
};

/* Begin a guest's life.  RUN: the one of the archive that it goes on with, or 0 for a new one.  PATIENCE: see above.  -ENOMEM. */
int guest_init(struct guest *guest, struct guest_shared *shared, const struct guest_identity *identity, int64_t run,
	       uint64_t patience);
/* Detach what is attached and forget it, without a word to the archive. */
void guest_deinit(struct guest *guest);

/*
 * Give it another name, and what the policy says of that; the archive is told where the run has begun and not ended.  -ENOMEM: it keeps the
 * one that it has.
 */
int guest_rename(struct guest *guest, const char *name);

/* Does it run, as the archive was told? */
bool guest_is_running(const struct guest *guest);
/*
 * Tell the archive "running", "suspended" or "ended" (STATE and REASON, a capture kind or NULL, are constants), and where it has not ended of
 * the streams that are attached.  A guest without a run is not told of.  -ENOMEM.
 */
int guest_set_state(struct guest *guest, const char *state, const char *reason);
/* Its run begins, where it has not, without a ring. */
void guest_begin(struct guest *guest);
/* Tell it that a run that it has ended unseen, when RESUME's stream was heard of last.  -ENOMEM. */
int guest_was(struct guest_shared *shared, const struct archive_resume *resume);

/*
 * Take a capture of KIND from now on, of all streams, or of ONLY.  DEAD: nobody writes any more; its end finds room at the cost of the
 * living, and is through, as far as there is room, after PATIENCE.  Each stream must be looked at until guest_capture_done.  Returns its
 * identifier, 0 where one is under way or nothing is attached, or -ENOMEM.
 */
int64_t guest_capture_begin(struct guest *guest, const char *kind, const char *note, bool dead, struct stream *only);
/*
 * The same for capture ID, which the archive has of this run but not whole (archive_resume.unfinished): a kill came between.  Returns ID,
 * or 0.
 */
int64_t guest_capture_again(struct guest *guest, int64_t id, bool dead);
/* Is everything of the capture queued? */
bool guest_capture_done(const struct guest *guest);
/* Give up the one that is under way as it is: a dead guest's end goes before. */
void guest_capture_abandon(struct guest *guest);
/* Add its context, JSON, to CAPTURE, whenever it is known.  Takes over JSON (also when it fails).  -ENOMEM. */
int guest_capture_context(struct guest_shared *shared, int64_t capture, char *json);

/* ---- for stream.c ---- */

/* Does the archive have its run, and not as ended? */
bool guest_is_told(const struct guest *guest);
/* STREAM is attached: give it a place, and the guest a run. */
void guest_add(struct guest *guest, struct stream *stream);
void guest_remove(struct guest *guest, struct stream *stream);
/* Begin the snapshot of a guest of policy `periodic` when it is due. */
void guest_period(struct guest *guest, uint64_t now);
/* One stream less of the capture that is under way. */
void guest_capture_less(struct guest *guest);

#endif
