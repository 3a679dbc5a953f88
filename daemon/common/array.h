/* Arrays. */
#ifndef COMMON_ARRAY_H
#define COMMON_ARRAY_H

/* Return the number of elements of A, which is an array and not a pointer. */
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
