/* Shared by the writer's files: its state, its statements, and the steps that more than one file takes. */
#ifndef ARCHIVE_WRITER_STATE_H
#define ARCHIVE_WRITER_STATE_H

#include <sqlite3.h>

#include <mprof/bytes.h>
#include <mprof/ring.h>

#include "database.h"
#include "statement.h"
#include "store.h"
#include "usage.h"
#include "writer.h"

enum writer_statement {
#define STATEMENT(name, sql) STATEMENT_##name,
#include "writer-statements.def"
	STATEMENTS,
};

/* Packed chunk ends, as the column has them. */
struct ends {
	uint8_t *bytes;
	size_t len, room;
};

struct archive_writer {
	struct store store;
	uint8_t *in, *out; /* a row's content each, for compaction */
	struct ends ends;  /* of the row being put together */
	struct usage usage;
	int hold_fd;		      /* what readers hold; -1 = it could not be made */
	bool wants_sync;	      /* the transaction holds something that must survive a loss of power */
	struct archive_damage damage; /* found so far, see archive_writer_damage */
};

/* Run the statement WHICH with the integers that follow. */
#define WRITER_RUN(w, which, ...) statement_run(&(w)->store.statements, (which), VALUES(__VA_ARGS__))

/* Open a transaction for a call that may stand alone, and end it with R: whoever opened it ends it. */
int writer_enter(struct archive_writer *w, bool *is_mine);
int writer_leave(struct archive_writer *w, bool is_mine, int r);

/* Where a packet's stored pieces end. */
struct packet_end {
	bool any;	    /* there is one; the rest means something */
	int64_t id;	    /* of its last row ... */
	uint32_t row_begin; /* ... which begins here ... */
	uint32_t offset;    /* ... and ends here */
	uint32_t flags;
	uint64_t first_timestamp;
	uint32_t packet_bytes;
};
int writer_packet_end(struct archive_writer *w, int64_t stream, uint64_t sequence, struct packet_end *end);

/* Insert PIECE as a row of its own; its ends are PACKED (N bytes). */
int writer_insert_chunk(struct archive_writer *w, const struct archive_piece *piece, const uint8_t *packed, size_t n);

int ends_append(struct ends *e, const uint8_t *packed, size_t n);
int ends_pack(struct ends *e, const struct archive_end *ends, size_t n);
struct archive_end ends_last(const uint8_t *packed, size_t n); /* zeroed where there is none */

/* A stored row, decoded. */
struct stored_row {
	int64_t stream, sequence;
	uint32_t offset, length, flags;
	const uint8_t *ends; /* packed; borrowed until STATEMENT is reset */
	size_t ends_bytes;
	const uint8_t *data; /* in w->in, until the next row is read */
	sqlite3_stmt *statement;
};
/* ARCHIVE_E_DAMAGED: it does not hold; ROW then says where it claims to be. */
int writer_read_row(struct archive_writer *w, int64_t id, struct stored_row *row);

/*
 * Does the row that S stands at hold, which is READ_CHUNK or READ_ENDS?  WITH_DATA: its stored data too.  A row from before there were
 * checksums holds as far as can be seen without unpacking it.
 */
bool writer_row_holds(sqlite3_stmt *s, bool with_data);

/* The last chunk end of row ID, zeroed where it has none.  ARCHIVE_E_DAMAGED: the row does not hold; *END is what it claims. */
int writer_row_end(struct archive_writer *w, int64_t id, struct archive_end *end);

/* Rewrite the packet's rows with PIECE behind them as few rows; see compaction.c.  IS_LAST: and that is all of it. */
int packet_compact(struct archive_writer *w, const struct archive_piece *piece, const struct packet_end *end,
		   bool is_last);
/*
 * Take what is damaged of a packet out of service: rows that do not hold, and those of the packet behind them; declare what is gone as
 * a gap.  Also declares packets before SEQUENCE that vanished.  Needs an open transaction.  *DAMAGED: something was.  See repair.c.
 */
int packet_repair(struct archive_writer *w, int64_t stream, uint64_t sequence, bool *damaged);
/* Delete what lies past the packet's last chunk end. */
int packet_drop_dangling(struct archive_writer *w, int64_t stream, uint64_t sequence);

#endif
