/*
 * The archive of memory profiles, read only: from another process, and as another user than the writer's.
 *
 * As reader.h: each call is one short read transaction, and returns 0, -errno, or a positive archive_condition.  What is borrowed in a
 * callback is valid until it returns; a callback that returns non-zero ends the call, which returns that.  Not thread-safe.
 */
#ifndef ARCHIVE_MEMTRACES_READER_H
#define ARCHIVE_MEMTRACES_READER_H

#include "memtraces.h"

struct memtraces_reader;

/* STATE is the state directory; nothing is opened yet.  0 or -ENOMEM. */
int memtraces_reader_new(struct memtraces_reader **rp, const char *state);
struct memtraces_reader *memtraces_reader_free(struct memtraces_reader *r);
CLEANUP_DEFINE(struct memtraces_reader, memtraces_reader_free)

/* Open the archive where it is not open or was replaced.  ARCHIVE_E_ABSENT: nothing was ever recorded.  ARCHIVE_E_BUSY, ARCHIVE_E_NEWER. */
int memtraces_reader_ready(struct memtraces_reader *r);

/* COMMITS differs from before where something was committed since, ARCHIVES where the archive was opened anew. */
struct memtraces_version {
	int64_t commits;
	uint64_t archives;
};
int memtraces_version(struct memtraces_reader *r, struct memtraces_version *version);

typedef int memtraces_call(void *context, const struct memtrace *recording);
/* At most LIMIT recordings with ids below BEFORE, newest first; RUN 0: of all runs. */
int memtraces_list(struct memtraces_reader *r, int64_t run, int64_t before, unsigned limit, memtraces_call *call,
		   void *context);
/* Those that are being recorded, of runs that are known. */
int memtraces_recording(struct memtraces_reader *r, memtraces_call *call, void *context);
/* ARCHIVE_E_ABSENT. */
int memtraces_get(struct memtraces_reader *r, int64_t id, memtraces_call *call, void *context);
/* The newest recording of RUN that was being recorded at REAL (it ended at most GRACE ns before).  ARCHIVE_E_ABSENT. */
int memtraces_at(struct memtraces_reader *r, int64_t run, uint64_t real, uint64_t grace, int64_t *id);

/* The piece that covers OFFSET: where it begins, and its bytes, decoded or (AS_STORED, where it is a zstd frame) not.  ARCHIVE_E_ABSENT, ARCHIVE_E_DAMAGED. */
struct memtraces_piece {
	uint64_t offset;
	uint32_t length; /* uncompressed */
	bool is_frame;	 /* DATA is a zstd frame */
	const uint8_t *data;
	size_t bytes;
};
typedef int memtraces_piece_call(void *context, const struct memtraces_piece *piece);
int memtraces_read(struct memtraces_reader *r, int64_t id, uint64_t offset, bool as_stored, memtraces_piece_call *call,
		   void *context);

/* Do the pieces of the recording ID end where its row says?  ARCHIVE_E_DAMAGED: they do not. */
int memtraces_check(struct memtraces_reader *r, int64_t id);
/* The recording in which damage was met since this was asked last; 0: none was. */
int64_t memtraces_take_damage(struct memtraces_reader *r);

/* Sums over everything, for metrics. */
struct memtraces_totals {
	uint64_t recordings, recording, bytes, dropped, damaged;
	bool unchecked; /* there may be pieces without checksums */
};
int memtraces_totals(struct memtraces_reader *r, struct memtraces_totals *totals);

#endif
