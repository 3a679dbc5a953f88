/*
 * Measure how long opening an archive takes at the start of mprofd: an archive of the first version,
 * which is migrated, and the same archive again. The peer is an archive of a quarter of the size.
 *
 * The rows have 100 KB of bytes that do not compress, and the kernel's cache is dropped before each
 * start. The last line extends both sizes to 8 GB along a straight line. The benchmark fails if a
 * start writes more than WRITTEN_MAX bytes, or misses a packet. --long makes 2 GiB.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "database.h"
#include "writer.h"

#define ROW_BYTES   100000
#define STREAMS	    8
#define ROWS_COMMIT 64
#define WRITTEN_MAX (1u << 20) /* bytes that a start may write */
#define WHOLE_BYTES 8e9
#define AIM_S	    1.0

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

static int insert_rows(sqlite3 *db, uint64_t rows)
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
		sqlite3_bind_int64(s, 3, ROW_BYTES);
		if (r == SQLITE_OK && sqlite3_step(s) != SQLITE_DONE)
			r = SQLITE_ERROR;
		sqlite3_reset(s);
	}
	sqlite3_finalize(s);
	return r == SQLITE_OK ? sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) : r;
}

/* Make an archive of the first version below STATE. Return false with a message if that fails. */
static bool make(const char *state, uint64_t rows)
{
	const char *const *const first[] = {migrations_trace[0], NULL};
	char path[256], sentence[256] = "the rows could not be made";
	sqlite3 *db = NULL;
	int r;

	mkdir(state, 0700);
	snprintf(path, sizeof(path), "%s/archive", state);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/archive/trace.db", state);
	r = database_open(&db, path, first, sentence, sizeof(sentence));
	if (r == 0)
		r = sqlite3_exec(db, streams_sql, NULL, NULL, NULL);
	if (r == 0)
		r = insert_rows(db, rows);
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

static void print_derived(double seconds)
{
	printf("{\"name\": \"start-of-8-GB\", \"ours\": %.3f, \"peer\": null, \"unit\": \"s, derived\", \"ratio\": "
	       "null, "
	       "\"aim\": %.1f, \"met\": %s}\n",
	       seconds, AIM_S, seconds < AIM_S ? "true" : "false");
}

/* Return the seconds for WHOLE_BYTES, if FEW rows took PART seconds and four times as many took ALL. */
static double extend(double part, double all, uint64_t few)
{
	double per_byte = all > part ? (all - part) / (3.0 * (double)few * ROW_BYTES) : 0;

	return all + per_byte * (WHOLE_BYTES - 4.0 * (double)few * ROW_BYTES);
}

int main(int argc, char **argv)
{
	bool brief = argc > 1 && strcmp(argv[1], "--brief") == 0, big = argc > 1 && strcmp(argv[1], "--long") == 0;
	uint64_t few = ((brief ? 64ull : big ? 2048ull : 512ull) << 20) / ROW_BYTES / 4 / STREAMS * STREAMS;
	struct start part[2], all[2];

	if (!make("part.state", few) || !make("all.state", 4 * few))
		return 1;
	for (int i = 0; i < 2; i++)
		if (!start("part.state", few, &part[i]) || !start("all.state", 4 * few, &all[i]))
			return 1;
	print_line("start-of-an-older-archive", all[0].seconds, part[0].seconds, "s");
	print_line("start", all[1].seconds, part[1].seconds, "s");
	print_line("start-writes", (double)all[0].written / 1024, (double)part[0].written / 1024, "KiB");
	print_derived(extend(part[0].seconds, all[0].seconds, few));
	return 0;
}
