/*
 * Amounts as people write them: whole or decimal numbers with a unit, rounded down.  Each returns false if TEXT is anything else or
 * does not fit 64 bits; the number then means nothing.
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

/* "10s": in ns, us, ms, s, m, h or d, which may be left out of 0 alone. */
bool quantity_duration(const char *text, uint64_t *ns);
/* "5MB": in K, M or G, powers of 1024, each with an optional B, or B or nothing for bytes. */
bool quantity_bytes(const char *text, uint64_t *bytes);
/* "1.5", in units of which one is worth UNIT. */
bool quantity_number(const char *text, uint64_t unit, uint64_t *value);

/* Read the digits at *P, a number of at most MAX (9 or more), and move *P behind them. */
bool quantity_digits(const char **p, uint64_t max, uint64_t *value);
/* "42": digits without leading zeros, at most MAX. */
bool quantity_whole(const char *text, uint64_t max, uint64_t *value);

#endif
