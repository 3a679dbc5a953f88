/* Convert numbers to text faster than printf, because a dump and an export write several for each event. */
#ifndef INCLUDE_DIGITS_H
#define INCLUDE_DIGITS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DIGITS_MAX 21u /* most bytes of a 64-bit number with its sign */

/* Return the number of decimal digits of N. */
static inline size_t digits_count(uint64_t n)
{
	static const uint64_t powers[] = {0,
					  10,
					  100,
					  1000,
					  10000,
					  100000,
					  1000000,
					  10000000,
					  100000000,
					  1000000000,
					  10000000000,
					  100000000000,
					  1000000000000,
					  10000000000000,
					  100000000000000,
					  1000000000000000,
					  10000000000000000,
					  100000000000000000,
					  1000000000000000000,
					  10000000000000000000u};
	/* 1233 / 4096 is log10(2), precise enough for 64 bits; the power decides between two counts. */
	size_t most = (size_t)(64 - __builtin_clzll(n | 1)) * 1233 / 4096;

	return most + (n >= powers[most]);
}

/* Write N, at most 99, to OUT as two digits, without a NUL. */
static inline void digits_put_pair(char *out, uint64_t n)
{
	static const char pairs[] =
		"0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
		"5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

	memcpy(out, pairs + n * 2, 2);
}

/* Write N in decimal to OUT, without a NUL. Return the length. */
static inline size_t digits_put(char *out, uint64_t n)
{
	size_t bytes = digits_count(n), at = bytes;

	for (; n >= 100; n /= 100)
		digits_put_pair(out + (at -= 2), n % 100);
	if (n >= 10)
		digits_put_pair(out, n);
	else
		*out = (char)('0' + n);
	return bytes;
}

/*
 * Write N in decimal to OUT, with a minus sign if N is negative, without a NUL. Return the length.
 */
static inline size_t digits_put_signed(char *out, int64_t n)
{
	if (n >= 0)
		return digits_put(out, (uint64_t)n);
	*out = '-';
	return 1 + digits_put(out + 1, 0 - (uint64_t)n);
}

#endif
