/*
 * Events of a group, with the thread that they are about. The recorder names the running thread in some events;
 * the functions here set it for one event.
 */
#ifndef SHIM_RING_H
#define SHIM_RING_H

#include <string.h>

#include "shim.h"

/* Take the shared ring S for a group of events. Return false if another thread has it for too long; that is counted. */
bool ring_turn(struct slot *s);

/* Set the time of the next events of S. Return false if another thread records into it. */
static inline bool ring_begin(struct slot *s, uint64_t ns)
{
	if (s->shared && !ring_turn(s))
		return false;
	mprof_recorder_at(&s->recorder, ns);
	return true;
}

static inline void ring_end(struct slot *s)
{
	if (s->shared)
		recorder_slot_free(s);
}

/* Record one event, between ring_begin() and ring_end(). */
static inline void ring_creates(struct slot *s, int64_t parent, int64_t child, enum mprof_thread_type type)
{
	int64_t current = s->recorder.current;

	s->recorder.current = parent;
	mprof_recorder_creates(&s->recorder, child, type);
	s->recorder.current = current;
}

static inline void ring_resolves(struct slot *s, int64_t resolver, int64_t thread, const char *failure)
{
	int64_t current = s->recorder.current;

	s->recorder.current = resolver;
	if (failure)
		mprof_recorder_fails(&s->recorder, thread, failure, strlen(failure));
	else
		mprof_recorder_fulfills(&s->recorder, thread);
	s->recorder.current = current;
}

#endif
