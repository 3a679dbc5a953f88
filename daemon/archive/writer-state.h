/*
 * Shared by the writer's files: its state, its statements, and the steps that more than one file
 * takes.
 */
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

/* Packed chunk ends, in the format of the column. */
struct ends {
	uint8_t *bytes;
	size_t len, room;
};

struct archive_writer {
	struct store store;
	uint8_t *in, *out; /* ARCHIVE_PIECE_MAX bytes each: a row's content, for compaction */
	struct ends ends;  /* of the row that compaction merges */
	struct usage usage;
	int hold_fd;		      /* lock that readers hold; -1 = the file could not be made */
	bool wants_sync;	      /* the commit must survive a loss of power */
	struct archive_damage damage; /* found so far; see archive_writer_damage() */
};

/* Run the statement WHICH with the integers that follow. */
#define WRITER_RUN(w, which, ...) statement_run(&(w)->store.statements, (which), VALUES(__VA_ARGS__))

/*
 * Open a transaction unless one is open, and end it with R. Only the call that opened the
 * transaction ends it.
 */
int writer_enter(struct archive_writer *w, bool *is_mine);
int writer_leave(struct archive_writer *w, bool is_mine, int r);

/* The end of a packet's stored pieces. */
struct packet_end {
	bool any;	    /* the packet has rows: the rest means something */
	int64_t id;	    /* of its last row ... */
	uint32_t row_begin; /* ... which begins here ... */
	uint32_t offset;    /* ... and ends here */
	uint32_t flags;
	uint64_t first_timestamp;
	uint32_t packet_bytes;
};
int writer_packet_end(struct archive_writer *w, int64_t stream, uint64_t sequence, struct packet_end *end);

/* Insert PIECE as one row. PACKED are its chunk ends, N bytes. */
int writer_insert_chunk(struct archive_writer *w, const struct archive_piece *piece, const uint8_t *packed, size_t n);

int ends_append(struct ends *e, const uint8_t *packed, size_t n);
int ends_pack(struct ends *e, const struct archive_end *ends, size_t n);
struct archive_end ends_last(const uint8_t *packed, size_t n); /* zeroed if there is none */

/* A stored row, decoded. */
struct stored_row {
	int64_t stream, sequence;
	uint32_t offset, length, flags;
	const uint8_t *ends; /* packed; borrowed until STATEMENT is reset */
	size_t ends_bytes;
	const uint8_t *data; /* in w->in, until the next row is read */
	sqlite3_stmt *statement;
};
/*
 * Read and decode the row ID. ARCHIVE_E_DAMAGED: the row is damaged; ROW has the position that it
 * claims.
 */
int writer_read_row(struct archive_writer *w, int64_t id, struct stored_row *row);

/*
 * Return true if the current row of S, READ_CHUNK or READ_ENDS, agrees with its checksum; WITH_DATA
 * checks the data too. A row from before there were checksums passes.
 */
bool writer_row_holds(sqlite3_stmt *s, bool with_data);

/*
 * Read the last chunk end of row ID, zeroed if it has none. ARCHIVE_E_DAMAGED: the row is damaged;
 * *END is what it claims.
 */
int writer_row_end(struct archive_writer *w, int64_t id, struct archive_end *end);

/*
 * Rewrite the packet's rows, with PIECE behind them, as few rows; see compaction.c. IS_LAST: PIECE
 * completes the packet.
 */
int packet_compact(struct archive_writer *w, const struct archive_piece *piece, const struct packet_end *end,
		   bool is_last);
/*
 * Take a packet's damaged rows, and all rows behind them, out of service, and declare the loss as a
 * gap. Packets before SEQUENCE that vanished are declared too. Needs an open transaction. *DAMAGED:
 * damage was found. See repair.c.
 */
int packet_repair(struct archive_writer *w, int64_t stream, uint64_t sequence, bool *damaged);
/* Delete a packet's bytes past its last chunk end. */
int packet_drop_dangling(struct archive_writer *w, int64_t stream, uint64_t sequence);

#endif
