/*
 * Shared by the writer's files: its state, its statements, and functions that more than one file
 * uses.
 */
#ifndef ARCHIVE_WRITER_STATE_H
#define ARCHIVE_WRITER_STATE_H

#include <sqlite3.h>

#include <mprof/bytes.h>
#include <mprof/ring.h>

#include "age.h"
#include "bad-places.h"
#include "database.h"
#include "deletion.h"
#include "log.h"
#include "outbox.h"
#include "pinned.h"
#include "statement.h"
#include "store.h"
#include "usage.h"
#include "writer.h"

enum writer_statement {
#define STATEMENT(name, sql) STATEMENT_##name,
#include "writer-statements.def"
	STATEMENTS,
};

/* Chunk ends of a row, packed as in the column ends. */
struct ends {
	uint8_t *bytes;
	size_t len, room;
};

struct archive_writer {
	struct store store;
	/*
	 * ARCHIVE_PIECE_MAX bytes each: content of a row that is read, and of a row that is written
	 */
	uint8_t *in, *out;
	struct ends ends; /* chunk ends of the row that compaction writes */
	struct usage usage;
	int hold_fd;			      /* the lock that readers hold; -1 = the lock file could not be created */
	bool wants_sync;		      /* the commit must be flushed to the disk */
	struct archive_damage damage;	      /* damage found since the archive was opened */
	struct age age;			      /* the age clock */
	struct deletion_tally open_deletions; /* of the open transaction */
	struct deletion_tally deletions;      /* committed, and not taken yet */
	archive_send_call *send;	      /* see archive_writer_send(); NULL = the outbox is off */
	const void *send_context;
	struct pinned pinned;		/* no packet of these runs is deleted */
	struct bad_places bad_places;	/* limits pass over them */
	struct log_limit damage_lines;	/* of lines on rows and indexes that were damaged */
	struct log_limit failure_lines; /* of lines on those that no check can mend */
	const char *
		deleted_of; /* guest of what is deleted now; "" = unknown, because its row cannot be read; NULL = the rows say it */
	int64_t unread_told; /* the newest capture of the kind `unread` of which the log says that it cannot be decided on */
};

/* Run the statement WHICH with the integers that follow. */
#define WRITER_RUN(w, which, ...) statement_run(&(w)->store.statements, (which), VALUES(__VA_ARGS__))

/*
 * writer_enter() opens a transaction unless one is open, and sets *IS_MINE to whether it did.
 * writer_leave() ends the transaction if IS_MINE: it commits if R is 0, else rolls back. Both
 * return 0 or an error.
 */
int writer_enter(struct archive_writer *w, bool *is_mine);
int writer_leave(struct archive_writer *w, bool is_mine, int r);

/* Compute the usage of STREAM again from its rows. Do nothing if the archive has no such stream. Return 0 or an error. */
int writer_recount(struct archive_writer *w, int64_t stream);

/* Let the index agree with the rows of a packet (index-entries.h), and count damage. Needs an open transaction. Return 0 or an error. */
int writer_mend(struct archive_writer *w, int64_t stream, uint64_t sequence);

/* The end of a packet's stored rows. */
struct packet_end {
	bool any;	    /* the packet has rows, so the other fields are valid */
	int64_t id;	    /* id of its last row */
	uint32_t row_begin; /* offset at which that row begins */
	uint32_t offset;    /* offset at which that row ends */
	uint32_t flags;
	uint64_t first_timestamp;
	uint32_t packet_bytes;
};
int writer_packet_end(struct archive_writer *w, int64_t stream, uint64_t sequence, struct packet_end *end);

/* Insert PIECE as one row. PACKED has N bytes of packed chunk ends. */
int writer_insert_chunk(struct archive_writer *w, const struct archive_piece *piece, const uint8_t *packed, size_t n);

int ends_append(struct ends *e, const uint8_t *packed, size_t n);
int ends_pack(struct ends *e, const struct archive_end *ends, size_t n);
struct archive_end ends_last(const uint8_t *packed, size_t n); /* zeroed if there is none */

/* A stored row with its decoded content. */
struct stored_row {
	int64_t stream, sequence;
	uint32_t offset, length, flags;
	const uint8_t *ends; /* packed chunk ends; borrowed until STATEMENT is reset */
	size_t ends_bytes;
	const uint8_t *data; /* in w->in, valid until the next row is read */
	sqlite3_stmt *statement;
};
/*
 * Read and decode the row ID. ARCHIVE_E_DAMAGED: the row is damaged, and *ROW has the position that
 * the row states; or an index names it, and it is not there, and *ROW stays as it was.
 */
int writer_read_row(struct archive_writer *w, int64_t id, struct stored_row *row);

/*
 * Return whether the current row of S, a READ_CHUNK or READ_ENDS statement, agrees with its
 * checksum. WITH_DATA: check the data, too. A row that a version without checksums wrote counts as
 * right.
 */
bool writer_row_holds(sqlite3_stmt *s, bool with_data);

/*
 * Read the last chunk end of row ID into *END, which is zeroed if the row has none.
 * ARCHIVE_E_DAMAGED: the row is damaged, and *END is what the row states; or it is not there.
 */
int writer_row_end(struct archive_writer *w, int64_t id, struct archive_end *end);

/*
 * Append PIECE to its packet, and replace the packet's small rows by few large ones (compaction.c).
 * END is the end of the packet before PIECE. IS_LAST: PIECE completes the packet.
 */
int packet_compact(struct archive_writer *w, const struct archive_piece *piece, const struct packet_end *end,
		   bool is_last);
/*
 * Check packet SEQUENCE (repair.c). Let the index agree with its rows, delete its first damaged row and
 * the rows behind that, and declare the loss as a gap. Also declare missing packets before SEQUENCE as
 * lost. *DAMAGED: damage was found. Needs an open transaction. Return 0 or an error.
 */
int packet_repair(struct archive_writer *w, int64_t stream, uint64_t sequence, bool *damaged);
/*
 * Declare what no gap declares any more, after rows of gaps were damaged or lost: missing packets, and the rest of incomplete ones, of all
 * streams (repair.c). This reads the index of all packets. Needs an open transaction. Return 0 or an error.
 */
int losses_declare(struct archive_writer *w);
/*
 * Keep the outbox (outbox.c) in step with the archive; each does nothing while the outbox is off. Add
 * a capture, which is not finished, or a complete packet copied at REAL, if the guest's are sent. If
 * the outbox names them, declare a packet of BYTES content bytes or a capture lost, because it is
 * being deleted for REASON; a packet by a quota. Each needs an open transaction and returns 0 or an error.
 */
/* Prepare the connection that was opened: the checksums of the outbox. Return 0 or an error. */
int outbox_open(struct archive_writer *w);
int outbox_add_capture(struct archive_writer *w, const struct archive_capture *capture);
int outbox_add_packet(struct archive_writer *w, int64_t stream, uint64_t sequence, uint64_t real);
int outbox_lose_packet(struct archive_writer *w, int64_t stream, uint64_t sequence, uint64_t real, uint64_t bytes);
/* If the outbox names them, declare the packets from FIRST to LAST lost, because they were damaged before they were sent. */
int outbox_lose_damaged(struct archive_writer *w, int64_t stream, uint64_t first, uint64_t last);
int outbox_lose_capture(struct archive_writer *w, int64_t capture, enum deletion_reason reason);
/*
 * The lists of the captures' ranges (writer-lists.c). list_begin() writes the empty list of a new capture, list_put() enters
 * the range that the archive has of STREAM, list_make() makes the list of a capture of an earlier version. Each needs an open
 * transaction and returns 0 or an error.
 */
int list_begin(struct archive_writer *w, int64_t capture);
int list_put(struct archive_writer *w, int64_t capture, int64_t stream);
int list_make(struct archive_writer *w, int64_t capture);
/* If the list of CAPTURE is damaged or missing, make it of the ranges that are left, and note that it may lack some. */
int list_repair(struct archive_writer *w, int64_t capture, bool *damaged);
/* Note in its list that CAPTURE may lack something: it is not complete. */
int list_lack(struct archive_writer *w, int64_t capture);
/*
 * Write the range of STREAM again as the list has it, and delete damaged ranges that the list does not have, if it is whole. *RESTORED: one of both
 * was done.
 */
int list_restore(struct archive_writer *w, int64_t capture, int64_t stream, bool *restored);
/* Do as list_restore() for each range of CAPTURE that is damaged or missing. */
int list_check_ranges(struct archive_writer *w, int64_t capture, bool *restored);
/*
 * Write all ranges again that lists have and the archive lacks, make the lists of captures of an earlier version, and delete what is left of captures whose rows are gone. Log
 * what was found. Return 0 or an error.
 */
int lists_check(struct archive_writer *w);
/* Delete a capture with its ranges and tails. Return as archive_writer_delete_capture(). */
int capture_delete(struct archive_writer *w, int64_t id, enum deletion_reason reason);
/*
 * Delete a capture of the kind `unread`, for REASON (unread.c), and the packets that were copied for it alone: at most *LEFT of
 * them, and *LEFT becomes what is left of that. If it is 0, the capture may be there yet, with the other packets. On an
 * error 1 is subtracted. Needs no transaction. Return as archive_writer_judge().
 */
int unread_make_room(struct archive_writer *w, int64_t capture, enum deletion_reason reason, unsigned *left);
/* Return whether the error R is of one capture of this kind alone, so that the next one is tried. */
bool unread_is_passed(int r);
/* A search for captures of this kind whose runs have ended, and that were taken before BEFORE_AGE. */
struct unread_search {
	enum writer_statement which; /* UNREAD_OLD, ALL_UNREAD, or GUEST_UNREAD of GUEST */
	const char *guest;	     /* borrowed; NULL = all guests */
	int64_t before_age;	     /* on the age clock, ns */
};
/*
 * Find the oldest capture of SEARCH above *CAPTURE. A capture whose row, or that of its run, cannot be read is passed over, and told once. *IS_NONE:
 * there is none, and *CAPTURE stays. Return 0, or an error: -EBADMSG if the index of these captures is damaged.
 */
int unread_next(struct archive_writer *w, const struct unread_search *search, int64_t *capture, bool *is_none);
/*
 * Set *END to the last proven byte of a packet, and when it was copied (quota.c); zeroed if none is proven. A damaged
 * row tells the time that it has, right or wrong.
 */
int packet_copied(struct archive_writer *w, int64_t stream, int64_t sequence, struct archive_end *end);
/*
 * Delete the rows of a packet, subtract them from the usage, and add their content bytes to *BYTES, and 1 to *COMPLETE
 * if the packet was complete. The caller runs SETTLE_STREAM, and tells the outbox.
 */
int packet_delete(struct archive_writer *w, int64_t stream, int64_t sequence, int64_t *bytes, int64_t *complete);
/* Subtract the capture's tails from the usage of their streams, and add their bytes to *BYTES. */
int tails_subtract(struct archive_writer *w, int64_t capture, uint64_t *bytes);

/*
 * Count DELETION in the open transaction, of the guest whose run or stream has the identifier ID. Its field guest is
 * ignored. A guest that the archive does not have, or of which a row is damaged, counts as unknown. Return 0; or an error, after which the
 * transaction may be over: the caller writes nothing more.
 */
int writer_tally_run(struct archive_writer *w, int64_t id, const struct deletion *deletion);
int writer_tally_stream(struct archive_writer *w, int64_t id, const struct deletion *deletion);

/* Delete the bytes of a packet behind its last chunk end. */
int packet_drop_dangling(struct archive_writer *w, int64_t stream, uint64_t sequence);

#endif
