/*
 * What happens in the archives, as events: guests come and go, captures, gaps, memory profiles, growth.
 *
 * The archives are the truth: their tables are read a few rows at a time, each in a short read transaction, and compared with what they said before. The
 * collector's and the sink's notices only say when to scan. Nothing is read while nobody wants to know.
 */
#ifndef SERVE_WATCH_H
#define SERVE_WATCH_H

#include <systemd/sd-event.h>

#include "cleanup.h"
#include "journal.h"
#include "memtraces-reader.h"
#include "reader.h"

struct watch;

/* News are there, or watch_ready has become true. */
typedef void watch_notify(void *context);

/* EVENT, READER, MEMTRACES and CONTEXT are borrowed.  0 or -errno. */
int watch_new(struct watch **wp, sd_event *event, struct reader *reader, struct memtraces_reader *memtraces,
	      watch_notify *notify, void *context);
struct watch *watch_free(struct watch *w);
CLEANUP_DEFINE(struct watch, watch_free)

/* Somebody wants to know; to be said again at least once a minute.  Where nobody did, this begins it, without an event for what is there already. */
void watch_want(struct watch *w);
/* Is it known what was there, so that every later change is in the journal? */
bool watch_ready(const struct watch *w);
/* Borrowed for the watch's life. */
struct journal *watch_journal(struct watch *w);

/* Something was committed. */
void watch_commit(struct watch *w);
/* To be called about once a second: notices are only hints. */
void watch_tick(struct watch *w);

#endif
