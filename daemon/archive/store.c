/*
 * The store: the writing side of one archive. A flock on its directory keeps a second writer out.
 */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "archive.h"
#include "cleanup.h"
#include "database.h"
#include "log.h"
#include "space.h"

/*
 * Translate an error of SQLite. When the disk is full, roll back the whole transaction;
 * ARCHIVE_E_FULL tells the caller so.
 */
static int on_error(void *context, int result)
{
	struct store *s = context;
	int r = database_error(s->db, result);

	if (r < 0)
		failure_note(&s->failure, s->db, result, r);
	if (r == ARCHIVE_E_FULL)
		store_rollback(s);
	return r;
}

static const char *condition_text(int condition)
{
	switch (condition) {
	case ARCHIVE_E_FULL:
		return "the disk is full; make room";
	case ARCHIVE_E_BUSY:
		return "another program holds it locked; close that program";
	case ARCHIVE_E_ABSENT:
		return "a row that others name is missing; run mprofd --fsck";
	default:
		return "rows of it are damaged; run mprofd --fsck";
	}
}

void store_explain(const struct store *s, int r, char *text, size_t size)
{
	CLEANUP(freep) char *path = NULL;

	if (asprintf(&path, "%s/%s", s->directory, s->format->file) < 0)
		path = NULL;
	if (r < 0)
		failure_text(&s->failure, path ? path : s->format->file, r, text, size);
	else
		snprintf(text, size, "%s: %s", path ? path : s->format->file, condition_text(r));
}

/* Say that the log of the database PATH has LOST commits that SQLite did not recover. */
static void tell_lost(struct store *s, const char *path, uint64_t lost)
{
	s->lost_commits += lost;
	if (lost)
		log_error("Commits of the archive are lost: behind a damaged place its log has more of them, which "
			  "SQLite "
			  "does not recover. They had the last bytes, captures and changes before the program ended: "
			  "file=%s-wal commits=%llu",
			  path, (unsigned long long)lost);
}

static int open_database(struct store *s, char *sentence, size_t size)
{
	CLEANUP(freep) char *path = NULL;
	uint64_t lost = 0;
	int r;

	if (asprintf(&path, "%s/%s", s->directory, s->format->file) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	r = database_open(&s->db, path, s->format->migrations, &lost, sentence, size);
	tell_lost(s, path, lost);
	if (r != 0)
		return r;
	s->statements.db = s->db;
	r = wal_init(&s->wal, s->db, s->wal_limit, s->reserve_bytes);
	if (r == 0 && s->format->opened)
		r = s->format->opened(s->context);
	if (r != 0)
		snprintf(sentence, size, "%s: the archive cannot be read: %s", path, sqlite3_errmsg(s->db));
	return r;
}

static void close_database(struct store *s)
{
	statements_close(&s->statements);
	wal_deinit(&s->wal);
	sqlite3_close(s->db);
	s->db = NULL;
}

static int allocate(struct store *s, int level)
{
	int r = codec_writer_init(&s->encoder, level, ARCHIVE_PIECE_MAX);

	if (r == 0)
		r = codec_reader_init(&s->decoder);
	return r ? r : statements_init(&s->statements, s->format->sql, s->format->n_statements, on_error, s);
}

int store_open(struct store *s, const char *state, const struct store_format *format,
	       const struct archive_options *options, void *context, char *sentence, size_t size)
{
	int r;

	*s = (struct store){
		.format = format,
		.context = context,
		.directory_fd = -1,
		.wal_limit = options->wal_limit_bytes,
		.reserve_bytes = options->reserve_bytes,
	};
	r = database_directory(state, format->directory, &s->directory, &s->directory_fd, sentence, size);
	if (r == 0)
		r = allocate(s, options->level);
	if (r == 0)
		r = open_database(s, sentence, size);
	if (r == ARCHIVE_E_FULL && space_release_reserve(s) == 0) {
		/*
		 * Even the shared memory file (-shm) needs space. Close and open again with the
		 * reserve file deleted, because a full disk must not keep the archive from being
		 * opened.
		 */
		close_database(s);
		r = open_database(s, sentence, size);
	}
	if (r != 0)
		return r;
	r = space_restore_reserve(s);
	if (r < 0) {
		snprintf(sentence, size, "%s/reserve: the reserve file cannot be made: %s", s->directory, strerror(-r));
		return r;
	}
	s->full = r == ARCHIVE_E_FULL;
	sentence[0] = '\0';
	return 0;
}

void store_close(struct store *s)
{
	if (s->db)
		store_rollback(s);
	statements_deinit(&s->statements);
	close_database(s);
	codec_writer_deinit(&s->encoder);
	codec_reader_deinit(&s->decoder);
	free(s->directory);
	s->directory = NULL;
	closep(&s->directory_fd);
}

/* ---- transactions ---------------------------------------------------------------------------- */

static void end(struct store *s, bool committed)
{
	s->in_transaction = false;
	if (s->format->ended)
		s->format->ended(s->context, committed);
}

int store_begin(struct store *s)
{
	int r;

	if (s->in_transaction)
		return -EINVAL;
	r = statement_run(&s->statements, STORE_BEGIN, NO_VALUES);
	s->in_transaction = r == 0;
	return r;
}

static int sync_wal(struct store *s)
{
	CLEANUP(closep) int fd = -1;
	char name[64];

	snprintf(name, sizeof(name), "%s-wal", s->format->file);
	fd = openat(s->directory_fd, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fdatasync(fd) == 0 || errno == ENOSPC || errno == EDQUOT)
		return 0;
	failure_note_file(&s->failure, "-wal", errno);
	return s->failure.result;
}

int store_commit(struct store *s, bool sync)
{
	int r;

	if (!s->in_transaction)
		return -EINVAL;
	r = statement_run(&s->statements, STORE_COMMIT, NO_VALUES);
	if (r != 0) {
		store_rollback(s);
		return r;
	}
	end(s, true);
	if (sync)
		r = sync_wal(s);
	wal_checkpoint(&s->wal);
	return r;
}

void store_rollback(struct store *s)
{
	statements_reset(&s->statements);
	if (!sqlite3_get_autocommit(s->db)) /* after ARCHIVE_E_FULL SQLite may have rolled back already */
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	end(s, false);
}

int store_end(struct store *s, int r)
{
	if (r == 0)
		return store_commit(s, false);
	store_rollback(s);
	return r;
}
