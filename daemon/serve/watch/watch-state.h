/*
 * The state of the watch, shared by watch.c (the scans), watch-scan.c (changes of traces),
 * watch-emit.c (their events) and watch-memtraces.c (both for memory profiles).
 */
#ifndef SERVE_WATCH_STATE_H
#define SERVE_WATCH_STATE_H

#include "clock.h"
#include "growth.h"
#include "log.h"
#include "sorted-difference.h"
#include "watch.h"

#define WATCH_PAGE 256u		   /* rows of a step */
#define STEP_NS	   (5 * NS_PER_MS) /* a step that makes events, or scans streams */
#define GROWTH_NS  (2 * NS_PER_S)  /* at least, between two scans of streams */

enum phase { PHASE_IDLE, PHASE_RUNS, PHASE_CAPTURES, PHASE_MEMTRACES, PHASE_STREAMS, PHASE_END };

/* A run, a capture or a memory profile that has changed. */
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
	bool wanted;  /* somebody reads events, or did not long ago */
	bool ready;   /* the first scan is over */
	bool changed; /* a commit came since this scan began */
	bool growing; /* this scan includes streams and sizes */
	uint64_t wanted_at, scanned_at, grown_at;
	struct reader_version version;
	struct memtraces_version profiles_version;
	int64_t cursor; /* within the phase */
	struct difference runs, captures, profiles;
	struct difference sizes; /* bytes of profiles that are being recorded */
	struct growth growth;
	uint64_t profiles_began; /* last scan of profiles, CLOCK_MONOTONIC ns */
	uint64_t profiles_next;	 /* earliest next scan of profiles, CLOCK_MONOTONIC ns */
	bool profiles_put_off;	 /* a scan of profiles was too early */
	struct change changes[WATCH_PAGE];
	size_t n_changes, n_emitted;
	uint64_t newest; /* newest event that was notified */
	struct log_limit limit;
};

/* ---- watch.c ---- */

/* End the scan. GROWN: it included the streams. */
void watch_scan_end(struct watch *w, bool grown);

/* ---- watch-scan.c: steps of the phases; the last step of a phase begins the next. ---- */

/* Return what the reader returns. */
int watch_runs_step(struct watch *w);
int watch_captures_step(struct watch *w);
int watch_streams_step(struct watch *w);
/* Begin the phase behind the profiles. */
void watch_profiles_end(struct watch *w);
/* Queue the change of ID for watch_emit_step. Return 0. */
int watch_add_change(struct watch *w, int64_t id, enum change_kind kind);

/* Fingerprints of the content that is compared: FNV-1a, from FINGERPRINT_BEGIN on. */
#define FINGERPRINT_BEGIN 0xcbf29ce484222325u
uint64_t fingerprint_add(uint64_t fingerprint, const void *data, size_t bytes);
uint64_t fingerprint_text(uint64_t fingerprint, const char *text);

/* ---- watch-emit.c ---- */

/* Make events of some of the changes. Return what the reader returns. */
int watch_emit_step(struct watch *w);
/* Make an event of the last gap of STREAM (the schema Stream). Return what the reader returns. */
int watch_emit_gap(struct watch *w, json_t *stream);
/* Append an event NAME with DATA (stolen) to the journal. */
void watch_append(struct watch *w, const char *name, json_t *data);

/* ---- watch-memtraces.c ---- */

int watch_profiles_step(struct watch *w);
int watch_emit_profile(struct watch *w, const struct change *change);

#endif
