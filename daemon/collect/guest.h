/*
 * A guest: one run of it, with its streams, its policy and its captures.
 *
 * A source (daemon/files or daemon/xen) finds guests, attaches their rings (stream.h), and reports
 * when their runs begin and end. Only the collector's thread calls these functions.
 */
#ifndef COLLECT_GUEST_H
#define COLLECT_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "log.h"
#include "queue.h"
#include "stream.h"

/* State that all guests of the process share. The collector owns it and outlives the guests. */
struct guest_shared {
	const struct config *config;
	struct queue *queue;
	struct cadence_budget budget;
	int64_t last_run, last_stream, last_capture; /* last identifiers that were given out */
	bool sends;				     /* something is sent to a hub: config_sends() */
	bool archiving;				     /* bytes are archived, as the commit thread last said */
	struct {
		uint64_t polls, bytes, gaps, lost_packets, skipped_packets, queue_full, bad_sizes, unsteady,
			dropped_copies, captures, refused_rings, evicted_bytes;
		uint64_t recovered_packets; /* of lost_packets: copied after all, so the archive has no gap there */
	} counters;
	struct log_limit cut; /* lines about captures without room: clients ask for captures */
};

/*
 * The identity of a guest. Strings are copied, except SOURCE. In NAME, bytes that are not printable
 * UTF-8 become \xNN.
 */
struct guest_identity {
	const char *source; /* "dir" or "xen"; a constant */
	const char *name;
	const char *key;  /* key of this run, unique in its source */
	const char *uuid; /* NULL = none */
	int64_t domid;	  /* -1 = none */
};

/* A capture that is being taken. It takes time because large tails may have to wait for room. */
struct guest_capture {
	int64_t id; /* 0 = no capture is being taken */
	bool dead;
	bool has_context; /* a context follows, and guest_capture_finish() behind it */
	size_t streams;	  /* number of streams that have not contributed yet */
	uint64_t give_up; /* when to stop waiting for room and leave out the remaining bytes, CLOCK_MONOTONIC ns */
};

struct guest {
	struct guest_shared *shared;
	const char *source;
	char *name, *key, *uuid;
	int64_t domid;
	int64_t run; /* 0 = no run yet: the first attach begins one */
	/*
	 * Begin of the run, CLOCK_REALTIME ns; 0 = the first attach sets it; a source that knows
	 * better sets it earlier.
	 */
	uint64_t began_real;
	uint64_t patience; /* limit of time for a capture of the dead guest, ns */
	struct policy policy;
	struct account *account;
	struct stream *streams;
	uint64_t next_period; /* policy `periodic`: when to take the next snapshot, CLOCK_MONOTONIC ns */
	struct guest_capture capture;
	const char *state; /* state reported last: "running", "suspended" or "ended"; NULL = none yet */
};

/*
 * Initialise a guest. RUN is the archive's run to continue; 0 = begin a new run. PATIENCE: see
 * struct guest. Return 0 or -ENOMEM.
 */
int guest_init(struct guest *guest, struct guest_shared *shared, const struct guest_identity *identity, int64_t run,
	       uint64_t patience);
/*
 * Detach all streams and free the guest's memory. The archive is not told: its run stays as it is.
 */
void guest_deinit(struct guest *guest);

/*
 * Rename the guest and apply the policy of the new name. If the run has begun and has not ended,
 * queue the new name for the archive. Return 0; or -ENOMEM, and the old name is kept.
 */
int guest_rename(struct guest *guest, const char *name);

/* Return whether the state that was reported last is "running". */
bool guest_is_running(const struct guest *guest);
/*
 * Report the guest's STATE to the archive: "running", "suspended" or "ended". Unless the guest has
 * ended, also report its attached streams. REASON is a kind of capture or NULL. STATE and REASON
 * are constants. Do nothing if the guest has no run. Return 0 or -ENOMEM.
 */
int guest_set_state(struct guest *guest, const char *state, const char *reason);
/* Begin a run without a ring, unless a run was begun. */
void guest_begin(struct guest *guest);
/*
 * Report to the archive that the run of RESUME ended while mprofd was not running, at the time of
 * its last bytes. Return 0 or -ENOMEM.
 */
int guest_report_end(struct guest_shared *shared, const struct archive_resume *resume);
/*
 * Tell the archive that the end of RESUME's stream is lost, from its position on, for REASON
 * (borrowed, static). How much that is is not known. Return 0 or -ENOMEM.
 */
int guest_report_loss(struct guest_shared *shared, const struct archive_resume *resume, const char *reason);

/* Commit the guest's bytes soon until this moment (CLOCK_MONOTONIC ns): somebody reads live. */
void guest_follow(struct guest *guest, uint64_t until);

/*
 * Begin a capture of KIND, of all streams or of ONLY. NOTE is a user's text or NULL. DEAD: nobody
 * writes to the rings any more; the guest's last bytes then may take room from living guests, and
 * the capture ends after PATIENCE. The caller must poll each stream until guest_capture_done().
 * Return the capture's identifier; 0 if another capture is being taken or nothing is attached; or
 * -ENOMEM.
 */
int64_t guest_capture_begin(struct guest *guest, const char *kind, const char *note, bool dead, struct stream *only);
/*
 * Let STREAM, whose ring nobody writes to any more, take part in the capture that was just begun with
 * ONLY another stream of GUEST, before any stream is polled.
 */
void guest_capture_join(struct guest *guest, struct stream *stream);
/*
 * Continue the capture ID of this run, which is incomplete in the archive because mprofd was killed
 * (archive_resume.unfinished). Return ID, or 0 as guest_capture_begin().
 */
int64_t guest_capture_again(struct guest *guest, int64_t id, bool dead);
/* Return whether no capture is being taken: all items of the last one are queued. */
bool guest_capture_done(const struct guest *guest);
/*
 * End the capture that is being taken, without the parts that are missing, because the capture of a
 * dead guest's end is more urgent.
 */
void guest_capture_abandon(struct guest *guest);
/* Queue JSON as the context of CAPTURE. Take over JSON, also on failure. Return 0 or -ENOMEM. */
int guest_capture_context(struct guest_shared *shared, int64_t capture, char *json);
/* Tell the outbox that CAPTURE is complete and will not change. */
void guest_capture_finish(struct guest_shared *shared, int64_t capture);

/* ---- for stream.c ---- */

/* Return whether the run was reported to the archive, and not as ended. */
bool guest_is_archived(const struct guest *guest);
/* Add STREAM, whose ring is attached, to the guest, and begin a run if the guest has none. */
void guest_add(struct guest *guest, struct stream *stream);
void guest_remove(struct guest *guest, struct stream *stream);
/* If the guest's policy is `periodic` and the next snapshot is due, begin it. */
void guest_period(struct guest *guest, uint64_t now);
/* One stream of the capture has contributed: end the capture if it was the last. */
void guest_capture_less(struct guest *guest);

#endif
