/*
 * The threads of the process that live.
 *
 * A thread stands in the table from its first event to its end. If the table has no room near the thread's
 * place, the thread is left out and that is remembered. Threads add and remove themselves without a lock.
 */
#include "alive.h"

#include <string.h>

#define PLACES 1024u /* a power of two */
#define PROBES 32u
#define GONE   (-1) /* a place that a thread has left: a search goes on behind it */

static int32_t places[PLACES]; /* atomic; tid, 0 = never used, or GONE */
static bool left_out;	       /* atomic; a thread found no place */

static int32_t *place_of(int tid, uint32_t i)
{
	return &places[((uint32_t)tid + i) % PLACES];
}

void alive_add(int tid)
{
	for (uint32_t i = 0; i < PROBES; i++) {
		int32_t *place = place_of(tid, i), held = __atomic_load_n(place, __ATOMIC_RELAXED);

		if (held <= 0 &&
		    __atomic_compare_exchange_n(place, &held, tid, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			return;
	}
	__atomic_store_n(&left_out, true, __ATOMIC_RELAXED);
}

void alive_remove(int tid)
{
	for (uint32_t i = 0; tid && i < PROBES; i++) {
		int32_t held = tid;

		if (__atomic_compare_exchange_n(place_of(tid, i), &held, GONE, false, __ATOMIC_RELEASE,
						__ATOMIC_RELAXED) ||
		    !held)
			return;
	}
}

bool alive_is_not(int tid)
{
	if (__atomic_load_n(&left_out, __ATOMIC_RELAXED))
		return false;
	for (uint32_t i = 0; i < PROBES; i++) {
		int32_t held = __atomic_load_n(place_of(tid, i), __ATOMIC_ACQUIRE);

		if (held == tid)
			return false;
		if (!held)
			break;
	}
	return true;
}

int alive_next(uint32_t *at)
{
	while (*at < PLACES) {
		int32_t held = __atomic_load_n(&places[(*at)++], __ATOMIC_ACQUIRE);

		if (held > 0)
			return held;
	}
	return 0;
}

void alive_forget(void)
{
	memset(places, 0, sizeof(places));
	left_out = false;
}
