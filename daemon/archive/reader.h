/*
 * The archive, read only: from another process, and as another user than the writer's.
 *
 * Each call is one short read transaction (one page of rows, or one blob) that is over when it returns; reader_begin and reader_end put a
 * few calls into one.  Nothing is ever held across a wait, since an open transaction keeps the writer from truncating its WAL.
 * Each returns 0, -errno (the archive is damaged or cannot be read at all), or a positive archive_condition: ARCHIVE_E_BUSY (not right
 * now: try again), ARCHIVE_E_ABSENT (there is no such row), ARCHIVE_E_NEWER, ARCHIVE_E_DAMAGED (a row does not hold; see
 * reader_take_damage).  What is borrowed in a callback is valid until it returns; a
 * callback that returns non-zero ends the call, which returns that.  Not thread-safe.
 */
#ifndef ARCHIVE_READER_H
#define ARCHIVE_READER_H

#include "archive.h"
#include "cleanup.h"

struct reader;

/* STATE is the state directory; nothing is opened yet.  0 or -ENOMEM. */
int reader_new(struct reader **rp, const char *state);
struct reader *reader_free(struct reader *r);
CLEANUP_DEFINE(struct reader, reader_free)

/* Open the archive where it is not open or was replaced.  ARCHIVE_E_BUSY also where there is none yet. */
int reader_ready(struct reader *r);

/*
 * A number that differs where something was committed since it was asked last, and one that differs where it is another archive.  Returns what the reader
 * returns.
 */
struct reader_version {
	int64_t commits;
	uint64_t archives;
};
int reader_version(struct reader *r, struct reader_version *version);

/* One transaction over the calls between; it must be over within 50 ms. */
int reader_begin(struct reader *r);
void reader_end(struct reader *r);

/*
 * Hold back deletion until the caller closes *FD: no transaction, so the writer goes on, and deletes after a few seconds all the same.  0;
 * ARCHIVE_E_BUSY: something is being deleted right now; -errno: there is nothing to hold.
 */
int reader_hold(struct reader *r, int *fd);

/* How long the longest transaction lasted so far (ns), from its first statement on, whatever the caller did between. */
uint64_t reader_longest(const struct reader *r);

/* Runs.  The key names the guest that a run is of: "u:UUID", or "n:NAME" where it has no UUID. */
struct reader_guest {
	const char *key;
	struct archive_run latest;
	uint64_t runs;
	uint64_t captures;
};

typedef int reader_run_call(void *context, const struct archive_run *run);
typedef int reader_guest_call(void *context, const struct reader_guest *guest);

/* At most LIMIT guests whose keys are greater than AFTER, in order of their keys. */
int reader_guests(struct reader *r, const char *after, unsigned limit, reader_guest_call *call, void *context);
/* The guest whose run ID is. */
int reader_guest(struct reader *r, int64_t id, reader_guest_call *call, void *context);
int reader_run(struct reader *r, int64_t id, reader_run_call *call, void *context);
/*
 * The latest run of the guest that has this UUID, that bore this name last, or that runs with this domid.  The latest is the newest that has
 * not ended, where there is one.  ARCHIVE_E_ABSENT.
 */
int reader_run_by_uuid(struct reader *r, const char *uuid, int64_t *id);
int reader_run_by_name(struct reader *r, const char *name, int64_t *id);
int reader_run_by_domid(struct reader *r, int64_t domid, int64_t *id);
/* At most LIMIT runs of the guest whose run ID is, below BEFORE, newest first. */
int reader_runs(struct reader *r, int64_t id, int64_t before, unsigned limit, reader_run_call *call, void *context);

/* At most LIMIT runs of all guests above AFTER, in order of their ids. */
int reader_all_runs(struct reader *r, int64_t after, unsigned limit, reader_run_call *call, void *context);

/* Streams of a run, in order of their numbers.  The counters speak of complete packets. */
struct reader_stream {
	struct archive_stream stream;
	uint64_t packets, bytes, lost_packets, skipped_packets, deletions, gaps;
	uint64_t last_seen_real; /* 0 = never */
};
typedef int reader_stream_call(void *context, const struct reader_stream *stream);
int reader_streams(struct reader *r, int64_t run, reader_stream_call *call, void *context);

/* Where bytes are: the chunks of a stream, or (CAPTURE not 0) the tail that a capture has of it. */
struct reader_source {
	int64_t stream;
	int64_t capture;
};

/* What rows there are of one packet.  Read from a covering index, without the blobs. */
struct reader_packet {
	uint64_t sequence;
	uint64_t first_timestamp;
	uint32_t begin; /* of the first row; 30 but in a tail */
	uint32_t end;	/* of the last row, which can be past the last chunk end where the packet is not complete */
	uint32_t room;
	uint32_t unproven_from; /* offset of the first unproven byte; 0 = none */
	bool complete;
	bool clock;
	bool whole;	/* the rows lie one behind the other */
	uint64_t stamp; /* differs when other rows hold the packet */
};

/*
 * Packets from sequence FROM to TO, both included, ascending, or descending from TO: at most *N of them, of which *N says how many were
 * read.
 */
int reader_packets(struct reader *r, struct reader_source source, uint64_t from, uint64_t to, bool descending,
		   struct reader_packet *packets, size_t *n);

/* The last chunk end of a packet at or below offset MOST; ARCHIVE_E_ABSENT. */
int reader_end_below(struct reader *r, int64_t stream, uint64_t sequence, uint32_t most, struct archive_end *end);
/*
 * The first chunk end of a packet past offset ABOVE; with REACH not 0 the last one for which no more than REACH bytes lie between, where there is one.
 * ARCHIVE_E_ABSENT.
 */
int reader_end_above(struct reader *r, int64_t stream, uint64_t sequence, uint32_t above, uint32_t reach,
		     struct archive_end *end);

/* The last chunk end of a packet that was copied at REAL or before; ARCHIVE_E_ABSENT. */
int reader_end_copied(struct reader *r, int64_t stream, uint64_t sequence, uint64_t real, struct archive_end *end);
/* How many packets from sequence FROM to TO, both included, are there. */
int reader_present(struct reader *r, int64_t stream, uint64_t from, uint64_t to, uint64_t *packets);
/* Content bytes of all packets above SEQUENCE. */
int reader_content_above(struct reader *r, int64_t stream, uint64_t sequence, uint64_t *bytes);

/*
 * Are the stream's oldest and newest packets there, and (CAPTURE not 0) the capture's range and all of its tail?  ARCHIVE_E_DAMAGED where not.
 */
struct reader_stream_check {
	bool known;	    /* from which packet on holes must be explained: */
	uint64_t oldest;    /* the first that is known to have been there */
	uint64_t deletions; /* goes up with each deletion of packets of the stream */
};
int reader_check(struct reader *r, struct reader_source source, struct reader_stream_check *check);

/*
 * *ALL: the stream has as many complete packets as were not deleted, as far as is known.  Counts all of them: to be asked where some are missing.
 */
int reader_check_held(struct reader *r, int64_t stream, bool *all);

/* Where the reader met damage last; found once.  False: it has not since it was asked. */
struct reader_damage {
	int64_t stream;
	uint64_t sequence;
	int64_t capture; /* it is in the tail or the range of; 0 = in the stream's packets */
};
bool reader_take_damage(struct reader *r, struct reader_damage *damage);
/* Note damage that the caller found: rows do not lie one behind the other.  Returns ARCHIVE_E_DAMAGED. */
int reader_note_damage(struct reader *r, struct reader_source source, uint64_t sequence);

/* A row that was read. */
struct reader_piece {
	uint32_t offset; /* of its first byte in the packet */
	uint32_t length; /* uncompressed */
	bool stored;	 /* the buffer holds it as it is stored ... */
	int codec;	 /* ... with this codec; else uncompressed */
	size_t bytes;	 /* in the buffer */
};

/*
 * Read the row of a packet that covers OFFSET into OUT, which has room for ARCHIVE_PIECE_MAX bytes: as it is stored, if STORED says that the caller wants
 * it so and it begins at OFFSET and ends at or before LIMIT; else uncompressed.  ARCHIVE_E_ABSENT.
 */
int reader_piece(struct reader *r, struct reader_source source, uint64_t sequence, uint32_t offset, uint32_t limit,
		 bool stored, uint8_t *out, struct reader_piece *piece);

/* Copy up to LEN bytes of a packet from OFFSET on to OUT; *GOT says how many there are.  SCRATCH has ARCHIVE_PIECE_MAX bytes. */
int reader_bytes(struct reader *r, struct reader_source source, uint64_t sequence, uint32_t offset, size_t len,
		 uint8_t *out, uint8_t *scratch, size_t *got);

/* At most LIMIT gaps behind packets FROM to TO, both included. */
typedef int reader_gap_call(void *context, const struct archive_gap *gap);
int reader_gaps(struct reader *r, int64_t stream, uint64_t from, uint64_t to, unsigned limit, reader_gap_call *call,
		void *context);
/* The one that lies behind all others of stream NUMBER of RUN (its stream is said to be 0); ARCHIVE_E_ABSENT. */
int reader_last_gap(struct reader *r, int64_t run, uint32_t number, reader_gap_call *call, void *context);

/*
 * Captures below BEFORE, newest first: all (RUN 0), or those of the guest whose run RUN is.  The context is not among what is read of them, since it
 * may be long.
 */
struct reader_capture {
	struct archive_capture capture;
	const char *name; /* of its run */
	const char *uuid; /* NULL = none */
};
typedef int reader_capture_call(void *context, const struct reader_capture *capture);
int reader_captures(struct reader *r, int64_t run, int64_t before, unsigned limit, reader_capture_call *call,
		    void *context);
int reader_capture(struct reader *r, int64_t id, reader_capture_call *call, void *context);
/* The BYTES of a capture's context, NULL = it has none, as they are stored: whether they are well-formed is for the caller to see. */
typedef int reader_context_call(void *context, const char *text, size_t bytes);
int reader_context(struct reader *r, int64_t capture, reader_context_call *call, void *context);
/*
 * The capture of a stream's end: the latest that is not periodic, manual or trigger and behind which nothing of the stream is archived.  Others
 * were of a suspension that the guest came back from, or of a ring that was withdrawn and published again.  ARCHIVE_E_ABSENT.
 */
int reader_end_capture(struct reader *r, int64_t stream, int64_t *id);

struct reader_capture_range {
	struct archive_capture_stream range;
	uint32_t number;
	const char *name; /* NULL = none */
	uint64_t tail_bytes;
	uint64_t deletions; /* of the stream */
};
typedef int reader_range_call(void *context, const struct reader_capture_range *range);
int reader_capture_ranges(struct reader *r, int64_t capture, reader_range_call *call, void *context);

/* Sums over everything, for metrics. */
struct reader_totals {
	uint64_t runs, running, captures, packets, bytes, lost_packets, skipped_packets, damaged_packets, file_bytes;
	bool unchecked; /* there may be rows without checksums */
};
int reader_totals(struct reader *r, struct reader_totals *totals);

#endif
