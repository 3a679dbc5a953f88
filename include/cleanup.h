/*
 * Cleanup attributes: a variable's declaration names the function that releases it, and every way
 * out of the scope calls that function.
 */
#ifndef INCLUDE_CLEANUP_H
#define INCLUDE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(fn) __attribute__((cleanup(fn)))

/* Define fn##p, which applies FN (T * -> T *, NULL allowed) to a variable that leaves its scope. */
#define CLEANUP_DEFINE(T, fn)           \
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

static inline void fclosep(FILE **f)
{
	if (*f)
		fclose(*f);
	*f = NULL;
}

/* Return the pointer and set the variable to NULL: its cleanup then does nothing. */
#define TAKE_PTR(p)                         \
	__extension__({                     \
		__typeof__(p) taken_ = (p); \
		(p) = NULL;                 \
		taken_;                     \
	})
#define TAKE_FD(fd)                \
	__extension__({            \
		int taken_ = (fd); \
		(fd) = -1;         \
		taken_;            \
	})

#endif
