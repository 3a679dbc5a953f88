/*
 * The entries of an index, and the rows that they name.
 *
 * A bit that flips in the identifier of a row, or in an index, makes the two disagree: SQLite does not find the row that an entry names, and
 * gives up, or finds another one. A row that has no entry is not found by its position, so it is missing like a row that is gone.
 */
#ifndef ARCHIVE_INDEX_ENTRIES_H
#define ARCHIVE_INDEX_ENTRIES_H

#include <stdbool.h>
#include <stdint.h>

struct archive_writer;

/*
 * Let the index agree with the rows of packet SEQUENCE; or, if CAPTURE is not 0, with those of the tail that this capture has of STREAM. An entry
 * without a row gets one without content, which is damaged: the caller takes it out of service. An entry of a row that is elsewhere is replaced,
 * if the row agrees with its checksum; if it does not, it gets the columns of the entry: a row whose columns were damaged is whole then.
 * *MENDED: something disagreed. Needs an open transaction. Return 0 or an error.
 */
int index_entries_mend(struct archive_writer *w, int64_t stream, uint64_t sequence, int64_t capture, bool *mended);

#endif
