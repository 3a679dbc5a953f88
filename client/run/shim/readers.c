/*
 * A table of locks, which threads change without waiting: an entry is taken once for a lock, and never given to another one, so that a
 * thread which has found the entry stores its number under the right lock. A reader has one place for each time that it
 * has taken the lock.
 */
#include "readers.h"

#include <stddef.h>
#include <string.h>

#include "shim.h"

#define LOCKS	1024u /* a power of two */
#define PROBES	4u
#define READERS 6u

struct readers {
	int64_t id;	       /* atomic; of the lock; 0 = free */
	int32_t tids[READERS]; /* atomic; 0 = free */
} __attribute__((aligned(32)));

static struct readers locks[LOCKS];

static struct readers *entry_of(int64_t id, bool make)
{
	uint32_t place = (uint32_t)(((uint64_t)id * 0x9e3779b97f4a7c15u) >> 48);

	for (uint32_t i = 0; i < PROBES; i++) {
		struct readers *r = &locks[(place + i) % LOCKS];
		int64_t held = __atomic_load_n(&r->id, __ATOMIC_RELAXED);

		if (held == id)
			return r;
		if (held)
			continue;
		if (!make)
			return NULL;
		if (__atomic_compare_exchange_n(&r->id, &held, id, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
		    held == id)
			return r;
	}
	return NULL;
}

void readers_took(int64_t id)
{
	int32_t tid = thread_tid_kept();
	struct readers *r = tid ? entry_of(id, true) : NULL;

	for (uint32_t i = 0; r && i < READERS; i++) {
		int32_t nobody = 0;

		if (!__atomic_load_n(&r->tids[i], __ATOMIC_RELAXED) &&
		    __atomic_compare_exchange_n(&r->tids[i], &nobody, tid, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return;
	}
}

void readers_releases(int64_t id)
{
	struct readers *r = entry_of(id, false);
	int32_t tid = thread_tid_kept();

	for (uint32_t i = 0; r && i < READERS; i++)
		if (__atomic_load_n(&r->tids[i], __ATOMIC_RELAXED) == tid) {
			__atomic_store_n(&r->tids[i], 0, __ATOMIC_RELAXED);
			return;
		}
}

void readers_clear(int64_t id)
{
	struct readers *r = entry_of(id, false);

	for (uint32_t i = 0; r && i < READERS; i++)
		__atomic_store_n(&r->tids[i], 0, __ATOMIC_RELAXED);
}

int readers_one(int64_t id, uint32_t actual)
{
	struct readers *r = entry_of(id, false);
	int32_t tid = thread_tid_kept(), one = 0;
	uint32_t known = 0;

	for (uint32_t i = 0; r && i < READERS; i++) {
		int32_t reader = __atomic_load_n(&r->tids[i], __ATOMIC_RELAXED);

		known += reader != 0;
		if (reader && (!one || one != tid))
			one = reader;
	}
	return known <= actual ? one : 0;
}

void readers_forget(void)
{
	memset(locks, 0, sizeof(locks));
}
