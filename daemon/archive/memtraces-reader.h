/*
 * Read the archive of memory profiles, from another process and as another user than the writer.
 *
 * Each call is one short read transaction and returns 0, -errno, or a positive archive_condition,
 * as in reader.h. The arguments of a callback are valid until it returns. If a callback returns
 * another value than 0, the call ends and returns that value. A callback must not call the reader.
 * Not thread-safe.
 */
#ifndef ARCHIVE_MEMTRACES_READER_H
#define ARCHIVE_MEMTRACES_READER_H

#include "clock.h"
#include "memtraces.h"
#include "view.h"

struct memtraces_reader;

/* Create a reader of the archive below STATE; nothing is opened yet. Return 0 or -ENOMEM. */
int memtraces_reader_new(struct memtraces_reader **rp, const char *state);
struct memtraces_reader *memtraces_reader_free(struct memtraces_reader *r);
CLEANUP_DEFINE(struct memtraces_reader, memtraces_reader_free)

/*
 * Open the archive if it is not open, or if the file was replaced. Return 0, -errno,
 * ARCHIVE_E_ABSENT (nothing was ever recorded), ARCHIVE_E_BUSY or ARCHIVE_E_NEWER.
 */
int memtraces_reader_ready(struct memtraces_reader *r);

/*
 * A version of the content: COMMITS changes with each commit, ARCHIVES each time that the reader
 * opens an archive.
 */
struct memtraces_version {
	int64_t commits;
	uint64_t archives;
};
int memtraces_version(struct memtraces_reader *r, struct memtraces_version *version);

/*
 * Show only the recordings of the guests of VIEW from now on, by the name in the recording, until
 * the next call. A new reader shows all. VIEW's context is borrowed meanwhile.
 */
void memtraces_look(struct memtraces_reader *r, struct view view);
/* Return how many statements were begun so far, for metrics and tests. */
uint64_t memtraces_begun(const struct memtraces_reader *r);

typedef int memtraces_call(void *context, const struct memtrace *recording);
/* List at most LIMIT recordings of RUN (0 = of all runs) with ids below BEFORE, newest first. */
int memtraces_list(struct memtraces_reader *r, int64_t run, int64_t before, unsigned limit, memtraces_call *call,
		   void *context);
/* List the recordings that are being made and belong to a known run. */
int memtraces_recording(struct memtraces_reader *r, memtraces_call *call, void *context);
/* Read the recording ID. ARCHIVE_E_ABSENT: there is none. */
int memtraces_get(struct memtraces_reader *r, int64_t id, memtraces_call *call, void *context);
/* The GRACE for a capture, ns: the recording of a guest that crashed ends shortly before its capture. */
#define MEMTRACES_CAPTURE_GRACE 5000000000ull
/* Number of the newest recordings of a run among which memtraces_at() looks. */
#define MEMTRACES_LOOKED 256
/*
 * Find the newest recording of RUN that was being made at WHEN, or ended at most GRACE ns before, also if
 * CLOCK_REALTIME was set meanwhile. ARCHIVE_E_ABSENT: there is none among the newest MEMTRACES_LOOKED of the run.
 */
int memtraces_at(struct memtraces_reader *r, int64_t run, struct moment when, uint64_t grace, int64_t *id);

/* The form in which memtraces_read() passes a piece that is stored as a zstd frame. */
enum memtraces_form {
	MEMTRACES_DECODED, /* uncompressed */
	MEMTRACES_STORED,  /* the frame, for a client; a frame without a checksum was decoded once */
	MEMTRACES_PACKED,  /* the frame: the caller decodes it, and notes damage if that fails */
};
/* A piece of a recording. */
struct memtraces_piece {
	uint64_t offset; /* offset of its first byte in the recording */
	uint32_t length; /* uncompressed bytes */
	bool is_frame;	 /* DATA is a zstd frame; else the uncompressed bytes */
	const uint8_t *data;
	size_t bytes;
};
typedef int memtraces_piece_call(void *context, const struct memtraces_piece *piece);
/*
 * Read the piece that has the byte at OFFSET, and pass it to CALL: in FORM if it is stored as a zstd
 * frame, else as uncompressed bytes. ARCHIVE_E_ABSENT: there is no such byte. ARCHIVE_E_DAMAGED: the
 * piece is damaged.
 */
int memtraces_read(struct memtraces_reader *r, int64_t id, uint64_t offset, enum memtraces_form form,
		   memtraces_piece_call *call, void *context);

/*
 * Check that the last piece of the recording ID ends at the recording's number of bytes.
 * ARCHIVE_E_DAMAGED: it does not.
 */
int memtraces_check(struct memtraces_reader *r, int64_t id);
/* Note damage that the caller found in the recording ID. Return ARCHIVE_E_DAMAGED. */
int memtraces_note_damage(struct memtraces_reader *r, int64_t id);
/* Return the recording in which damage was found since the last call, or 0. */
int64_t memtraces_take_damage(struct memtraces_reader *r);

/* Sums over all recordings, for metrics. */
struct memtraces_totals {
	uint64_t recordings, recording, bytes, dropped, damaged;
	bool unchecked; /* there may be pieces without checksums */
};
int memtraces_totals(struct memtraces_reader *r, struct memtraces_totals *totals);

#endif
