/* Compute the checksum of a row in SQL. */
#include "row-sum.h"

#include <stdlib.h>
#include <string.h>

#include <mprof/bytes.h>

#define ROOM 512u /* bytes of most rows */

/* Return how many bytes VALUE has in the data of a checksum. */
static size_t packed_bytes(sqlite3_value *value)
{
	switch (sqlite3_value_type(value)) {
	case SQLITE_INTEGER:
		return 9;
	case SQLITE_NULL:
		return 1;
	default:
		(void)sqlite3_value_text(value);
		return (size_t)sqlite3_value_bytes(value) + 2;
	}
}

/* Write VALUE to OUT, of packed_bytes() bytes. Return false without memory. */
static bool pack(sqlite3_value *value, size_t bytes, uint8_t *out)
{
	const void *text;

	switch (sqlite3_value_type(value)) {
	case SQLITE_INTEGER:
		out[0] = 1;
		mprof_store64(out + 1, (uint64_t)sqlite3_value_int64(value));
		return true;
	case SQLITE_NULL:
		out[0] = 0;
		return true;
	default:
		text = sqlite3_value_text(value);
		if (!text)
			return false;
		out[0] = 2;
		memcpy(out + 1, text, bytes - 2);
		out[bytes - 1] = 0;
		return true;
	}
}

bool row_sum(int n, sqlite3_value **values, uint8_t sum[CHECKSUM_BYTES])
{
	uint8_t room[ROOM], *data = room;
	struct checksum_row row = {.n = 0};
	size_t bytes = 0, at = 0;

	for (int i = 0; i < n; i++)
		bytes += packed_bytes(values[i]);
	if (bytes > sizeof(room))
		data = malloc(bytes);
	for (int i = 0; data && i < n; i++) {
		size_t more = packed_bytes(values[i]);

		if (!pack(values[i], more, data + at))
			break;
		at += more;
	}
	row.data = data;
	row.data_bytes = at;
	if (data)
		checksum_make(&row, sum);
	if (data != room)
		free(data);
	return data && at == bytes;
}

static void compute(sqlite3_context *context, int n, sqlite3_value **values)
{
	uint8_t sum[CHECKSUM_BYTES];

	if (row_sum(n, values, sum))
		sqlite3_result_blob(context, sum, sizeof(sum), SQLITE_TRANSIENT);
	else
		sqlite3_result_error_nomem(context);
}

int row_sum_define(sqlite3 *db)
{
	return sqlite3_create_function_v2(db, "row_checksum", -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
					  NULL, compute, NULL, NULL, NULL);
}
