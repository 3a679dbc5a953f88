/* Patterns for labels. */
#ifndef CTL_FILTER_H
#define CTL_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/event.h>

#include "time-filter.h"

/* Does all of TEXT match PATTERN: * is any bytes, ? one byte, a backslash takes the next one as it is?  At most their lengths' product of
 * steps, whatever a guest and a person write. */
bool glob_match(const char *pattern, const char *text, size_t len);

/* Which events a person asked for. */

#define FILTER_THREADS_MAX 64

/* A thread that bears the label asked for. */
struct labelled {
	int64_t id;
	unsigned int stream;
	bool used;
};

struct filter {
	struct period period;
	bool by_event, by_thread;
	bool events[MPROF_EVENT_IDS];
	int64_t threads[FILTER_THREADS_MAX];
	size_t thread_count;
	const char *label; /* a glob, or NULL; borrowed */
	/* An open hash table of the threads that bear it. */
	struct labelled *found;
	size_t found_count, found_room; /* a power of two */
	uint64_t factor;		/* odd, and not known to the writer of a trace */
	bool failed;			/* no memory */
};

/* What the options say, NULL where they are not given: names and ids separated by commas.  Returns an exit code, having said why. */
int filter_parse(struct filter *f, const char *events, const char *threads, const char *label, const char *verb);
void filter_deinit(struct filter *f);

/*
 * Is the event one of those?  To be asked of all events in their order, because a thread's label is known from the event on
 * that says it.  An event is a thread's that names it in any of its fields.
 */
bool filter_takes(struct filter *f, unsigned int stream, const struct mprof_raw_event *e);

#endif
