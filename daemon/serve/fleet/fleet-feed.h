/*
 * The feed: changes of the fleet's captures, as events for the clients of /v1/events.
 *
 * A thread with a connection of its own waits for notices of the database, which are hints, asks what is new since
 * the state that it knows, and hands it to the loop's thread. Each state of the database has a text, which is the id
 * of events: any server of the hub can continue from it.
 */
#ifndef SERVE_FEED_H
#define SERVE_FEED_H

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "cleanup.h"
#include "fleet-names.h"
#include "postgres.h"

#define FEED_ID	  4096u /* bytes of the text of a state, with NUL */
#define FEED_MOST 1000u /* changes since a state that can be told; after more of them a client reads everything again */

struct feed_event {
	struct feed_event *next;
	uint64_t serial;
	char host[FLEET_HOST], guest[FLEET_GUEST];
	char *data; /* one line of JSON; NULL: something that no event tells has changed: read everything again */
	size_t bytes;
	char *id; /* of the state behind it, if it is the last of its state; else of the state before */
};

/* Changes since a state, in their order. */
struct feed_batch {
	bool reset;  /* the state is not known, or too much has changed since it */
	char *state; /* the newest state */
	struct feed_event *oldest, **end;
};

void feed_batch_init(struct feed_batch *b);
void feed_batch_deinit(struct feed_batch *b);
/*
 * Ask P for the changes since STATE, and put them into B, which was initialised; STATE NULL: only ask for the newest
 * state. It may be called in any thread. Return 0, a postgres_condition or -ENOMEM.
 */
int feed_ask(struct postgres *p, const char *state, struct feed_batch *b);
/* Return whether TEXT, which a client sent, has the form of a state. */
bool feed_is_state(const char *text);

struct feed;

/* Start the feed on CONNECTION. ON_NEWS is called in the loop's thread. Return 0, with the feed in *FP, or -errno. */
int feed_new(struct feed **fp, sd_event *event, const char *connection, void (*on_news)(void *context), void *context);
struct feed *feed_free(struct feed *f);
CLEANUP_DEFINE(struct feed, feed_free)

/* Return whether the feed has a state, and the database answered when it was asked last. */
bool feed_ready(const struct feed *f);
/* Return the newest state; "" before the first. */
const char *feed_state(const struct feed *f);
/* Return the number of the newest event; 0: there was none. */
uint64_t feed_newest(const struct feed *f);
/* Return the first event behind SERIAL, or NULL if there is none. *LOST: events behind SERIAL are no longer there. */
const struct feed_event *feed_next(const struct feed *f, uint64_t serial, bool *lost);

#endif
