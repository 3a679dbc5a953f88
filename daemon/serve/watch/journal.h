/*
 * The journal: the newest events, numbered, as text of server-sent events, within a limit.
 *
 * A reader is a number: it asks for the event behind that number, one at a time. An event that is
 * referenced stays whole however far the journal goes on, so a slow reader costs one event.
 */
#ifndef SERVE_JOURNAL_H
#define SERVE_JOURNAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"

#define JOURNAL_EVENTS 4096u	  /* at most */
#define JOURNAL_BYTES  (4u << 20) /* of the texts of the events, at most */
#define JOURNAL_ID     40u

struct journal_event {
	unsigned references;
	uint64_t serial;
	size_t bytes;
	char text[];
};

struct journal;

/* Return 0 or -errno. */
int journal_new(struct journal **jp);
struct journal *journal_free(struct journal *j);
CLEANUP_DEFINE(struct journal, journal_free)

/* Forget all events; their numbers mean nothing any more. */
void journal_restart(struct journal *j);
/*
 * Append an event NAME with DATA (stolen; NULL = no memory). Return 0, or -ENOMEM: then the journal
 * was restarted.
 */
int journal_append(struct journal *j, const char *name, json_t *data);

/*
 * Return the number of the newest event, 0 if there is none, and its text, which clients send as
 * Last-Event-ID.
 */
uint64_t journal_newest(const struct journal *j);
void journal_id(const struct journal *j, uint64_t serial, char text[JOURNAL_ID]);
/* Return the number of restarts. */
uint64_t journal_restarts(const struct journal *j);
/*
 * Find the number that ID names. False: ID is not of this journal, or events behind it are
 * forgotten.
 */
bool journal_resume(const struct journal *j, const char *id, uint64_t *serial);

/*
 * Return the event behind number SERIAL, to be released with journal_release. NULL: there is none;
 * *LOST says whether it is forgotten.
 */
struct journal_event *journal_next(struct journal *j, uint64_t serial, bool *lost);
struct journal_event *journal_release(struct journal_event *event);

#endif
