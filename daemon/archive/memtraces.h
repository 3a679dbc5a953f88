/*
 * The archive of memory profiles (schema/archive/memtraces): what a recording is, and the archive's only writer.
 *
 * Everything between begin and commit is one transaction.  Each call returns 0, -errno (fatal for the archive: close it), or a
 * positive archive_condition.  After ARCHIVE_E_FULL the transaction is gone; the caller keeps what it wants to try again.  Calls that say
 * nothing else need an open transaction.  Not thread-safe: one thread owns a writer.
 */
#ifndef ARCHIVE_MEMTRACES_H
#define ARCHIVE_MEMTRACES_H

#include "archive.h"
#include "cleanup.h"

#define MEMTRACES_FILE "memtraces/memtraces.db"

/* Texts are borrowed: by a call until it returns, in a callback until that does. */
struct memtrace {
	int64_t id;
	int64_t run;	  /* 0 = not known */
	const char *name; /* NULL = not known */
	const char *uuid; /* NULL = none */
	int64_t domid;	  /* -1 = none */
	const char *address;
	uint32_t port;
	const char *origin;		 /* "listened" or "asked" */
	const char *state;		 /* "recording" or "ended" */
	const char *reason;		 /* NULL = it has not ended */
	uint64_t began_real, began_mono; /* when its first packet came ... */
	uint64_t connected_mono;	 /* ... which the guest had made since then; 0 = not known */
	uint64_t ended_real, ended_mono; /* 0 = not ended */
	uint64_t bytes, packets, dropped;
	uint64_t damaged; /* bytes behind BYTES that were damaged on the disk, and taken out of service; 0 = none */
	bool pinned;
	const char *note; /* NULL = "" */
	uint32_t version;
	const char *program, *host, *context; /* NULL = not there */
	bool has_pid;
	int64_t pid;
	double rate; /* 0 = not there */
};

struct memtraces;

/*
 * Open or create <STATE>/memtraces/memtraces.db and migrate it.  SENTENCE (of SIZE bytes) says in words what failed; -EBUSY: another process
 * writes this archive.  On a full disk the reserve is given up to get it open; ARCHIVE_E_FULL: not even that did.
 */
int memtraces_open(struct memtraces **mp, const char *state, const struct archive_options *options, char *sentence,
		   size_t size);
struct memtraces *memtraces_free(struct memtraces *m); /* rolls back what is open; keeps the WAL file */
CLEANUP_DEFINE(struct memtraces, memtraces_free)

/* Faster or denser compression from the next piece on: level 0 stores raw, 1 to 19 as zstd's, -1 to -7 its fast ones. */
void memtraces_level(struct memtraces *m, int level);

int memtraces_begin(struct memtraces *m);
/* What is committed outlives a kill of the process; a loss of power may take the last commits. */
int memtraces_commit(struct memtraces *m);
void memtraces_rollback(struct memtraces *m);

/* The largest identifier ever given, 0 where none was; deletion does not lower it.  Needs no transaction. */
int memtraces_last_id(struct memtraces *m, int64_t *id);

/* Insert, or update what may change: all but origin, began, pinned and note. */
int memtraces_put(struct memtraces *m, const struct memtrace *recording);
/* Append LENGTH (1 to ARCHIVE_PIECE_MAX) bytes at OFFSET, which is where the recording's pieces end; nothing where the recording was damaged. */
int memtraces_append(struct memtraces *m, int64_t id, uint64_t offset, const uint8_t *data, uint32_t length);
/* Change a recording: PINNED -1 = leave, NOTE NULL = leave.  ARCHIVE_E_ABSENT. */
int memtraces_patch(struct memtraces *m, int64_t id, int pinned, const char *note);
/*
 * A reader says that bytes of a recording are damaged.  Look, and take the first piece that does not hold out of service, with all behind it: the
 * recording ends there from now on.  *PIECES is how many do not hold.  ARCHIVE_E_ABSENT.
 */
int memtraces_repair(struct memtraces *m, int64_t id, uint64_t *pieces);
/* May the archive have pieces from before there were checksums?  Needs no transaction. */
int memtraces_unchecked(struct memtraces *m, bool *unchecked);
/*
 * Check all recordings as memtraces_repair does, and give pieces from before there were checksums theirs.  *PIECES and *ADDED go up by how many.
 * -EBADMSG: SQLite cannot read the file.  Needs no transaction.
 */
int memtraces_check_all(struct memtraces *m, uint64_t *pieces, uint64_t *added);
/* From now on it is not there; memtraces_purge takes its bytes away.  ARCHIVE_E_ABSENT. */
int memtraces_delete(struct memtraces *m, int64_t id);
/* All that were being recorded when the last writer ended or was killed have ended, for REASON. */
int memtraces_end_all(struct memtraces *m, const char *reason, uint64_t real, uint64_t mono);

/* How many bytes of which guest are held: see memtraces_sums. */
typedef int memtraces_sum_call(void *context, const char *guest, uint64_t bytes);
/*
 * Bytes by guest, each recording with 4,096 more so that those of nothing do not come for nothing, named "u:UUID", else "n:NAME", else "a:ADDRESS".  Stops when CALL returns non-zero, and returns that.  Needs no
 * transaction.
 */
int memtraces_sums(struct memtraces *m, memtraces_sum_call *call, void *context);
/* The guest's name as memtraces_sums has it; free() it.  NULL: no memory. */
char *memtrace_guest(const char *uuid, const char *name, const char *address);
/*
 * Delete the oldest recording that has ended and is not pinned, of GUEST (NULL: of all), which began before BEFORE_REAL (0: whenever).
 * ARCHIVE_E_ABSENT: there is none.  *BYTES is what goes.
 */
int memtraces_delete_oldest(struct memtraces *m, const char *guest, uint64_t before_real, uint64_t *bytes);
/* Take away at most LIMIT pieces of what was deleted; *MORE: there is more. */
int memtraces_purge(struct memtraces *m, unsigned limit, bool *more);

/* Get the store, for the care for space on its disk; see space.h. */
struct store *memtraces_store(struct memtraces *m);

#endif
