/*
 * Find the events that go on behind a broken one in a packet. Private to the library.
 */
#ifndef TRACE_RESUME_H
#define TRACE_RESUME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Times of the events so far, ns. Zeroes at the start of an input. */
struct resume_times {
	uint64_t before; /* of the last event of the packets before; 0 = unknown */
	uint64_t first;	 /* of the packet's first event, if ANY */
	uint64_t last;	 /* of its last event so far, if ANY */
	bool any;	 /* the packet has an event so far */
};

/* A packet begins. */
void resume_times_open(struct resume_times *t);

/* The packet has an event at TIME. Events between its first and its last one may be left out. */
static inline void resume_times_add(struct resume_times *t, uint64_t time)
{
	if (!t->any)
		t->first = time;
	t->any = true;
	t->last = time;
}

/*
 * Return the offset at which events go on in the LEN bytes at P, which begin with a broken event and end with
 * the content of its packet; LEN = nowhere. mprof_tail_resume() has the rule. Set *EVENTS to the number of
 * events from there to the end.
 */
size_t resume_find(const struct resume_times *t, const uint8_t *p, size_t len, uint64_t *events);

#endif
