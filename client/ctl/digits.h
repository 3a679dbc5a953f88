/* Numbers as text, quicker than printf: an export writes several for each event. */
#ifndef CTL_DIGITS_H
#define CTL_DIGITS_H

#include <stddef.h>
#include <stdint.h>

#define DIGITS_MAX 21u /* of a 64-bit number, with its sign */

/* N in decimal at OUT, not terminated; returns the length. */
static inline size_t digits_put(char *out, uint64_t n)
{
	char text[DIGITS_MAX];
	size_t at = sizeof(text), len, i;

	do
		text[--at] = (char)('0' + n % 10);
	while (n /= 10);
	len = sizeof(text) - at;
	for (i = 0; i < len; i++)
		out[i] = text[at + i];
	return len;
}

/* The same with a sign where it is negative. */
static inline size_t digits_put_signed(char *out, int64_t n)
{
	if (n >= 0)
		return digits_put(out, (uint64_t)n);
	*out = '-';
	return 1 + digits_put(out + 1, 0 - (uint64_t)n);
}

#endif
