/* The checksum of a row of the outbox, as a function of SQL (schema/archive/0006-outbox-checksums.sql). */
#ifndef ARCHIVE_OUTBOX_SUM_H
#define ARCHIVE_OUTBOX_SUM_H

#include <sqlite3.h>

/* The columns that the checksum covers. */
#define OUTBOX_SUMMED \
	"id, kind, ready, urgency, real, run, stream, capture, first_sequence, last_sequence, packets, bytes, reason"
/* A condition of SQL: the row has its checksum. */
#define OUTBOX_HOLDS "checksum IS outbox_checksum(" OUTBOX_SUMMED ")"

/* Define the function outbox_checksum() in DB. Return a result code of SQLite. */
int outbox_sum_define(sqlite3 *db);

#endif
