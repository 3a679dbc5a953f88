/*
 * Measure how long opening an archive takes at the start of mprofd: an archive of the first version,
 * which is migrated, and the same archive again. The peer is an archive of a quarter of the size.
 *
 * The rows have bytes that do not compress: 100 KB, as of rings of a mebibyte, or 8 KB, as of the
 * smallest rings. The kernel's cache is dropped before each start. The benchmark fails if a start
 * writes more than WRITTEN_MAX bytes, or misses a packet. --long makes WHOLE_BYTES of each size of
 * row; otherwise the last line extends both sizes to WHOLE_BYTES along a straight line.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "clock.h"
#include "database.h"
#include "writer.h"

#define STREAMS	    8
#define ROWS_COMMIT 64
#define WRITTEN_MAX (1u << 20) /* bytes that a start may write */
#define WHOLE_BYTES 8e9
#define AIM_S	    1.0

static const struct shape {
	const char *name;
	uint32_t row_bytes;
} shapes[] = {{"", 100000}, {"-of-small-rows", 8192}};

struct start {
	double seconds;
	uint64_t written; /* bytes that the start wrote */
};

static const char streams_sql[] =
	"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8) INSERT INTO runs (id, source, "
	"key, name, domid, state, began_real) SELECT i, 'dir', 'bench-' || i, 'bench', NULL, 'running', 1 FROM n;"
	"INSERT INTO streams (id, run, number, ring_bytes, ring_packets) SELECT id, id, 0, 1048576, 4 FROM runs;"
	"UPDATE identifiers SET run = 8, stream = 8";
static const char row_sql[] =
	"INSERT INTO chunks (stream, sequence, offset, length, flags, first_timestamp, packet_bytes, codec, ends, data)"
	" VALUES (?1, ?2, 30, ?3, 1, ?2 + 1, 262144, 0, zeroblob(20), randomblob(?3))";

static int insert_rows(sqlite3 *db, uint64_t rows, uint32_t row_bytes)
{
	sqlite3_stmt *s = NULL;
	int r = sqlite3_prepare_v2(db, row_sql, -1, &s, NULL);

	for (uint64_t i = 0; i < rows && r == SQLITE_OK; i++) {
		if (i % ROWS_COMMIT == 0)
			r = sqlite3_exec(db, i ? "COMMIT; BEGIN" : "BEGIN", NULL, NULL, NULL);
		if (i % (ROWS_COMMIT * ROWS_COMMIT) == 0)
			sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
		sqlite3_bind_int64(s, 1, (int64_t)(i % STREAMS + 1));
		sqlite3_bind_int64(s, 2, (int64_t)(i / STREAMS));
		sqlite3_bind_int64(s, 3, row_bytes);
		if (r == SQLITE_OK && sqlite3_step(s) != SQLITE_DONE)
			r = SQLITE_ERROR;
		sqlite3_reset(s);
	}
	sqlite3_finalize(s);
	return r == SQLITE_OK ? sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) : r;
}

/* Make an archive of the first version below STATE. Return false with a message if that fails. */
static bool make(const char *state, uint64_t rows, uint32_t row_bytes)
{
	const char *const *const first[] = {migrations_trace[0], NULL};
	char path[256], sentence[256] = "the rows could not be made";
	sqlite3 *db = NULL;
	int r;

	mkdir(state, 0700);
	snprintf(path, sizeof(path), "%s/archive", state);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/archive/trace.db", state);
	r = database_open(&db, path, first, NULL, sentence, sizeof(sentence));
	if (r == 0)
		r = sqlite3_exec(db, streams_sql, NULL, NULL, NULL);
	if (r == 0)
		r = insert_rows(db, rows, row_bytes);
	if (r == 0)
		r = sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	sqlite3_close(db);
	if (r)
		fprintf(stderr, "start: %s (%d)\n", sentence, r);
	return r == 0;
}

/* Drop the archive's pages from the kernel's cache. */
static void drop_cache(const char *state)
{
	char path[256];
	CLEANUP(closep) int fd = -1;

	snprintf(path, sizeof(path), "%s/archive/trace.db", state);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && fsync(fd) == 0)
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

/* Return the bytes that this process has written by system calls. */
static uint64_t written(void)
{
	FILE *f = fopen("/proc/self/io", "re");
	uint64_t bytes = 0;
	char row[128];

	while (f && fgets(row, sizeof(row), f))
		if (sscanf(row, "wchar: %" SCNu64, &bytes) == 1)
			break;
	if (f)
		fclose(f);
	return bytes;
}

/* Delete the archive below STATE. Return false if that fails. */
static bool forget(const char *state)
{
	static const char *const names[] = {"archive/trace.db", "archive/trace.db-wal", "archive/trace.db-shm"};
	char path[256];
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", state, names[i]);
		r = unlink(path) != 0 && errno != ENOENT ? -errno : r;
	}
	if (r)
		fprintf(stderr, "start: %s could not be deleted: %s\n", path, strerror(-r));
	return r == 0;
}

static int add_resume(void *context, const struct archive_resume *resume)
{
	*(uint64_t *)context += resume->any ? resume->sequence : 0;
	return 0;
}

/* Open the archive with ROWS rows as mprofd does at its start. Return false if a row is missing. */
static bool start(const char *state, uint64_t rows, struct start *result)
{
	const struct archive_options options = {.wal_limit_bytes = 64u << 20, .level = 1};
	struct archive_writer *w = NULL;
	char sentence[256];
	uint64_t began, before, sequences = 0;
	int64_t run, stream, capture;
	int r;

	drop_cache(state);
	before = written();
	began = clock_mono();
	r = archive_writer_open(&w, state, &options, sentence, sizeof(sentence));
	if (r == 0)
		r = archive_writer_last_ids(w, &run, &stream, &capture);
	if (r == 0)
		r = archive_writer_resume(w, add_resume, &sequences);
	result->seconds = (double)(clock_mono() - began) / 1e9;
	result->written = written() - before;
	archive_writer_free(w);
	if (r == 0 && sequences == rows && stream == STREAMS && result->written <= WRITTEN_MAX)
		return true;
	fprintf(stderr, "start: r=%d, %" PRIu64 " packets and not %" PRIu64 ", %" PRIu64 " bytes written\n", r,
		sequences, rows, result->written);
	return false;
}

static void print_line(const char *name, double ours, double peer, const char *unit)
{
	printf("{\"name\": \"%s\", \"ours\": %.3f, \"peer\": %.3f, \"unit\": \"%s\", \"ratio\": %.3f, \"aim\": null, "
	       "\"met\": null}\n",
	       name, ours, peer, unit, ours / peer);
}

static void print_whole(const char *name, double seconds, const char *unit)
{
	printf("{\"name\": \"start-of-8-GB%s\", \"ours\": %.3f, \"peer\": null, \"unit\": \"%s\", \"ratio\": null, "
	       "\"aim\": %.1f, \"met\": %s}\n",
	       name, seconds, unit, AIM_S, seconds < AIM_S ? "true" : "false");
}

/* Return the seconds for WHOLE_BYTES, if BYTES took ALL seconds and a quarter of them took PART. */
static double extend(double part, double all, double bytes)
{
	double per_byte = all > part ? (all - part) / (0.75 * bytes) : 0;

	return all + per_byte * (WHOLE_BYTES - bytes);
}

/* Make archives of BYTES and of a quarter of them, measure, and delete them. */
static bool measure(const struct shape *shape, double bytes)
{
	uint64_t few = (uint64_t)bytes / shape->row_bytes / 4 / STREAMS * STREAMS;
	struct start part[2], all[2];
	char name[64];

	if (!make("part.state", few, shape->row_bytes) || !make("all.state", 4 * few, shape->row_bytes))
		return false;
	for (int i = 0; i < 2; i++)
		if (!start("part.state", few, &part[i]) || !start("all.state", 4 * few, &all[i]))
			return false;
	if (!forget("part.state") || !forget("all.state"))
		return false;
	snprintf(name, sizeof(name), "start-of-an-older-archive%s", shape->name);
	print_line(name, all[0].seconds, part[0].seconds, "s");
	snprintf(name, sizeof(name), "start%s", shape->name);
	print_line(name, all[1].seconds, part[1].seconds, "s");
	snprintf(name, sizeof(name), "start-writes%s", shape->name);
	print_line(name, (double)all[0].written / 1024, (double)part[0].written / 1024, "KiB");
	if (bytes >= WHOLE_BYTES)
		print_whole(shape->name, all[0].seconds > all[1].seconds ? all[0].seconds : all[1].seconds, "s");
	else
		print_whole(shape->name, extend(part[0].seconds, all[0].seconds, bytes), "s, derived");
	fflush(stdout);
	return true;
}

int main(int argc, char **argv)
{
	bool brief = argc > 1 && strcmp(argv[1], "--brief") == 0, big = argc > 1 && strcmp(argv[1], "--long") == 0;
	double bytes = brief ? 64e6 : big ? WHOLE_BYTES : 512e6;

	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++)
		if (!measure(&shapes[i], bytes))
			return 1;
	return 0;
}
