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

/*
 * Define the cleanup function fn##p, for variables of type T *: it calls FN and stores the result
 * in the variable. FN has the type T *(T *) and accepts NULL.
 */
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

/*
 * Return the variable's pointer and set the variable to NULL, so its cleanup does nothing: the
 * caller now owns the pointer. TAKE_FD does the same for a file descriptor, which it sets to -1.
 */
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
