/*
 * The only writer of the trace archive.
 *
 * All calls between archive_writer_begin() and archive_writer_commit() are one transaction. Each
 * call returns 0, -errno (fatal: close the archive), or a positive archive_condition. After
 * ARCHIVE_E_FULL the transaction was rolled back; the caller keeps its data and tries again later.
 * A call needs an open transaction unless its comment says otherwise. Not thread-safe: one thread
 * owns a writer.
 */
#ifndef ARCHIVE_WRITER_H
#define ARCHIVE_WRITER_H

#include "age.h"
#include "archive.h"
#include "cleanup.h"
#include "deletion.h"

struct archive_writer;

/*
 * Open or create <STATE>/archive/trace.db and migrate it. STATE must exist. Files get the mode 0640
 * and the directory 0750, so the group can read them. If the disk is full, the reserve file is
 * deleted to open the archive. Return 0, with the writer in *WP; or an error, with a sentence in
 * SENTENCE (SIZE bytes). ARCHIVE_E_FULL: deleting the reserve file was not enough. -EBUSY: another
 * process writes this archive.
 */
int archive_writer_open(struct archive_writer **wp, const char *state, const struct archive_options *options,
			char *sentence, size_t size);
/* Roll back an open transaction and close the archive. The -wal file stays. */
struct archive_writer *archive_writer_free(struct archive_writer *w);
CLEANUP_DEFINE(struct archive_writer, archive_writer_free)

/*
 * Set the compression level from the next piece on: 0 = none, 1 to 19 as zstd's, -1 to -7 zstd's
 * fast levels.
 */
void archive_writer_level(struct archive_writer *w, int level);

int archive_writer_begin(struct archive_writer *w);
/*
 * Commit. The commit survives if the process is killed. If the power fails, the last commits may be
 * lost, but none that completed a capture with its range. The write-ahead log is truncated if it
 * exceeds its limit and no reader needs it.
 */
int archive_writer_commit(struct archive_writer *w);
void archive_writer_rollback(struct archive_writer *w);

/* Insert a run, or update its name, state, domid, ended_real and reason. */
int archive_writer_put_run(struct archive_writer *w, const struct archive_run *run);
/* Insert a stream, or update its name and add its flags. */
int archive_writer_put_stream(struct archive_writer *w, const struct archive_stream *stream);

/*
 * Append PIECE to its packet. Bytes that are stored already are skipped. ARCHIVE_E_ABSENT: the
 * stream was not put, or bytes of the packet before PIECE are missing. A piece with
 * ARCHIVE_CHUNK_LAST completes the packet; its length may be 0. The rows of a complete packet are
 * rewritten as few rows of at most ARCHIVE_PIECE_MAX bytes, which keep every chunk end, and the
 * packet is counted in its stream. A larger packet is rewritten row by row while it grows.
 */
int archive_writer_append(struct archive_writer *w, const struct archive_piece *piece);

/*
 * Store a gap and count it in its stream; do nothing if the gap is stored already. Bytes of packet
 * AFTER_SEQUENCE behind its last chunk end are deleted. ARCHIVE_E_ABSENT: the stream was not put.
 */
int archive_writer_gap(struct archive_writer *w, const struct archive_gap *gap);

/*
 * Say that packets of STREAM may have been deleted before they came here: then one that is missing without a gap is no
 * damage, and a capture without it is not complete. ARCHIVE_E_ABSENT: the stream was not put.
 */
int archive_writer_deleted(struct archive_writer *w, int64_t stream);
/*
 * Say that gaps declare PACKETS packets of STREAM that were damaged in another archive: a capture with one of
 * them is not complete. ARCHIVE_E_ABSENT: the stream was not put.
 */
int archive_writer_damaged(struct archive_writer *w, int64_t stream, uint64_t packets);

struct age_period;
/* Store period P of the clocks of the host from which the stamps come. The archive must have no age clock of its own. */
int archive_writer_put_period(struct archive_writer *w, const struct age_period *p);

int archive_writer_put_capture(struct archive_writer *w, const struct archive_capture *capture);
int archive_writer_put_capture_stream(struct archive_writer *w, const struct archive_capture_stream *range);
/* Note that CAPTURE, whose ranges are stored, may have had streams of which nothing is left (reader_capture_lacks()). */
int archive_writer_capture_lacks(struct archive_writer *w, int64_t capture);
/* Add a piece of a capture's unproven tail. The piece's ENDS and FLAGS are ignored. */
int archive_writer_tail(struct archive_writer *w, int64_t capture, const struct archive_piece *piece);
/*
 * Change a capture. A change of its pin, note or marks adds 1 to its version. A commit with a
 * context is flushed to the disk. ARCHIVE_E_ABSENT: there is no such capture; ARCHIVE_E_CHANGED: it
 * has another version than CHANGE names. Needs no transaction.
 */
int archive_writer_change_capture(struct archive_writer *w, const struct archive_capture_change *change);
/*
 * Delete a capture with its ranges and tails, but not its packets. ARCHIVE_E_ABSENT: there is no
 * such capture. Needs no transaction.
 */
int archive_writer_delete_capture(struct archive_writer *w, int64_t id);
/*
 * Decide on a capture of the kind `unread` whose run has ended. CRASHED: it and its run become a crash. Else it is
 * deleted, with the packets that were copied for it alone; if somebody has changed it, it gets the reason of its run as
 * its kind. Packets of a damaged range stay. ARCHIVE_E_ABSENT: there is no such capture of this kind. ARCHIVE_E_DAMAGED: its row, or
 * that of its run, was damaged, and is declared now; another call decides. -EBADMSG: the file is damaged at it; the log
 * says so once. Needs no transaction.
 */
int archive_writer_judge(struct archive_writer *w, int64_t capture, bool crashed);
/*
 * Decide that captures of the kind `unread` that are older than BEFORE_AGE (age.h) are no crashes. Try at most LIMIT of them, the
 * oldest with identifiers above *AFTER, and set that to the last one; to 0 behind the newest. *DROPPED is the number of those that were
 * deleted: one that somebody has changed stays, and damaged ones are passed over. Needs no transaction.
 */
int archive_writer_drop_unread(struct archive_writer *w, uint64_t before_age, unsigned limit, int64_t *after,
			       unsigned *dropped);

/*
 * Check damage that a reader has reported. CAPTURE 0: bytes of packet SEQUENCE are damaged, or
 * packets before it are missing. CAPTURE not 0: the tail or the range that this capture has of
 * STREAM is damaged. Damaged rows are deleted, and a gap with the reason "damaged" declares the
 * loss. *DAMAGED: damage was found. After -EBADMSG, an error of SQLite, the archive is unchanged.
 * Needs no transaction.
 */
int archive_writer_repair(struct archive_writer *w, int64_t stream, uint64_t sequence, int64_t capture, bool *damaged);
/* Return the damage found since the archive was opened. */
struct archive_damage archive_writer_damage(const struct archive_writer *w);
/* Set *UNCHECKED to whether the archive may have rows that a version without checksums wrote. */
int archive_writer_unchecked(struct archive_writer *w, bool *unchecked);

/*
 * Delete the oldest packets and captures of the guest NAME, over all its runs (NULL = of all
 * guests), until at most BYTES of content are left, and none is older than BEFORE_AGE (age.h). 0 means no
 * limit for either. Tails of captures count as content.
 *
 * Packets in a pinned capture are kept, and so is the newest packet of a stream whose run has not
 * ended. A capture that is not pinned is deleted if it is older than BEFORE_AGE, or if it is the
 * oldest and none of its packets is left. Gaps before the oldest packet that is left are deleted
 * with the packets. So are ended runs without packets and captures.
 *
 * A call deletes at most LIMIT packets and captures, so it is short. *MORE: there is more to
 * delete. A place where the file is damaged is logged, counted as damage and passed over for ten minutes and longer. -EBADMSG: the damage is at no such
 * place, or at too many. Needs no transaction; in an open one, the call fails at such a place, and the next one passes over it.
 */
int archive_writer_enforce(struct archive_writer *w, const char *name, uint64_t bytes, uint64_t before_age,
			   unsigned limit, bool *more);
/* As archive_writer_enforce(), for all guests, until nothing is left that may be deleted: for room on the disk. */
int archive_writer_make_room(struct archive_writer *w, unsigned limit, bool *more);

/* Call age_run() for the archive's age clock. Needs no transaction, and none may be open. */
void archive_writer_run_age(struct archive_writer *w, bool may_write);
/* Return the age clock. Borrowed. */
const struct age *archive_writer_age(const struct archive_writer *w);
/* Return what was deleted in committed transactions since the caller last emptied it. Borrowed. */
struct deletion_tally *archive_writer_deletions(struct archive_writer *w);

/*
 * Take the lock by which readers delay deletion (space.h), unless it is taken already. Return false
 * if a reader holds it: the caller decides how long to wait. The functions that delete do not check
 * the lock. archive_writer_end_deleting() releases the lock if it is taken.
 */
bool archive_writer_begin_deleting(struct archive_writer *w);
void archive_writer_end_deleting(struct archive_writer *w);

/* Return the store, on which the functions of space.h work. Borrowed. */
struct store *archive_writer_store(struct archive_writer *w);

/*
 * The position of one stream in the archive, for a collector that starts. Strings are borrowed
 * during the callback.
 */
#define ARCHIVE_RESUME_BYTES 128u
struct archive_resume {
	int64_t run;
	int64_t stream;			 /* 0 = the run has no stream in the archive */
	const char *source, *key, *name; /* of the run; see struct archive_run */
	const char *uuid;		 /* NULL = none */
	int64_t domid;			 /* -1 = none */
	const char *state;
	uint32_t number;
	const char *label; /* name of the stream; NULL = none */
	uint64_t ring_bytes;
	uint32_t ring_packets;
	bool any;	   /* the archive has packets of the stream, so the other fields are valid */
	uint64_t sequence; /* packet of the next byte to archive */
	/* Offset of that byte: the last chunk end, or 30 in the packet behind a complete packet or a gap. */
	uint32_t offset;
	/* The N_LAST bytes before that offset, if the packet is not complete and the run has not ended; 0 = not known. */
	uint8_t last[ARCHIVE_RESUME_BYTES];
	uint32_t n_last;
	/* If HAS_BEGINS: the oldest packet that the ring had when it was attached for the first time. */
	bool has_begins;
	uint64_t begins;
	uint64_t last_sequence;	  /* newest packet in the archive */
	uint64_t first_timestamp; /* first timestamp of that packet */
	uint64_t last_real;	  /* when that packet's last byte was copied, CLOCK_REALTIME ns */
	/*
	 * The same moment on CLOCK_MONOTONIC of this boot, whatever the clock was set to since; negative =
	 * before it.
	 */
	int64_t last_mono;
	bool captured;		 /* the run has a capture of its end */
	const char *captured_as; /* kind of the newest such capture; NULL = none */
	/*
	 * A file of the stream's ring that was changed last at this time or before, by its mtime, has no bytes that the
	 * newest such capture with all bytes of this stream lacks, CLOCK_REALTIME ns. 0 = there is no such capture.
	 */
	uint64_t captured_real;
	int64_t unfinished; /* newest capture of the run's end, if it has no range of this stream; 0 = none */
	bool end_known;	    /* the archive has the stream's end in a capture, or declared it lost */
};

/*
 * Call CALL with each stream of each run, oldest run first. Before that, bytes behind a packet's
 * last chunk end are deleted, and tails without a range, which were not complete when mprofd was
 * killed. If CALL returns another value than 0, the call ends and returns it. Needs no transaction.
 */
int archive_writer_resume(struct archive_writer *w, int (*call)(void *context, const struct archive_resume *resume),
			  void *context);
/*
 * Read the largest identifiers that were ever used, 0 if none was. Deletion does not lower them.
 * Needs no transaction.
 */
int archive_writer_last_ids(struct archive_writer *w, int64_t *run, int64_t *stream, int64_t *capture);
/*
 * Read the archive's UUID: 32 hexadecimal digits and a NUL, cut if the row is damaged. Return 0, ARCHIVE_E_ABSENT: it has none;
 * or an error. Needs no transaction.
 */
int archive_writer_name(struct archive_writer *w, char name[ARCHIVE_NAME_BYTES]);

#endif
