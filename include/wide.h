/* Products of more than 64 bits, for machines with and without integers of 128 bits. */
#ifndef INCLUDE_WIDE_H
#define INCLUDE_WIDE_H

#include <stdbool.h>
#include <stdint.h>

/* The product of a number of 64 bits and one of 32: HIGH * 2^32 + LOW. */
struct wide {
	uint64_t high;
	uint32_t low;
};

static inline struct wide wide_product(uint64_t a, uint32_t b)
{
	uint64_t low = (a & UINT32_MAX) * b;

	return (struct wide){(a >> 32) * b + (low >> 32), (uint32_t)low};
}

/* Return whether A * B < C * D. */
static inline bool wide_less(uint64_t a, uint32_t b, uint64_t c, uint32_t d)
{
	struct wide x = wide_product(a, b), y = wide_product(c, d);

	return x.high != y.high ? x.high < y.high : x.low < y.low;
}

/* Return the part, of PARTS equal parts of LENGTH, that has OFFSET; PARTS - 1 if OFFSET is behind the end. */
static inline uint32_t wide_part(uint64_t offset, uint64_t length, uint32_t parts)
{
	uint32_t part = 0;

	while (part + 1 < parts && !wide_less(offset, parts, length, part + 1))
		part++;
	return part;
}

#endif
