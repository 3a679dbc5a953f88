/*
 * A guest: one run of it, its streams, its policy and its captures.
 *
 * A source (a directory of ring files, or XenStore) finds guests, attaches their rings (stream.h)
 * and says when they begin and end. Only the collector's thread calls this.
 */
#ifndef COLLECT_GUEST_H
#define COLLECT_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "queue.h"
#include "stream.h"

/* Shared by all guests of a process. Owned by the collector, which outlives the guests. */
struct guest_shared {
	const struct config *config;
	struct queue *queue;
	struct cadence_budget budget;
	int64_t last_run, last_stream, last_capture; /* last identifiers given */
	bool archiving;				     /* as the commit thread last said */
	struct {
		uint64_t polls, bytes, gaps, lost_packets, skipped_packets, queue_full, bad_sizes, unsteady,
			dropped_copies, captures, refused_rings, evicted_bytes;
	} counters;
};

/*
 * Identity of a guest. Texts are copied. Bytes of NAME that are not printable UTF-8 are shown as
 * \xNN.
 */
struct guest_identity {
	const char *source; /* "dir" or "xen": a constant, not copied */
	const char *name;
	const char *key;  /* identity of this run at its source */
	const char *uuid; /* NULL = none */
	int64_t domid;	  /* -1 = none */
};

/* A capture under way: large tails may have to wait for room. */
struct guest_capture {
	int64_t id; /* 0 = none under way */
	bool dead;
	size_t streams;	  /* streams that are not done yet */
	uint64_t give_up; /* CLOCK_MONOTONIC ns; bytes without room by then are left out */
};

struct guest {
	struct guest_shared *shared;
	const char *source;
	char *name, *key, *uuid;
	int64_t domid;
	int64_t run;	     /* 0 = none yet: the first attach makes one */
	uint64_t began_real; /* 0 = when its first ring is attached; a source that knows better sets it before that */
	uint64_t patience;   /* ns that a capture of a dead guest may wait for room */
	struct policy policy;
	struct account *account;
	struct stream *streams;
	uint64_t next_period; /* policy `periodic`: when the next snapshot is due */
	struct guest_capture capture;
	const char *state; /* as last queued: "running", "suspended" or "ended"; NULL: never */
};

/*
 * Initialise a guest. RUN: the archive's run to continue, or 0 for a new one. PATIENCE: see struct
 * guest. Return 0 or -ENOMEM.
 */
int guest_init(struct guest *guest, struct guest_shared *shared, const struct guest_identity *identity, int64_t run,
	       uint64_t patience);
/* Detach and forget everything, without telling the archive. */
void guest_deinit(struct guest *guest);

/*
 * Rename the guest and apply the policy of the new name. Tell the archive if the run has begun and
 * not ended. Return 0, or -ENOMEM and keep the old name.
 */
int guest_rename(struct guest *guest, const char *name);

/* Return true if the archive was told that the guest runs. */
bool guest_is_running(const struct guest *guest);
/*
 * Tell the archive "running", "suspended" or "ended" (STATE and REASON, a capture kind or NULL, are
 * constants), and unless it has ended, the streams that are attached. Do nothing for a guest
 * without a run. Return 0 or -ENOMEM.
 */
int guest_set_state(struct guest *guest, const char *state, const char *reason);
/* Begin the run without a ring, if it has not begun. */
void guest_begin(struct guest *guest);
/*
 * Tell the archive that a run ended while mprofd was down, at the time of RESUME's last bytes.
 * Return 0 or -ENOMEM.
 */
int guest_report_end(struct guest_shared *shared, const struct archive_resume *resume);

/*
 * Begin a capture of KIND, of all streams, or of ONLY. DEAD: nobody writes any more; the guest's
 * last bytes take room from living guests, and the capture ends after PATIENCE. Each stream must be
 * polled until guest_capture_done. Return the capture's identifier, 0 if one is under way or
 * nothing is attached, or -ENOMEM.
 */
int64_t guest_capture_begin(struct guest *guest, const char *kind, const char *note, bool dead, struct stream *only);
/*
 * Continue capture ID, which the archive has of this run incomplete (archive_resume.unfinished),
 * because mprofd was killed. Return ID, or 0.
 */
int64_t guest_capture_again(struct guest *guest, int64_t id, bool dead);
/* Return true if everything of the capture is queued. */
bool guest_capture_done(const struct guest *guest);
/* End the capture under way as it is, because the end of a dead guest comes first. */
void guest_capture_abandon(struct guest *guest);
/* Add the context JSON to CAPTURE. Take over JSON, also on failure. Return 0 or -ENOMEM. */
int guest_capture_context(struct guest_shared *shared, int64_t capture, char *json);

/* ---- for stream.c ---- */

/* Return true if the archive has the run, and not as ended. */
bool guest_is_archived(const struct guest *guest);
/* Add STREAM, which is attached, and give the guest a run if it has none. */
void guest_add(struct guest *guest, struct stream *stream);
void guest_remove(struct guest *guest, struct stream *stream);
/* Begin the snapshot of a guest of policy `periodic` if it is due. */
void guest_period(struct guest *guest, uint64_t now);
/* Count one stream of the capture as done. */
void guest_capture_less(struct guest *guest);

#endif
