/*
 * The trace archive, read-only: from another process and as another user than the writer.
 *
 * Each call is one short read transaction (one page of rows, or one blob) that ends before the call
 * returns; reader_begin() and reader_end() put several calls into one transaction. The reader holds
 * no transaction across a wait, because an open transaction keeps the writer from cutting its WAL.
 *
 * Each call returns 0, -errno (the archive is damaged or cannot be read at all), or a positive
 * archive_condition: ARCHIVE_E_BUSY (not now: try again), ARCHIVE_E_ABSENT (there is no such row),
 * ARCHIVE_E_NEWER, ARCHIVE_E_DAMAGED (a row does not agree with its checksum; see
 * reader_take_damage()). Arguments of a callback are valid until it returns; a non-zero result of a
 * callback ends the call, which returns it. Not thread-safe.
 */
#ifndef ARCHIVE_READER_H
#define ARCHIVE_READER_H

#include "archive.h"
#include "cleanup.h"

struct reader;

/* Make a reader of the state directory STATE; nothing is opened yet. Return 0 or -ENOMEM. */
int reader_new(struct reader **rp, const char *state);
struct reader *reader_free(struct reader *r);
CLEANUP_DEFINE(struct reader, reader_free)

/*
 * Open the archive if it is not open or was replaced. ARCHIVE_E_BUSY: it is not readable now, or
 * not there yet.
 */
int reader_ready(struct reader *r);

/* COMMITS changes with each commit, ARCHIVES each time another archive is opened. */
struct reader_version {
	int64_t commits;
	uint64_t archives;
};
int reader_version(struct reader *r, struct reader_version *version);

/* Put the calls between into one transaction, which must end within 50 ms. */
int reader_begin(struct reader *r);
void reader_end(struct reader *r);

/*
 * Hold back deletion until the caller closes *FD. That is no transaction: the writer goes on, and
 * after a few seconds deletes all the same. Return 0, ARCHIVE_E_BUSY while something is being
 * deleted, or -errno if there is no lock file.
 */
int reader_hold(struct reader *r, int *fd);

/*
 * Return the length of the longest transaction so far in ns, from its first statement on, with the
 * caller's time between calls.
 */
uint64_t reader_longest(const struct reader *r);

/* A guest and its latest run. The key is "u:UUID", or "n:NAME" if the guest has no UUID. */
struct reader_guest {
	const char *key;
	struct archive_run latest;
	uint64_t runs;
	uint64_t captures;
};

typedef int reader_run_call(void *context, const struct archive_run *run);
typedef int reader_guest_call(void *context, const struct reader_guest *guest);

/* List at most LIMIT guests whose keys are greater than AFTER, in order of their keys. */
int reader_guests(struct reader *r, const char *after, unsigned limit, reader_guest_call *call, void *context);
/* Get the guest of run ID. */
int reader_guest(struct reader *r, int64_t id, reader_guest_call *call, void *context);
int reader_run(struct reader *r, int64_t id, reader_run_call *call, void *context);
/*
 * Find the latest run of the guest with this UUID, with this name in its latest run, or with this
 * domid now. The latest is the newest run that has not ended, or else the newest. ARCHIVE_E_ABSENT.
 */
int reader_run_by_uuid(struct reader *r, const char *uuid, int64_t *id);
int reader_run_by_name(struct reader *r, const char *name, int64_t *id);
int reader_run_by_domid(struct reader *r, int64_t domid, int64_t *id);
/* List at most LIMIT runs below BEFORE of the guest of run ID, newest first. */
int reader_runs(struct reader *r, int64_t id, int64_t before, unsigned limit, reader_run_call *call, void *context);

/* List at most LIMIT runs of all guests above AFTER, in order of their ids. */
int reader_all_runs(struct reader *r, int64_t after, unsigned limit, reader_run_call *call, void *context);

/* A stream. The counters count complete packets. */
struct reader_stream {
	struct archive_stream stream;
	uint64_t packets, bytes, lost_packets, skipped_packets, deletions, gaps;
	uint64_t last_seen_real; /* 0 = never */
};
typedef int reader_stream_call(void *context, const struct reader_stream *stream);
/* List the streams of a run, in order of their numbers. */
int reader_streams(struct reader *r, int64_t run, reader_stream_call *call, void *context);

/*
 * A source of bytes: the chunks of a stream, or (CAPTURE not 0) the capture's tail of that stream.
 */
struct reader_source {
	int64_t stream;
	int64_t capture;
};

/* A summary of a packet's rows, read from a covering index without the blobs. */
struct reader_packet {
	uint64_t sequence;
	uint64_t first_timestamp;
	uint32_t begin; /* offset of the first row; 30 except in a tail */
	uint32_t end;	/* end of the last row; can be past the last chunk end of an incomplete packet */
	uint32_t room;
	uint32_t unproven_from; /* offset of the first unproven byte; 0 = none */
	bool complete;
	bool clock;
	bool whole;	/* the rows follow each other without a hole */
	uint64_t stamp; /* changes when other rows hold the packet */
};

/*
 * Read at most *N packets from sequence FROM to TO, both included, ascending, or descending from
 * TO. *N becomes the number of packets read.
 */
int reader_packets(struct reader *r, struct reader_source source, uint64_t from, uint64_t to, bool descending,
		   struct reader_packet *packets, size_t *n);

/* Find the last chunk end of a packet at or below offset MOST. ARCHIVE_E_ABSENT. */
int reader_end_below(struct reader *r, int64_t stream, uint64_t sequence, uint32_t most, struct archive_end *end);
/*
 * Find the first chunk end of a packet past offset ABOVE; with REACH not 0 the last one at most
 * REACH bytes past ABOVE, if there is one. ARCHIVE_E_ABSENT.
 */
int reader_end_above(struct reader *r, int64_t stream, uint64_t sequence, uint32_t above, uint32_t reach,
		     struct archive_end *end);

/* Find the last chunk end of a packet that was copied at REAL or before. ARCHIVE_E_ABSENT. */
int reader_end_copied(struct reader *r, int64_t stream, uint64_t sequence, uint64_t real, struct archive_end *end);
/* Count the packets from sequence FROM to TO, both included, that are there. */
int reader_present(struct reader *r, int64_t stream, uint64_t from, uint64_t to, uint64_t *packets);
/* Sum the content bytes of all packets above SEQUENCE. */
int reader_content_above(struct reader *r, int64_t stream, uint64_t sequence, uint64_t *bytes);

/*
 * Check that the stream's oldest and newest packets are there, and (CAPTURE not 0) that the
 * capture's range and all of its tail are. ARCHIVE_E_DAMAGED: they are not.
 */
struct reader_stream_check {
	bool known;	    /* OLDEST means something: from that packet on a gap must explain each hole */
	uint64_t oldest;    /* oldest packet that is known to have been there */
	uint64_t deletions; /* increases with each deletion of packets of the stream */
};
int reader_check(struct reader *r, struct reader_source source, struct reader_stream_check *check);

/*
 * Find out whether the stream has ALL complete packets that were not deleted, as far as the archive
 * knows. This counts all packets: call it only if some are missing.
 */
int reader_check_held(struct reader *r, int64_t stream, bool *all);

/*
 * A sequence that changed on the disk moves a packet and leaves the number of packets as it was.
 * These two calls look for such a packet after a hole was met. ARCHIVE_E_DAMAGED: a row does not
 * hold.
 */
/* Check the rows of the two packets beside the hole FROM to END, END not included. */
int reader_check_beside(struct reader *r, int64_t stream, uint64_t from, uint64_t end);
/*
 * Check the rows of the packets that are out of the order of time, at most 64 of them. This reads
 * the times of all packets of the stream: call it once for an answer.
 */
int reader_check_order(struct reader *r, int64_t stream);

/* The damage that the reader met last. */
struct reader_damage {
	int64_t stream;
	uint64_t sequence;
	int64_t capture; /* capture whose tail or range is damaged; 0 = the stream's packets are */
};
/* Take the damage that was met since the last call. Return false if there was none. */
bool reader_take_damage(struct reader *r, struct reader_damage *damage);
/*
 * Note damage that the caller found: rows that do not follow each other. Return ARCHIVE_E_DAMAGED.
 */
int reader_note_damage(struct reader *r, struct reader_source source, uint64_t sequence);

/* A row, as reader_piece() reads it. */
struct reader_piece {
	uint32_t offset; /* of its first byte in the packet */
	uint32_t length; /* uncompressed */
	bool stored;	 /* the buffer holds the stored bytes ... */
	int codec;	 /* ... with this codec; false = the uncompressed bytes */
	size_t bytes;	 /* in the buffer */
};

/*
 * Read the row of a packet that covers OFFSET into OUT, which has ARCHIVE_PIECE_MAX bytes: as it is
 * stored, if STORED is set and the row begins at OFFSET and ends at or before LIMIT; else
 * uncompressed. ARCHIVE_E_ABSENT.
 */
int reader_piece(struct reader *r, struct reader_source source, uint64_t sequence, uint32_t offset, uint32_t limit,
		 bool stored, uint8_t *out, struct reader_piece *piece);

/*
 * Copy at most LEN bytes of a packet, from OFFSET on, to OUT. *GOT is their number. SCRATCH has
 * ARCHIVE_PIECE_MAX bytes.
 */
int reader_bytes(struct reader *r, struct reader_source source, uint64_t sequence, uint32_t offset, size_t len,
		 uint8_t *out, uint8_t *scratch, size_t *got);

/* List at most LIMIT gaps behind packets FROM to TO, both included. */
typedef int reader_gap_call(void *context, const struct archive_gap *gap);
int reader_gaps(struct reader *r, int64_t stream, uint64_t from, uint64_t to, unsigned limit, reader_gap_call *call,
		void *context);
/* Get the last gap of stream NUMBER of RUN; its stream field is 0. ARCHIVE_E_ABSENT. */
int reader_last_gap(struct reader *r, int64_t run, uint32_t number, reader_gap_call *call, void *context);

/* A capture, without its context, which may be long. */
struct reader_capture {
	struct archive_capture capture;
	const char *name; /* of its run */
	const char *uuid; /* NULL = none */
};
typedef int reader_capture_call(void *context, const struct reader_capture *capture);
/*
 * List at most LIMIT captures below BEFORE, newest first: all (RUN 0), or those of the guest of
 * RUN.
 */
int reader_captures(struct reader *r, int64_t run, int64_t before, unsigned limit, reader_capture_call *call,
		    void *context);
int reader_capture(struct reader *r, int64_t id, reader_capture_call *call, void *context);
/*
 * Get the BYTES of a capture's context as they are stored; NULL = there is none. The caller checks
 * whether they are well-formed.
 */
typedef int reader_context_call(void *context, const char *text, size_t bytes);
int reader_context(struct reader *r, int64_t capture, reader_context_call *call, void *context);
/*
 * Find the capture of a stream's end: the latest that is not periodic, manual or trigger, and
 * behind which the archive has nothing of the stream. The others are of a suspension that the guest
 * came back from, or of a ring that was withdrawn and published again. ARCHIVE_E_ABSENT.
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
