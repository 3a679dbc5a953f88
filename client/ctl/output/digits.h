/* Convert numbers to text faster than printf, because an export writes several for each event. */
#ifndef CTL_DIGITS_H
#define CTL_DIGITS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DIGITS_MAX 21u /* most bytes of a 64-bit number with its sign */

/* Write N in decimal to OUT, without a NUL. Return the length. */
static inline size_t digits_put(char *out, uint64_t n)
{
	static const char pairs[] =
		"0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
		"5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";
	char text[DIGITS_MAX];
	size_t at = sizeof(text);

	for (; n >= 100; n /= 100)
		memcpy(text + (at -= 2), pairs + n % 100 * 2, 2);
	if (n >= 10)
		memcpy(text + (at -= 2), pairs + n * 2, 2);
	else
		text[--at] = (char)('0' + n);
	memcpy(out, text + at, sizeof(text) - at);
	return sizeof(text) - at;
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
