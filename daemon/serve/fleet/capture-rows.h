/* Rows of the view fleet.captures, and their JSON. */
#ifndef SERVE_CAPTURE_ROWS_H
#define SERVE_CAPTURE_ROWS_H

#include "question.h"

/* The columns of a capture in a statement with fleet.captures. */
#define CAPTURE_COLUMNS                                                                                    \
	"host, archive::text, capture, guest, kind, image, " SQL_TIME(                                     \
		"finished") ", pinned, note, cause, sentence, "                                            \
			    "last_ran, failure, lost_packets, month::text, (extract(epoch FROM at) * "     \
			    "1000000)::bigint, head ->> 'real', "                                          \
			    "head ->> 'mono', head ->> 'uuid', head ->> 'run', head -> 'streams', "        \
			    "hashtextextended(pinned::text || note, 0) & 9007199254740991, "               \
			    "fleet.correction(host, archive, head ->> 'real', head ->> 'mono'), head ->> " \
			    "'run_began', fleet.correction(host, archive, head ->> 'run_began', NULL), "   \
			    "(fleet.damage(host, month, archive, capture))[1], "                           \
			    "(fleet.damage(host, month, archive, capture))[2], "                           \
			    "(fleet.damage(host, month, archive, capture))[3]"

enum capture_column {
	CAPTURE_HOST,
	CAPTURE_ARCHIVE,
	CAPTURE_NUMBER,
	CAPTURE_GUEST,
	CAPTURE_KIND,
	CAPTURE_IMAGE,
	CAPTURE_ARRIVED,
	CAPTURE_PINNED,
	CAPTURE_NOTE,
	CAPTURE_CAUSE,
	CAPTURE_SENTENCE,
	CAPTURE_LAST_RAN,
	CAPTURE_FAILURE,
	CAPTURE_LOST,
	CAPTURE_MONTH,
	CAPTURE_AT,
	CAPTURE_REAL,
	CAPTURE_MONO,
	CAPTURE_UUID,
	CAPTURE_RUN,
	CAPTURE_STREAMS,
	CAPTURE_VERSION,
	CAPTURE_CORRECTION, /* of CAPTURE_REAL */
	CAPTURE_BEGAN,	    /* CLOCK_REALTIME ns when the run began, as the host stamped it */
	CAPTURE_BEGAN_CORRECTION,
	CAPTURE_DAMAGES,
	CAPTURE_SKIPPED,
	CAPTURE_UNPROVEN,
	CAPTURE_COLUMNS_N,
};

/* Return the id of the capture in ROW. */
struct capture_id capture_row_id(const struct postgres_rows *rows, int row);
/* Return the capture in ROW as the API shows it; NULL without memory. */
json_t *capture_row_json(const struct postgres_rows *rows, int row);
/* Return the number that the text in COLUMN of ROW has as digits; 0 if it has none. */
uint64_t row_digits(const struct postgres_rows *rows, int row, int column);
/* Return the stamp in COLUMN of ROW with its CORRECTION, as json_corrected(). */
json_t *row_corrected(const struct postgres_rows *rows, int row, int column, int correction);
/* Write the tag of the capture in ROW, which another pin or note changes. */
void capture_row_etag(const struct postgres_rows *rows, int row, char etag[64]);
/* Return whether Q's client may do SCOPE to the guest of the capture in ROW. */
bool capture_row_allowed(const struct question *q, const struct postgres_rows *rows, int row);
/* Append the statement that finds the captures with ID. */
void capture_find_sql(struct question *q, const struct capture_id *id);
/*
 * Check the rows of capture_find_sql(): return the row of the capture that Q names, or -1, with a problem in Q,
 * if there is none that its client may read, or if several archives have it.
 */
int capture_find_row(struct question *q, const struct postgres_rows *rows);

#endif
