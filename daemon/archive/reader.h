/*
 * Read the trace archive, from another process and as another user than the writer.
 *
 * Each call is one short read transaction (one page of rows, or one blob) that ends before the call
 * returns; reader_begin() and reader_end() put several calls into one transaction. No transaction
 * stays open while the caller waits, because an open transaction keeps the writer from truncating
 * its write-ahead log.
 *
 * Each call returns 0, -errno (the archive is damaged or cannot be read at all), or a positive
 * archive_condition: ARCHIVE_E_BUSY (not now: try again), ARCHIVE_E_ABSENT (there is no such row),
 * ARCHIVE_E_NEWER, ARCHIVE_E_DAMAGED (a row does not agree with its checksum; see
 * reader_take_damage()). The arguments of a callback are valid until it returns. If a callback
 * returns another value than 0, the call ends and returns that value. Not thread-safe.
 */
#ifndef ARCHIVE_READER_H
#define ARCHIVE_READER_H

#include "archive.h"
#include "cleanup.h"
#include "codec.h"
#include "view.h"

struct reader;

/* Create a reader of the archive below STATE; nothing is opened yet. Return 0 or -ENOMEM. */
int reader_new(struct reader **rp, const char *state);
struct reader *reader_free(struct reader *r);
CLEANUP_DEFINE(struct reader, reader_free)

/*
 * Open the archive if it is not open, or if the file was replaced; this is noticed within
 * DATABASE_LOOK_NS. Return 0, -errno, ARCHIVE_E_NEWER, or ARCHIVE_E_BUSY: it cannot be read now, or
 * does not exist yet.
 */
int reader_ready(struct reader *r);

/*
 * A version of the content: COMMITS changes with each commit, ARCHIVES each time that the reader
 * opens an archive. No two readers have the same ARCHIVES.
 */
struct reader_version {
	int64_t commits;
	uint64_t archives;
};
int reader_version(struct reader *r, struct reader_version *version);
/* Return ARCHIVES of the archive that was read last, without a statement. */
uint64_t reader_archives(const struct reader *r);

struct age;
/*
 * Read the tables of the age clock into AGE, which the caller initialised with zeros, and releases with
 * age_deinit().
 */
int reader_age(struct reader *r, struct age *age);

/*
 * Return what is to be added to a stamp of CLOCK_MONOTONIC and CLOCK_REALTIME to show it, ns: 0 if it is right, if nobody
 * knows, or if that cannot be read now. MONO 0: only CLOCK_REALTIME was stamped.
 */
int64_t reader_correction(struct reader *r, uint64_t mono, uint64_t real);

/* Begin and end a transaction for the calls in between. It must last less than 50 ms. */
int reader_begin(struct reader *r);
void reader_end(struct reader *r);

/*
 * Delay deletion until the caller closes *FD. This opens no transaction: the writer goes on, and
 * after ten seconds deletes anyway. Return 0, ARCHIVE_E_BUSY while a deletion is running, or -errno
 * if there is no lock file.
 */
int reader_hold(struct reader *r, int *fd);

/*
 * Return the duration of the longest transaction so far in ns, from its first statement on. The
 * caller's time between the calls of a transaction counts, too.
 */
uint64_t reader_longest(const struct reader *r);

/*
 * Show only the guests of VIEW from now on, until the next call. A new reader shows all. VIEW's
 * context is borrowed meanwhile.
 */
void reader_look(struct reader *r, struct view view);
/* Return how many statements were begun so far, for metrics and tests. */
uint64_t reader_begun(const struct reader *r);

/* A guest and its latest run. KEY is "u:UUID", or "n:NAME" if the guest has no UUID. */
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
/* Read the guest to which the run ID belongs. */
int reader_guest(struct reader *r, int64_t id, reader_guest_call *call, void *context);
int reader_run(struct reader *r, int64_t id, reader_run_call *call, void *context);
/*
 * Find the latest run of the guest that has this UUID, or this name in its latest run, or this
 * domid now. The latest run is the newest run that has not ended; or the newest, if all have ended.
 * ARCHIVE_E_ABSENT: there is none.
 */
int reader_run_by_uuid(struct reader *r, const char *uuid, int64_t *id);
int reader_run_by_name(struct reader *r, const char *name, int64_t *id);
int reader_run_by_domid(struct reader *r, int64_t domid, int64_t *id);
/*
 * List at most LIMIT runs of the guest to which the run ID belongs, newest first, with ids below
 * BEFORE.
 */
int reader_runs(struct reader *r, int64_t id, int64_t before, unsigned limit, reader_run_call *call, void *context);

/* List at most LIMIT runs of all guests with ids above AFTER, in order of their ids. */
int reader_all_runs(struct reader *r, int64_t after, unsigned limit, reader_run_call *call, void *context);

/* A stream with its counters, which count complete packets. */
struct reader_stream {
	struct archive_stream stream;
	uint64_t packets, bytes, lost_packets, skipped_packets, deletions, gaps;
	uint64_t last_seen_real; /* 0 = never */
};
typedef int reader_stream_call(void *context, const struct reader_stream *stream);
/* List the streams of a run, in order of their numbers. */
int reader_streams(struct reader *r, int64_t run, reader_stream_call *call, void *context);

/*
 * A source of bytes: the chunks of STREAM; or, if CAPTURE is not 0, the tail that this capture has
 * of STREAM.
 */
struct reader_source {
	int64_t stream;
	int64_t capture;
};

/* A packet, summed up from its rows. All columns are in an index, so no blob is read. */
struct reader_packet {
	uint64_t sequence;
	uint64_t first_timestamp;
	uint32_t begin; /* offset of the first row: 30, except in a tail */
	/*
	 * Offset at which the last row ends; may be behind the last chunk end if the packet is
	 * incomplete.
	 */
	uint32_t end;
	uint32_t room;
	uint32_t unproven_from; /* offset of the first unproven byte; 0 = none */
	bool complete;
	bool clock;
	bool whole;	/* the rows follow each other without a hole */
	uint64_t stamp; /* changes when compaction.c rewrites the packet's rows */
};

/*
 * Read at most *N packets with sequences from FROM to TO, both included; in ascending order, or
 * DESCENDING from TO. *N becomes the number of packets read.
 */
int reader_packets(struct reader *r, struct reader_source source, uint64_t from, uint64_t to, bool descending,
		   struct reader_packet *packets, size_t *n);

/* Find a packet's last chunk end at or below the offset MOST. ARCHIVE_E_ABSENT: there is none. */
int reader_end_below(struct reader *r, int64_t stream, uint64_t sequence, uint32_t most, struct archive_end *end);
/*
 * Find a packet's first chunk end above the offset ABOVE. If REACH is not 0 and there is a chunk
 * end at most REACH bytes above ABOVE, find the last such end. ARCHIVE_E_ABSENT: there is none.
 */
int reader_end_above(struct reader *r, int64_t stream, uint64_t sequence, uint32_t above, uint32_t reach,
		     struct archive_end *end);

/*
 * Find a packet's last chunk end that was copied at REAL (CLOCK_REALTIME ns) or before.
 * ARCHIVE_E_ABSENT: there is none.
 */
int reader_end_copied(struct reader *r, int64_t stream, uint64_t sequence, uint64_t real, struct archive_end *end);
/* A packet's newest chunk ends, oldest first. */
#define READER_ENDS 5u

struct reader_ends {
	struct archive_end end[READER_ENDS];
	size_t n;
};
/* Find a packet's newest chunk ends at or below the offset MOST. ARCHIVE_E_ABSENT: there is none. */
int reader_ends_below(struct reader *r, int64_t stream, uint64_t sequence, uint32_t most, struct reader_ends *ends);

/* The times of a packet, from a part of its rows. */
struct reader_stamps {
	uint64_t first_timestamp;
	uint32_t room;
	bool clock;			/* as in struct reader_packet */
	struct archive_end first, last; /* the first and the last chunk end */
	struct reader_ends newest;
};
/*
 * Read the times of a packet's chunks that end at or below the offset MOST. All rows that have such
 * bytes are checked, and no others are read, so the result for a capture does not change when the
 * packet grows. ARCHIVE_E_ABSENT: no chunk ends there.
 */
int reader_stamps(struct reader *r, int64_t stream, uint64_t sequence, uint32_t most, struct reader_stamps *stamps);
/* Count the packets that the archive has with sequences from FROM to TO, both included. */
int reader_present(struct reader *r, int64_t stream, uint64_t from, uint64_t to, uint64_t *packets);
/* Sum up the content bytes of all packets with sequences above SEQUENCE. */
int reader_content_above(struct reader *r, int64_t stream, uint64_t sequence, uint64_t *bytes);

/* The packets of a stream that reader_check() has found. */
struct reader_stream_check {
	bool known;	    /* OLDEST is known: each hole from that packet on must be explained by a gap */
	uint64_t oldest;    /* oldest packet that the archive must have */
	uint64_t deletions; /* number of deletions of packets of the stream */
};
/*
 * Check that the archive has the stream's oldest and newest packets, and, if SOURCE has a capture,
 * the capture's range and its whole tail. Return 0, or ARCHIVE_E_DAMAGED if any of them is missing.
 */
int reader_check(struct reader *r, struct reader_source source, struct reader_stream_check *check);

/*
 * Set *ALL to whether the archive has all of the stream's complete packets that were not deleted.
 * This counts all packets of the stream, so call it only if some seem to be missing.
 */
int reader_check_held(struct reader *r, int64_t stream, bool *all);

#define READER_STATE_NUMBERS 19u

/* Numbers that change when rows of a stream are added, deleted, rewritten or declared lost. They mean nothing else. */
struct reader_stream_state {
	int64_t numbers[READER_STATE_NUMBERS];
};
/*
 * Read the state of the stream of SOURCE, with the rows of its packet LAST, and with the tail of the capture,
 * if SOURCE has one. Rows of packets before the newest one never change without a change of the state.
 * ARCHIVE_E_ABSENT: there is no such stream.
 */
int reader_stream_state(struct reader *r, struct reader_source source, uint64_t last,
			struct reader_stream_state *state);

/*
 * If a row's sequence number was damaged on the disk, a packet is in the wrong place, but the
 * number of packets is right. The next two functions look for such a packet after a hole was found.
 * ARCHIVE_E_DAMAGED: a row does not agree with its checksum.
 */
/*
 * Check the rows of the two packets on both sides of the hole from FROM to END (END is not in the
 * hole).
 */
int reader_check_beside(struct reader *r, int64_t stream, uint64_t from, uint64_t end);
/*
 * Check the rows of packets whose times are out of order, at most 64 packets. This reads the times
 * of all packets of the stream, so call it once per answer.
 */
int reader_check_order(struct reader *r, int64_t stream);

/* The place of damage. */
struct reader_damage {
	int64_t stream;
	uint64_t sequence;
	int64_t capture;   /* capture whose tail or range is damaged; 0 = packet SEQUENCE is damaged */
	const char *table; /* NULL; else row SEQUENCE of this table is damaged: runs, streams, gaps or captures */
};
/*
 * Fetch and forget the damage that was found since the last call. Return false if there was none.
 */
bool reader_take_damage(struct reader *r, struct reader_damage *damage);
/*
 * Store damage that the caller has found (rows that do not follow each other) for
 * reader_take_damage(). Return ARCHIVE_E_DAMAGED.
 */
int reader_note_damage(struct reader *r, struct reader_source source, uint64_t sequence);

/* A row that reader_piece() has read. */
struct reader_piece {
	uint32_t offset; /* offset of its first byte in the packet */
	uint32_t length; /* uncompressed bytes */
	bool stored;	 /* the buffer has the bytes as stored; false = uncompressed */
	int codec;	 /* codec of the stored bytes */
	size_t bytes;	 /* number of bytes in the buffer */
	bool summed;	 /* SUM is the row's checksum; false if the row has none, or if not STORED */
	uint8_t sum[CHECKSUM_BYTES];
};

/* The form in which reader_piece() reads a row. */
enum piece_form {
	PIECE_DECODED, /* uncompressed bytes */
	PIECE_STORED,  /* bytes as stored, for a client, if the row begins at OFFSET and ends at or before LIMIT; else
			  uncompressed bytes */
	PIECE_PACKED,  /* bytes as stored: the caller decodes them, and notes damage if that fails */
};
/*
 * Read the row that has the byte at OFFSET of a packet into OUT (ARCHIVE_PIECE_MAX bytes), in FORM.
 * ARCHIVE_E_ABSENT: there is no such byte.
 */
int reader_piece(struct reader *r, struct reader_source source, uint64_t sequence, uint32_t offset, uint32_t limit,
		 enum piece_form form, uint8_t *out, struct reader_piece *piece);

/*
 * Copy at most LEN bytes of a packet, from OFFSET on, to OUT, uncompressed. *GOT is the number of
 * bytes copied. SCRATCH has ARCHIVE_PIECE_MAX bytes and is overwritten.
 */
int reader_bytes(struct reader *r, struct reader_source source, uint64_t sequence, uint32_t offset, size_t len,
		 uint8_t *out, uint8_t *scratch, size_t *got);

/* List at most LIMIT gaps that follow packets with sequences from FROM to TO, both included. */
typedef int reader_gap_call(void *context, const struct archive_gap *gap);
int reader_gaps(struct reader *r, int64_t stream, uint64_t from, uint64_t to, unsigned limit, reader_gap_call *call,
		void *context);
/*
 * Read the newest gap that begins before packet SEQUENCE and reaches into it or behind it. ARCHIVE_E_ABSENT: there is
 * none.
 */
int reader_gap_into(struct reader *r, int64_t stream, uint64_t sequence, reader_gap_call *call, void *context);
/*
 * Read the last gap of stream NUMBER of RUN. The gap's field stream is 0. ARCHIVE_E_ABSENT: there
 * is none.
 */
int reader_last_gap(struct reader *r, int64_t run, uint32_t number, reader_gap_call *call, void *context);

/* A capture, without its context, which may be long. */
struct reader_capture {
	struct archive_capture capture;
	const char *name;   /* name of its guest */
	const char *uuid;   /* NULL = none */
	int64_t correction; /* ns to be added to REAL to show it; 0 if it is right, or if nobody knows */
};
typedef int reader_capture_call(void *context, const struct reader_capture *capture);
/*
 * List at most LIMIT captures with ids below BEFORE, newest first: of all guests if RUN is 0, else
 * of the guest to which RUN belongs.
 */
int reader_captures(struct reader *r, int64_t run, int64_t before, unsigned limit, reader_capture_call *call,
		    void *context);
int reader_capture(struct reader *r, int64_t id, reader_capture_call *call, void *context);
/*
 * Call CALL with at most LIMIT captures of the kind `unread` with ids above AFTER, the oldest first. Their runs have ended,
 * so each has the ranges that it will have.
 */
typedef int reader_unread_call(void *context, int64_t capture);
int reader_unread(struct reader *r, int64_t after, unsigned limit, reader_unread_call *call, void *context);
/*
 * Pass a capture's context to CALL, BYTES bytes as stored; TEXT is NULL if it has none. The caller
 * checks whether the text is valid JSON.
 */
typedef int reader_context_call(void *context, const char *text, size_t bytes);
int reader_context(struct reader *r, int64_t capture, reader_context_call *call, void *context);
/*
 * Find the capture of a stream's end: the latest capture that is not periodic, manual or trigger,
 * if the archive has no bytes of the stream behind it. (Bytes behind it mean a suspended guest that
 * was resumed, or a ring that was withdrawn and published again.) ARCHIVE_E_ABSENT: there is none.
 */
int reader_end_capture(struct reader *r, int64_t stream, int64_t *id);

struct reader_capture_range {
	struct archive_capture_stream range;
	uint32_t number;
	const char *name;     /* NULL = none */
	uint64_t tail_bytes;  /* of the tail that is left */
	uint64_t tail_marked; /* of the tail when the capture was taken; 0 = not known */
	/* The last packet of the tail that is left, and the end of its bytes; 0 = no tail is left. */
	uint64_t tail_last;
	uint32_t tail_end;
	uint64_t deletions; /* number of deletions of packets of the stream */
	uint64_t damaged;   /* packets of the stream that were damaged, wholly or in part */
	bool is_end;	    /* the capture is of the end of a guest or of its ring */
};
typedef int reader_range_call(void *context, const struct reader_capture_range *range);
/*
 * Pass to CALL the range of each stream that the capture has, in the order of their numbers: also of one whose row is damaged or
 * missing, as the capture's list has it. If neither tells the range, or the stream has no row, archive_range_is_lost()
 * is true. Damage is stored for reader_take_damage(). Set *LACKS, if LACKS is not NULL, as reader_capture_lacks().
 * ARCHIVE_E_ABSENT: there is no such capture.
 */
int reader_capture_ranges(struct reader *r, int64_t capture, reader_range_call *call, void *context, bool *lacks);

/*
 * Set *LACKS to whether the capture may have had streams of which nothing is left: its list was damaged. ARCHIVE_E_ABSENT: there
 * is no such capture.
 */
int reader_capture_lacks(struct reader *r, int64_t capture, bool *lacks);

/*
 * Set *SUM to a checksum of the rows of a capture's ranges: another one, if a stream or a byte of a tail comes or goes.
 * ARCHIVE_E_ABSENT: the capture has no range.
 */
int reader_range_sum(struct reader *r, int64_t capture, uint64_t *sum);

/* Sums over all guests, for metrics. */
struct reader_totals {
	uint64_t runs, running, captures, packets, bytes, lost_packets, skipped_packets, damaged_packets, file_bytes;
	bool unchecked; /* there may be rows without checksums */
};
int reader_totals(struct reader *r, struct reader_totals *totals);

/* ---- for mprofd-forward (reader-outbox.c) ---- */

/* A row of the outbox that is ready to be sent (schema/archive/0004-outbox.sql). */
struct reader_outbox {
	int64_t id;
	const char *kind; /* "capture", "packets" or "lost" */
	uint64_t real;
	int64_t run, stream, capture;
	uint64_t first_sequence, last_sequence, packets, bytes;
	const char *reason; /* "" = none */
};
typedef int reader_outbox_call(void *context, const struct reader_outbox *row);
/* List at most LIMIT rows of the outbox that are ready, in the order in which they are sent. Leave out damaged ones. */
int reader_outbox(struct reader *r, unsigned limit, reader_outbox_call *call, void *context);

/* Call CALL with the identifier of each capture that a row of the outbox names, ready or not, in no order. */
typedef int reader_waiting_call(void *context, int64_t capture);
int reader_waiting(struct reader *r, reader_waiting_call *call, void *context);

/* Set *ROWS to the number of rows of the outbox that mprofd has found damaged or missing since the archive was made. */
int reader_outbox_damaged(struct reader *r, uint64_t *rows);

#define READER_ARCHIVE_BYTES ARCHIVE_NAME_BYTES
/* Read the archive's UUID: 32 hexadecimal digits and a NUL. ARCHIVE_E_ABSENT: it has none. */
int reader_archive(struct reader *r, char name[READER_ARCHIVE_BYTES]);

/* A row of a packet or of a tail, as it is stored. */
struct reader_row {
	uint32_t offset, length; /* of its first byte in the packet; uncompressed bytes */
	uint32_t flags;		 /* enum archive_chunk_flag */
	uint32_t packet_bytes;
	uint64_t first_timestamp;
	int codec;
	size_t bytes;	   /* bytes as stored */
	size_t ends_bytes; /* bytes of packed chunk ends */
};
#define READER_ENDS_MAX (2u << 20)
/*
 * Read the row that has the byte at OFFSET of a packet; or the row of no bytes at OFFSET, of an
 * empty packet. DATA (ARCHIVE_PIECE_MAX bytes) gets the bytes as stored, ENDS (READER_ENDS_MAX
 * bytes) the chunk ends, packed as in the archive. ARCHIVE_E_ABSENT: there is no such row.
 */
int reader_row(struct reader *r, struct reader_source source, uint64_t sequence, uint32_t offset, uint8_t *data,
	       uint8_t *ends, struct reader_row *row);

#endif
