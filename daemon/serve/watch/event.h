/*
 * Events: the text of a server-sent event, and which of its bytes are about which guest. A client
 * gets the bytes about the guests that it sees, or no event if there are none.
 */
#ifndef SERVE_EVENT_H
#define SERVE_EVENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest-names.h"
#include "view.h"

/* A value of JSON about GUEST. */
struct event_value {
	json_t *json;
	struct guest_name *guest;
};

/*
 * The parts of an event. Its data is the text OPEN, then the values with commas between them,
 * then the text CLOSE. An initialised struct without values is ready; event_draft_deinit() releases
 * the values and HIDDEN_AS.
 */
struct event_draft {
	const char *name;
	const char *open, *close;
	struct event_value *values;
	size_t n_values, capacity;
	/*
	 * The run whose guest the only value shows, if the guest has runs with other names; 0 = none.
	 * A client that does not see all guests needs another value, as its view shows the guest.
	 */
	int64_t run;
	/*
	 * HIDES: the row has got the name HIDDEN_AS, and the event says that it is gone. It is for
	 * clients that see the guest of the value and not HIDDEN_AS.
	 */
	bool hides;
	struct guest_name *hidden_as;
};

/* Append a value with a new reference to GUEST. Release JSON; NULL = no memory. Return 0 or -ENOMEM. */
int event_draft_add(struct event_draft *d, json_t *json, struct guest_name *guest);
void event_draft_deinit(struct event_draft *d);

/* Bytes of an event's text about one guest. */
struct event_part {
	struct guest_name *guest;
	size_t from, to;
};

struct event {
	unsigned references;
	uint64_t serial;
	int64_t run; /* as in struct event_draft */
	bool hides;
	struct guest_name *hidden_as;
	struct event_part *parts; /* a comma is between two parts */
	size_t n_parts;
	size_t bytes; /* of TEXT, without its NUL */
	size_t cost;  /* bytes of memory, at most */
	char *text;
};

/* Create the event of D with the number SERIAL and the id ID. Return NULL without memory. */
struct event *event_new(const struct event_draft *d, uint64_t serial, const char *id);
struct event *event_ref(struct event *e);
/* Drop a reference. Return NULL. E may be NULL. */
struct event *event_unref(struct event *e);
CLEANUP_DEFINE(struct event, event_unref)

/* How a client gets an event. */
enum event_form {
	EVENT_NONE,  /* not at all */
	EVENT_WHOLE, /* as it is */
	EVENT_PARTS, /* the text of event_parts() */
	EVENT_GUEST, /* the text of event_with(): the guest as the client's view shows it */
};
enum event_form event_form(const struct event *e, struct view view);
/*
 * Return the text of E with the parts that VIEW shows, or with VALUE in place of its parts. *BYTES is
 * its length. The caller frees it. NULL = no memory.
 */
char *event_parts(const struct event *e, struct view view, size_t *bytes);
char *event_with(const struct event *e, const json_t *value, size_t *bytes);

#endif
