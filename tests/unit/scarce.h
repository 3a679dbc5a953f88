/*
 * Allocations that fail on purpose, for tests that are linked with --wrap of malloc, calloc and
 * realloc. Each test program includes this header in exactly one file.
 */
#ifndef SCARCE_H
#define SCARCE_H

#include <stdbool.h>
#include <stddef.h>

/* Number of allocations that succeed before one fails. Below 0 none fails. */
static long fail_in = -1;

static bool fails(void)
{
	return fail_in >= 0 && fail_in-- == 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return fails() ? NULL : __real_realloc(p, size);
}

#endif
