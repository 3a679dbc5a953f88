/*
 * The records of the trace archive, as the writer and the readers name them.
 *
 * schema/archive/ has the tables and the meaning of each column. The files are
 * <state>/archive/trace.db, its -wal and -shm, the reserve, and the lock by which readers hold back
 * deletion.
 */
#ifndef ARCHIVE_ARCHIVE_H
#define ARCHIVE_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARCHIVE_FILE	  "archive/trace.db"
#define ARCHIVE_HOLD	  "reading"  /* lock file beside the archive; see space.h */
#define ARCHIVE_PIECE_MAX (1u << 20) /* uncompressed bytes of one row */

/* Conditions: positive results, for the direct caller. */
enum archive_condition {
	ARCHIVE_E_FULL = 1, /* the disk is full: nothing of the transaction was kept */
	ARCHIVE_E_ABSENT,   /* there is no such row */
	ARCHIVE_E_BUSY,	    /* not readable now: try again */
	ARCHIVE_E_NEWER,    /* the archive was written by a newer version */
	ARCHIVE_E_DAMAGED,  /* a row does not agree with its checksum, or rows are missing */
};

/* Options of a writer. */
struct archive_options {
	uint64_t wal_limit_bytes; /* the WAL is cut past this */
	uint64_t reserve_bytes;	  /* of the reserve file; 0 = none */
	int level;		  /* of zstd: 0 stores raw, 1 to 19 as zstd's, -1 to -7 its fast ones */
};

enum archive_stream_flag { ARCHIVE_STREAM_WRITERS = 1, ARCHIVE_STREAM_CLOCK = 2 };
enum archive_chunk_flag { ARCHIVE_CHUNK_LAST = 1, ARCHIVE_CHUNK_UNPROVEN = 2, ARCHIVE_CHUNK_CLOCK = 4 };

/* A chunk end: the end of an event, and when it was copied. */
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
};

struct archive_stream {
	int64_t id;
	int64_t run;
	uint32_t number;
	const char *name; /* NULL = none */
	uint64_t ring_bytes;
	uint32_t ring_packets;
	uint32_t flags;
};

/* A piece of a packet's content, at most ARCHIVE_PIECE_MAX bytes; see the table chunks. */
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

struct archive_capture {
	int64_t id;
	int64_t run;
	const char *kind;
	uint64_t real;
	uint64_t mono;
	bool pinned;
	const char *note;    /* NULL = "" */
	const char *context; /* NULL = none */
};

/* Damage that was found and taken out of service. */
struct archive_damage {
	uint64_t pieces;  /* damaged rows */
	uint64_t packets; /* packets that are lost wholly or in part */
	int64_t stream;	  /* of the newest lost packet; 0 = none */
	uint64_t sequence;
};

struct archive_capture_stream {
	int64_t capture;
	int64_t stream;
	uint64_t first_sequence;
	uint64_t last_sequence;
	uint32_t last_offset;
};

#endif
