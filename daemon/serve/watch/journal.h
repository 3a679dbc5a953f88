/*
 * The newest events, as they are sent: text of a stream of server-sent events, numbered, within a bound.
 *
 * Whoever reads is a number: what came behind it is asked for, one event at a time. An event that is held stays whole however far the journal has gone
 * on since, so a reader that is slow costs one event and no more.
 */
#ifndef SERVE_JOURNAL_H
#define SERVE_JOURNAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"

#define JOURNAL_EVENTS 4096u	  /* kept at most ... */
#define JOURNAL_BYTES  (4u << 20) /* ... and bytes of them */
#define JOURNAL_ID     40u

struct journal_event {
	unsigned references;
	uint64_t serial;
	size_t bytes;
	char text[];
};

struct journal;

/* 0 or -errno. */
int journal_new(struct journal **jp);
struct journal *journal_free(struct journal *j);
CLEANUP_DEFINE(struct journal, journal_free)

/* Forget everything; numbers that were given out before mean nothing any more. */
void journal_restart(struct journal *j);
/* Add an event NAME with DATA, which is stolen (NULL: no memory).  0 or -ENOMEM: then nothing that came before can be resumed from. */
int journal_append(struct journal *j, const char *name, json_t *data);

/* The number of the newest event, 0 where there is none yet, and its text: what a client says as Last-Event-ID. */
uint64_t journal_newest(const struct journal *j);
void journal_id(const struct journal *j, uint64_t serial, char text[JOURNAL_ID]);
/* Goes up with each restart. */
uint64_t journal_restarts(const struct journal *j);
/* The number that ID names; false where it is none of this journal's, or what came behind it is forgotten. */
bool journal_resume(const struct journal *j, const char *id, uint64_t *serial);

/*
 * The event behind number SERIAL, to be let go of with journal_release; NULL where there is none: *LOST says whether it was there and is forgotten.
 */
struct journal_event *journal_next(struct journal *j, uint64_t serial, bool *lost);
struct journal_event *journal_release(struct journal_event *event);

#endif
