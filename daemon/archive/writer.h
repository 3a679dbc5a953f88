/*
 * The only writer of the trace archive.
 *
 * All calls between begin and commit are one transaction. Each call returns 0, -errno (fatal for
 * the archive: close it), or a positive archive_condition. After ARCHIVE_E_FULL the transaction is
 * gone; the caller keeps its input to try again. A call needs an open transaction unless its
 * comment says otherwise. Not thread-safe: one thread owns a writer.
 */
#ifndef ARCHIVE_WRITER_H
#define ARCHIVE_WRITER_H

#include "archive.h"
#include "cleanup.h"

struct archive_writer;

/*
 * Open or create <STATE>/archive/trace.db and migrate it. STATE must exist; files are created 0640
 * and the directory 0750, so that the group reads. On a full disk the reserve is given up to open
 * the archive; ARCHIVE_E_FULL: that was not enough. -EBUSY: another process writes this archive. On
 * failure SENTENCE, of SIZE bytes, says what happened.
 */
int archive_writer_open(struct archive_writer **wp, const char *state, const struct archive_options *options,
			char *sentence, size_t size);
/* Roll back an open transaction and close the archive. The WAL file stays. */
struct archive_writer *archive_writer_free(struct archive_writer *w);
CLEANUP_DEFINE(struct archive_writer, archive_writer_free)

/*
 * Set the compression level from the next piece on: 0 stores raw, 1 to 19 as zstd's, -1 to -7 its
 * fast ones.
 */
void archive_writer_level(struct archive_writer *w, int level);

int archive_writer_begin(struct archive_writer *w);
/*
 * Commit. The commit survives a kill of the process. A loss of power may take the last commits, but
 * none that completed a capture with its range. The WAL is cut if it is past its limit and readers
 * leave it.
 */
int archive_writer_commit(struct archive_writer *w);
void archive_writer_rollback(struct archive_writer *w);

/* Insert a run, or update its name, state, domid, ended_real and reason. */
int archive_writer_put_run(struct archive_writer *w, const struct archive_run *run);
/* Insert a stream, or update its name and add its flags. */
int archive_writer_put_stream(struct archive_writer *w, const struct archive_stream *stream);

/*
 * Append a piece. Bytes that are stored already are left out. ARCHIVE_E_ABSENT: the stream was not
 * put, or the packet's bytes before the piece are missing. ARCHIVE_CHUNK_LAST completes the packet:
 * its pieces are rewritten as few rows of at most ARCHIVE_PIECE_MAX bytes that keep every chunk
 * end, and the stream's counters go up. A packet larger than that is rewritten row by row while it
 * grows. A LAST piece of length 0 only completes the packet.
 */
int archive_writer_append(struct archive_writer *w, const struct archive_piece *piece);

/*
 * Record a gap and add it to the stream's counters; do nothing if the gap is there already. Pieces
 * of AFTER_SEQUENCE past its last chunk end are deleted. ARCHIVE_E_ABSENT: the stream was not put.
 */
int archive_writer_gap(struct archive_writer *w, const struct archive_gap *gap);

int archive_writer_put_capture(struct archive_writer *w, const struct archive_capture *capture);
int archive_writer_put_capture_stream(struct archive_writer *w, const struct archive_capture_stream *range);
/* Add a piece of a capture's unproven tail; ENDS and FLAGS are ignored. */
int archive_writer_tail(struct archive_writer *w, int64_t capture, const struct archive_piece *piece);
/*
 * Change a capture: PINNED -1, NOTE NULL and CONTEXT (JSON) NULL leave the value. A context
 * survives a loss of power, as captures do. ARCHIVE_E_ABSENT. Needs no transaction.
 */
int archive_writer_patch_capture(struct archive_writer *w, int64_t id, int pinned, const char *note,
				 const char *context);
/*
 * Delete a capture with its ranges and tails; the packets stay. ARCHIVE_E_ABSENT. Needs no
 * transaction.
 */
int archive_writer_delete_capture(struct archive_writer *w, int64_t id);

/*
 * Check what a reader reported: that bytes of packet SEQUENCE are damaged or that packets before it
 * are missing, or, with CAPTURE not 0, that the tail or the range of that capture is damaged.
 * Damaged rows are taken out of service, and what they lose becomes a gap of the reason "damaged".
 * *DAMAGED: damage was found. After -EBADMSG, an error of SQLite, the archive is unchanged. Needs
 * no transaction.
 */
int archive_writer_repair(struct archive_writer *w, int64_t stream, uint64_t sequence, int64_t capture, bool *damaged);
/* Return the damage found since the archive was opened. */
struct archive_damage archive_writer_damage(const struct archive_writer *w);
/* Find out whether the archive may have rows without checksums, from an earlier version. */
int archive_writer_unchecked(struct archive_writer *w, bool *unchecked);

/*
 * Delete the oldest packets and captures of the guest NAME, over all its runs (NULL = of all
 * guests), until at most BYTES of content are left, none older than BEFORE_REAL (0 = no limit,
 * each). Tails of captures count as content.
 *
 * Packets in a pinned capture stay, and so does the newest packet of a stream whose run has not
 * ended. A capture that is not pinned is deleted when it is older than BEFORE_REAL, or when it is
 * the oldest and none of its packets is left. Gaps before the oldest packet left go with the
 * packets; ended runs without packets and captures go too.
 *
 * Deletes at most LIMIT packets and captures, so that the call is short. *MORE: there is more to
 * delete. Needs no transaction.
 */
int archive_writer_enforce(struct archive_writer *w, const char *name, uint64_t bytes, uint64_t before_real,
			   unsigned limit, bool *more);

/*
 * Take the lock by which readers hold back deletion (space.h). Return false if a reader holds it:
 * the caller decides how long to wait. The functions that delete do not check the lock. Idempotent,
 * as the release is.
 */
bool archive_writer_begin_deleting(struct archive_writer *w);
void archive_writer_end_deleting(struct archive_writer *w);

/* Return the store, for the care for space on its disk; see space.h. */
struct store *archive_writer_store(struct archive_writer *w);

/*
 * The position of one stream, for a collector that starts. Texts are borrowed during the callback.
 */
struct archive_resume {
	int64_t run;
	int64_t stream;			 /* 0 = no stream of the run was put yet */
	const char *source, *key, *name; /* of the run */
	const char *uuid;		 /* NULL = none */
	int64_t domid;			 /* -1 = none */
	const char *state;
	uint64_t ended_real; /* 0 = not ended */
	uint32_t number;
	uint64_t ring_bytes;
	uint32_t ring_packets;
	bool any;	   /* the archive has packets of the stream: the rest means something */
	uint64_t sequence; /* packet of the next byte to archive ... */
	uint32_t
		offset; /* ... and its offset: the last chunk end, or 30 in the packet behind a complete one or a gap */
	uint64_t last_sequence;	  /* newest packet in the archive ... */
	uint64_t first_timestamp; /* ... and its first timestamp */
	uint64_t last_real;	  /* when its last byte was copied */
	bool captured;		  /* the run has a capture of its end ... */
	const char *captured_as;  /* ... and this is the kind of the newest; NULL = none */
	uint64_t captured_real;	  /* when the newest capture with all of this stream was taken; 0 = none */
	int64_t unfinished;	  /* newest capture of the end if it lacks this stream; 0 = none */
};

/*
 * Call CALL with the streams of every run, oldest run first. Pieces past a packet's last chunk end
 * are deleted before, and so are tails without a range, which a kill cut short. A non-zero result
 * of CALL ends the call, which returns it. Needs no transaction.
 */
int archive_writer_resume(struct archive_writer *w, int (*call)(void *context, const struct archive_resume *resume),
			  void *context);
/*
 * Read the largest identifiers ever given, 0 if none was; deletion does not lower them. Needs no
 * transaction.
 */
int archive_writer_last_ids(struct archive_writer *w, int64_t *run, int64_t *stream, int64_t *capture);

#endif
