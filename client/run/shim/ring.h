/*
 * Events of a group, with the thread that they are about. The recorder names the running thread in some events;
 * the functions here set it for one event.
 */
#ifndef SHIM_RING_H
#define SHIM_RING_H

#include <string.h>

#include "shim.h"

/* Take the shared ring R for a group of events. Return false if another thread has it for too long; that is counted. */
bool ring_turn(struct slot *r);

/* Set the time of the next events of R. Return false if another thread records into it. */
static inline bool ring_begin(struct slot *r, uint64_t ns)
{
	if (r->shared && !ring_turn(r))
		return false;
	mprof_recorder_at(&r->recorder, ns);
	return true;
}

static inline void ring_end(struct slot *r)
{
	if (r->shared)
		recorder_slot_free(r);
}

/* Record one event, between ring_begin() and ring_end(). */
static inline void ring_creates(struct slot *r, int64_t parent, int64_t child, enum mprof_thread_type type)
{
	int64_t current = r->recorder.current;

	r->recorder.current = parent;
	mprof_recorder_creates(&r->recorder, child, type);
	r->recorder.current = current;
}

static inline void ring_resolves(struct slot *r, int64_t resolver, int64_t thread, const char *failure)
{
	int64_t current = r->recorder.current;

	r->recorder.current = resolver;
	if (failure)
		mprof_recorder_fails(&r->recorder, thread, failure, strlen(failure));
	else
		mprof_recorder_fulfills(&r->recorder, thread);
	r->recorder.current = current;
}

#endif
