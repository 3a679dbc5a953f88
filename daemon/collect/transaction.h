/* The items of the queue as one transaction of the archive. */
#ifndef COLLECT_TRANSACTION_H
#define COLLECT_TRANSACTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "log.h"
#include "queue.h"
#include "writer.h"

#define TRANSACTION_ENDS 512u /* events that may end in one piece */

struct transaction {
	struct archive_writer *w; /* the caller's */
	uint8_t *row;		  /* bytes of the piece that is being joined from chunks */
	struct archive_piece piece;
	struct archive_end ends[TRANSACTION_ENDS];
	bool open; /* a piece is being joined */
	struct log_limit orphans;
};

/* Prepare to write to W, which the caller keeps until transaction_deinit(). Return 0 or -ENOMEM. */
int transaction_init(struct transaction *t, struct archive_writer *w);
void transaction_deinit(struct transaction *t);

/* Sort N ITEMS as transaction_write() wants them. */
void transaction_sort(struct item **items, size_t n);

/*
 * Write N ITEMS, sorted, in one transaction, and store what became of each in its *RESULT: 0, ARCHIVE_E_ABSENT or ARCHIVE_E_CHANGED. Items
 * that have a transaction of their own, and marks, are passed over. The caller keeps ITEMS. Return 0; ARCHIVE_E_FULL or another error: then
 * nothing is written, and the same items may be written again.
 */
int transaction_write(struct transaction *t, struct item **items, size_t n);

#endif
