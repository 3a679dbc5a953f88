/* Arrays of a fixed size. */
#ifndef TRACE_ARRAY_H
#define TRACE_ARRAY_H

/* Return the number of elements of the array A. */
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
