/*
 * The store: the writing side of one archive. It has the directory, the database file, the
 * transaction, the write-ahead log, and the space on the disk (space.h).
 *
 * The archive of traces (writer.h) and the archive of memory profiles (memtraces.h) each have a
 * store, and add the meaning of their rows. Each call returns 0, -errno (fatal: close the archive),
 * or a positive archive_condition. Not thread-safe: one thread owns a store.
 */
#ifndef ARCHIVE_STORE_H
#define ARCHIVE_STORE_H

#include "archive.h"
#include "codec.h"
#include "failure.h"
#include "statement.h"
#include "wal.h"

/* The first two statements of every store's list. */
enum store_statement { STORE_BEGIN, STORE_COMMIT };
#define STORE_BEGIN_SQL	 "BEGIN IMMEDIATE"
#define STORE_COMMIT_SQL "COMMIT"

struct store_format {
	const char *directory; /* name of its directory in the state directory */
	const char *file;
	const char *const *const *migrations; /* see database.h */
	/* N_STATEMENTS statements; STORE_BEGIN_SQL and STORE_COMMIT_SQL first */
	const char *const *sql;
	size_t n_statements;
	/*
	 * Load state that is kept in memory from the database, which was just opened. After a
	 * failure it is called again. The pointer is NULL if there is no such state.
	 */
	int (*opened)(void *context);
	/* A transaction has ended. The pointer may be NULL. */
	void (*ended)(void *context, bool committed);
};

struct store {
	const struct store_format *format;
	void *context; /* argument of FORMAT's functions */
	sqlite3 *db;
	struct statements statements;
	struct codec_writer encoder;
	struct codec_reader decoder;
	struct wal wal;
	uint64_t wal_limit, reserve_bytes;
	char *directory;
	int directory_fd;	/* the directory; also holds the lock against a second writer */
	bool in_transaction;	/* a transaction is open */
	bool full;		/* see space_is_full() */
	struct failure failure; /* the last -errno */
	uint64_t lost_commits;	/* of the write-ahead log that store_open() found (wal-loss.h) */
};

/*
 * Open or create the database of FORMAT below STATE and migrate it. If the disk is full, the
 * reserve file is deleted to open the database. Return 0; or an error, with a sentence in SENTENCE
 * (SIZE bytes). -EBUSY: another process writes this archive. The caller calls store_close() also
 * after a failure.
 */
int store_open(struct store *s, const char *state, const struct store_format *format,
	       const struct archive_options *options, void *context, char *sentence, size_t size);
/* Roll back an open transaction and close everything. The -wal file stays. */
void store_close(struct store *s);

int store_begin(struct store *s);
/*
 * Commit, and copy the write-ahead log into the file if it is long. SYNC: flush the commit to the
 * disk. After an error the transaction is rolled back, unless only the flush has failed.
 */
int store_commit(struct store *s, bool sync);
void store_rollback(struct store *s);
/* Commit if R is 0, else roll back. Return R, or the error of the commit. */
int store_end(struct store *s, int r);

/*
 * Write to TEXT (SIZE bytes) what the error R of the last call means, a -errno or an archive_condition: the file that failed, and the
 * system's error with SQLite's code, or the condition.
 */
void store_explain(const struct store *s, int r, char *text, size_t size);

#endif
