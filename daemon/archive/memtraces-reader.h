/*
 * The archive of memory profiles, read-only: from another process and as another user than the
 * writer.
 *
 * As reader.h: each call is one short read transaction and returns 0, -errno, or a positive
 * archive_condition. Arguments of a callback are valid until it returns; a non-zero result of a
 * callback ends the call, which returns it. A callback must not call the reader. Not thread-safe.
 */
#ifndef ARCHIVE_MEMTRACES_READER_H
#define ARCHIVE_MEMTRACES_READER_H

#include "memtraces.h"

struct memtraces_reader;

/* Make a reader of the state directory STATE; nothing is opened yet. Return 0 or -ENOMEM. */
int memtraces_reader_new(struct memtraces_reader **rp, const char *state);
struct memtraces_reader *memtraces_reader_free(struct memtraces_reader *r);
CLEANUP_DEFINE(struct memtraces_reader, memtraces_reader_free)

/*
 * Open the archive if it is not open or was replaced. ARCHIVE_E_ABSENT: nothing was ever recorded.
 * ARCHIVE_E_BUSY, ARCHIVE_E_NEWER.
 */
int memtraces_reader_ready(struct memtraces_reader *r);

/* COMMITS changes with each commit, ARCHIVES each time the archive is opened anew. */
struct memtraces_version {
	int64_t commits;
	uint64_t archives;
};
int memtraces_version(struct memtraces_reader *r, struct memtraces_version *version);

typedef int memtraces_call(void *context, const struct memtrace *recording);
/* List at most LIMIT recordings of RUN (0 = of all runs) with ids below BEFORE, newest first. */
int memtraces_list(struct memtraces_reader *r, int64_t run, int64_t before, unsigned limit, memtraces_call *call,
		   void *context);
/* List the recordings that are under way and whose run is known. */
int memtraces_recording(struct memtraces_reader *r, memtraces_call *call, void *context);
/* Get one recording. ARCHIVE_E_ABSENT. */
int memtraces_get(struct memtraces_reader *r, int64_t id, memtraces_call *call, void *context);
/*
 * Find the newest recording of RUN that was under way at REAL, or ended at most GRACE ns before.
 * ARCHIVE_E_ABSENT.
 */
int memtraces_at(struct memtraces_reader *r, int64_t run, uint64_t real, uint64_t grace, int64_t *id);

/* A piece of a recording. */
struct memtraces_piece {
	uint64_t offset; /* of its first byte in the recording */
	uint32_t length; /* uncompressed */
	bool is_frame;	 /* DATA is a zstd frame */
	const uint8_t *data;
	size_t bytes;
};
typedef int memtraces_piece_call(void *context, const struct memtraces_piece *piece);
/*
 * Read the piece that covers OFFSET, decoded, or AS_STORED if it is a zstd frame. ARCHIVE_E_ABSENT,
 * ARCHIVE_E_DAMAGED.
 */
int memtraces_read(struct memtraces_reader *r, int64_t id, uint64_t offset, bool as_stored, memtraces_piece_call *call,
		   void *context);

/*
 * Check that the pieces of the recording ID end where its row says. ARCHIVE_E_DAMAGED: they do not.
 */
int memtraces_check(struct memtraces_reader *r, int64_t id);
/* Return the recording in which damage was met since the last call; 0 = none. */
int64_t memtraces_take_damage(struct memtraces_reader *r);

/* Sums over everything, for metrics. */
struct memtraces_totals {
	uint64_t recordings, recording, bytes, dropped, damaged;
	bool unchecked; /* there may be pieces without checksums */
};
int memtraces_totals(struct memtraces_reader *r, struct memtraces_totals *totals);

#endif
