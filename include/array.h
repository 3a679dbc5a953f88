/* Arrays. */
#ifndef INCLUDE_ARRAY_H
#define INCLUDE_ARRAY_H

/* Return the number of elements of the array A. A must not be a pointer. */
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
