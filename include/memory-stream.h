/* Streams of open_memstream(). */
#ifndef INCLUDE_MEMORY_STREAM_H
#define INCLUDE_MEMORY_STREAM_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Close STREAM, which open_memstream() made for *TEXT. Return false without memory: then *TEXT is NULL, or a part of the text. The caller
 * frees *TEXT in both cases. glibc's fclose() returns 0 also where it had no memory for the text; then only *TEXT tells.
 */
static inline bool memory_stream_close(FILE *stream, char *const *text)
{
	return fclose(stream) == 0 && *text;
}

#endif
