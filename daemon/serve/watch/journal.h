/*
 * The journal: the newest events of the watch, numbered. Its size is limited.
 *
 * A reader has the number of its last event, and asks for the next event. An event that a reader
 * references is kept even if the journal drops it, so a slow reader costs the memory of one event.
 * A reader loses only dropped events about guests that its view shows: the journal notes for each
 * guest which event it dropped last. So the events of other guests cannot make a reader start again.
 */
#ifndef SERVE_JOURNAL_H
#define SERVE_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"

#define JOURNAL_EVENTS 4096u	  /* events in the journal, at most */
#define JOURNAL_BYTES  (4u << 20) /* bytes of these events with their texts and parts, at most */
#define JOURNAL_GUESTS 4096u	  /* guests of dropped events, at most; every view loses the events of more guests */
#define JOURNAL_ID     40u

struct journal;

/* Create a journal. Return 0, with the journal in *JP, or -errno. */
int journal_new(struct journal **jp);
struct journal *journal_free(struct journal *j);
CLEANUP_DEFINE(struct journal, journal_free)

/* Drop all events. Their numbers become invalid. */
void journal_restart(struct journal *j);
/*
 * Append the event of D, which has at least one value, and deinit D. Return 0; or -ENOMEM (also if D
 * has no value), and the journal was restarted.
 */
int journal_append(struct journal *j, struct event_draft *d);

/*
 * journal_newest() returns the number of the newest event, 0 if there is none. journal_id() writes
 * the id of event SERIAL to TEXT; clients send it back as Last-Event-ID.
 */
uint64_t journal_newest(const struct journal *j);
void journal_id(const struct journal *j, uint64_t serial, char text[JOURNAL_ID]);
/* Return how often the journal was restarted. */
uint64_t journal_restarts(const struct journal *j);
/*
 * Set *SERIAL to the number of the id ID. Return false if ID is not of this journal, or if an event
 * behind it was dropped that VIEW may show.
 */
bool journal_resume(const struct journal *j, const char *id, struct view view, uint64_t *serial);

/*
 * Return the first event of the journal behind number SERIAL; the caller passes it to event_unref(),
 * and event_form() says whether VIEW shows it. Return NULL if there is none, or if an event behind
 * SERIAL was dropped that VIEW may show; *LOST says which.
 */
struct event *journal_next(struct journal *j, uint64_t serial, struct view view, bool *lost);

#endif
