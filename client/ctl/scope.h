/* Cleanup attributes of mprofctl. A variable names its release function where it is declared. */
#ifndef CTL_SCOPE_H
#define CTL_SCOPE_H

#include <stdlib.h>
#include <unistd.h>

#define SCOPED(fn) __attribute__((cleanup(fn)))

/* Define fn##p. It applies FN (T * -> T *, NULL allowed) to a variable that leaves its scope. */
#define SCOPED_DEFINE(T, fn)            \
	static inline void fn##p(T **p) \
	{                               \
		*p = fn(*p);            \
	}

static inline void freep(void *p)
{
	free(*(void **)p);
	*(void **)p = NULL;
}

static inline void closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

#endif
