/*
 * The watch makes events of changes in the archives: of guests, captures, gaps, memory profiles,
 * and of growth.
 *
 * It reads the tables of the archives a page at a time, each page in a short transaction, and
 * compares them with the last scan. The notices of the collector and the sink only start scans.
 * While no client reads events, nothing is scanned.
 *
 * The watch sees all guests, and each event says which guests it is about. A row belongs to the
 * guest name that it has. If a row gets another name, clients that see only the old one get an event
 * as if the row were gone, and clients that see only the new one an event as if it had come.
 */
#ifndef SERVE_WATCH_H
#define SERVE_WATCH_H

#include <systemd/sd-event.h>

#include "cleanup.h"
#include "journal.h"
#include "memtraces-reader.h"
#include "reader.h"

struct watch;

/* Called when there are new events, or when watch_ready() has become true. */
typedef void watch_notify(void *context);

/*
 * Create a watch. EVENT, READER, MEMTRACES and CONTEXT are borrowed. Return 0, with the watch in
 * *WP, or -errno.
 */
int watch_new(struct watch **wp, sd_event *event, struct reader *reader, struct memtraces_reader *memtraces,
	      watch_notify *notify, void *context);
struct watch *watch_free(struct watch *w);
CLEANUP_DEFINE(struct watch, watch_free)

/* Adds members to JSON, a Capture of the API. Return 0 or -errno. */
typedef int watch_describe(void *context, int64_t capture, json_t *json);
/* Have DESCRIBE called for each capture that is in an event. CONTEXT is borrowed. */
void watch_describe_with(struct watch *w, watch_describe *describe, void *context);
/* CAPTURE has got other members from DESCRIBE: make an event of that. */
void watch_described(struct watch *w, int64_t capture);

/*
 * Start the watch, or keep it running: call it at least once a minute while there is a reader of
 * events. Guests and captures that exist at the start get no event.
 */
void watch_want(struct watch *w);
/* Return whether the first scan is complete: every later change gets an event in the journal. */
bool watch_ready(const struct watch *w);
/* Return the journal, borrowed until watch_free(). */
struct journal *watch_journal(struct watch *w);

/*
 * Set *GUEST to the guest of RUN, as VIEW shows it now: a Domain of the API, which the caller owns.
 * Return what the reader returns.
 */
int watch_guest(struct watch *w, int64_t run, struct view view, json_t **guest);

/* Note that an archive has a new commit. */
void watch_commit(struct watch *w);
/* Look for commits whose notice was missed. Call it about once a second. */
void watch_tick(struct watch *w);

#endif
