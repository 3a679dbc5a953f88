/* Checksums of rows. */
#include "checksum.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <mprof/bytes.h>

#define HALF (CHECKSUM_BYTES / 2)

/* Compute the row's half; DATA is the data's. */
static uint64_t row_sum(const struct checksum_row *row, uint64_t data)
{
	uint8_t numbers[9 * 8];
	XXH3_state_t state;

	for (size_t i = 0; i < row->n; i++)
		mprof_store64(numbers + 8 * i, (uint64_t)row->numbers[i]);
	mprof_store64(numbers + 8 * row->n, data);
	if (row->ends_bytes == 0)
		return XXH3_64bits(numbers, 8 * (row->n + 1));
	XXH3_64bits_reset(&state);
	XXH3_64bits_update(&state, numbers, 8 * (row->n + 1));
	XXH3_64bits_update(&state, row->ends, row->ends_bytes);
	return XXH3_64bits_digest(&state);
}

static uint64_t data_sum(const struct checksum_row *row)
{
	return XXH3_64bits(row->data_bytes ? row->data : "", row->data_bytes);
}

void checksum_make(const struct checksum_row *row, uint8_t out[CHECKSUM_BYTES])
{
	uint64_t data = data_sum(row);

	mprof_store64(out, data);
	mprof_store64(out + HALF, row_sum(row, data));
}

bool checksum_row_holds(sqlite3_stmt *s, int at, bool may_lack, const struct checksum_row *row)
{
	const uint8_t *stored = sqlite3_column_blob(s, at);

	if (!stored)
		return may_lack && sqlite3_column_type(s, at) == SQLITE_NULL;
	return sqlite3_column_bytes(s, at) == (int)CHECKSUM_BYTES &&
	       mprof_load64(stored + HALF) == row_sum(row, mprof_load64(stored));
}

bool checksum_holds(sqlite3_stmt *s, int at, bool may_lack, const struct checksum_row *row)
{
	const uint8_t *stored = sqlite3_column_blob(s, at);

	return checksum_row_holds(s, at, may_lack, row) && (!stored || mprof_load64(stored) == data_sum(row));
}
