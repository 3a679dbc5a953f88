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
 * Let the index agree with the rows of packet SEQUENCE; or, if CAPTURE is not 0, with those of the tail that this capture has of STREAM, 0 = of
 * all streams. Nothing is lost if one bit was damaged: an entry that names another row, or none, gets its own one back; an entry with
 * damaged columns is replaced by that of its row; a row with damaged columns gets those of its entry. If the row of an entry is not found, the
 * entry gets one without content, which is damaged: the caller takes it out of service. *MENDED: something disagreed; the usage of the streams is
 * counted again. Needs an open transaction. Return 0 or an error.
 */
int index_entries_mend(struct archive_writer *w, int64_t stream, uint64_t sequence, int64_t capture, bool *mended);

#endif
