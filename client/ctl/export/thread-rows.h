/*
 * The rows of the newest threads, before they go to the database.
 *
 * Most threads end soon. A row that waits here until its thread has ended is written once, in the
 * order of threads; a row that was written earlier must be found and written again. The number of
 * rows and the bytes of their texts are bounded.
 */
#ifndef CTL_THREAD_ROWS_H
#define CTL_THREAD_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "trace-tables.h"

struct thread_row {
	uint32_t thread; /* number of the thread, from 1; 0 = the entry is free */
	uint32_t stream;
	int64_t id;
	const char *type;   /* string literal, as ORIGIN and ENDING */
	const char *origin; /* "shared" has no id; "shared" and "root" have no times */
	const char *ending; /* NULL as long as no end is known */
	uint32_t creator;   /* 0 = none, also for RESOLVER and BECAME */
	uint32_t resolver;
	uint32_t became;
	bool lives; /* CREATED and ENDED are valid */
	bool expected;
	int64_t created, ended; /* ns */
	char *label, *failure;	/* owned; NULL = none */
	size_t label_bytes, failure_bytes;
};

struct thread_rows {
	struct trace_tables *tables; /* borrowed */
	struct thread_row *list;     /* the row of thread N is at N modulo the size; owned */
	uint32_t first, next;	     /* all rows have numbers from FIRST up to, but not including, NEXT */
	size_t text_bytes;	     /* bytes of all labels and failures */
};

/*
 * Write rows to TABLES, which is ready. Return 0 or -ENOMEM. The caller deinits R in any case.
 */
int thread_rows_init(struct thread_rows *r, struct trace_tables *tables);
void thread_rows_deinit(struct thread_rows *r);

/*
 * Add a thread, whose number is above those of all others, without label and failure. Return 0 or
 * -errno, as the functions below.
 */
int thread_rows_add(struct thread_rows *r, const struct thread_row *row);
/*
 * End the thread END->thread: take ENDED, ENDING, RESOLVER, BECAME and EXPECTED from END. FAILURE
 * has BYTES bytes; NULL = none.
 */
int thread_rows_end(struct thread_rows *r, const struct thread_row *end, const char *failure, size_t bytes);
/* Set the label of THREAD to the BYTES bytes at TEXT. */
int thread_rows_label(struct thread_rows *r, uint32_t thread, const char *text, size_t bytes);
/* Mark THREAD as one that should resolve. */
int thread_rows_expect(struct thread_rows *r, uint32_t thread);
/* Write all rows. */
int thread_rows_flush(struct thread_rows *r);

#endif
