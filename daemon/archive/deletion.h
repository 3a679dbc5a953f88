/*
 * Count what is deleted, by reason and guest, so that every deletion is told: in the log and in metrics.
 *
 * A transaction that is rolled back has deleted nothing. So the writer counts in a tally of the transaction, and adds
 * it to another one after the commit. A tally is bounded: if there are too many guests, the rest counts together.
 */
#ifndef ARCHIVE_DELETION_H
#define ARCHIVE_DELETION_H

#include <stddef.h>
#include <stdint.h>

#include "log.h"

#define DELETION_TALLY_MAX 64u

/* Why something was deleted. The order is that of deletion_reason_name(). */
enum deletion_reason {
	DELETION_AGE,	     /* older than a limit */
	DELETION_QUOTA,	     /* a limit of bytes was exceeded */
	DELETION_DISK,	     /* the disk had too little free space */
	DELETION_REQUEST,    /* a person asked for it */
	DELETION_DAMAGE,     /* it was damaged on the disk */
	DELETION_UNFINISHED, /* the daemon ended while it was written */
	DELETION_EMPTY,	     /* a run of which nothing is archived any more, or never was */
	DELETION_UNSENT,     /* rows of the outbox, because the configuration names no hub any more */
	DELETION_POLICY,     /* a capture of the kind `unread` that is no crash */
	DELETION_REASONS,
};

/* Return the reason as the metrics and the log name it. */
const char *deletion_reason_name(enum deletion_reason reason);

/* Sums of the content of GUEST that was deleted for REASON. */
struct deletion {
	enum deletion_reason reason;
	char guest[256]; /* "" = several guests, or unknown; a longer name is truncated */
	uint64_t packets;
	uint64_t captures; /* in the archive of memory profiles: recordings */
	uint64_t runs;
	uint64_t bytes;
	uint64_t outbox; /* rows of the outbox; what they name stays in the archive */
};

struct deletion_tally {
	struct deletion list[DELETION_TALLY_MAX];
	unsigned n;
};

/* Add DELETION to what D has of the same guest and reason. */
void deletion_tally_add(struct deletion_tally *d, const struct deletion *deletion);
/* Add all of FROM to D, and empty FROM. */
void deletion_tally_move(struct deletion_tally *d, struct deletion_tally *from);

/* Sums by reason, for metrics. */
struct deletion_totals {
	uint64_t packets[DELETION_REASONS], captures[DELETION_REASONS], outbox[DELETION_REASONS];
};

/* Deletions that were committed: their totals, and what of them is not logged yet. Zeroed it is ready. */
struct deletion_log {
	struct deletion_totals totals;
	struct deletion_tally waiting;
	uint64_t logged; /* when lines were last logged, CLOCK_MONOTONIC ns; 0 = never */
};

/*
 * Take the deletions of FROM. Log a line for each guest and reason; but a guest that is always at its quota loses
 * packets all the time, so lines are logged once a minute at most, and have the sums of that minute. CAPTURES is the
 * name=value pair of the captures. NOW is CLOCK_MONOTONIC ns.
 */
void deletion_log_run(struct deletion_log *log, struct deletion_tally *from, const char *captures, uint64_t now);
/*
 * Write the sentence about D to TEXT: what it deleted of the archive, or of the outbox, if it has rows of that alone.
 * CAPTURES as above.
 */
void deletion_sentence(const struct deletion *d, const char *captures, char *text, size_t size);
/* Log what waits, before the daemon ends. */
void deletion_log_end(struct deletion_log *log, const char *captures);

#endif
