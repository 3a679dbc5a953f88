/* Commits that a damaged write-ahead log loses when it is recovered. */
#include <fcntl.h>
#include <sys/sendfile.h>

#include "archive-fixture.h"
#include "store.h"

#define HEADER	     32
#define FRAME_HEADER 24
#define COMMITS	     12u

/* The files of an archive as a writer that is killed leaves them. */
struct left {
	char state[64];
	char database[128], log[128];
	long frame_bytes, frames;
	long ends[COMMITS]; /* frames that end a commit */
	unsigned n_ends;
};

static bool copy_file(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	struct stat st;
	bool is_copied =
		in >= 0 && out >= 0 && fstat(in, &st) == 0 && sendfile(out, in, NULL, (size_t)st.st_size) == st.st_size;

	close(in);
	close(out);
	return CHECK(is_copied);
}

/* Note the frames of L's log. */
static bool left_look(struct left *l)
{
	uint8_t header[FRAME_HEADER];
	FILE *f = fopen(l->log, "rb");
	long bytes;

	if (!CHECK(f))
		return false;
	fseek(f, 0, SEEK_END);
	bytes = ftell(f);
	l->frames = (bytes - HEADER) / l->frame_bytes;
	for (long i = 0; i < l->frames; i++) {
		fseek(f, HEADER + i * l->frame_bytes, SEEK_SET);
		if (CHECK(fread(header, sizeof(header), 1, f) == 1) &&
		    (header[4] | header[5] | header[6] | header[7]) && CHECK(l->n_ends < COMMITS))
			l->ends[l->n_ends++] = i;
	}
	fclose(f);
	return CHECK(l->n_ends > 6);
}

/* Copy the files of the archive in STATE while its writer has them open. */
static bool left_copy(struct left *l, const char *state)
{
	char from[128], directory[96];

	*l = (struct left){.state = "/tmp/mprof-wal-loss.XXXXXX", .frame_bytes = FRAME_HEADER + 16384};
	if (!CHECK(mkdtemp(l->state)))
		return false;
	snprintf(directory, sizeof(directory), "%s/archive", l->state);
	CHECK(mkdir(directory, 0750) == 0);
	snprintf(l->database, sizeof(l->database), "%s/trace.db", directory);
	snprintf(l->log, sizeof(l->log), "%s/trace.db-wal", directory);
	snprintf(from, sizeof(from), "%s/archive/trace.db", state);
	if (!copy_file(from, l->database))
		return false;
	snprintf(from, sizeof(from), "%s/archive/trace.db-wal", state);
	return copy_file(from, l->log);
}

static bool left_make(struct left *l, const struct fixture *f)
{
	return left_copy(l, f->state) && left_look(l);
}

static void left_remove(struct left *l)
{
	nftw(l->state, fixture_remove, 8, FTW_DEPTH | FTW_PHYS);
}

/* Flip a bit of the log. */
static void left_flip(const struct left *l, long at)
{
	int fd = open(l->log, O_RDWR | O_CLOEXEC);
	uint8_t byte = 0;

	CHECK(fd >= 0 && pread(fd, &byte, 1, at) == 1);
	byte ^= 4;
	CHECK(pwrite(fd, &byte, 1, at) == 1);
	close(fd);
}

/* Open the archive and return how many commits its log has lost. */
static uint64_t left_lost(const struct left *l)
{
	struct archive_options options = {.wal_limit_bytes = 64u << 20, .level = 0};
	struct archive_writer *w = NULL;
	char sentence[256];
	uint64_t lost = UINT64_MAX;

	if (CHECK_EQ_INT(archive_writer_open(&w, l->state, &options, sentence, sizeof(sentence)), 0))
		lost = archive_writer_store(w)->lost_commits;
	archive_writer_free(w);
	return lost;
}

/* An archive whose first content is in the database file, and whose log has some commits. */
static bool written(struct fixture *f)
{
	if (!fixture_init(f))
		return false;
	CHECK_EQ_INT(fixture_put(f, 1, "web", "running", 1), 0);
	fixture_reopen(f);
	sqlite3_exec(archive_writer_store(f->w)->db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
	for (uint64_t i = 0; i < 8; i++)
		CHECK_EQ_INT(fixture_packet(f, 1, i, 40000, i), 0);
	return true;
}

/* DAMAGE(left) changes the log. WANTED: commits that are lost then. */
static void check(const struct fixture *f, void (*damage)(const struct left *l),
		  uint64_t (*wanted)(const struct left *l))
{
	struct left l;

	if (left_make(&l, f)) {
		damage(&l);
		CHECK_EQ_UINT(left_lost(&l), wanted(&l));
		/* The log has been told about, and begins anew. */
		CHECK_EQ_UINT(left_lost(&l), 0);
	}
	left_remove(&l);
}

static void damage_nothing(const struct left *l)
{
	(void)l;
}

static uint64_t none(const struct left *l)
{
	(void)l;
	return 0;
}

/* The first frame of the third commit: its page, or its salts. */
static void damage_page(const struct left *l)
{
	left_flip(l, HEADER + (l->ends[1] + 1) * l->frame_bytes + FRAME_HEADER + 100);
}

static void damage_salts(const struct left *l)
{
	left_flip(l, HEADER + (l->ends[1] + 1) * l->frame_bytes + 9);
}

static uint64_t all_but_two(const struct left *l)
{
	return l->n_ends - 2;
}

/* The last frame of the third commit, behind valid frames of it that recovery passes. It counts as none. */
static void damage_end(const struct left *l)
{
	CHECK(l->ends[2] > l->ends[1] + 1);
	left_flip(l, HEADER + l->ends[2] * l->frame_bytes + FRAME_HEADER + 7);
}

static uint64_t all_but_three(const struct left *l)
{
	return l->n_ends - 3;
}

static void damage_header(const struct left *l)
{
	left_flip(l, 20);
}

static void damage_magic(const struct left *l)
{
	left_flip(l, 1);
}

static uint64_t all(const struct left *l)
{
	return l->n_ends;
}

/* A writer that is killed may leave a part of its last frame, and frames of a commit without its end. */
static void damage_last(const struct left *l)
{
	left_flip(l, HEADER + l->ends[l->n_ends - 1] * l->frame_bytes + FRAME_HEADER + 9000);
}

static void damage_length(const struct left *l)
{
	CHECK(truncate(l->log, HEADER + l->ends[l->n_ends - 1] * l->frame_bytes + 5000) == 0);
}

static void damage_unfinished(const struct left *l)
{
	CHECK(truncate(l->log, HEADER + l->ends[l->n_ends - 1] * l->frame_bytes) == 0);
}

static void test_damage(void)
{
	struct fixture f;

	if (!written(&f))
		return;
	check(&f, damage_nothing, none);
	check(&f, damage_page, all_but_two);
	check(&f, damage_salts, all_but_two);
	check(&f, damage_end, all_but_three);
	check(&f, damage_header, all);
	check(&f, damage_magic, all);
	check(&f, damage_last, none);
	check(&f, damage_length, none);
	check(&f, damage_unfinished, none);
	fixture_deinit(&f);
}

/* While another process has the log open, nothing is recovered, and nothing is lost with a frame. */
static void test_open_log(void)
{
	struct fixture f;
	struct left l;
	sqlite3 *reader = NULL;

	if (!written(&f))
		return;
	if (left_make(&l, &f)) {
		CHECK_EQ_INT(sqlite3_open(l.database, &reader), SQLITE_OK);
		CHECK_EQ_INT(sqlite3_exec(reader, "SELECT count(*) FROM chunks", NULL, NULL, NULL), SQLITE_OK);
		damage_page(&l);
		CHECK_EQ_UINT(left_lost(&l), 0);
		sqlite3_close(reader);
	}
	left_remove(&l);
	fixture_deinit(&f);
}

/* Frames of the log's former life are no commits, also where the new life has a damaged frame. */
static void test_former_life(void)
{
	struct fixture f;
	struct left l;

	if (!written(&f))
		return;
	sqlite3_exec(archive_writer_store(f.w)->db, "PRAGMA wal_checkpoint(RESTART)", NULL, NULL, NULL);
	CHECK_EQ_INT(fixture_packet(&f, 1, 8, 100, 8), 0);
	CHECK_EQ_INT(fixture_packet(&f, 1, 9, 100, 9), 0);
	if (left_make(&l, &f)) {
		CHECK_EQ_UINT(left_lost(&l), 0);
		left_remove(&l);
	}
	if (left_make(&l, &f)) {
		left_flip(&l, HEADER + FRAME_HEADER + 30);
		CHECK_EQ_UINT(left_lost(&l), 2);
	}
	left_remove(&l);
	fixture_deinit(&f);
}

/* A process that has told the loss is killed, after one commit that does not reach as far as what was lost: it is not told again. */
static void test_killed_again(void)
{
	const struct archive_options options = {.wal_limit_bytes = 64u << 20, .level = 0};
	struct archive_writer *w = NULL;
	struct fixture f;
	struct left l, again = {0};
	char sentence[256];

	if (!written(&f))
		return;
	if (left_make(&l, &f)) {
		damage_page(&l);
		if (CHECK_EQ_INT(archive_writer_open(&w, l.state, &options, sentence, sizeof(sentence)), 0)) {
			CHECK_EQ_UINT(archive_writer_store(w)->lost_commits, all_but_two(&l));
			CHECK_EQ_INT(
				sqlite3_exec(archive_writer_store(w)->db, "CREATE TABLE small (a)", NULL, NULL, NULL),
				SQLITE_OK);
			if (left_copy(&again, l.state))
				CHECK_EQ_UINT(left_lost(&again), 0);
			left_remove(&again);
		}
		archive_writer_free(w);
	}
	left_remove(&l);
	fixture_deinit(&f);
}

int main(void)
{
	CHECK_RUN(test_damage);
	CHECK_RUN(test_open_log);
	CHECK_RUN(test_former_life);
	CHECK_RUN(test_killed_again);
	return check_done();
}
