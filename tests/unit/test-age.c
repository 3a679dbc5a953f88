/* The age clock: how old content is, whatever CLOCK_REALTIME says. */
#include <string.h>

#include "age.h"
#include "archive-fixture.h"
#include "array.h"
#include "clock.h"
#include "store.h"

#define S   ((int64_t)NS_PER_S)
#define DAY (86400 * S)
#define NOW (20000 * DAY) /* a time that CLOCK_REALTIME may have */

/* A machine with its clocks. */
struct machine {
	struct age age;
	struct age_reading r;
	struct age_step step; /* of the last reading */
	int64_t began;	      /* the age clock at the first reading */
};

/* Let NS pass, and read the clocks. */
static void pass(struct machine *m, int64_t ns)
{
	m->r.boottime += ns;
	m->r.mono += ns;
	m->r.real += ns;
	CHECK_EQ_INT(age_advance(&m->age, &m->r, &m->step), 0);
}

static struct machine machine(const char *boot, int64_t real, bool is_synchronised)
{
	struct machine m = {
		.r = {.boottime = 100 * S, .mono = 100 * S, .real = real, .is_synchronised = is_synchronised}};

	strcpy(m.r.boot, boot);
	CHECK_EQ_INT(age_advance(&m.age, &m.r, &m.step), 0);
	m.began = m.age.now;
	return m;
}

/* Start the host again: it was off for OFF ns, and now CLOCK_REALTIME has REAL; 10 s have passed since the start. */
static void boot(struct machine *m, const char *id, int64_t real, bool is_synchronised)
{
	strcpy(m->r.boot, id);
	m->r.boottime = m->r.mono = 10 * S;
	m->r.real = real;
	m->r.is_synchronised = is_synchronised;
	CHECK_EQ_INT(age_advance(&m->age, &m->r, &m->step), 0);
}

/* Return how old content with the stamps MONO and REAL is, in seconds. */
static int64_t old(const struct machine *m, int64_t mono, int64_t real)
{
	return (m->age.now - age_at(&m->age, mono, real)) / S;
}

/* Before the first reading, a stamp's CLOCK_REALTIME is its age. */
static void test_zeroed(void)
{
	struct age age = {0};

	CHECK_EQ_INT(age_at(&age, 5, 1000), 1000);
	CHECK_EQ_INT(age_at_real(&age, 1000), 1000);
	CHECK_EQ_INT(age_correction(&age, 5, 1000), 0);
	CHECK(age_before(&age, 1000) > NS_PER_S && age_before(&age, 0) == 0);
	age_deinit(&age);
}

/* The host boots 400 days behind, and its clock is corrected later; or its clock is ahead for a while. */
static void test_steps(void)
{
	struct machine m = machine("a", NOW - 400 * DAY, false);
	int64_t mono = m.r.mono, real = m.r.real, ahead_mono, ahead_real;

	pass(&m, 10 * S);
	CHECK_EQ_INT(m.step.by, 0);
	m.r.real += 400 * DAY;
	pass(&m, 5 * S);
	CHECK_EQ_INT(m.step.by, 400 * DAY);
	CHECK(!m.step.is_outage);
	CHECK_EQ_INT(m.age.now - m.began, 15 * S);
	CHECK_EQ_INT(old(&m, mono, real), 15);
	CHECK_EQ_INT(old(&m, mono + 12 * S, real + 12 * S), 3); /* behind the last reading before the step */
	CHECK_EQ_INT(old(&m, mono + 12 * S, real + 400 * DAY + 12 * S), 3);
	m.r.real += 40 * DAY;
	pass(&m, 1 * S);
	CHECK_EQ_INT(m.step.by, 40 * DAY);
	ahead_mono = m.r.mono;
	ahead_real = m.r.real;
	m.r.real -= 40 * DAY;
	pass(&m, 4 * S);
	CHECK_EQ_INT(m.step.by, -40 * DAY);
	CHECK_EQ_INT(old(&m, ahead_mono, ahead_real), 4);
	CHECK_EQ_INT(old(&m, mono, real), 20);
	CHECK_EQ_INT(m.age.n, 4);
	CHECK_EQ_INT(m.age.now - age_at_real(&m.age, ahead_real), 4 * S);
	/* The clock was wrong between two readings: the stamp counts by its CLOCK_MONOTONIC. */
	CHECK_EQ_INT(old(&m, m.r.mono - 2 * S, m.r.real + 9000 * DAY), 2);
	/* A stamp of the future is of now. */
	CHECK_EQ_INT(old(&m, m.r.mono + 3 * S, m.r.real + 3 * S), 0);
	/* 31 days later all of that is 31 days old. */
	pass(&m, 31 * DAY);
	CHECK_EQ_INT(old(&m, mono, real), 31 * 86400 + 20);
	CHECK_EQ_INT(old(&m, ahead_mono, ahead_real), 31 * 86400 + 4);
	CHECK(age_at(&m.age, mono, real) < (int64_t)age_before(&m.age, (uint64_t)(30 * DAY)));
	age_deinit(&m.age);
}

/* The host was suspended: it counts, and is no step. */
static void test_suspended(void)
{
	struct machine m = machine("a", NOW, false);
	int64_t mono = m.r.mono, real = m.r.real;

	m.r.boottime += 5 * DAY;
	m.r.real += 5 * DAY;
	pass(&m, 1 * S);
	CHECK_EQ_INT(m.step.by, 0);
	CHECK_EQ_INT(old(&m, mono, real), 5 * 86400 + 1);
	CHECK_EQ_INT(old(&m, m.r.mono, m.r.real), 0);
	age_deinit(&m.age);
}

/* Nothing says that CLOCK_REALTIME is right: an outage counts for an hour at most. */
static void test_outage_unknown(void)
{
	struct machine m = machine("a", NOW, false);
	int64_t mono = m.r.mono, real = m.r.real;

	boot(&m, "b", NOW + 400 * DAY, false);
	CHECK_EQ_INT(m.step.by, 0);
	CHECK_EQ_INT(old(&m, mono, real), 3600 + 10);
	/* The clock is behind the archive: it is known to be wrong, now or before. */
	boot(&m, "c", NOW - 400 * DAY, false);
	CHECK(m.step.by < -799 * DAY && m.step.is_outage);
	CHECK_EQ_INT(old(&m, mono, real), 3600 + 20);
	/* It is synchronised now, but was not before. */
	m.r.real = NOW + 3 * DAY;
	m.r.is_synchronised = true;
	pass(&m, 1 * S);
	CHECK_EQ_INT(old(&m, mono, real), 3600 + 21);
	age_deinit(&m.age);
}

/* The clock is synchronised before the outage, and some time after it. */
static void test_outage_known(void)
{
	struct machine m = machine("a", NOW, true);
	int64_t mono = m.r.mono, real = m.r.real, first, second;

	boot(&m, "b", NOW - 400 * DAY, false);
	first = m.age.now;
	CHECK_EQ_INT(old(&m, mono, real), 10);
	pass(&m, 20 * S);
	boot(&m, "c", NOW - 400 * DAY, false);
	second = m.r.real;
	pass(&m, 20 * S);
	CHECK_EQ_INT(old(&m, 10 * S, second), 20);
	m.r.real = NOW + 20 * DAY;
	m.r.is_synchronised = true;
	pass(&m, 0);
	CHECK_EQ_INT(old(&m, mono, real), 20 * 86400);
	/* Content of the boots since is not older by that. */
	CHECK_EQ_INT(old(&m, 10 * S, second), 20);
	CHECK(m.age.now > first);
	/* Once it is known, nothing is added again. */
	pass(&m, 5 * S);
	CHECK_EQ_INT(old(&m, mono, real), 20 * 86400 + 5);
	age_deinit(&m.age);
}

/* Stamps are corrected as soon as the clock is synchronised, and only those of this boot. */
static void test_corrections(void)
{
	struct machine m = machine("a", NOW - 9 * DAY, false);
	int64_t unknown_mono = m.r.mono, unknown = m.r.real, mono, real;

	boot(&m, "b", NOW - 400 * DAY, false);
	mono = m.r.mono;
	real = m.r.real;
	pass(&m, 30 * S);
	CHECK_EQ_INT(age_correction(&m.age, mono, real), 0);
	m.r.real += 400 * DAY;
	m.r.is_synchronised = true;
	pass(&m, 30 * S);
	CHECK_EQ_INT(age_correction(&m.age, mono, real), 400 * DAY);
	CHECK_EQ_INT(age_correction(&m.age, m.r.mono, m.r.real), 0);
	CHECK_EQ_INT(age_correction(&m.age, unknown_mono, unknown), 0);
	/* A jump of which the kernel knows nothing is corrected when the clock is right again. */
	m.r.real += 40 * DAY;
	m.r.is_synchronised = false;
	pass(&m, 1 * S);
	mono = m.r.mono;
	real = m.r.real;
	CHECK_EQ_INT(age_correction(&m.age, mono, real), 0);
	m.r.real -= 40 * DAY;
	m.r.is_synchronised = true;
	pass(&m, 1 * S);
	CHECK_EQ_INT(age_correction(&m.age, mono, real), -40 * DAY);
	age_deinit(&m.age);
}

/* A clock that steps all the time fills no memory, and nothing counts as older for it. */
static void test_many_steps(void)
{
	struct machine m = machine("a", NOW, false);
	int64_t mono = m.r.mono, real = m.r.real;

	for (unsigned i = 0; i < AGE_PERIODS_MAX + 100; i++) {
		m.r.real += i % 2 ? -40 * DAY : 40 * DAY + (int64_t)i * 10 * S;
		pass(&m, 1 * S);
	}
	CHECK_EQ_INT(m.age.n, AGE_PERIODS_MAX);
	CHECK(old(&m, mono, real) <= AGE_PERIODS_MAX + 100);
	age_deinit(&m.age);
}

/* Content of an earlier version counts as new, unless it is surely of this boot. */
static void test_earlier_version(void)
{
	struct machine m = machine("a", NOW, true);

	CHECK_EQ_INT(old(&m, m.r.mono - 60 * S, m.r.real - 60 * S), 60);
	CHECK_EQ_INT(old(&m, m.r.mono - 60 * S, m.r.real - 400 * DAY), 0);
	CHECK_EQ_INT(old(&m, m.r.mono + DAY, m.r.real - 10 * DAY), 0);
	pass(&m, 100 * S);
	CHECK_EQ_INT(old(&m, m.r.mono + DAY, m.r.real - 10 * DAY), 100);
	CHECK_EQ_INT(old(&m, 1, 1), 100);
	CHECK_EQ_INT((m.age.now - age_at_real(&m.age, NOW - 400 * DAY)) / S, 100);
	age_deinit(&m.age);
}

/* The tables have the same content after the archive was opened again, and after a kill. */
static void test_stored(void)
{
	struct fixture f;
	const struct age *age;
	int64_t began, now;

	if (!fixture_init(&f))
		return;
	age = archive_writer_age(f.w);
	CHECK(!age->any);
	archive_writer_run_age(f.w, false);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM age_clock"), 0);
	archive_writer_run_age(f.w, true);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM age_clock"), 1);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM clock_periods"), 1);
	began = age->began;
	now = age->now;
	fixture_reopen(&f);
	age = archive_writer_age(f.w);
	CHECK(age->any);
	CHECK_EQ_INT(age->n, 1);
	CHECK_EQ_INT(age->began, began);
	CHECK(age->now <= now);
	archive_writer_run_age(f.w, true);
	CHECK(age->now >= now && age->now < now + 600 * S && age->n == 1 && age->steps == 0);
	fixture_deinit(&f);
}

/* Let CONTEXT, another connection, commit a later reading of the clocks when the second table is about to be read. */
static int commit_between(unsigned type, void *context, void *statement, void *sql)
{
	(void)type;
	(void)statement;
	if (strstr(sql, "FROM clock_periods"))
		CHECK_EQ_INT(sqlite3_exec(context,
					  "BEGIN; UPDATE age_clock SET age = age + 60000000000;"
					  "UPDATE clock_periods SET ended_mono = ended_mono + 60000000000; COMMIT",
					  NULL, NULL, NULL),
			     SQLITE_OK);
	return 0;
}

/* A reader sees both tables as one commit left them. Rows of two commits would look damaged. */
static void test_read_while_written(void)
{
	struct fixture f;
	struct age age = {0};
	sqlite3 *db, *writer;
	int64_t before;

	if (!fixture_init(&f))
		return;
	archive_writer_run_age(f.w, true);
	before = fixture_number(&f, "SELECT age FROM age_clock");
	db = fixture_database(&f);
	writer = fixture_database(&f);
	sqlite3_trace_v2(db, SQLITE_TRACE_STMT, commit_between, writer);
	CHECK_EQ_INT(age_load(&age, db), SQLITE_OK);
	sqlite3_trace_v2(db, 0, NULL, NULL);
	CHECK(age.any && age.n == 1);
	CHECK_EQ_INT(age.now, before);
	CHECK(fixture_number(&f, "SELECT age FROM age_clock") > before);
	CHECK(sqlite3_get_autocommit(db));
	age_deinit(&age);
	sqlite3_close(db);
	sqlite3_close(writer);
	fixture_deinit(&f);
}

/* Change a row of the age clock by SQL. Return whether the age clock is forgotten then. The row is put back. */
static bool is_forgotten(const struct fixture *f, const char *table, const char *sql)
{
	struct age age = {0};
	sqlite3 *db = fixture_database(f);
	bool forgotten;

	CHECK_EQ_INT(sqlite3_exec(db, "BEGIN", NULL, NULL, NULL), SQLITE_OK);
	if (!CHECK_EQ_INT(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK) || !CHECK(sqlite3_changes(db) > 0))
		fprintf(stderr, "%s: %s\n", table, sql);
	CHECK_EQ_INT(age_load(&age, db), SQLITE_OK);
	forgotten = !age.any && !age.n;
	age_deinit(&age);
	CHECK_EQ_INT(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	return forgotten;
}

/* Each flipped bit in the rows of the age clock is noticed, and each row that is missing. The age clock then begins anew. */
static void test_damaged_rows(void)
{
	static const char *const numbers[][2] = {
		{"age_clock", "began"},		  {"age_clock", "age"},
		{"age_clock", "boottime"},	  {"age_clock", "real"},
		{"age_clock", "sync_real"},	  {"age_clock", "sync_age"},
		{"clock_periods", "began_mono"},  {"clock_periods", "ended_mono"},
		{"clock_periods", "real_offset"}, {"clock_periods", "age_offset"},
		{"clock_periods", "correction"},
	};
	static const char *const others[][2] = {
		{"age_clock", "UPDATE age_clock SET boot = 'x'"},
		{"age_clock", "UPDATE age_clock SET sync_boot = 'x'"},
		{"age_clock", "UPDATE age_clock SET checksum = NULL"},
		{"age_clock", "DELETE FROM age_clock"},
		{"clock_periods", "UPDATE clock_periods SET boot = 'x' WHERE id = 2"},
		{"clock_periods", "UPDATE clock_periods SET correction = NULL WHERE id = 1"},
		{"clock_periods", "UPDATE clock_periods SET checksum = NULL WHERE id = 1"},
		{"clock_periods", "UPDATE clock_periods SET id = 7 WHERE id = 1"},
		{"clock_periods", "DELETE FROM clock_periods WHERE id = 1"},
		{"clock_periods", "DELETE FROM clock_periods WHERE id = 2"},
		{"clock_periods", "DELETE FROM clock_periods"},
	};
	struct machine m = machine("one", NOW, true);
	struct age age = {0};
	struct fixture f;
	char sql[256];
	sqlite3 *db;

	m.r.real -= 3 * DAY;
	pass(&m, 60 * S);
	if (!fixture_init(&f)) {
		age_deinit(&m.age);
		return;
	}
	m.age.is_dirty = true;
	CHECK_EQ_INT(age_save(&m.age, archive_writer_store(f.w)), 0);
	age_deinit(&m.age);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(checksum) FROM (SELECT checksum FROM age_clock UNION ALL SELECT"
					" checksum FROM clock_periods)"),
		     3);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		for (int bit = 0; bit < 62; bit += 3) {
			snprintf(sql, sizeof(sql),
				 "UPDATE %s SET %s = (%s | (1 << %d)) - (%s & (1 << %d)) WHERE id < 2", numbers[i][0],
				 numbers[i][1], numbers[i][1], bit, numbers[i][1], bit);
			CHECK(is_forgotten(&f, numbers[i][0], sql));
		}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (!CHECK(is_forgotten(&f, others[i][0], others[i][1])))
			fprintf(stderr, "%s\n", others[i][1]);
	CHECK(!is_forgotten(&f, "clock_periods", "UPDATE clock_periods SET id = id"));
	/* An earlier version wrote all rows without checksums. They get some. */
	fixture_number(&f, "UPDATE age_clock SET checksum = NULL");
	fixture_number(&f, "UPDATE clock_periods SET checksum = NULL");
	db = fixture_database(&f);
	CHECK_EQ_INT(age_load(&age, db), SQLITE_OK);
	sqlite3_close(db);
	CHECK(age.any && age.n == 2 && age.is_dirty);
	CHECK_EQ_INT(age_save(&age, archive_writer_store(f.w)), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(checksum) FROM clock_periods"), 2);
	age_deinit(&age);
	fixture_deinit(&f);
}

/* Deletions are counted by guest and reason, unless the transaction is rolled back. */
static void test_deletions(void)
{
	struct deletion_log log = {0};
	struct deletion_tally *d;
	struct fixture f;
	bool more;

	if (!fixture_init(&f))
		return;
	d = archive_writer_deletions(f.w);
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	CHECK_EQ_INT(fixture_put(&f, 2, "db", "ended", 2), 0);
	for (uint64_t i = 0; i < 10; i++) {
		CHECK_EQ_INT(fixture_packet(&f, 1, i, 1030, 100 + i), 0);
		CHECK_EQ_INT(fixture_packet(&f, 2, i, 1030, 200 + i), 0);
	}
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(archive_writer_enforce(f.w, "web", 0, 104, 100, &more), 0);
	archive_writer_rollback(f.w);
	CHECK_EQ_INT(d->n, 0);
	CHECK_EQ_INT(archive_writer_enforce(f.w, "web", 0, 104, 100, &more), 0);
	if (CHECK_EQ_INT(d->n, 1)) {
		CHECK_EQ_STR(d->list[0].guest, "web");
		CHECK_EQ_STR(deletion_reason_name(d->list[0].reason), "age");
		CHECK_EQ_UINT(d->list[0].packets, 4);
		CHECK_EQ_UINT(d->list[0].bytes, 4000);
	}
	CHECK_EQ_INT(archive_writer_enforce(f.w, NULL, 15000, 0, 100, &more), 0);
	CHECK_EQ_INT(d->n, 2);
	deletion_log_run(&log, d, "captures", 1000 * NS_PER_S);
	CHECK_EQ_UINT(log.totals.packets[DELETION_QUOTA], 1);
	CHECK_EQ_INT(d->n, 0);
	CHECK_EQ_INT(log.waiting.n, 0);
	CHECK_EQ_INT(archive_writer_make_room(f.w, 100, &more), 0);
	if (CHECK_EQ_INT(d->n, 3)) /* db's run is gone, too */
		CHECK_EQ_STR(deletion_reason_name(d->list[2].reason), "empty");
	deletion_log_run(&log, d, "captures", 1001 * NS_PER_S);
	CHECK_EQ_UINT(log.totals.packets[DELETION_DISK], 14);
	CHECK_EQ_INT(log.waiting.n, 3); /* the next lines come after a minute */
	deletion_log_run(&log, d, "captures", 1061 * NS_PER_S);
	CHECK_EQ_INT(log.waiting.n, 0);
	fixture_deinit(&f);
}

/* More guests than the tally has room for count together, and no number is lost. */
static void test_many_guests(void)
{
	struct deletion_tally d = {0}, sum = {0};
	uint64_t packets = 0;

	for (unsigned i = 0; i < 1000; i++) {
		struct deletion one = {.reason = (enum deletion_reason)(i % DELETION_REASONS), .packets = i};

		snprintf(one.guest, sizeof(one.guest), "guest-%u", i);
		deletion_tally_add(&d, &one);
		deletion_tally_add(&d, &one);
	}
	CHECK(d.n <= DELETION_TALLY_MAX);
	deletion_tally_move(&sum, &d);
	deletion_tally_move(&sum, &d);
	for (unsigned i = 0; i < sum.n; i++)
		packets += sum.list[i].packets;
	CHECK_EQ_UINT(packets, 1000 * 999);
	CHECK_EQ_INT(d.n, 0);
}

int main(void)
{
	CHECK_RUN(test_zeroed);
	CHECK_RUN(test_steps);
	CHECK_RUN(test_suspended);
	CHECK_RUN(test_outage_unknown);
	CHECK_RUN(test_outage_known);
	CHECK_RUN(test_corrections);
	CHECK_RUN(test_many_steps);
	CHECK_RUN(test_earlier_version);
	CHECK_RUN(test_stored);
	CHECK_RUN(test_read_while_written);
	CHECK_RUN(test_damaged_rows);
	CHECK_RUN(test_deletions);
	CHECK_RUN(test_many_guests);
	return check_done();
}
