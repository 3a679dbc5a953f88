/*
 * The watch: changes of the archives as events of guests, captures, gaps, memory profiles and
 * growth.
 *
 * The watch reads the tables of the archives a few rows at a time, each page in a short
 * transaction, and compares them with the last scan. Notices of the collector and the sink only
 * trigger scans. Without readers of events nothing is read.
 */
#ifndef SERVE_WATCH_H
#define SERVE_WATCH_H

#include <systemd/sd-event.h>

#include "cleanup.h"
#include "journal.h"
#include "memtraces-reader.h"
#include "reader.h"

struct watch;

/* Called when there are events, or when watch_ready has become true. */
typedef void watch_notify(void *context);

/* Borrow EVENT, READER, MEMTRACES and CONTEXT. Return 0 or -errno. */
int watch_new(struct watch **wp, sd_event *event, struct reader *reader, struct memtraces_reader *memtraces,
	      watch_notify *notify, void *context);
struct watch *watch_free(struct watch *w);
CLEANUP_DEFINE(struct watch, watch_free)

/*
 * Keep the watch running; call it at least once a minute for each reader of events. The first call
 * starts the watch; what exists then gets no event.
 */
void watch_want(struct watch *w);
/* Return whether the first scan is over, so that every later change is in the journal. */
bool watch_ready(const struct watch *w);
/* Return the journal, borrowed for the life of W. */
struct journal *watch_journal(struct watch *w);

/* Note a commit. */
void watch_commit(struct watch *w);
/* Call it about once a second: a notice may be missed. */
void watch_tick(struct watch *w);

#endif
