/* Select events by the options --event, --thread and --label of a command line. */
#ifndef CTL_FILTER_H
#define CTL_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/event.h>

#include "time-filter.h"

/*
 * Return true if PATTERN matches all LEN bytes of TEXT. `*` matches any bytes and `?` one byte. A
 * backslash makes the next byte of PATTERN literal. The cost is at most strlen(PATTERN) * LEN
 * steps.
 */
bool glob_match(const char *pattern, const char *text, size_t len);

#define FILTER_THREADS_MAX 64

/* A thread that has a label which matches LABEL of struct filter. */
struct labelled {
	int64_t id;
	unsigned int stream;
	bool used;
};

struct filter {
	struct period *period; /* borrowed */
	bool by_event, by_thread;
	bool recorders; /* take the declarations of recorders, which name no thread */
	bool states;	/* take the states of threads */
	bool events[MPROF_EVENT_IDS];
	int64_t threads[FILTER_THREADS_MAX];
	size_t thread_count;
	const char *label; /* a glob pattern, or NULL; borrowed */
	/*
	 * The threads that have a label which matches, in a hash table with open addressing; owned.
	 */
	struct labelled *found;
	size_t found_count, found_room; /* number of used entries, and of all entries (a power of two) */
	uint64_t factor; /* factor of the hash; odd, random, so that no trace can be written to collide */
	bool failed;	 /* out of memory */
};

/*
 * Parse the values of the options. EVENTS is a list of event names, THREADS a list of ids, both
 * separated by commas. A value is NULL if its option was not given. VERB is for messages. Return an
 * exit code.
 */
int filter_parse(struct filter *f, const char *events, const char *threads, const char *label, const char *verb);
void filter_deinit(struct filter *f);

/*
 * Return true if event E of STREAM is selected. Call this function for all events in order, because
 * a thread has its label only after its label event. An event belongs to each thread that is named
 * in one of its fields.
 */
bool filter_takes(struct filter *f, unsigned int stream, const struct mprof_raw_event *e);

#endif
