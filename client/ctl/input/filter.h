/* The events that the options of a command line select. */
#ifndef CTL_FILTER_H
#define CTL_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/event.h>

#include "time-filter.h"

/*
 * Return true if the whole TEXT matches PATTERN: `*` matches any bytes, `?` one byte, and a
 * backslash makes the next byte literal. Takes at most strlen(PATTERN) * LEN steps.
 */
bool glob_match(const char *pattern, const char *text, size_t len);

#define FILTER_THREADS_MAX 64

/* A thread with a label that matches. */
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
	const char *label; /* a glob pattern, or NULL; borrowed */
	/* The threads with such a label, in an open hash table. */
	struct labelled *found;
	size_t found_count, found_room; /* a power of two */
	uint64_t factor;		/* odd, and unknown to the writer of the trace */
	bool failed;			/* out of memory */
};

/*
 * Parse the options: lists of names and ids separated by commas, NULL if not given. Return an exit
 * code.
 */
int filter_parse(struct filter *f, const char *events, const char *threads, const char *label, const char *verb);
void filter_deinit(struct filter *f);

/*
 * Return true if the event is selected. Call it for all events in order, because a thread has its
 * label only from its label event on. An event belongs to each thread that one of its fields names.
 */
bool filter_takes(struct filter *f, unsigned int stream, const struct mprof_raw_event *e);

#endif
