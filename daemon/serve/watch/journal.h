/*
 * The journal: the newest events of the watch, numbered, as text of server-sent events. Its size is
 * limited.
 *
 * A reader has the number of its last event, and asks for the next event. An event that a reader
 * references is kept even if the journal drops it, so a slow reader costs the memory of one event.
 */
#ifndef SERVE_JOURNAL_H
#define SERVE_JOURNAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"

#define JOURNAL_EVENTS 4096u	  /* events in the journal, at most */
#define JOURNAL_BYTES  (4u << 20) /* bytes of the texts of these events, at most */
#define JOURNAL_ID     40u

struct journal_event {
	unsigned references;
	uint64_t serial;
	size_t bytes;
	char text[];
};

struct journal;

/* Create a journal. Return 0, with the journal in *JP, or -errno. */
int journal_new(struct journal **jp);
struct journal *journal_free(struct journal *j);
CLEANUP_DEFINE(struct journal, journal_free)

/* Drop all events. Their numbers become invalid. */
void journal_restart(struct journal *j);
/*
 * Append an event with NAME and DATA. Release DATA; NULL = out of memory. Return 0; or -ENOMEM, and
 * the journal was restarted.
 */
int journal_append(struct journal *j, const char *name, json_t *data);

/*
 * journal_newest() returns the number of the newest event, 0 if there is none. journal_id() writes
 * the id of event SERIAL to TEXT; clients send it back as Last-Event-ID.
 */
uint64_t journal_newest(const struct journal *j);
void journal_id(const struct journal *j, uint64_t serial, char text[JOURNAL_ID]);
/* Return how often the journal was restarted. */
uint64_t journal_restarts(const struct journal *j);
/*
 * Set *SERIAL to the number of the id ID. Return false if ID is not of this journal, or if events
 * behind it were dropped.
 */
bool journal_resume(const struct journal *j, const char *id, uint64_t *serial);

/*
 * Return the event that follows number SERIAL; the caller passes it to journal_release(). Return
 * NULL if there is none; *LOST says whether it was dropped.
 */
struct journal_event *journal_next(struct journal *j, uint64_t serial, bool *lost);
struct journal_event *journal_release(struct journal_event *event);

#endif
