/* Compute checksums of the outbox in SQL. */
#include "outbox-sum.h"

#include <string.h>

#include "codec.h"

#include <mprof/bytes.h>

#define COLUMNS	  13
#define TEXT_MOST 256 /* bytes of a text; mprofd writes no longer ones, and a longer one is damage */

/* Write VALUE to OUT. Return its bytes, or 0 if it is too long. */
static size_t pack(sqlite3_value *value, uint8_t *out)
{
	const void *text;
	size_t n;

	switch (sqlite3_value_type(value)) {
	case SQLITE_INTEGER:
		out[0] = 1;
		mprof_store64(out + 1, (uint64_t)sqlite3_value_int64(value));
		return 9;
	case SQLITE_NULL:
		out[0] = 0;
		return 1;
	default:
		text = sqlite3_value_text(value);
		n = (size_t)sqlite3_value_bytes(value);
		if (!text || n > TEXT_MOST)
			return 0;
		out[0] = 2;
		memcpy(out + 1, text, n);
		out[n + 1] = 0;
		return n + 2;
	}
}

/* The function of SQL. */
static void compute(sqlite3_context *context, int n, sqlite3_value **values)
{
	uint8_t data[COLUMNS * (TEXT_MOST + 2)], sum[CHECKSUM_BYTES];
	struct checksum_row row = {.data = data};

	for (int i = 0; i < n; i++) {
		size_t bytes = pack(values[i], data + row.data_bytes);

		if (bytes == 0) {
			sqlite3_result_blob(context, "", 0, SQLITE_STATIC); /* no row has this checksum */
			return;
		}
		row.data_bytes += bytes;
	}
	checksum_make(&row, sum);
	sqlite3_result_blob(context, sum, sizeof(sum), SQLITE_TRANSIENT);
}

int outbox_sum_define(sqlite3 *db)
{
	return sqlite3_create_function_v2(db, "outbox_checksum", COLUMNS,
					  SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL, compute, NULL,
					  NULL, NULL);
}
