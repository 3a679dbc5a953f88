/*
 * Indexes of the small tables, compared with their rows.
 *
 * A checksum covers a row, not its copy in an index. If an entry was damaged, readers and retention do not find its row, and SQLite deletes or
 * updates that row no more.
 */
#ifndef ARCHIVE_INDEX_CHECK_H
#define ARCHIVE_INDEX_CHECK_H

struct archive_writer;

/*
 * Compare the indexes of TABLE with its rows, and make them anew if they disagree. An index that SQLite can neither read nor make anew is logged,
 * and stays. Return 0 or an error. Opens a transaction if none is open and the indexes disagree.
 */
int index_check(struct archive_writer *w, const char *table);

#endif
