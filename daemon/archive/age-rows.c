/* The tables of the age clock: read, write, and report steps. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "age.h"
#include "clock.h"
#include "codec.h"
#include "database.h"
#include "log.h"
#include "store.h"

#define SAVE_NS ((int64_t)(60 * NS_PER_S)) /* if the host fails, so much counts as an outage */

#define REWRITTEN 16u /* so few periods are written with each reading, whatever the disk did to their rows */

/* ---- checksums ------------------------------------------------------------------------------- */

static void sum_period(const struct age_period *p, uint8_t out[CHECKSUM_BYTES])
{
	const struct checksum_row row = {.numbers = {p->id, p->began_mono, p->ended_mono, p->real_offset, p->age_offset,
						     p->is_corrected, p->is_corrected ? p->correction : 0},
					 .n = 7,
					 .data = p->boot,
					 .data_bytes = strlen(p->boot)};

	checksum_make(&row, out);
}

static void sum_clock(const struct age *age, uint8_t out[CHECKSUM_BYTES])
{
	char boots[2 * AGE_BOOT_BYTES + 2];
	const int n = snprintf(boots, sizeof(boots), "%s\n%s", age->last.boot, age->sync_real ? age->sync_boot : "");
	const struct checksum_row row = {.numbers = {age->began, age->now, age->last.boottime, age->last.real,
						     age->sync_real, age->sync_real ? age->sync_age : 0,
						     age->n ? age->periods[0].id : 0, (int64_t)age->n},
					 .n = 8,
					 .data = boots,
					 .data_bytes = (size_t)n};

	checksum_make(&row, out);
}

/* Rows as they are read, and what their checksums say. */
struct loading {
	struct age *age;
	bool has_sum,
		is_damaged; /* the row of age_clock has a checksum; the row of a period does not agree with its own */
	size_t summed;	    /* number of periods with a checksum */
	uint8_t sum[CHECKSUM_BYTES];
};

/* Copy the checksum in column AT of S to SUM. Return false if there is none. */
static bool read_sum(sqlite3_stmt *s, int at, uint8_t sum[CHECKSUM_BYTES])
{
	memset(sum, 0, CHECKSUM_BYTES);
	if (sqlite3_column_bytes(s, at) == (int)CHECKSUM_BYTES)
		memcpy(sum, sqlite3_column_blob(s, at), CHECKSUM_BYTES);
	return sqlite3_column_type(s, at) != SQLITE_NULL;
}

/* Return whether a checksum does not agree, or a row is missing. AGE was read, and its periods are in their order. */
static bool is_damaged(const struct loading *l)
{
	const struct age *age = l->age;
	uint8_t sum[CHECKSUM_BYTES];

	if (age->any != (age->n != 0))
		return true;
	if (!age->any)
		return false;
	sum_clock(age, sum);
	return l->is_damaged || l->summed != (l->has_sum ? age->n : 0) ||
	       (l->has_sum && memcmp(sum, l->sum, CHECKSUM_BYTES) != 0);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Copy text column AT of S to BOOT. */
static void read_boot(sqlite3_stmt *s, int at, char boot[AGE_BOOT_BYTES])
{
	const char *text = column_string(s, at);

	strncpy(boot, text ? text : "", AGE_BOOT_BYTES - 1);
	boot[AGE_BOOT_BYTES - 1] = '\0';
}

static int read_clock(struct loading *l, sqlite3_stmt *s)
{
	struct age *age = l->age;
	int rc = sqlite3_step(s);

	if (rc != SQLITE_ROW)
		return rc;
	age->began = sqlite3_column_int64(s, 0);
	age->now = sqlite3_column_int64(s, 1);
	read_boot(s, 2, age->last.boot);
	age->last.boottime = sqlite3_column_int64(s, 3);
	age->last.real = sqlite3_column_int64(s, 4);
	read_boot(s, 5, age->sync_boot);
	age->sync_real = sqlite3_column_int64(s, 6);
	age->sync_age = sqlite3_column_int64(s, 7);
	l->has_sum = read_sum(s, 8, l->sum);
	age->any = true;
	return SQLITE_DONE;
}

static void read_period(sqlite3_stmt *s, struct age_period *p)
{
	*p = (struct age_period){
		.id = sqlite3_column_int64(s, 0),
		.began_mono = sqlite3_column_int64(s, 2),
		.ended_mono = sqlite3_column_int64(s, 3),
		.real_offset = sqlite3_column_int64(s, 4),
		.age_offset = sqlite3_column_int64(s, 5),
		.is_corrected = sqlite3_column_type(s, 6) != SQLITE_NULL,
		.correction = sqlite3_column_int64(s, 6),
	};
	read_boot(s, 1, p->boot);
}

/* Return whether period P agrees with the checksum in column 7 of S, if it has one. */
static bool period_holds(sqlite3_stmt *s, const struct age_period *p, size_t *summed)
{
	uint8_t sum[CHECKSUM_BYTES], stored[CHECKSUM_BYTES];

	if (!read_sum(s, 7, stored))
		return true;
	++*summed;
	sum_period(p, sum);
	return memcmp(sum, stored, CHECKSUM_BYTES) == 0;
}

static int read_periods(struct loading *l, sqlite3_stmt *s)
{
	struct age *age = l->age;
	int rc;

	while ((rc = sqlite3_step(s)) == SQLITE_ROW && age->n < AGE_PERIODS_MAX) {
		struct age_period *more = realloc(age->periods, (age->n + 1) * sizeof(*more)), *p;

		if (!more)
			return SQLITE_NOMEM;
		age->periods = more;
		p = &more[age->n++];
		read_period(s, p);
		l->is_damaged |= !period_holds(s, p, &l->summed);
	}
	return rc;
}

/* Call CALL with the statement SQL. Return SQLite's result. */
static int query(struct loading *l, sqlite3 *db, const char *sql, int (*call)(struct loading *l, sqlite3_stmt *s))
{
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &s, NULL);

	if (rc == SQLITE_OK)
		rc = call(l, s);
	sqlite3_finalize(s);
	return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

static bool is_near(int64_t a, int64_t b)
{
	int64_t difference;

	return !__builtin_sub_overflow(a, b, &difference) && difference < AGE_STEP_NS && difference > -AGE_STEP_NS;
}

/* Return whether the last reading and the newest period, which ended with it, say the same. */
static bool is_whole(const struct age *age)
{
	const struct age_period *p = &age->periods[age->n - 1];
	int64_t now, real;

	return !__builtin_add_overflow(p->ended_mono, p->age_offset, &now) && is_near(age->now, now) &&
	       !__builtin_add_overflow(p->ended_mono, p->real_offset, &real) && is_near(age->last.real, real);
}

/*
 * If the rows of AGE are damaged, or contradict each other, forget them: with a wrong age clock everything could be too old.
 * The age clock then begins anew, and all that the archive has counts as new.
 */
static void forget_damaged(const struct loading *l)
{
	struct age *age = l->age;

	if (!is_damaged(l) && (!age->any || is_whole(age)))
		return;
	log_warning("The age clock of the archive was damaged, and begins anew: what the archive holds counts as new "
		    "for limits of "
		    "age");
	age_deinit(age);
	age->damaged = 1;
}

/*
 * Read both tables as one commit left them: rows of two commits would contradict each other. Return as
 * sqlite3_exec().
 */
static int read_rows(struct loading *l, sqlite3 *db)
{
	bool alone = sqlite3_get_autocommit(db);
	int rc = alone ? sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) : SQLITE_OK;

	if (rc == SQLITE_OK)
		rc = query(l, db,
			   "SELECT began, age, boot, boottime, real, sync_boot, sync_real, sync_age, checksum FROM "
			   "age_clock",
			   read_clock);
	if (rc == SQLITE_OK)
		rc = query(
			l, db,
			"SELECT id, boot, began_mono, ended_mono, real_offset, age_offset, correction, checksum FROM "
			"clock_periods ORDER BY id DESC LIMIT 1024",
			read_periods);
	if (alone && !sqlite3_get_autocommit(db))
		sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	return rc;
}

int age_load(struct age *age, sqlite3 *db)
{
	struct loading l = {.age = age};
	int rc;

	age_deinit(age);
	rc = read_rows(&l, db);
	for (size_t i = 0; i < age->n / 2; i++) {
		struct age_period p = age->periods[i];

		age->periods[i] = age->periods[age->n - 1 - i];
		age->periods[age->n - 1 - i] = p;
	}
	if (rc != SQLITE_OK) {
		age_deinit(age);
		return rc;
	}
	forget_damaged(&l);
	if (age->n)
		age->last.mono = age->periods[age->n - 1].ended_mono;
	/* Rows of an earlier version get their checksums. */
	for (size_t i = 0; i < age->n && !l.has_sum; i++)
		age->periods[i].is_dirty = true;
	age->is_dirty |= age->n && !l.has_sum;
	return rc;
}

/* The SQL function clock_holds(). */
static void sql_holds(sqlite3_context *c, int n, sqlite3_value **values)
{
	const char *boot = (const char *)sqlite3_value_text(values[1]);
	uint8_t sum[CHECKSUM_BYTES];
	struct age_period p = {.id = sqlite3_value_int64(values[0]),
			       .began_mono = sqlite3_value_int64(values[2]),
			       .ended_mono = sqlite3_value_int64(values[3]),
			       .real_offset = sqlite3_value_int64(values[4]),
			       .age_offset = sqlite3_value_int64(values[5]),
			       .is_corrected = sqlite3_value_type(values[6]) != SQLITE_NULL,
			       .correction = sqlite3_value_int64(values[6])};

	(void)n;
	strncpy(p.boot, boot ? boot : "", AGE_BOOT_BYTES - 1);
	sum_period(&p, sum);
	sqlite3_result_int(c, sqlite3_value_type(values[7]) == SQLITE_NULL ||
				      (sqlite3_value_bytes(values[7]) == (int)CHECKSUM_BYTES &&
				       memcmp(sqlite3_value_blob(values[7]), sum, CHECKSUM_BYTES) == 0));
}

int age_sum_define(sqlite3 *db)
{
	return sqlite3_create_function_v2(db, "clock_holds", 8, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
					  NULL, sql_holds, NULL, NULL, NULL);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Write SUM in hexadecimal digits to TEXT. */
static void hex(const uint8_t sum[CHECKSUM_BYTES], char text[2 * CHECKSUM_BYTES + 1])
{
	for (size_t i = 0; i < CHECKSUM_BYTES; i++)
		snprintf(text + 2 * i, 3, "%02x", sum[i]);
}

/* Return BOOT as an SQL value: NULL if nothing is KNOWN. The caller frees it with sqlite3_free(). */
static char *quote(const char *boot, bool known)
{
	return sqlite3_mprintf("%Q", known ? boot : NULL);
}

static int write_clock(const struct age *age, struct store *s)
{
	char *boot = quote(age->sync_boot, age->sync_real != 0), checksum[2 * CHECKSUM_BYTES + 1];
	uint8_t sum[CHECKSUM_BYTES];
	int r;

	sum_clock(age, sum);
	hex(sum, checksum);
	r = boot ? database_run_made(
			   s->db,
			   sqlite3_mprintf("INSERT OR REPLACE INTO age_clock (id, began, age, boot, boottime, real, "
					   "sync_boot, sync_real, sync_age, checksum) VALUES (0, %lld, %lld, %Q, %lld, "
					   "%lld, %s, nullif(%lld, 0), nullif(%lld, 0), x'%s')",
					   (long long)age->began, (long long)age->now, age->last.boot,
					   (long long)age->last.boottime, (long long)age->last.real, boot,
					   (long long)age->sync_real, (long long)(age->sync_real ? age->sync_age : 0),
					   checksum))
		 : -ENOMEM;

	sqlite3_free(boot);
	return r;
}

int age_write_period(const struct age_period *p, struct store *s)
{
	char correction[32] = "NULL", checksum[2 * CHECKSUM_BYTES + 1];
	uint8_t sum[CHECKSUM_BYTES];

	sum_period(p, sum);
	hex(sum, checksum);
	if (p->is_corrected)
		snprintf(correction, sizeof(correction), "%lld", (long long)p->correction);
	return database_run_made(
		s->db, sqlite3_mprintf("INSERT OR REPLACE INTO clock_periods (id, boot, began_mono, ended_mono, "
				       "real_offset, age_offset, correction, checksum) VALUES (%lld, %Q, %lld, %lld, "
				       "%lld, %lld, %s, x'%s')",
				       (long long)p->id, p->boot, (long long)p->began_mono, (long long)p->ended_mono,
				       (long long)p->real_offset, (long long)p->age_offset, correction, checksum));
}

/* Write the rows that changed, and delete those of periods that AGE has not. Return as database_error(). */
static int write_rows(const struct age *age, struct store *s)
{
	int r = write_clock(age, s);

	for (size_t i = 0; i < age->n && r == 0; i++)
		if (age->periods[i].is_dirty || i + 1 == age->n || age->n <= REWRITTEN)
			r = age_write_period(&age->periods[i], s);
	return r ? r
		 : database_run_made(s->db, sqlite3_mprintf("DELETE FROM clock_periods WHERE id < %lld OR id > %lld",
							    (long long)age->periods[0].id,
							    (long long)age->periods[age->n - 1].id));
}

int age_save(struct age *age, struct store *s)
{
	int r;

	if (!age->any || (!age->is_dirty && age->last.boottime - age->saved < SAVE_NS))
		return 0;
	r = store_begin(s);
	if (r == 0)
		r = store_end(s, write_rows(age, s));
	if (r != 0)
		return r;
	for (size_t i = 0; i < age->n; i++)
		age->periods[i].is_dirty = false;
	age->is_dirty = false;
	age->saved = age->last.boottime;
	return 0;
}

/* ---- running --------------------------------------------------------------------------------- */

static void report(struct age *age, const struct age_step *step)
{
	const int64_t half = step->by < 0 ? -(int64_t)(NS_PER_S / 2) : (int64_t)(NS_PER_S / 2);
	const long long by = (step->by + half) / (int64_t)NS_PER_S;

	if (step->is_outage)
		log_write_limited(
			&age->limit, LOG_LEVEL_WARNING, NULL,
			"The system clock is behind the time at which the archive was last written: seconds=%lld; "
			"times of this boot may be wrong. The age of data does not depend on it",
			by);
	else
		log_write_limited(
			&age->limit, LOG_LEVEL_WARNING, NULL,
			"The system clock was set: seconds=%lld; times before or after may be wrong. The age of data "
			"does not depend on it",
			by);
}

void age_run(struct age *age, struct store *s, bool may_write)
{
	struct age_step step = {0};
	struct age_reading reading;

	if (!*age->boot)
		age_boot(age->boot);
	reading = age_read(age->boot);
	if (age_advance(age, &reading, &step) == 0 && step.by) {
		age->steps++;
		age->step = step.by;
		age->step_age = age->now;
		report(age, &step);
	}
	if (may_write)
		(void)age_save(age, s);
}
