/* The checksum of a piece on the hub: SHA-256 of the column data (schema/fleet/README.md). */
#ifndef HUB_CHECKSUM_H
#define HUB_CHECKSUM_H

#include <gnutls/crypto.h>
#include <stdbool.h>
#include <string.h>

#include "postgres.h"

#define PIECE_SUM_BYTES 32u

/*
 * Return whether the bytea in column DATA of row ROW has the checksum in column SUM. ROWS are those of
 * postgres_call_binary().
 */
static inline bool piece_sum_holds(const struct postgres_rows *rows, int row, int data, int sum)
{
	uint8_t own[PIECE_SUM_BYTES];
	size_t bytes, sum_bytes;
	const uint8_t *body = postgres_bytes(rows, row, data, &bytes);
	const uint8_t *stored = postgres_bytes(rows, row, sum, &sum_bytes);

	return sum_bytes == sizeof(own) && gnutls_hash_fast(GNUTLS_DIG_SHA256, body, bytes, own) >= 0 &&
	       memcmp(own, stored, sizeof(own)) == 0;
}

#endif
