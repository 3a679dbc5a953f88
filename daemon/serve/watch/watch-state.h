/*
 * What the files of the watch share with each other: watch.c (its turns), watch-find.c (what is not as it was), watch-tell.c (events of that), and
 * watch-memtraces.c (both, of memory profiles).
 */
#ifndef SERVE_WATCH_STATE_H
#define SERVE_WATCH_STATE_H

#include "census.h"
#include "clock.h"
#include "growth.h"
#include "log.h"
#include "watch.h"

#define WATCH_PAGE 256u		   /* rows of a step */
#define STEP_NS	   (5 * NS_PER_MS) /* a step that makes events, or reads streams */
#define GROWTH_NS  (2 * NS_PER_S)  /* between two looks at how what grows has grown, at least */

enum phase { PHASE_REST, PHASE_RUNS, PHASE_CAPTURES, PHASE_MEMTRACES, PHASE_STREAMS, PHASE_OVER };

/* A run, a capture or a memory profile that is not what it was. */
enum news { NEWS_BEGAN, NEWS_ENDED, NEWS_CHANGED, NEWS_MADE };

struct found {
	int64_t id;
	enum news news;
};

struct watch {
	struct reader *reader;
	struct memtraces_reader *memtraces;
	struct journal *journal;
	watch_news *news;
	void *context;
	sd_event_source *timer;
	enum phase phase;
	bool wanted;  /* somebody did not long ago */
	bool ready;   /* the first look is over */
	bool changed; /* since this look began */
	bool growing; /* this look is one at growth, too */
	uint64_t wanted_at, looked_at, grown_at;
	struct reader_version version;
	struct memtraces_version profiles_version;
	int64_t cursor; /* of the phase */
	struct census runs, captures, profiles;
	struct census sizes; /* of profiles that are being recorded, at the last look at growth */
	struct growth growth;
	uint64_t profiles_began,
		profiles_next; /* CLOCK_MONOTONIC ns: of the last count of all profiles, and when there may be another */
	bool profiles_put_off; /* it was too early for one */
	struct found found[WATCH_PAGE];
	size_t n_found, told;
	uint64_t newest; /* event that was announced */
	struct log_limit limit;
};

/* ---- watch.c ---- */

/* The look is over.  GROWN: it went through the streams, too. */
void watch_look_end(struct watch *w, bool grown);

/* ---- watch-find.c: each a step of its phase, which goes on to the next one by itself.  Return what the reader returns. ---- */

int watch_runs_step(struct watch *w);
int watch_captures_step(struct watch *w);
int watch_streams_step(struct watch *w);
/* The phase behind profiles. */
void watch_profiles_over(struct watch *w);
/* ID is NEWS, to be told by the steps after this one.  0. */
int watch_find(struct watch *w, int64_t id, enum news news);

/* A print of what is compared: FNV-1a, begun with PRINT_BEGIN. */
#define PRINT_BEGIN 0xcbf29ce484222325u
uint64_t print_add(uint64_t print, const void *data, size_t bytes);
uint64_t print_text(uint64_t print, const char *text);

/* ---- watch-tell.c ---- */

/* Make events of some of what was found.  What the reader returns. */
int watch_tell_step(struct watch *w);
/* STREAM (the schema) has more gaps: tell of the last one. */
int watch_tell_gap(struct watch *w, json_t *stream);
/* Put an event NAME with DATA, which is stolen, into the journal. */
void watch_put(struct watch *w, const char *name, json_t *data);

/* ---- watch-memtraces.c ---- */

int watch_profiles_step(struct watch *w);
int watch_tell_profile(struct watch *w, const struct found *found);

#endif
