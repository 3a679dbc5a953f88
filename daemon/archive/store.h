/*
 * The writing side of one archive: its directory, its database file, the transaction, the
 * write-ahead log, and the care for room on the disk.
 *
 * Traces (writer.h) and memory profiles (memtraces.h) each have a store and add what their rows
 * mean. Each call returns 0, -errno (fatal for the archive: close it), or a positive
 * archive_condition. Not thread-safe: one thread owns a store.
 */
#ifndef ARCHIVE_STORE_H
#define ARCHIVE_STORE_H

#include "archive.h"
#include "codec.h"
#include "statement.h"
#include "wal.h"

/* The first two statements of every store's list. */
enum store_statement { STORE_BEGIN, STORE_COMMIT };
#define STORE_BEGIN_SQL	 "BEGIN IMMEDIATE"
#define STORE_COMMIT_SQL "COMMIT"

struct store_format {
	const char *directory; /* below the state directory */
	const char *file;
	const char *const *const *migrations; /* see database.h */
	const char *const *sql;		      /* N_STATEMENTS texts, STORE_BEGIN_SQL and STORE_COMMIT_SQL first */
	size_t n_statements;
	/*
	 * Read what is kept in memory of the open database. Called again after a failure. NULL =
	 * nothing is.
	 */
	int (*opened)(void *context);
	/* The transaction ended. NULL = nothing depends on it. */
	void (*ended)(void *context, bool committed);
};

struct store {
	const struct store_format *format;
	void *context; /* of FORMAT's functions */
	sqlite3 *db;
	struct statements statements;
	struct codec_writer encoder;
	struct codec_reader decoder;
	struct wal wal;
	uint64_t wal_limit, reserve_bytes;
	char *directory;
	int directory_fd;    /* holds the lock against a second writer, too */
	bool in_transaction; /* a transaction is open */
	bool full;	     /* see space_is_full() */
};

/*
 * Open or create the database of FORMAT below STATE and migrate it. If the disk is full the reserve
 * is given up to open the database. SENTENCE, of SIZE bytes, says what failed. Return -EBUSY if
 * another process writes this archive. The caller calls store_close() in any case.
 */
int store_open(struct store *s, const char *state, const struct store_format *format,
	       const struct archive_options *options, void *context, char *sentence, size_t size);
/* Roll back an open transaction and close all. The WAL file stays. */
void store_close(struct store *s);

int store_begin(struct store *s);
/*
 * Commit, and bring the WAL into the file if it is time. SYNC: flush the commit to the disk first.
 * An error rolls back, unless the flush failed.
 */
int store_commit(struct store *s, bool sync);
void store_rollback(struct store *s);
/* Commit if R is 0, else roll back. Return R, or the error of the commit. */
int store_end(struct store *s, int r);

#endif
