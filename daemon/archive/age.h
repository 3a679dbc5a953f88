/*
 * The age clock of an archive (schema/archive/0005-age-clock.sql): how old content is, however wrong CLOCK_REALTIME is
 * or was. age.c computes, age-rows.c reads and writes the tables.
 *
 * Ages are ns of the age clock. Only differences between them mean something.
 */
#ifndef ARCHIVE_AGE_H
#define ARCHIVE_AGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "log.h"

struct store;

#define AGE_BOOT_BYTES	40u
#define AGE_PERIODS_MAX 1024u
/* A smaller difference is none: readings of two clocks are some time apart. */
#define AGE_STEP_NS 1000000000ll
/* The most that an outage adds to the age clock while CLOCK_REALTIME is not synchronised. */
#define AGE_OUTAGE_NS (3600 * 1000000000ll)

/* The clocks of the machine at one moment, ns. */
struct age_reading {
	char boot[AGE_BOOT_BYTES]; /* the kernel's boot id; "" = unknown */
	int64_t boottime, mono, real;
	bool is_synchronised;
};

/* A time in which no clock stepped. */
struct age_period {
	int64_t id;
	char boot[AGE_BOOT_BYTES];
	int64_t began_mono, ended_mono;
	int64_t real_offset; /* CLOCK_REALTIME minus CLOCK_MONOTONIC */
	int64_t age_offset;  /* age clock minus CLOCK_MONOTONIC */
	bool is_corrected;   /* CORRECTION is known */
	int64_t correction;  /* to be added to real stamps of the period when they are shown */
	bool is_dirty;	     /* the archive has it otherwise, or not yet */
};

/* Zeroed, it knows nothing: then a stamp's CLOCK_REALTIME is its age. */
struct age {
	struct age_period *periods; /* oldest first */
	size_t n;
	bool any; /* there was a reading */
	struct age_reading last;
	int64_t now;   /* the age clock at LAST */
	int64_t began; /* no stamp counts as older */
	/* The last reading with a synchronised CLOCK_REALTIME; SYNC_REAL 0 = none. */
	char sync_boot[AGE_BOOT_BYTES];
	int64_t sync_real, sync_age;
	int64_t saved; /* CLOCK_BOOTTIME when the tables were last written */
	bool is_dirty; /* the tables must be written soon */
	/* For age_run(): */
	char boot[AGE_BOOT_BYTES];
	uint64_t steps;	  /* steps that this process has seen */
	int64_t step;	  /* by how much CLOCK_REALTIME stepped last, ns */
	int64_t step_age; /* the age clock at that step */
	uint64_t damaged; /* times that age_load() found a damaged row, so the age clock began anew */
	struct log_limit limit;
};

/* A step of CLOCK_REALTIME that a reading has shown. */
struct age_step {
	int64_t by;	/* ns; 0 = none */
	bool is_outage; /* the host was started again meanwhile, and CLOCK_REALTIME went back */
};

void age_deinit(struct age *age);

/* Read the clocks. BOOT is the boot id of age_boot(). */
struct age_reading age_read(const char *boot);
/* Store the kernel's boot id in BOOT, or "" if it cannot be read. */
void age_boot(char boot[AGE_BOOT_BYTES]);

/*
 * Advance the age clock to reading R, and store in *STEP whether CLOCK_REALTIME stepped. Return 0; or -ENOMEM, and the
 * next reading does the same.
 */
int age_advance(struct age *age, const struct age_reading *r, struct age_step *step);

/*
 * Return the period of a stamp, or NULL. *IS_EXACT: the period has the stamp's real_offset, too. Else the clock was
 * wrong for so short a time that no reading showed it, or an earlier version wrote the stamp. The newest period has
 * no end: content may be stamped after the last reading.
 */
const struct age_period *age_period(const struct age *age, int64_t mono, int64_t real, bool *is_exact);
/* Return the period of a stamp of CLOCK_REALTIME alone, or NULL. */
const struct age_period *age_period_at_real(const struct age *age, int64_t real);

/*
 * Return up to which stamp of CLOCK_REALTIME alone, as a file's mtime, something surely happened before the moment
 * that was stamped REAL: REAL, or earlier, if the clock was set back since.
 */
uint64_t age_certain_real(const struct age *age, uint64_t real);
/*
 * Return the CLOCK_MONOTONIC of this boot at the moment that was stamped MONO and REAL, perhaps in an earlier boot:
 * negative if it was before this one. A stamp of no period is taken to be right. AGE was advanced in this boot.
 */
int64_t age_mono_now(const struct age *age, int64_t mono, int64_t real);

/* Return the age of content that was stamped MONO and REAL, ns of the age clock; at most age->now. */
int64_t age_at(const struct age *age, int64_t mono, int64_t real);
/* The same for a stamp of CLOCK_REALTIME alone. */
int64_t age_at_real(const struct age *age, int64_t real);
/* Return what is to be added to a stamp of CLOCK_REALTIME to show it; 0 if it is right, or if that is not known. */
int64_t age_correction(const struct age *age, int64_t mono, int64_t real);
/* Return the age LENGTH ns ago, or 0 if LENGTH is 0 or no content can be so old: for limits, where 0 is no limit. */
uint64_t age_before(const struct age *age, uint64_t length);

/* ---- the tables ------------------------------------------------------------------------------ */

/*
 * Read the tables of DB into AGE, whose former content is freed. If a row is damaged or missing, log that, and leave AGE zeroed: the
 * age clock then begins anew, and deletes nothing. Return SQLite's result.
 */
int age_load(struct age *age, sqlite3 *db);
/*
 * Define the SQL function clock_holds(id, boot, began_mono, ended_mono, real_offset, age_offset, correction, checksum), which returns
 * whether a row of clock_periods agrees with its checksum, if it has one. Return SQLite's result.
 */
int age_sum_define(sqlite3 *db);
/* Write the row of period P. A transaction must be open. Return 0 or an error. */
int age_write_period(const struct age_period *p, struct store *s);
/*
 * Write the tables if they must be written now, in a transaction of its own. Return 0 or an error; after an error the
 * next call tries again.
 */
int age_save(struct age *age, struct store *s);
/*
 * Read the clocks, advance the age clock, and log a step. If MAY_WRITE, call age_save(). The age clock goes on in
 * memory while the tables cannot be written. No transaction may be open.
 */
void age_run(struct age *age, struct store *s, bool may_write);

#endif
