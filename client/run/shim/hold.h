/*
 * A thread's own small table of the mutexes that it locks and of the conditions that it signals. The table costs no
 * event. A wait for a condition asks it whether the thread can have missed the last signal.
 */
#ifndef SHIM_HOLD_H
#define SHIM_HOLD_H

#include <stdbool.h>
#include <stdint.h>

#define HOLDS 16u

/*
 * A mutex that the thread locks, or a condition that it signals. Releases and signals of the thread have numbers, in
 * their order, so a release needs no clock.
 */
struct hold {
	int64_t id;	/* 0 = free */
	uint64_t taken; /* of a mutex: when the thread took it last, ns */
	uint64_t used;	/* number of its last release or signal; 0 = none */
	uint32_t depth; /* of a mutex: how often the thread has locked it */
};

struct holds {
	struct hold holds[HOLDS];
	uint64_t order;	   /* number of the last release or signal */
	uint64_t released; /* number of the last release; 0 = none */
	uint64_t blind;	   /* the last number that may have been forgotten; 0 = none was */
	uint32_t held;	   /* mutexes that the thread has */
};

/* The calling thread has locked the mutex ID, or is about to release it. */
void hold_took(int64_t id);
void hold_releases(int64_t id);
/* Return when the calling thread took the mutex ID, ns; 0 if it does not have it, or if that is unknown. */
uint64_t hold_since(int64_t id);
/*
 * The calling thread signals CONDITION, whose mutex is MUTEX (0 = unknown: any). Return whether the thread
 * surely has not held the mutex since it signalled CONDITION before.
 */
bool hold_signals(int64_t condition, int64_t mutex);

#endif
