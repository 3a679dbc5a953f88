/*
 * The archive of memory profiles (schema/archive/memtraces): its records, and its only writer.
 *
 * All calls between memtraces_begin() and memtraces_commit() are one transaction. Each call returns
 * 0, -errno (fatal: close the archive), or a positive archive_condition. After ARCHIVE_E_FULL the
 * transaction was rolled back; the caller keeps its data and tries again later. A call needs an
 * open transaction unless its comment says otherwise. Not thread-safe: one thread owns a writer.
 */
#ifndef ARCHIVE_MEMTRACES_H
#define ARCHIVE_MEMTRACES_H

#include "age.h"
#include "archive.h"
#include "cleanup.h"
#include "deletion.h"

#define MEMTRACES_FILE "memtraces/memtraces.db"

/*
 * A recording: one memory profile. Strings are borrowed: for the duration of a call, or in a
 * callback until the callback returns.
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
	uint64_t began_real, began_mono; /* when its first packet came; CLOCK_REALTIME and CLOCK_MONOTONIC ns */
	/* The guest made that packet after this time, CLOCK_MONOTONIC ns; 0 = unknown. */
	uint64_t connected_mono;
	uint64_t ended_real, ended_mono; /* as BEGAN_*; 0 = not ended */
	uint64_t bytes, packets, dropped;
	uint64_t damaged; /* bytes behind BYTES that were taken out of service because of damage on the disk */
	/* ns to add to the times to show them; 0 = they are right, or nobody knows. A writer ignores both. */
	int64_t began_correction, ended_correction;
	bool pinned;
	const char *note; /* NULL = "" */
	uint32_t version;
	const char *program, *host, *context; /* from the profile's first packet; NULL = absent */
	bool has_pid;
	int64_t pid;
	double rate; /* samples per allocated word; 0 = absent */
};

struct memtraces;

/*
 * Open or create <STATE>/memtraces/memtraces.db and migrate it. If the disk is full, the reserve
 * file is deleted to open the archive. Return 0, with the writer in *MP; or an error, with a
 * sentence in SENTENCE (SIZE bytes). ARCHIVE_E_FULL: deleting the reserve file was not enough.
 * -EBUSY: another process writes this archive.
 */
int memtraces_open(struct memtraces **mp, const char *state, const struct archive_options *options, char *sentence,
		   size_t size);
/* Roll back an open transaction and close the archive. The -wal file stays. */
struct memtraces *memtraces_free(struct memtraces *m);
CLEANUP_DEFINE(struct memtraces, memtraces_free)

/*
 * Set the compression level from the next piece on: 0 = none, 1 to 19 as zstd's, -1 to -7 zstd's
 * fast levels.
 */
void memtraces_level(struct memtraces *m, int level);

int memtraces_begin(struct memtraces *m);
/*
 * Commit. The commit survives if the process is killed; if the power fails, the last commits may be
 * lost.
 */
int memtraces_commit(struct memtraces *m);
void memtraces_rollback(struct memtraces *m);

/*
 * Set *ID to the largest identifier that was ever used, 0 if none was. Deletion does not lower it.
 * Needs no transaction.
 */
int memtraces_last_id(struct memtraces *m, int64_t *id);

/*
 * Insert a recording; or, if its id exists, update all its fields but origin, begin, pin and note.
 */
int memtraces_put(struct memtraces *m, const struct memtrace *recording);
/*
 * Append LENGTH bytes (1 to ARCHIVE_PIECE_MAX) at OFFSET, which must be the end of the recording.
 * To a damaged recording nothing is appended.
 */
int memtraces_append(struct memtraces *m, int64_t id, uint64_t offset, const uint8_t *data, uint32_t length);
/*
 * Change the pin and the note of a recording. PINNED -1 and NOTE NULL leave the value as it is.
 * ARCHIVE_E_ABSENT: there is no such recording.
 */
int memtraces_patch(struct memtraces *m, int64_t id, int pinned, const char *note);
/*
 * Check a recording that a reader has reported as damaged. The first damaged piece and all pieces
 * behind it are deleted, and the recording ends before them from then on. *PIECES is the number of
 * damaged pieces. ARCHIVE_E_ABSENT: there is no such recording.
 */
int memtraces_repair(struct memtraces *m, int64_t id, uint64_t *pieces);
/*
 * Mark a recording as deleted; memtraces_purge() deletes its pieces later. ARCHIVE_E_ABSENT: there
 * is no such recording.
 */
int memtraces_delete(struct memtraces *m, int64_t id);
/* End all recordings that the previous writer has not ended, with the given REASON and time. */
int memtraces_end_all(struct memtraces *m, const char *reason, uint64_t real, uint64_t mono);

typedef int memtraces_sum_call(void *context, const char *guest, uint64_t bytes, uint64_t deletable);
/*
 * Call CALL with the sum of bytes of each guest, and with the sum of those recordings that memtraces_delete_oldest() may
 * delete. GUEST is "u:UUID", else "n:NAME", else "a:ADDRESS". A recording counts as 4,096 bytes more than it has, so that
 * empty ones count, too. If CALL returns another value than 0, the call ends and returns it. Needs no transaction.
 */
int memtraces_sums(struct memtraces *m, memtraces_sum_call *call, void *context);
/*
 * Delete the oldest recording of GUEST (NULL = of all guests) that has ended, is not pinned, and
 * began before BEFORE_AGE (age.h; 0 = at any time). REASON is counted. *BYTES is its size. ARCHIVE_E_ABSENT: there is
 * none.
 */
int memtraces_delete_oldest(struct memtraces *m, const char *guest, uint64_t before_age, enum deletion_reason reason,
			    uint64_t *bytes);
/* Delete at most LIMIT pieces of deleted recordings. *MORE: there are more. */
int memtraces_purge(struct memtraces *m, unsigned limit, bool *more);

/* Return the store, on which the functions of space.h work. Borrowed. */
struct store *memtraces_store(struct memtraces *m);

/* Call age_run() for the archive's age clock. Needs no transaction, and none may be open. */
void memtraces_run_age(struct memtraces *m, bool may_write);
/* Return the age clock. Borrowed. */
const struct age *memtraces_age(const struct memtraces *m);
/* Return what was deleted in committed transactions since the caller last emptied it. Borrowed. */
struct deletion_tally *memtraces_deletions(struct memtraces *m);

#endif
