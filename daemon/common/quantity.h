/*
 * Amounts as people write them: whole or decimal numbers with a unit, rounded down. Each function
 * returns false if TEXT is anything else, or if the amount does not fit in 64 bits; the output is
 * then undefined.
 */
#ifndef COMMON_QUANTITY_H
#define COMMON_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

#define KIB (1ull << 10)
#define MIB (1ull << 20)
#define GIB (1ull << 30)
#define DAY (86400 * NS_PER_S)

/*
 * Parse a duration, such as "10s", into nanoseconds. Units: ns, us, ms, s, m, h, d; only 0 may lack
 * its unit.
 */
bool quantity_duration(const char *text, uint64_t *ns);
/*
 * Parse a size, such as "5MB", into bytes. Units: K, M, G (powers of 1024), each with an optional
 * B; B, or none, for bytes.
 */
bool quantity_bytes(const char *text, uint64_t *bytes);
/* Parse a decimal number, such as "1.5", and store it multiplied by UNIT in *VALUE. */
bool quantity_number(const char *text, uint64_t unit, uint64_t *value);

/*
 * Parse the decimal digits at *P, and move *P behind them. The number may be at most MAX, which is
 * 9 or more.
 */
bool quantity_digits(const char **p, uint64_t max, uint64_t *value);
/* Parse a whole number, such as "42", without leading zeros and at most MAX. */
bool quantity_whole(const char *text, uint64_t max, uint64_t *value);

#endif
