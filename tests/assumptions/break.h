/* A library to put in LD_PRELOAD, in which one assumption does not hold: the one that MPROF_BREAK names. */
#ifndef ASSUMPTIONS_BREAK_H
#define ASSUMPTIONS_BREAK_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Return whether the library is to break in the way HOW. */
static inline bool breaks(const char *how)
{
	const char *chosen = getenv("MPROF_BREAK");

	return chosen && strcmp(chosen, how) == 0;
}

/* Return the function NAME of the real library. */
static inline void *real(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (!found)
		abort();
	return found;
}

#endif
