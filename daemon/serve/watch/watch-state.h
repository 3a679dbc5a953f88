/*
 * What the files of the watch share with each other: watch.c (its turns), watch-find.c (what is not as it was), watch-tell.c (events of that), and
 * watch-memtraces.c (both, of memory profiles).
 */
#ifndef SERVE_WATCH_STATE_H
#define SERVE_WATCH_STATE_H

#include "clock.h"
#include "growth.h"
#include "log.h"
#include "sorted-difference.h"
#include "watch.h"

#define WATCH_PAGE 256u		   /* rows of a step */
#define STEP_NS	   (5 * NS_PER_MS) /* a step that makes events, or reads streams */
#define GROWTH_NS  (2 * NS_PER_S)  /* between two looks at how what grows has grown, at least */

enum phase { PHASE_IDLE, PHASE_RUNS, PHASE_CAPTURES, PHASE_MEMTRACES, PHASE_STREAMS, PHASE_END };

/* A run, a capture or a memory profile that is not what it was. */
enum change_kind { CHANGE_BEGAN, CHANGE_ENDED, CHANGE_CHANGED, CHANGE_MADE };

struct change {
	int64_t id;
	enum change_kind kind;
};

struct watch {
	struct reader *reader;
	struct memtraces_reader *memtraces;
	struct journal *journal;
	watch_notify *notify;
	void *context;
	sd_event_source *timer;
	enum phase phase;
	bool wanted;  /* somebody did not long ago */
	bool ready;   /* the first look is over */
	bool changed; /* since this look began */
	bool growing; /* this look is one at growth, too */
	uint64_t wanted_at, scanned_at, grown_at;
	struct reader_version version;
	struct memtraces_version profiles_version;
	int64_t cursor; /* of the phase */
	struct difference runs, captures, profiles;
	struct difference sizes; /* of profiles that are being recorded, at the last look at growth */
	struct growth growth;
	uint64_t profiles_began,
		profiles_next; /* CLOCK_MONOTONIC ns: of the last count of all profiles, and when there may be another */
	bool profiles_put_off; /* it was too early for one */
	struct change changes[WATCH_PAGE];
	size_t n_changes, n_emitted;
	uint64_t newest; /* event that was announced */
	struct log_limit limit;
};

/* ---- watch.c ---- */

/* The look is over.  GROWN: it went through the streams, too. */
void watch_scan_end(struct watch *w, bool grown);

/* ---- watch-find.c: each a step of its phase, which goes on to the next one by itself.  Return what the reader returns. ---- */

int watch_runs_step(struct watch *w);
int watch_captures_step(struct watch *w);
int watch_streams_step(struct watch *w);
/* The phase behind profiles. */
void watch_profiles_end(struct watch *w);
/* ID is NEWS, to be told by the steps after this one.  0. */
int watch_add_change(struct watch *w, int64_t id, enum change_kind kind);

/* A fingerprint of what is compared: FNV-1a, begun with FINGERPRINT_BEGIN. */
#define FINGERPRINT_BEGIN 0xcbf29ce484222325u
uint64_t fingerprint_add(uint64_t fingerprint, const void *data, size_t bytes);
uint64_t fingerprint_text(uint64_t fingerprint, const char *text);

/* ---- watch-tell.c ---- */

/* Make events of some of what was found.  What the reader returns. */
int watch_emit_step(struct watch *w);
/* STREAM (the schema) has more gaps: tell of the last one. */
int watch_emit_gap(struct watch *w, json_t *stream);
/* Put an event NAME with DATA, which is stolen, into the journal. */
void watch_append(struct watch *w, const char *name, json_t *data);

/* ---- watch-memtraces.c ---- */

int watch_profiles_step(struct watch *w);
int watch_emit_profile(struct watch *w, const struct change *change);

#endif
