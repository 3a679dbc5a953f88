/* Spans of time as text. */
#ifndef CTL_SPAN_H
#define CTL_SPAN_H

#include <stddef.h>
#include <stdint.h>

#define SPAN_TEXT_MAX 32

/* "1.234 ms": of a span of NS nanoseconds the unit that fits it, into BUF of SIZE bytes (SPAN_TEXT_MAX); returns BUF. */
const char *span_text(uint64_t ns, char *buf, size_t size);

#endif
