/*
 * Amounts as people write them: whole or decimal numbers with a unit, rounded down. Each function
 * returns false if TEXT is anything else or exceeds 64 bits; the output is then undefined.
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

/* Parse a duration, "10s", into nanoseconds. Units: ns, us, ms, s, m, h, d; only 0 needs none. */
bool quantity_duration(const char *text, uint64_t *ns);
/*
 * Parse a size, "5MB", into bytes. Units: K, M, G (powers of 1024), each with an optional B; B or
 * nothing for bytes.
 */
bool quantity_bytes(const char *text, uint64_t *bytes);
/* Parse "1.5", where one unit is worth UNIT. */
bool quantity_number(const char *text, uint64_t unit, uint64_t *value);

/* Read the decimal number at *P, at most MAX (9 or more), and move *P behind its digits. */
bool quantity_digits(const char **p, uint64_t max, uint64_t *value);
/* Parse "42": digits without leading zeros, at most MAX. */
bool quantity_whole(const char *text, uint64_t max, uint64_t *value);

#endif
