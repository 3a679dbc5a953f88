/*
 * The archive of memory profiles (schema/archive/memtraces): its records, and its only writer.
 *
 * All calls between begin and commit are one transaction. Each call returns 0, -errno (fatal for
 * the archive: close it), or a positive archive_condition. After ARCHIVE_E_FULL the transaction is
 * gone; the caller keeps its input to try again. A call needs an open transaction unless its
 * comment says otherwise. Not thread-safe: one thread owns a writer.
 */
#ifndef ARCHIVE_MEMTRACES_H
#define ARCHIVE_MEMTRACES_H

#include "archive.h"
#include "cleanup.h"

#define MEMTRACES_FILE "memtraces/memtraces.db"

/*
 * A recording. Texts are borrowed: by a call until it returns, in a callback until the callback
 * returns.
 */
struct memtrace {
	int64_t id;
	int64_t run;	  /* 0 = unknown */
	const char *name; /* NULL = unknown */
	const char *uuid; /* NULL = none */
	int64_t domid;	  /* -1 = none */
	const char *address;
	uint32_t port;
	const char *origin;		 /* "listened" or "asked" */
	const char *state;		 /* "recording" or "ended" */
	const char *reason;		 /* NULL = it has not ended */
	uint64_t began_real, began_mono; /* when its first packet came ... */
	uint64_t connected_mono;	 /* ... which the guest made after this time; 0 = unknown */
	uint64_t ended_real, ended_mono; /* 0 = not ended */
	uint64_t bytes, packets, dropped;
	uint64_t damaged; /* bytes behind BYTES that were damaged on the disk and are out of service */
	bool pinned;
	const char *note; /* NULL = "" */
	uint32_t version;
	const char *program, *host, *context; /* NULL = absent */
	bool has_pid;
	int64_t pid;
	double rate; /* 0 = absent */
};

struct memtraces;

/*
 * Open or create <STATE>/memtraces/memtraces.db and migrate it. On a full disk the reserve is given
 * up to open the archive; ARCHIVE_E_FULL: that was not enough. -EBUSY: another process writes this
 * archive. On failure SENTENCE, of SIZE bytes, says what happened.
 */
int memtraces_open(struct memtraces **mp, const char *state, const struct archive_options *options, char *sentence,
		   size_t size);
/* Roll back an open transaction and close the archive. The WAL file stays. */
struct memtraces *memtraces_free(struct memtraces *m);
CLEANUP_DEFINE(struct memtraces, memtraces_free)

/*
 * Set the compression level from the next piece on: 0 stores raw, 1 to 19 as zstd's, -1 to -7 its
 * fast ones.
 */
void memtraces_level(struct memtraces *m, int level);

int memtraces_begin(struct memtraces *m);
/* Commit. The commit survives a kill of the process; a loss of power may take the last commits. */
int memtraces_commit(struct memtraces *m);
void memtraces_rollback(struct memtraces *m);

/*
 * Read the largest identifier ever given, 0 if none was; deletion does not lower it. Needs no
 * transaction.
 */
int memtraces_last_id(struct memtraces *m, int64_t *id);

/* Insert a recording, or update all but its origin, begin, pin and note. */
int memtraces_put(struct memtraces *m, const struct memtrace *recording);
/*
 * Append LENGTH bytes (1 to ARCHIVE_PIECE_MAX) at OFFSET, the end of the recording. A damaged
 * recording takes no more bytes.
 */
int memtraces_append(struct memtraces *m, int64_t id, uint64_t offset, const uint8_t *data, uint32_t length);
/* Change a recording: PINNED -1 and NOTE NULL leave the value. ARCHIVE_E_ABSENT. */
int memtraces_patch(struct memtraces *m, int64_t id, int pinned, const char *note);
/*
 * Check a recording that a reader reported as damaged. The first damaged piece and all pieces
 * behind it are taken out of service, and the recording ends before them from now on. *PIECES is
 * the number of damaged pieces. ARCHIVE_E_ABSENT.
 */
int memtraces_repair(struct memtraces *m, int64_t id, uint64_t *pieces);
/* Mark a recording as deleted; memtraces_purge() takes its bytes away. ARCHIVE_E_ABSENT. */
int memtraces_delete(struct memtraces *m, int64_t id);
/* End all recordings that the last writer left open, for REASON. */
int memtraces_end_all(struct memtraces *m, const char *reason, uint64_t real, uint64_t mono);

typedef int memtraces_sum_call(void *context, const char *guest, uint64_t bytes);
/*
 * Call CALL with the bytes of each guest, named "u:UUID", else "n:NAME", else "a:ADDRESS". Each
 * recording counts 4,096 bytes more, so that empty ones are not free. A non-zero result of CALL
 * ends the call, which returns it. Needs no transaction.
 */
int memtraces_sums(struct memtraces *m, memtraces_sum_call *call, void *context);
/*
 * Delete the oldest recording of GUEST (NULL = of all guests) that has ended, is not pinned, and
 * began before BEFORE_REAL (0 = at any time). *BYTES is its size. ARCHIVE_E_ABSENT: there is none.
 */
int memtraces_delete_oldest(struct memtraces *m, const char *guest, uint64_t before_real, uint64_t *bytes);
/* Take away at most LIMIT pieces of deleted recordings. *MORE: there are more. */
int memtraces_purge(struct memtraces *m, unsigned limit, bool *more);

/* Return the store, for the care for space on its disk; see space.h. */
struct store *memtraces_store(struct memtraces *m);

#endif
