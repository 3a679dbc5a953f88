/*
 * The state of the watch. It is shared by watch.c (the scans), watch-scan.c (changes of traces),
 * watch-emit.c (events of these changes) and watch-memtraces.c (changes and events of memory
 * profiles).
 */
#ifndef SERVE_WATCH_STATE_H
#define SERVE_WATCH_STATE_H

#include "clock.h"
#include "event.h"
#include "growth.h"
#include "guest-names.h"
#include "log.h"
#include "sorted-difference.h"
#include "timer.h"
#include "watch.h"

#define WATCH_PAGE 256u		   /* rows that a step reads, at most */
#define STEP_NS	   (5 * NS_PER_MS) /* duration of a step that makes events or scans streams */
#define GROWTH_NS  (2 * NS_PER_S)  /* least time between two scans of streams */

enum phase { PHASE_IDLE, PHASE_RUNS, PHASE_CAPTURES, PHASE_MEMTRACES, PHASE_STREAMS, PHASE_END };

/* A change of a run, a capture or a memory profile. */
enum change_kind { CHANGE_BEGAN, CHANGE_ENDED, CHANGE_CHANGED, CHANGE_MADE };

struct change {
	int64_t id;
	enum change_kind kind;
	/* The row's guest in the last scan and in this one; both NULL if the row had no other guest. */
	struct guest_name *was, *is;
};

struct watch {
	struct reader *reader;
	struct memtraces_reader *memtraces;
	struct journal *journal;
	struct guest_names *names; /* of the guests of rows, changes and events */
	watch_notify *notify;
	void *context;
	watch_describe *describe; /* NULL = captures have what the archive says */
	void *describe_context;
	struct timer timer;
	enum phase phase;
	bool wanted;  /* a client reads events, or has done so within UNWANTED_NS */
	bool ready;   /* the first scan is complete */
	bool changed; /* a commit was made since this scan began */
	bool growing; /* this scan includes streams, and sizes of profiles */
	uint64_t wanted_at, scanned_at, grown_at;
	struct reader_version version;
	struct memtraces_version profiles_version;
	int64_t cursor; /* last id that was read in this phase */
	struct difference runs, captures, profiles;
	struct difference sizes; /* number of bytes of profiles that are being recorded */
	struct growth growth;
	uint64_t profiles_began; /* begin of the last scan of profiles, CLOCK_MONOTONIC ns */
	uint64_t profiles_next;	 /* earliest next scan of profiles, CLOCK_MONOTONIC ns */
	bool profiles_put_off;	 /* the last scan left out the profiles, because it was too early for them */
	struct change changes[WATCH_PAGE];
	size_t n_changes, n_emitted;
	uint64_t newest; /* number of the newest event when NOTIFY was called last */
	struct log_limit limit;
};

/* ---- watch.c ---- */

/* End the scan. GROWN: the scan included the streams. */
void watch_scan_end(struct watch *w, bool grown);

/* ---- watch-scan.c: steps of the phases. The last step of a phase begins the next phase. ---- */

/* Take one step of the phase that the function's name says. Return what the reader returns. */
int watch_runs_step(struct watch *w);
int watch_captures_step(struct watch *w);
int watch_streams_step(struct watch *w);
/* Begin the phase that follows PHASE_MEMTRACES. */
void watch_profiles_end(struct watch *w);
/*
 * Append the change of ID to CHANGES, for watch_emit_step(). ENTRY is its entry in this scan, BEFORE
 * the one in the last scan; NULL = none.
 */
void watch_add_change(struct watch *w, int64_t id, enum change_kind kind, const struct difference_entry *entry,
		      const struct difference_entry *before);
/* Forget all changes that have no event yet. */
void watch_drop_changes(struct watch *w);

/*
 * Fingerprints are FNV-1a hashes of the content that is compared. They begin with
 * FINGERPRINT_BEGIN.
 */
#define FINGERPRINT_BEGIN 0xcbf29ce484222325u
uint64_t fingerprint_add(uint64_t fingerprint, const void *data, size_t bytes);
uint64_t fingerprint_text(uint64_t fingerprint, const char *text);

/* ---- watch-emit.c ---- */

/* Make events of some of the changes in CHANGES. Return what the reader returns. */
int watch_emit_step(struct watch *w);
/* Make an event of CHANGE of a capture. Return what the reader returns. */
int watch_emit_capture(struct watch *w, const struct change *change);
/* Make an event of the last gap of STREAM, a Stream of the API of GUEST. Return what the reader returns. */
int watch_emit_gap(struct watch *w, struct guest_name *guest, json_t *stream);
/* Append an event with NAME and DATA about GUEST to the journal. Release DATA. */
void watch_append(struct watch *w, const char *name, struct guest_name *guest, json_t *data);
/* Append the event of D to the journal, and deinit D. */
void watch_append_draft(struct watch *w, struct event_draft *d);

/* ---- watch-memtraces.c ---- */

int watch_profiles_step(struct watch *w);
int watch_emit_profile(struct watch *w, const struct change *change);

#endif
