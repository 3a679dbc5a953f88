/*
 * The table of a thread: a mutex or condition lies at one of PROBES places. A new one displaces one that is not held,
 * and the table remembers up to when it may have forgotten something.
 */
#include "hold.h"

#include "seccomp.h"
#include "shim.h"

#define PROBES 4u

static __thread struct holds own __attribute__((tls_model("initial-exec")));

/* Return whether a time needs no system call. In a sandbox one may; then the table knows nothing any more. */
static bool times_cost_nothing(void)
{
	if (seccomp_is_on())
		own.blind = UINT64_MAX;
	return !seccomp_is_on();
}

static uint32_t place_of(int64_t id)
{
	return (uint32_t)(((uint64_t)id * 0x9e3779b97f4a7c15u) >> 60);
}

static struct hold *find(int64_t id)
{
	uint32_t place = place_of(id);

	for (uint32_t i = 0; i < PROBES; i++)
		if (own.holds[(place + i) % HOLDS].id == id)
			return &own.holds[(place + i) % HOLDS];
	return NULL;
}

/* Return the entry of ID, made anew if there is none. Return NULL if all its places are of mutexes that are held. */
static struct hold *get(int64_t id)
{
	struct hold *found = find(id), *h;
	uint32_t place = place_of(id);

	for (uint32_t i = 0; i < PROBES && (!found || found->id != id); i++) {
		h = &own.holds[(place + i) % HOLDS];
		if (!h->depth && (!found || h->used < found->used))
			found = h;
	}
	if (!found) {
		own.blind = UINT64_MAX;
		return NULL;
	}
	if (found->id == id)
		return found;
	if (found->id && found->used > own.blind)
		own.blind = found->used;
	*found = (struct hold){.id = id};
	return found;
}

void hold_took(int64_t id)
{
	struct hold *h = times_cost_nothing() ? get(id) : NULL;

	if (!h || h->depth++)
		return;
	h->taken = now();
	own.held++;
}

void hold_releases(int64_t id)
{
	struct hold *h = times_cost_nothing() ? get(id) : NULL;

	if (!h || h->depth > 1) {
		if (h)
			h->depth--;
		return;
	}
	own.held -= h->depth;
	h->depth = 0;
	h->used = own.released = ++own.order;
}

uint64_t hold_since(int64_t id)
{
	const struct hold *h = find(id);

	return h && h->depth ? h->taken : 0;
}

bool hold_signals(int64_t condition, int64_t mutex)
{
	struct hold *signalled = get(condition);
	uint64_t before = signalled ? signalled->used : 0;
	const struct hold *h = mutex ? find(mutex) : NULL;

	if (signalled)
		signalled->used = ++own.order;
	if (own.blind > before)
		return false;
	if (mutex)
		return !h || (!h->depth && h->used <= before);
	return !own.held && own.released <= before;
}
