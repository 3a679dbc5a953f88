/*
 * The archive's only writer.
 *
 * Everything between begin and commit is one transaction.  Each call returns 0, -errno (fatal for the archive: close it), or a
 * positive archive_condition.  After ARCHIVE_E_FULL the transaction is gone; the caller keeps what it wants to try again.
 * Calls that say nothing else need an open transaction.  Not thread-safe: one thread owns a writer.
 */
#ifndef ARCHIVE_WRITER_H
#define ARCHIVE_WRITER_H

#include "archive.h"
#include "cleanup.h"

struct archive_writer;

/*
 * Open or create <STATE>/archive/trace.db and migrate it.  SENTENCE (of SIZE bytes) says in words what failed; -EBUSY: another
 * process writes this archive.  On a full disk the reserve is given up to get it open; ARCHIVE_E_FULL: not even that did.  Files are created 0640, the directory 0750, so that the group reads; STATE itself must be there.
 */
int archive_writer_open(struct archive_writer **wp, const char *state, const struct archive_options *options,
			char *sentence, size_t size);
struct archive_writer *archive_writer_free(struct archive_writer *w); /* rolls back what is open; keeps the WAL file */
CLEANUP_DEFINE(struct archive_writer, archive_writer_free)

/* Faster or denser compression from the next piece on: level 0 stores raw, 1 to 19 as zstd's, -1 to -7 its fast ones. */
void archive_writer_level(struct archive_writer *w, int level);

int archive_writer_begin(struct archive_writer *w);
/*
 * What is committed outlives a kill of the process.  A loss of power may take the last commits, but none that made a capture whole, with its range.  Then
 * truncates the WAL when it has grown past the limit and readers leave it.
 */
int archive_writer_commit(struct archive_writer *w);
void archive_writer_rollback(struct archive_writer *w);

/* Insert, or update what may change: name, state, domid, ended_real, reason; a stream's name, flags. */
int archive_writer_put_run(struct archive_writer *w, const struct archive_run *run);
int archive_writer_put_stream(struct archive_writer *w, const struct archive_stream *stream);

/*
 * Append a piece.  One that is already there, whole or in part, is stored only where it is new.  ARCHIVE_E_ABSENT: the stream was not
 * put, or the packet's bytes before the piece are not there.  With ARCHIVE_CHUNK_LAST the packet is
 * complete: its earlier pieces are rewritten with this one as few rows of at most ARCHIVE_PIECE_MAX bytes that keep every chunk end, and the
 * stream's counters go up.  Of a packet larger than that this happens row by row while it grows.  A LAST piece of length 0 only completes the packet.
 */
int archive_writer_append(struct archive_writer *w, const struct archive_piece *piece);

/*
 * Record a gap, and add it to the stream's counters; one that is already there is left alone.  Pieces of AFTER_SEQUENCE past its last
 * chunk end are dropped.  ARCHIVE_E_ABSENT: the stream was not put.
 */
int archive_writer_gap(struct archive_writer *w, const struct archive_gap *gap);

int archive_writer_put_capture(struct archive_writer *w, const struct archive_capture *capture);
int archive_writer_put_capture_stream(struct archive_writer *w, const struct archive_capture_stream *range);
/* A piece of a capture's unproven tail; ENDS and FLAGS are not used. */
int archive_writer_tail(struct archive_writer *w, int64_t capture, const struct archive_piece *piece);
/*
 * Change a capture: PINNED -1 = leave, NOTE NULL = leave, CONTEXT (JSON) NULL = leave.  A context outlives a loss of power, as captures do.
 * ARCHIVE_E_ABSENT.  Needs no transaction.
 */
int archive_writer_patch_capture(struct archive_writer *w, int64_t id, int pinned, const char *note,
				 const char *context);
/* Delete a capture with its ranges and tails; the packets stay.  ARCHIVE_E_ABSENT.  Needs no transaction. */
int archive_writer_delete_capture(struct archive_writer *w, int64_t id);

/*
 * A reader says that bytes of packet SEQUENCE are damaged, or that packets before it are missing; with CAPTURE not 0, that the tail or the range
 * of that capture is.  Look, and take what does not hold out of service: what is gone becomes a gap of the reason "damaged".
 * *DAMAGED: something was.  Also where the answer is an error of SQLite's, -EBADMSG, the archive goes on as it was.  Needs no transaction.
 */
int archive_writer_repair(struct archive_writer *w, int64_t stream, uint64_t sequence, int64_t capture, bool *damaged);
/* What was found damaged since the archive was opened. */
struct archive_damage archive_writer_damage(const struct archive_writer *w);
/* May the archive have rows from before there were checksums? */
int archive_writer_unchecked(struct archive_writer *w, bool *unchecked);

/*
 * Delete oldest unpinned packets until the guest NAME (over all its runs) keeps at most BYTES of content and nothing older than
 * BEFORE_REAL (0 = no limit, each).  Tails of captures count as content.  Packets that a pinned capture names stay, and so does the
 * newest packet of a stream whose run has not ended.  Unpinned captures go when they are past BEFORE_REAL, or when they are the oldest
 * and none of their packets is left.  Gaps before the oldest packet left go with the packets.  Deletes at most LIMIT packets and
 * captures a call and returns in *MORE whether there is more to do, so that one call stays short.  NAME NULL: over all guests.  Needs
 * no transaction of the caller's.  Runs that ended and hold neither packets nor captures go too.
 */
int archive_writer_enforce(struct archive_writer *w, const char *name, uint64_t bytes, uint64_t before_real,
			   unsigned limit, bool *more);

/*
 * Readers hold back deletion for a moment (space.h).  Begin: false where some do; it is the caller's to wait then, and how long.  Both idempotent.  What
 * deletes does not look at it.
 */
bool archive_writer_begin_deleting(struct archive_writer *w);
void archive_writer_end_deleting(struct archive_writer *w);

/* Get the store, for the care for space on its disk; see space.h. */
struct store *archive_writer_store(struct archive_writer *w);

/* Where a stream stands, for a collector that starts. */
struct archive_resume {
	int64_t run;
	int64_t stream;			 /* 0 = no stream of the run was put yet */
	const char *source, *key, *name; /* of the run; borrowed during the callback, as all texts here */
	const char *uuid;		 /* NULL = none */
	int64_t domid;			 /* -1 = none */
	const char *state;
	uint64_t ended_real; /* 0 = not ended */
	uint32_t number;
	uint64_t ring_bytes;
	uint32_t ring_packets;
	bool any;	   /* something of the stream was archived: the rest means something */
	uint64_t sequence; /* the next byte wanted is in this packet ... */
	uint32_t
		offset; /* ... at this offset (30 = its first event): the last chunk end, or the packet behind a complete one or a gap */
	uint64_t last_sequence;	  /* the newest packet of which anything is archived ... */
	uint64_t first_timestamp; /* ... and its first timestamp */
	uint64_t last_real;	  /* when its last byte was copied */
	bool captured;		  /* the run has a capture of its end ... */
	const char *captured_as;  /* ... the newest of them is of this kind; NULL = none */
	uint64_t captured_real;	  /* when the newest of them that has all of this stream was taken; 0 = none has */
	int64_t unfinished;	  /* the newest of them, where it has not; 0 = it has, or there is none */
};

/* Every run's streams, oldest run first.  Pieces past a packet's last chunk end are deleted before, and the tails of captures that a kill came
 * into: those without a range of the stream.  Stops when CALL returns non-zero, and returns that.  Needs no transaction. */
int archive_writer_resume(struct archive_writer *w, int (*call)(void *context, const struct archive_resume *resume),
			  void *context);
/* The largest identifiers ever given, 0 where none was; deletion does not lower them. */
int archive_writer_last_ids(struct archive_writer *w, int64_t *run, int64_t *stream, int64_t *capture);

#endif
