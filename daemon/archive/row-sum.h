/* The checksum of a row of runs, streams, gaps or captures (schema/archive/0009-row-checksums.sql), in SQL. */
#ifndef ARCHIVE_ROW_SUM_H
#define ARCHIVE_ROW_SUM_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "codec.h"

/* The columns that a row's checksum covers. */
#define RUNS_SUMMED "id, source, key, name, uuid, domid, state, began_real, ended_real, reason"
#define STREAMS_SUMMED                                                                                            \
	"id, run, number, name, ring_bytes, ring_packets, flags, packets, bytes, lost_packets, skipped_packets, " \
	"deletions, last_seen_real, oldest, newest, held, damaged_packets"
#define GAPS_SUMMED \
	"id, stream, kind, reason, after_sequence, after_offset, next_sequence, packets, at_least, real, mono"
#define CAPTURES_SUMMED "id, run, kind, real, mono, pinned, note, marks, version, context_checksum"
#define CONTEXT_SUMMED	"id, context"

/* Compute the checksum of the N values of a row. Return false without memory. */
bool row_sum(int n, sqlite3_value **values, uint8_t sum[CHECKSUM_BYTES]);

/* Give DB the SQL function row_checksum(), of the columns that a checksum covers. Return SQLite's result. */
int row_sum_define(sqlite3 *db);

#endif
