#include "real.h"

#include <dlfcn.h>

static const struct {
	const char *name;
	const char *version; /* NULL = the default */
} names[REAL_COUNT] = {
#define X(name) [REAL_##name] = {#name, NULL},
	REALS(X)
#undef X
#define X(name, age, version) [REAL_##name##_##age] = {#name, version},
		REALS_VERSIONED(X)
#undef X
};

void *reals[REAL_COUNT];

void *real_find(enum real_index i)
{
	void *f =
		names[i].version ? dlvsym(RTLD_NEXT, names[i].name, names[i].version) : dlsym(RTLD_NEXT, names[i].name);

	__atomic_store_n(&reals[i], f, __ATOMIC_RELAXED);
	return f;
}

/* Priority 101: before the constructor that contacts the keeper. */
__attribute__((constructor(101))) static void find_all(void)
{
	for (enum real_index i = 0; i < REAL_COUNT; i++)
		real_find(i);
}
