/*
 * Checksums of rows: XXH3 (64 bit) over the stored bytes and over the rest of the row.  schema/archive/0002-checksums.sql says which columns.
 *
 * The two are apart so that a row's columns can be checked without its data, and stored data without being unpacked.
 */
#ifndef ARCHIVE_CHECKSUM_H
#define ARCHIVE_CHECKSUM_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHECKSUM_BYTES 16u

/* What a row's checksum is made of.  All borrowed. */
struct checksum_row {
	int64_t numbers[8];
	size_t n; /* numbers that are used, at most 8 */
	const void *ends, *data;
	size_t ends_bytes, data_bytes;
};

/* Compute the checksum of ROW. */
void checksum_make(const struct checksum_row *row, uint8_t out[CHECKSUM_BYTES]);

/*
 * Does ROW agree with the checksum in column AT of S, all of it or (checksum_row_holds) but for its data?  Where the column is NULL the answer
 * is MAY_LACK: whether the row may be one from before there were checksums.
 */
bool checksum_holds(sqlite3_stmt *s, int at, bool may_lack, const struct checksum_row *row);
bool checksum_row_holds(sqlite3_stmt *s, int at, bool may_lack, const struct checksum_row *row);

#endif
