/*
 * Retention: which data is deleted and when, on a small disk that the archive or another program
 * fills, and while readers read. test-quota.c tests the quotas.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "archive-fixture.h"
#include "array.h"
#include "catch.h"
#include "clock.h"
#include "failing-disk.h"
#include "retention.h"
#include "row-sums.h"
#include "space.h"
#include "writer-state.h"

#define MIB	(1ull << 20)
#define CONTENT 16384u

struct disk {
	struct fixture f;
	struct retention retention;
	struct config config;
	uint64_t sequence; /* sequence number of the next packet */
};

static bool disk_open(struct disk *d)
{
	struct archive_options options = {.wal_limit_bytes = d->config.wal_limit_bytes,
					  .reserve_bytes = d->config.reserve_bytes};
	char sentence[256];

	return CHECK_EQ_INT(archive_writer_open(&d->f.w, d->f.state, &options, sentence, sizeof(sentence)), 0);
}

static bool disk_init(struct disk *d, uint64_t free_bytes, uint64_t reserve)
{
	*d = (struct disk){.f = {.state = "/tmp/mprof-test-XXXXXX"}};
	d->config.free_space_bytes = free_bytes;
	d->config.wal_limit_bytes = MIB;
	d->config.reserve_bytes = reserve;
	if (!CHECK(mkdtemp(d->f.state) != NULL))
		return false;
	if (!CHECK(fixture_mount(d->f.state)) || !disk_open(d))
		return false;
	retention_init(&d->retention, d->f.w, &d->config);
	return CHECK_EQ_INT(fixture_put(&d->f, 1, "web", "running", 1), 0);
}

static void disk_deinit(struct disk *d)
{
	retention_deinit(&d->retention);
	d->f.w = archive_writer_free(d->f.w);
	CHECK_EQ_INT(umount(d->f.state), 0);
	fixture_deinit(&d->f);
}

/*
 * Append N packets in one transaction, as the commit thread does. Return 0 or the writer's error.
 */
static int flush(struct disk *d, unsigned n)
{
	int r = archive_writer_begin(d->f.w);

	for (unsigned i = 0; i < n && r == 0; i++)
		r = fixture_append(&d->f, 1, d->sequence + i, 30, CONTENT, ARCHIVE_CHUNK_LAST, true,
				   1000 + d->sequence + i);
	if (r == 0)
		r = archive_writer_commit(d->f.w);
	else
		archive_writer_rollback(d->f.w);
	if (r == 0)
		d->sequence += n;
	return r;
}

static uint64_t room(struct disk *d)
{
	uint64_t has = 0;

	CHECK_EQ_INT(space_free(archive_writer_store(d->f.w), &has), 0);
	return has;
}

static bool has_reserve(const struct disk *d)
{
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/archive/reserve", d->f.state);
	return stat(path, &st) == 0 && (uint64_t)st.st_size == d->config.reserve_bytes;
}

/* Fill the rest of the disk with a file that is not the archive's. */
static void take_all(const struct disk *d)
{
	static const char zeroes[65536];
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/ballast", d->f.state);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	while (write(fd, zeroes, sizeof(zeroes)) > 0)
		;
	close(fd);
}

/*
 * The archive fills the disk several times, and retention runs only when the disk is full. Each
 * time it can delete something.
 */
static void test_full_again_and_again(void)
{
	struct disk d;
	unsigned fulls = 0;
	int r = 0;

	if (!disk_init(&d, 2 * MIB, 2 * MIB))
		return;
	archive_writer_level(d.f.w, -7);
	for (unsigned i = 0; i < 200 && fulls < 6; i++) {
		r = flush(&d, 64);
		if (r == 0)
			continue;
		if (!CHECK_EQ_INT(r, ARCHIVE_E_FULL) || !CHECK(retention_make_room(&d.retention)))
			break;
		fulls++;
		CHECK(has_reserve(&d));
		CHECK(room(&d) >= 4 * MIB);
		/* Retention makes room, and does not delete everything. */
		CHECK(fixture_number(&d.f, "SELECT count(*) FROM chunks") > 64);
		CHECK_EQ_INT(flush(&d, 64), 0);
	}
	CHECK(fulls == 6);
	CHECK(fixture_integrity(&d.f));
	disk_deinit(&d);
}

/* If retention runs after each transaction, the disk never becomes full. */
static void test_never_full(void)
{
	struct disk d;

	if (!disk_init(&d, 2 * MIB, 2 * MIB))
		return;
	archive_writer_level(d.f.w, -7);
	for (unsigned i = 0; i < 60; i++) { /* four times what the disk holds */
		if (!CHECK_EQ_INT(flush(&d, 64), 0))
			break;
		retention_run(&d.retention);
		CHECK(has_reserve(&d));
	}
	CHECK(room(&d) >= 3 * MIB);
	CHECK(fixture_number(&d.f, "SELECT count(*) FROM chunks") > 64);
	CHECK(fixture_integrity(&d.f));
	disk_deinit(&d);
}

/*
 * Another program fills the disk. Retention deletes everything but the newest packet. When the
 * other program's file is gone, the archive continues.
 */
static void test_others_fill_it(void)
{
	struct disk d;
	char path[128];

	if (!disk_init(&d, 2 * MIB, 2 * MIB))
		return;
	CHECK_EQ_INT(flush(&d, 64), 0);
	for (unsigned i = 0; i < 8; i++) {
		take_all(&d);
		retention_make_room(&d.retention);
		CHECK_EQ_INT(fixture_number(&d.f, "SELECT max(sequence) FROM chunks"), (int64_t)d.sequence - 1);
	}
	CHECK_EQ_INT(fixture_number(&d.f, "SELECT count(*) FROM chunks"), 1);
	snprintf(path, sizeof(path), "%s/ballast", d.f.state);
	CHECK_EQ_INT(unlink(path), 0);
	CHECK(retention_make_room(&d.retention));
	CHECK(has_reserve(&d));
	CHECK_EQ_INT(flush(&d, 64), 0);
	CHECK(fixture_integrity(&d.f));
	disk_deinit(&d);
}

/* The archive is closed while the disk is full, and can be opened again. */
static void test_opened_while_full(void)
{
	struct disk d;
	int r = 0;

	if (!disk_init(&d, 2 * MIB, 2 * MIB))
		return;
	for (unsigned i = 0; i < 6; i++) {
		while ((r = flush(&d, 64)) == 0)
			;
		CHECK_EQ_INT(r, ARCHIVE_E_FULL);
		retention_deinit(&d.retention);
		d.f.w = archive_writer_free(d.f.w);
		if (!disk_open(&d))
			return;
		retention_init(&d.retention, d.f.w, &d.config);
		CHECK(retention_make_room(&d.retention));
		CHECK(has_reserve(&d));
		CHECK_EQ_INT(flush(&d, 64), 0);
	}
	disk_deinit(&d);
}

/* Without a reserve file, retention still keeps the disk from becoming full. */
static void test_no_reserve(void)
{
	struct disk d;

	if (!disk_init(&d, 2 * MIB, 0))
		return;
	for (unsigned i = 0; i < 60; i++) {
		CHECK_EQ_INT(flush(&d, 64), 0);
		retention_run(&d.retention);
	}
	CHECK(retention_make_room(&d.retention));
	disk_deinit(&d);
}

/* If the disk has no room for a reserve file, the archive works without one. */
static void test_reserve_too_large(void)
{
	struct disk d;

	if (!disk_init(&d, 2 * MIB, 64 * MIB))
		return;
	CHECK(d.retention.full && !has_reserve(&d));
	CHECK(retention_make_room(&d.retention));
	for (unsigned i = 0; i < 50; i++) {
		CHECK_EQ_INT(flush(&d, 64), 0);
		retention_run(&d.retention);
	}
	CHECK(!d.retention.full);
	disk_deinit(&d);
}

/* Enforce the quotas now, whenever they were last checked. */
static void keep_now(struct disk *d)
{
	d->retention.checked_at = 0;
	retention_run(&d->retention);
}

static int hold(const struct disk *d, int *fd)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/archive/" ARCHIVE_HOLD, d->f.state);
	return hold_take(path, fd);
}

/*
 * Retention waits for readers that have begun. It waits at most ten seconds, and then deletes until
 * the quotas hold.
 */
static void test_readers_are_waited_for(void)
{
	CLEANUP(closep) int one = -1;
	CLEANUP(closep) int two = -1;
	struct disk d;

	if (!disk_init(&d, MIB, MIB))
		return;
	d.config.archive_bytes = 100 * CONTENT;
	CHECK_EQ_INT(flush(&d, 64), 0);
	CHECK_EQ_INT(flush(&d, 64), 0);
	CHECK_EQ_INT(flush(&d, 64), 0);
	CHECK(hold(&d, &one) == 0 && hold(&d, &two) == 0);
	keep_now(&d);
	CHECK_EQ_INT(fixture_number(&d.f, "SELECT count(*) FROM chunks"), 192);
	closep(&two);
	keep_now(&d);
	CHECK_EQ_INT(fixture_number(&d.f, "SELECT count(*) FROM chunks"), 192);
	d.retention.blocked_since = clock_mono() - 11 * NS_PER_S;
	keep_now(&d);
	keep_now(&d);
	CHECK_EQ_INT(fixture_number(&d.f, "SELECT count(*) FROM chunks"), 100);
	/* After a deletion it waits for readers again. */
	CHECK_EQ_INT(flush(&d, 64), 0);
	keep_now(&d);
	CHECK_EQ_INT(fixture_number(&d.f, "SELECT count(*) FROM chunks"), 164);
	closep(&one);
	keep_now(&d);
	CHECK_EQ_INT(fixture_number(&d.f, "SELECT count(*) FROM chunks"), 100);
	CHECK_EQ_INT(hold(&d, &one), 0);
	closep(&one);
	disk_deinit(&d);
}

/* After each deletion the wait for readers begins again, even if more must be deleted. */
static void test_next_reader(void)
{
	CLEANUP(closep) int fd = -1;
	struct disk d;
	int64_t left;

	if (!disk_init(&d, MIB, MIB))
		return;
	d.config.archive_bytes = 20 * CONTENT;
	for (unsigned i = 0; i < 4; i++)
		CHECK_EQ_INT(flush(&d, 64), 0);
	d.retention.blocked_since = clock_mono() - 11 * NS_PER_S;
	keep_now(&d);
	left = fixture_number(&d.f, "SELECT count(*) FROM chunks");
	CHECK(left > 20 && left < 256);
	CHECK_EQ_INT(hold(&d, &fd), 0);
	keep_now(&d);
	CHECK_EQ_INT(fixture_number(&d.f, "SELECT count(*) FROM chunks"), left);
	closep(&fd);
	disk_deinit(&d);
}

/* If the disk runs short, retention does not wait for readers. */
static void test_room_before_readers(void)
{
	CLEANUP(closep) int fd = -1;
	struct disk d;

	if (!disk_init(&d, 2 * MIB, 2 * MIB) || !CHECK_EQ_INT(hold(&d, &fd), 0))
		return;
	archive_writer_level(d.f.w, -7);
	for (unsigned i = 0; i < 60; i++) {
		if (!CHECK_EQ_INT(flush(&d, 64), 0))
			break;
		retention_run(&d.retention);
	}
	CHECK(fixture_number(&d.f, "SELECT count(*) FROM chunks") > 64);
	closep(&fd);
	disk_deinit(&d);
}

/*
 * During a deletion no reader can take the lock. While a reader holds the lock, no deletion begins.
 * A reader that cannot open the lock file reads without it.
 */
static void test_hold(void)
{
	CLEANUP(closep) int fd = -1;
	CLEANUP(closep) int again = -1;
	struct disk d;

	if (!disk_init(&d, MIB, MIB))
		return;
	CHECK(archive_writer_begin_deleting(d.f.w) && archive_writer_begin_deleting(d.f.w));
	CHECK_EQ_INT(hold(&d, &fd), ARCHIVE_E_BUSY);
	CHECK_EQ_INT(fd, -1);
	archive_writer_end_deleting(d.f.w);
	archive_writer_end_deleting(d.f.w);
	CHECK_EQ_INT(hold(&d, &fd), 0);
	CHECK(!archive_writer_begin_deleting(d.f.w));
	CHECK_EQ_INT(hold(&d, &again), 0);
	closep(&fd);
	closep(&again);
	CHECK(archive_writer_begin_deleting(d.f.w));
	CHECK_EQ_INT(hold_take("/nowhere/" ARCHIVE_HOLD, &fd), -ENOENT);
	CHECK(hold_begin(-1));
	hold_end(-1);
	disk_deinit(&d);
}

/* ---- damaged places -------------------------------------------------------------------------- */

#define LARGE 100000u /* content of a packet whose row needs more than a page */

/* Which limit deletes everything that it may. */
enum limit { LIMIT_GUESTS, LIMIT_ARCHIVE, LIMIT_ROOM, LIMITS };

/* Put a guest of run ID with one stream: packets with a gap between them, and a capture with a tail, all of the time REAL. */
static void put_guest(struct fixture *f, int64_t id, const char *name, uint64_t real, bool pinned)
{
	static const uint8_t data[2000];
	const struct archive_capture capture = {.id = id, .run = id, .kind = "crash", .real = real, .pinned = pinned};
	const struct archive_capture_stream range = {id, id, 5, 6, 30, 0};
	const struct archive_piece tail = {
		.stream = id, .sequence = 6, .offset = 30, .length = sizeof(data), .packet_bytes = 9000, .data = data};
	struct archive_gap gap = {.stream = id,
				  .kind = "lost",
				  .reason = "lapped",
				  .after_sequence = 2,
				  .after_offset = 30,
				  .next_sequence = 3,
				  .packets = 1};

	CHECK_EQ_INT(fixture_put(f, id, name, "ended", id), 0);
	CHECK_EQ_INT(archive_writer_begin(f->w), 0);
	CHECK_EQ_INT(fixture_append(f, id, 1, 30, LARGE, ARCHIVE_CHUNK_LAST, true, real), 0);
	CHECK_EQ_INT(archive_writer_gap(f->w, &gap), 0);
	for (uint64_t i = 3; i < 6; i++)
		CHECK_EQ_INT(fixture_append(f, id, i, 30, CONTENT, ARCHIVE_CHUNK_LAST, true, real), 0);
	gap.after_sequence = 7;
	gap.next_sequence = 8;
	CHECK_EQ_INT(archive_writer_gap(f->w, &gap), 0);
	CHECK_EQ_INT(archive_writer_put_capture(f->w, &capture), 0);
	CHECK_EQ_INT(archive_writer_tail(f->w, id, &tail), 0);
	CHECK_EQ_INT(archive_writer_put_capture_stream(f->w, &range), 0);
	CHECK_EQ_INT(archive_writer_commit(f->w), 0);
}

/* Write bytes that are wrong to the beginning of the first PAGETYPE page of TABLE, as a disk does. */
static void damage_page_at(const struct fixture *f, const char *table, const char *pagetype, int n)
{
	const uint8_t bytes[4] = {0xff, 0xff, 0xff, 0xff};
	CLEANUP(closep) int fd = -1;
	char path[128];
	int64_t page;

	CHECK_EQ_INT(fixture_number(f, "PRAGMA wal_checkpoint(TRUNCATE)"), 0);
	page = fixture_number(f,
			      "SELECT pageno FROM dbstat WHERE name = '%s' AND pagetype = '%s' ORDER BY path "
			      "LIMIT 1 OFFSET %d",
			      table, pagetype, n);
	snprintf(path, sizeof(path), "%s/archive/trace.db", f->state);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	CHECK_EQ_INT(pwrite(fd, bytes, sizeof(bytes), (page - 1) * fixture_number(f, "PRAGMA page_size")),
		     sizeof(bytes));
	/* A commit of another connection empties the writer's cache. */
	CHECK_EQ_INT(fixture_number(f, "UPDATE unchecked SET tails = tails RETURNING 0"), 0);
}

static void damage_page(const struct fixture *f, const char *table, const char *pagetype)
{
	damage_page_at(f, table, pagetype, 0);
}

/* Keep LIMIT, as retention does each few seconds, and return the lines of the log. */
static const char *keep_limit(struct fixture *f, struct retention *retention, struct config *config, enum limit limit,
			      struct catch *c)
{
	bool more = true;

	catch_begin(c);
	for (int i = 0; i < 6; i++) {
		config->archive_bytes = limit == LIMIT_ARCHIVE;
		retention->checked_at = 0;
		if (limit != LIMIT_ROOM)
			retention_run(retention);
		else if (archive_writer_make_room(f->w, 64, &more) != 0)
			break;
	}
	return catch_end(c);
}

static bool policy_load(struct fixture *f, struct config *config, const char *text)
{
	char path[128], error[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/mprofd.conf", f->state);
	file = fopen(path, "w");
	fputs(text, file);
	fclose(file);
	return CHECK_EQ_INT(config_load(config, path, error, sizeof(error)), 0);
}

/* Damage, and the content that stays then. */
static const struct {
	const char *table, *index, *sql; /* NULL = the second page of a packet's row */
	const char *place;		 /* in the log */
	unsigned places;
	int64_t captures, packets, runs; /* that stay */
} damages[] = {
	{"capture_streams", "capture_streams_by_stream", "UPDATE capture_streams SET stream = 9 WHERE capture = 1",
	 "place=capture id=1 ", 1, 1, 0, 1},
	/* The run cannot be deleted with its gap. */
	{"gaps", "gaps_by_position", "UPDATE gaps SET after_sequence = 3 WHERE stream = 1 AND after_sequence = 2",
	 "place=gaps id=1 ", 2, 0, 0, 1},
	{"runs", "runs_by_name", "UPDATE runs SET name = 'wea' WHERE id = 1", "place=run id=1 ", 1, 0, 0, 1},
	{"streams", "sqlite_autoindex_streams_1", "UPDATE streams SET number = 7 WHERE id = 1", "place=run id=1 ", 1, 0,
	 0, 1},
	{NULL, NULL, NULL, "place=packet id=1 sequence=1\n", 1, 0, 1, 1},
};

/*
 * While mprofd runs, the file is damaged at the oldest content of a guest. SQLite fails there, and no check has mended it yet. Each limit passes over
 * the place, deletes what is elsewhere, and says so once.
 */
static void test_damaged_guest(void)
{
	static struct catch c;

	for (size_t i = 0; i < ARRAY_SIZE(damages) * LIMITS; i += check_step(2)) {
		const size_t n = i / LIMITS;
		struct config config = {0};
		struct retention retention;
		const char *log;
		struct fixture f;

		if (!fixture_init(&f) || !policy_load(&f, &config, i % LIMITS ? "" : "[policy]\nbytes = 1\n"))
			return;
		archive_writer_level(f.w, 0);
		put_guest(&f, 1, "web", 5, false);
		put_guest(&f, 2, "db", 1000, false);
		retention_init(&retention, f.w, &config);
		/* The next check of the rows would mend what is not in a packet. */
		if (damages[n].sql)
			fixture_change_table(&f, damages[n].table, damages[n].index, damages[n].sql);
		else
			damage_page(&f, "chunks", "overflow");
		log = keep_limit(&f, &retention, &config, i % LIMITS, &c);
		CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM runs WHERE id = 2"), 0);
		CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM captures"), damages[n].captures);
		CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM chunks"), damages[n].packets);
		CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM runs"), damages[n].runs);
		CHECK_EQ_UINT(lines_with(log, damages[n].place), 1);
		CHECK_EQ_UINT(lines_with(log, "place="), damages[n].places);
		CHECK(!strstr(log, "cannot be deleted"));
		CHECK_EQ_UINT(archive_writer_damage(f.w).pieces, damages[n].places);
		retention_deinit(&retention);
		config_deinit(&config);
		fixture_deinit(&f);
	}
}

/* A place is tried again after ten minutes, when the check of rows has mended it. */
static void test_mended_place(void)
{
	struct row_walk walk = {0};
	struct fixture f;
	bool more;

	if (!fixture_init(&f))
		return;
	put_guest(&f, 1, "web", 5, false);
	fixture_change_table(&f, "capture_streams", "capture_streams_by_stream",
			     "UPDATE capture_streams SET stream = 9 WHERE capture = 1");
	CHECK_EQ_INT(archive_writer_make_room(f.w, 64, &more), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM captures"), 1);
	do
		CHECK_EQ_INT(row_sums_step(f.w, &walk), 0);
	while (row_walk_goes_on(&walk));
	CHECK_EQ_INT(archive_writer_make_room(f.w, 64, &more), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM captures"), 1);
	f.w->bad_places.entries[0].failed_at -= BAD_PLACES_NS;
	CHECK_EQ_INT(archive_writer_make_room(f.w, 64, &more), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM runs"), 0);
	fixture_deinit(&f);
}

/* Many captures are damaged. Each call passes over some, the log has few lines, and what is behind them is deleted. */
static void test_many_places(void)
{
	static struct catch c;
	unsigned calls = 0;
	struct fixture f;
	const char *log;
	bool more = true;

	if (!fixture_init(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "ended", 1), 0);
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	for (int64_t id = 10; id < 50; id++) {
		const struct archive_capture capture = {.id = id, .run = 1, .kind = "crash", .real = 5};
		const struct archive_capture_stream range = {id, 1, 1, 1, 30, 0};
		const struct archive_piece tail = {
			.stream = 1, .sequence = 1, .offset = 30, .length = 9, .data = (const uint8_t *)"nine byte"};

		CHECK_EQ_INT(archive_writer_put_capture(f.w, &capture), 0);
		CHECK_EQ_INT(archive_writer_tail(f.w, id, &tail), 0);
		CHECK_EQ_INT(archive_writer_put_capture_stream(f.w, &range), 0);
	}
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	put_guest(&f, 2, "db", 1000, false);
	fixture_change_table(&f, "capture_streams", "capture_streams_by_stream",
			     "UPDATE capture_streams SET stream = 9 WHERE capture >= 10");
	catch_begin(&c);
	while (more && ++calls < 10)
		if (archive_writer_make_room(f.w, 64, &more) != 0)
			break;
	log = catch_end(&c);
	CHECK_EQ_UINT(calls, 3);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM captures"), 40);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM runs WHERE id = 2"), 0);
	CHECK_EQ_UINT(lines_with(log, "place="), LOG_LIMIT_BURST);
	fixture_deinit(&f);
}

/* Delete for room N times. */
static void make_room(const struct fixture *f, unsigned n)
{
	bool more;

	for (unsigned i = 0; i < n; i++)
		if (!CHECK_EQ_INT(archive_writer_make_room(f->w, 64, &more), 0))
			break;
}

static int pinned_searches(const struct fixture *f)
{
	return sqlite3_stmt_status(f->w->store.statements.prepared[STATEMENT_PINNED_CAPTURE], SQLITE_STMTSTATUS_RUN, 0);
}

/*
 * The range of a pinned capture is damaged, and so are the lists that have it once more: the packets of its run stay, and those of others are deleted.
 * The captures are not looked for again at each deletion. When it is pinned no more, its packets are deleted.
 */
static void test_damaged_pin(void)
{
	const struct archive_capture_change unpin = {.capture = 1, .version = -1, .pinned = 0};
	static struct catch c;
	const char *log;
	struct fixture f;
	int searches;

	if (!fixture_init(&f))
		return;
	put_guest(&f, 1, "web", 5, true);
	put_guest(&f, 2, "db", 1000, false);
	fixture_change_table(&f, "capture_streams", "capture_streams_by_stream",
			     "UPDATE capture_streams SET first_sequence = 9 WHERE capture = 1");
	damage_page(&f, "capture_lists", "leaf");
	catch_begin(&c);
	make_room(&f, 3);
	log = catch_end(&c);
	CHECK_EQ_UINT(lines_with(log, "place=ranges id=1 "), 1);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM chunks WHERE stream = 1"), 4);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM chunks WHERE stream = 2"), 0);
	CHECK_EQ_INT(fixture_put(&f, 3, "db", "ended", 3), 0);
	CHECK_EQ_INT(fixture_packet(&f, 3, 1, CONTENT, 1000), 0);
	searches = pinned_searches(&f);
	make_room(&f, 3);
	CHECK_EQ_INT(pinned_searches(&f), searches);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM chunks WHERE stream = 1"), 4);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM chunks WHERE stream = 3"), 0);
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(archive_writer_change_capture(f.w, &unpin), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	make_room(&f, 3);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM chunks"), 0);
	fixture_deinit(&f);
}

/* The row of an ended run cannot be read, but the index has its name: the guest's limit deletes its capture, and counts it for the guest. */
static void test_nameless_capture(void)
{
	struct deletion_tally *t;
	static struct catch c;
	bool more = true, is_told = false;
	struct fixture f;
	const char *log;

	if (!fixture_init(&f))
		return;
	put_guest(&f, 1, "web", 5, false);
	damage_page(&f, "runs", "leaf");
	catch_begin(&c);
	for (unsigned i = 0; i < 3 && more; i++)
		CHECK_EQ_INT(archive_writer_enforce(f.w, "web", 0, INT64_MAX / 2, 64, &more), 0);
	log = catch_end(&c);
	CHECK(!strstr(log, "place=capture"));
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM captures"), 0);
	t = archive_writer_deletions(f.w);
	for (size_t i = 0; i < t->n; i++)
		is_told |= t->list[i].captures == 1 && strcmp(t->list[i].guest, "web") == 0;
	CHECK(is_told);
	fixture_deinit(&f);
}

/* The range of a pinned capture is mended: the next check, after ten minutes, finds it whole, and packets that it does not have are deleted. */
static void test_mended_pin(void)
{
	struct fixture f;

	if (!fixture_init(&f))
		return;
	put_guest(&f, 1, "web", 5, true);
	f.w->pinned.list = malloc(sizeof(*f.w->pinned.list));
	*f.w->pinned.list = (struct pinned_capture){.run = 1, .capture = 1};
	f.w->pinned.n = f.w->pinned.room = 1;
	f.w->pinned.checked = clock_mono();
	make_room(&f, 2);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM chunks"), 4);
	f.w->pinned.checked -= 601 * NS_PER_S;
	put_guest(&f, 2, "db", 1000, false);
	make_room(&f, 2);
	CHECK(!pinned_holds(&f.w->pinned, 1));
	CHECK_EQ_UINT(f.w->bad_places.n, 0);
	/* The packets of its range stay. */
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM chunks"), 1);
	CHECK_EQ_INT(fixture_number(&f, "SELECT min(sequence) FROM chunks WHERE stream = 1"), 5);
	fixture_deinit(&f);
}

/* Put N streams without content, of guests that run. */
static void put_idle(struct fixture *f, int64_t first, int64_t n)
{
	CHECK_EQ_INT(archive_writer_begin(f->w), 0);
	for (int64_t id = first; id < first + n; id++) {
		const struct archive_run run = {.id = id,
						.source = "dir",
						.key = "key",
						.name = "idle",
						.domid = -1,
						.state = "running",
						.began_real = 1000};
		const struct archive_stream stream = {.id = id, .run = id, .ring_bytes = 1 << 20, .ring_packets = 4};

		CHECK_EQ_INT(archive_writer_put_run(f->w, &run), 0);
		CHECK_EQ_INT(archive_writer_put_stream(f->w, &stream), 0);
	}
	CHECK_EQ_INT(archive_writer_commit(f->w), 0);
}

#define PINS 1100

/*
 * The lists of more pinned captures than there are bad places cannot be read. The packets of their runs stay, the log has few lines on it, and what is
 * elsewhere is deleted, also beside other damage.
 */
static void test_many_pins(void)
{
	static struct catch c;
	struct fixture f;
	const char *log;

	if (!fixture_init(&f))
		return;
	put_idle(&f, 1, PINS);
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	for (int64_t id = 1; id <= PINS; id++) {
		const struct archive_capture capture = {
			.id = id, .run = id, .kind = "crash", .real = 5, .pinned = true};
		const struct archive_capture_stream range = {id, id, 1, 1, 1000, 0};

		for (uint64_t i = 0; i < 3; i++)
			CHECK_EQ_INT(fixture_append(&f, id, i, 30, 1000, ARCHIVE_CHUNK_LAST, true, 5), 0);
		CHECK_EQ_INT(archive_writer_put_capture(f.w, &capture), 0);
		CHECK_EQ_INT(archive_writer_put_capture_stream(f.w, &range), 0);
	}
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	put_guest(&f, 5000, "db", 1000, false);
	fixture_number(&f, "DELETE FROM captures WHERE id = 5000");
	damage_page(&f, "capture_lists", "internal");
	fixture_change_table(&f, "gaps", "gaps_by_position",
			     "UPDATE gaps SET after_sequence = 3 WHERE stream = 5000 AND after_sequence = 2");
	catch_begin(&c);
	make_room(&f, 80);
	log = catch_end(&c);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM chunks WHERE stream <= %d", PINS), 3 * PINS);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM chunks WHERE stream = 5000"), 0);
	CHECK_EQ_UINT(lines_with(log, "place="), LOG_LIMIT_BURST);
	CHECK_EQ_UINT(archive_writer_damage(f.w).pieces, PINS + 2);
	CHECK(bad_places_has(&f.w->bad_places, &(struct bad_place){.kind = BAD_PLACE_GAPS, .id = 5000}));
	fixture_deinit(&f);
}

/* A damaged page of the lists, and how many packets stay of the two guests at each limit. */
static const struct {
	const char *name;
	int64_t packets[LIMITS][2];
} lists[] = {
	/* Nobody knows whose the runs are, and whether they go on. */
	{"runs", {{4, 4}, {1, 1}, {1, 1}}},
	{"sqlite_autoindex_streams_1", {{0, 0}, {0, 0}, {0, 0}}},
	/* The first guest's stream is in the page, with those of other guests. */
	{"streams", {{4, 0}, {4, 0}, {4, 0}}},
};

/*
 * A page is damaged that the lists of streams need. Each limit deletes what is old of the streams whose rows can be read, keeps the newest packet of
 * a run that may go on, and says once that something is passed over.
 */
static void test_damaged_list(void)
{
	static struct catch c;

	for (size_t i = 0; i < ARRAY_SIZE(lists) * LIMITS; i += check_step(2)) {
		const enum limit limit = (enum limit)(i % LIMITS);
		const size_t n = i / LIMITS;
		struct config config = {0};
		struct retention retention;
		const char *log;
		struct fixture f;
		bool more;

		if (!fixture_init(&f) || !policy_load(&f, &config, limit ? "" : "[policy]\nbytes = 1\n"))
			return;
		archive_writer_level(f.w, 0);
		put_guest(&f, 1, "web", 5, false);
		if (strcmp(lists[n].name, "streams") == 0) {
			for (int64_t id = 2; id < 14; id++)
				put_guest(&f, id, "web", 5, false);
			put_idle(&f, 14, 1000);
		}
		put_guest(&f, 2000, "db", 1000, false);
		retention_init(&retention, f.w, &config);
		damage_page(&f, lists[n].name, "leaf");
		log = keep_limit(&f, &retention, &config, limit, &c);
		CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM chunks WHERE stream = 1"),
			     lists[n].packets[limit][0]);
		CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM chunks WHERE stream = 2000"),
			     lists[n].packets[limit][1]);
		CHECK(strstr(log, "place=") != NULL);
		CHECK(!strstr(log, "cannot be deleted"));
		CHECK_EQ_UINT(lines_with(log, "cannot be listed: "), strcmp(lists[n].name, "streams") == 0);
		CHECK(archive_writer_damage(f.w).pieces > 0);
		/* Captures are deleted by their age, though nobody knows whose they are. */
		CHECK_EQ_INT(archive_writer_enforce(f.w, NULL, 0, INT64_MAX, 64, &more), 0);
		CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM captures"), 0);
		retention_deinit(&retention);
		config_deinit(&config);
		fixture_deinit(&f);
	}
}

/* A page of the streams is damaged: the limit of a guest of which many streams are in it reads the rows of its streams, and not of all others. */
static void test_list_cost(void)
{
	uint64_t begun;
	struct fixture f;
	bool more;

	if (!fixture_init(&f))
		return;
	for (int64_t id = 1; id < 14; id++)
		put_guest(&f, id, "web", 5, false);
	put_idle(&f, 14, 1000);
	put_guest(&f, 2000, "web", 1000, false);
	damage_page(&f, "streams", "leaf");
	CHECK_EQ_INT(archive_writer_enforce(f.w, "web", 1, 0, 64, &more), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM chunks WHERE stream = 2000"), 0);
	begun = f.w->store.statements.begun;
	CHECK_EQ_INT(archive_writer_enforce(f.w, "web", 1, 0, 64, &more), 0);
	CHECK(f.w->store.statements.begun - begun < 100);
	fixture_deinit(&f);
}

/* The index of a guest's streams is damaged behind streams that were found unreadable by it: they are told all the same, once. */
static void test_listed_twice(void)
{
	static struct catch c;
	struct fixture f;
	const char *log;
	bool more;

	if (!fixture_init(&f))
		return;
	put_idle(&f, 1, 3500);
	damage_page_at(&f, "streams", "leaf", 0);
	damage_page_at(&f, "sqlite_autoindex_streams_1", "leaf", 1);
	catch_begin(&c);
	for (int i = 0; i < 3; i++)
		CHECK_EQ_INT(archive_writer_enforce(f.w, "idle", 1, 0, 64, &more), 0);
	log = catch_end(&c);
	CHECK_EQ_UINT(lines_with(log, "cannot be listed: "), 1);
	CHECK(!strstr(log, "guest=idle"));
	fixture_deinit(&f);
}

/* Put captures FIRST to LAST of the kind `unread`, of a RUN that has ended. */
static void put_unread(struct fixture *f, int64_t run, int64_t first, int64_t last)
{
	CHECK_EQ_INT(fixture_put(f, run, "web", "ended", run), 0);
	CHECK_EQ_INT(archive_writer_begin(f->w), 0);
	for (int64_t id = first; id <= last; id++) {
		const struct archive_capture capture = {.id = id, .run = run, .kind = ARCHIVE_UNREAD, .real = 5};

		CHECK_EQ_INT(archive_writer_put_capture(f->w, &capture), 0);
	}
	CHECK_EQ_INT(archive_writer_commit(f->w), 0);
}

/* Apply the limits N times. Return the lines of the log. */
static const char *log_of(struct retention *retention, struct catch *c, int n)
{
	catch_begin(c);
	for (int i = 0; i < n; i++) {
		retention->checked_at = 0;
		retention_run(retention);
	}
	return catch_end(c);
}

/* Captures wait for a verdict in vain, more than a call deletes: one line has the number of all. A disk that fails at one has a line, too. */
static void test_no_verdict(void)
{
	struct config config = {.keep_unread_ns = 1, .http_reader = true, .http_fleet = ""};
	static struct catch c;
	struct retention retention;
	struct fixture f;

	if (!fixture_init(&f))
		return;
	put_unread(&f, 1, 1, 20);
	retention_init(&retention, f.w, &config);
	CHECK(strstr(log_of(&retention, &c, 4), "captures=20.") != NULL);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM captures"), 0);
	put_unread(&f, 2, 21, 21);
	broken_write.error = EIO;
	broken_write.suffix = "trace.db-wal";
	CHECK(strstr(log_of(&retention, &c, 1), "The oldest content cannot be deleted from the archive") != NULL);
	broken_write.suffix = NULL;
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM captures"), 1);
	retention_deinit(&retention);
	fixture_deinit(&f);
}

/*
 * The disk becomes full while a deletion is counted: SQLite must write pages to read the name of the guest, and rolls back. The caller learns it, and
 * writes nothing outside of a transaction.
 */
static void test_full_count(void)
{
	struct fixture f;

	if (!fixture_init(&f))
		return;
	put_guest(&f, 1, "web", 5, false);
	put_idle(&f, 2, 1000);
	CHECK_EQ_INT(sqlite3_exec(f.w->store.db, "PRAGMA cache_size = 1", NULL, NULL, NULL), SQLITE_OK);
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(capture_delete(f.w, 1, DELETION_REQUEST), 0);
	broken_write.error = ENOSPC;
	broken_write.suffix = "trace.db-wal";
	CHECK_EQ_INT(writer_tally_stream(f.w, 900, &(struct deletion){.captures = 1}), ARCHIVE_E_FULL);
	broken_write.suffix = NULL;
	CHECK(!f.w->store.in_transaction);
	CHECK_EQ_INT(archive_writer_commit(f.w), -EINVAL);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM captures"), 1);
	fixture_deinit(&f);
}

/* Put a guest of run ID that has ended, with a capture of KIND of its CONTENT bytes. */
static void put_captured(struct fixture *f, int64_t id, const char *name, const char *kind, uint64_t real)
{
	const struct archive_capture capture = {.id = id, .run = id, .kind = kind, .real = 5};
	const struct archive_capture_stream range = {id, id, 0, 0, CONTENT, 0};

	CHECK_EQ_INT(fixture_put(f, id, name, "ended", id), 0);
	CHECK_EQ_INT(fixture_packet(f, id, 0, CONTENT, real), 0);
	CHECK_EQ_INT(archive_writer_begin(f->w), 0);
	CHECK_EQ_INT(archive_writer_put_capture(f->w, &capture), 0);
	CHECK_EQ_INT(archive_writer_put_capture_stream(f->w, &range), 0);
	CHECK_EQ_INT(archive_writer_commit(f->w), 0);
}

/*
 * The rows of some runs cannot be read. Their captures that wait for a verdict stay, and the log says it once of each, in few lines. Those of other runs
 * are deleted by their age, and before crashes where a limit is exceeded.
 */
static void test_unread_runs(void)
{
	struct config config = {.keep_unread_ns = 1, .http_reader = true, .http_fleet = ""};
	static struct catch c;
	struct retention retention;
	struct fixture f;
	const char *log;
	bool more = true;

	if (!fixture_init(&f))
		return;
	put_unread(&f, 1, 1, 3);
	put_idle(&f, 2, 1000);
	put_unread(&f, 2000, 10, 30);
	put_captured(&f, 2001, "db", "crash", 1000);
	put_captured(&f, 2002, "db", ARCHIVE_UNREAD, 2000);
	damage_page(&f, "runs", "leaf");
	catch_begin(&c);
	for (unsigned i = 0; i < 4; i++)
		CHECK_EQ_INT(archive_writer_enforce(f.w, i % 2 ? NULL : "db", CONTENT, 0, 64, &more), 0);
	CHECK_EQ_UINT(lines_with(catch_end(&c), "cannot be decided on"), 3);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM captures WHERE id > 2000"), 1);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM chunks WHERE stream = 2001"), 1);
	retention_init(&retention, f.w, &config);
	log = log_of(&retention, &c, 20);
	CHECK(strstr(log, "captures=21.") != NULL);
	CHECK_EQ_UINT(lines_with(log, "\n"), 1);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM captures"), 4);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM captures WHERE id <= 3"), 3);
	retention_deinit(&retention);
	fixture_deinit(&f);
}

/* The index of the captures that wait for a verdict cannot be read: the log says so once. */
static void test_unread_index(void)
{
	struct config config = {.keep_unread_ns = 1, .http_reader = true, .http_fleet = ""};
	static struct catch c;
	struct retention retention;
	struct fixture f;
	const char *log;
	int64_t after = 2;
	unsigned dropped;

	if (!fixture_init(&f))
		return;
	put_unread(&f, 1, 1, 3);
	retention_init(&retention, f.w, &config);
	damage_page(&f, "captures_unread", "leaf");
	log = log_of(&retention, &c, 20);
	CHECK_EQ_UINT(lines_with(log, "\n"), 1);
	CHECK_EQ_UINT(lines_with(log, "place=unread id=0 "), 1);
	CHECK_EQ_UINT(archive_writer_damage(f.w).pieces, 1);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM captures"), 3);
	/* A search that had got to a capture ends, while the index is passed over. */
	CHECK_EQ_INT(archive_writer_drop_unread(f.w, INT64_MAX, 8, &after, &dropped), 0);
	CHECK_EQ_INT(after, 0);
	retention_deinit(&retention);
	fixture_deinit(&f);
}

int main(void)
{
	char probe[] = "/tmp/mprof-test-XXXXXX";
	bool may;

	CHECK_RUN(test_damaged_guest);
	CHECK_RUN(test_mended_place);
	CHECK_RUN(test_many_places);
	CHECK_RUN(test_damaged_pin);
	CHECK_RUN(test_mended_pin);
	CHECK_RUN(test_nameless_capture);
	CHECK_RUN(test_many_pins);
	CHECK_RUN(test_damaged_list);
	CHECK_RUN(test_list_cost);
	CHECK_RUN(test_listed_twice);
	CHECK_RUN(test_no_verdict);
	CHECK_RUN(test_full_count);
	CHECK_RUN(test_unread_runs);
	CHECK_RUN(test_unread_index);
	may = mkdtemp(probe) && fixture_mount(probe);

	if (may)
		umount(probe);
	rmdir(probe);
	if (!may)
		return check_skip("a small file system of its own can only be mounted by root");
	CHECK_RUN(test_full_again_and_again);
	CHECK_RUN(test_never_full);
	CHECK_RUN(test_others_fill_it);
	CHECK_RUN(test_opened_while_full);
	CHECK_RUN(test_no_reserve);
	CHECK_RUN(test_reserve_too_large);
	CHECK_RUN(test_readers_are_waited_for);
	CHECK_RUN(test_next_reader);
	CHECK_RUN(test_room_before_readers);
	CHECK_RUN(test_hold);
	return check_done();
}
