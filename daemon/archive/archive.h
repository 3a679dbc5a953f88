/*
 * The records of the trace archive. The writer and the readers share these structs. schema/archive/
 * has the tables and the meaning of each column. The files are <STATE>/archive/trace.db with its
 * -wal and -shm, the reserve file, and the lock file by which readers delay deletion.
 *
 * A *chunk* is the bytes of whole events that one poll has copied. The position where a chunk ends
 * is a *chunk end*. A *piece* is one row of the table chunks: adjacent chunks of one packet. A *gap* declares packets
 * that were lost or skipped. A *capture* has a *range* of each of its streams (which packets it
 * covers), and perhaps a *tail*: unproven bytes behind the stream's last chunk end.
 */
#ifndef ARCHIVE_ARCHIVE_H
#define ARCHIVE_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARCHIVE_FILE	  "archive/trace.db"
#define ARCHIVE_HOLD	  "reading"  /* lock file in the archive's directory; see space.h */
#define ARCHIVE_PIECE_MAX (1u << 20) /* uncompressed bytes of a row, at most */

#define ARCHIVE_NAME_BYTES 33u /* of the archive's UUID: 32 hexadecimal digits and a NUL */

/* Positive return values, which the caller must act on. Errors are -errno. */
enum archive_condition {
	ARCHIVE_E_FULL = 1, /* the disk is full: the whole transaction was rolled back */
	ARCHIVE_E_ABSENT,   /* there is no such row, or no row that the new row refers to */
	ARCHIVE_E_BUSY,	    /* the archive cannot be read or written now: try again */
	ARCHIVE_E_NEWER,    /* the archive was written by a newer version */
	ARCHIVE_E_DAMAGED,  /* a row does not agree with its checksum, or rows are missing */
	ARCHIVE_E_CHANGED,  /* the row has another version than the one that the caller read */
	ARCHIVE_E_KIND,	    /* the archive's name, or that of its log, is no regular file's */
	ARCHIVE_E_VERSION,  /* the number of the archive's version does not agree with its tables */
};

/* Options of a writer. */
struct archive_options {
	uint64_t wal_limit_bytes; /* the write-ahead log is truncated when it exceeds this size */
	uint64_t reserve_bytes;	  /* bytes of the reserve file; 0 = no file */
	int level;		  /* compression level: 0 = none, 1 to 19 as zstd's, -1 to -7 zstd's fast levels */
};

enum archive_stream_flag { ARCHIVE_STREAM_WRITERS = 1, ARCHIVE_STREAM_CLOCK = 2 };
enum archive_chunk_flag { ARCHIVE_CHUNK_LAST = 1, ARCHIVE_CHUNK_UNPROVEN = 2, ARCHIVE_CHUNK_CLOCK = 4 };

/* A chunk end: the end of an event, and when the bytes up to it were copied. */
struct archive_end {
	uint32_t offset;
	uint64_t mono;
	uint64_t real;
};
#define ARCHIVE_END_BYTES 20u

struct archive_run {
	int64_t id;
	const char *source; /* "dir" or "xen" */
	const char *key;
	const char *name;
	const char *uuid; /* NULL = none */
	int64_t domid;	  /* -1 = none */
	const char *state;
	uint64_t began_real;
	uint64_t ended_real; /* 0 = not ended */
	const char *reason;  /* NULL = none */
	/* ns to add to the times to show them; 0 = they are right, or nobody knows. A writer ignores both. */
	int64_t began_correction, ended_correction;
};

struct archive_stream {
	int64_t id;
	int64_t run;
	uint32_t number;
	const char *name; /* NULL = none */
	uint64_t ring_bytes;
	uint32_t ring_packets;
	uint32_t flags;
	/* If HAS_BEGINS: the oldest packet that the ring had at the first attach. A writer takes it of a new stream; readers leave it unset. */
	bool has_begins;
	uint64_t begins;
};

/* A piece: one row of the table chunks, at most ARCHIVE_PIECE_MAX bytes of a packet's content. */
struct archive_piece {
	int64_t stream;
	uint64_t sequence;
	uint32_t offset;
	uint32_t length;
	uint32_t flags;
	uint32_t packet_bytes;
	uint64_t first_timestamp;
	const struct archive_end *ends;
	size_t n_ends;
	const uint8_t *data;
};

struct archive_gap {
	int64_t stream;
	const char *kind;
	const char *reason;
	uint64_t after_sequence;
	uint32_t after_offset;
	uint64_t next_sequence;
	uint64_t packets;
	bool at_least;
	uint64_t real;
	uint64_t mono;
};

/* The kind of a capture whose end waits for the reader (unread.c). */
#define ARCHIVE_UNREAD "unread"

struct archive_capture {
	int64_t id;
	int64_t run;
	const char *kind;
	uint64_t real;
	uint64_t mono;
	bool pinned;
	const char *note;    /* NULL = "" */
	const char *context; /* NULL = none */
	/*
	 * JSON array of the marks in its picture, and the number of changes of PINNED, NOTE and
	 * MARKS. A writer ignores both: a new capture has no marks, and version 0.
	 */
	const char *marks;
	int64_t version;
};

/* A change of a capture. A member that is NULL, or -1, changes nothing. */
struct archive_capture_change {
	int64_t capture;
	int pinned; /* 0, 1 or -1 */
	const char *note;
	const char *marks;   /* JSON array; see schema/archive/0003-capture-marks.sql */
	const char *context; /* JSON */
	int64_t version;     /* the version that the capture must have; -1 = any */
};

/* Sums of the damage that was found. The damaged rows were deleted and gaps declared, except where a limit only passed over the place. */
struct archive_damage {
	uint64_t pieces;  /* damaged or missing rows, and places that limits pass over */
	uint64_t passed;  /* the places among PIECES that limits pass over, and that stay as they are */
	uint64_t packets; /* packets of which bytes are lost */
	int64_t stream;	  /* stream of the newest lost packet; 0 = none */
	uint64_t sequence;
};

struct archive_capture_stream {
	int64_t capture;
	int64_t stream;
	uint64_t first_sequence;
	uint64_t last_sequence;
	uint32_t last_offset;
	/* Bytes that the capture's tail had. A writer takes the bytes that the archive has, if they are more. */
	uint64_t tail_marked;
};

/*
 * Return whether a range, which ends at LAST_OFFSET and whose tail had TAIL_MARKED bytes, stands for one whose
 * row was damaged: the capture had packets of the stream, and nothing tells which. No other range ends at
 * offset 0.
 */
static inline bool archive_range_is_lost(uint32_t last_offset, uint64_t tail_marked)
{
	return last_offset == 0 && tail_marked != 0;
}

#endif
