/*
 * The age clock: advance it, and find stamps on it.
 *
 * Invariant: the age clock never goes back. It advances by CLOCK_BOOTTIME while the host runs. When the host is
 * started again, CLOCK_REALTIME says how long it was off: at once, but AGE_OUTAGE_NS at most; and all of it as soon as
 * the kernel says that this clock is synchronised, if it was so before, too. That comes some time after the boot, so
 * the last synchronised reading is kept over boots.
 */
#include "age.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "clock.h"

#define READ_NS	 1000000u	       /* two readings of a clock so far apart are read again */
#define MATCH_NS (2 * AGE_STEP_NS)     /* a stamp differs from its period's real_offset by less */
#define SLACK_NS (60ll * 1000000000ll) /* a stamp may be so far outside of its period */

void age_deinit(struct age *age)
{
	free(age->periods);
	*age = (struct age){0};
}

void age_boot(char boot[AGE_BOOT_BYTES])
{
	CLEANUP(closep) int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, boot, AGE_BOOT_BYTES - 1);

	boot[n < 0 ? 0 : n] = '\0';
	boot[strcspn(boot, "\n")] = '\0';
}

struct age_reading age_read(const char *boot)
{
	struct age_reading r = {.is_synchronised = clock_is_synchronised()};
	uint64_t mono = 0, until = UINT64_MAX;

	memcpy(r.boot, boot, AGE_BOOT_BYTES);
	/* The thread may lose the processor between the readings. */
	for (int i = 0; i < 8 && until - mono > READ_NS; i++) {
		mono = clock_mono();
		r.real = (int64_t)clock_real();
		r.boottime = (int64_t)clock_boottime();
		until = clock_mono();
	}
	r.mono = (int64_t)mono;
	return r;
}

/* Return the distance of A and B; INT64_MAX if it is larger. A damaged row may hold any stamp. */
static int64_t distance(int64_t a, int64_t b)
{
	int64_t d;

	return __builtin_sub_overflow(a < b ? b : a, a < b ? a : b, &d) ? INT64_MAX : d;
}

/* ---- advancing ------------------------------------------------------------------------------- */

/* Delete the oldest period if there are too many. Its stamps then count as taken at its end. */
static void drop_oldest(struct age *age)
{
	const struct age_period *p = age->periods;

	if (age->n < AGE_PERIODS_MAX)
		return;
	if (p->ended_mono + p->age_offset > age->began)
		age->began = p->ended_mono + p->age_offset;
	memmove(age->periods, age->periods + 1, --age->n * sizeof(*age->periods));
}

/* Begin a period at BEGAN_MONO with the offsets of R. */
static int add_period(struct age *age, const struct age_reading *r, int64_t began_mono)
{
	struct age_period *more;

	drop_oldest(age);
	more = realloc(age->periods, (age->n + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	age->periods = more;
	more[age->n] = (struct age_period){
		.id = age->n ? more[age->n - 1].id + 1 : 1,
		.began_mono = began_mono,
		.ended_mono = r->mono,
		.real_offset = r->real - r->mono,
		.age_offset = age->now - r->mono,
		.is_dirty = true,
	};
	memcpy(more[age->n].boot, r->boot, AGE_BOOT_BYTES);
	age->n++;
	age->is_dirty = true;
	return 0;
}

/* Return whether R belongs to the same boot as the last reading. */
static bool is_same_boot(const struct age *age, const struct age_reading *r)
{
	return strcmp(age->last.boot, r->boot) == 0 && r->boottime >= age->last.boottime;
}

/* The host was started since the last reading. Add the time for which it was off, as far as that is known now. */
static void add_outage(struct age *age, const struct age_reading *r)
{
	bool is_boot = strcmp(age->last.boot, r->boot) != 0;
	int64_t up = is_boot ? r->boottime : 0, off = r->real - age->last.real - up;

	off = off < 0 ? 0 : off > AGE_OUTAGE_NS ? AGE_OUTAGE_NS : off;
	age->now += up + off;
	age->is_dirty = true;
}

/*
 * R is synchronised. If the last such reading was before this boot, add what the age clock lacks since then. The time
 * may be missing before any boot since: content that is stamped later counts as the younger.
 */
static void note_synchronised(struct age *age, const struct age_reading *r)
{
	int64_t lacks = age->sync_age + (r->real - age->sync_real) - age->now;

	if (age->sync_real && strcmp(age->sync_boot, r->boot) != 0 && lacks >= AGE_STEP_NS) {
		age->now += lacks;
		for (size_t i = age->n; i-- && strcmp(age->periods[i].boot, age->sync_boot) != 0;) {
			age->periods[i].age_offset += lacks;
			age->periods[i].is_dirty = true;
		}
		age->is_dirty = true;
	}
	memcpy(age->sync_boot, r->boot, AGE_BOOT_BYTES);
	age->sync_real = r->real;
	age->sync_age = age->now;
}

/* R is synchronised: it says how wrong CLOCK_REALTIME was in each period of this boot. */
static void correct_periods(struct age *age, const struct age_reading *r)
{
	for (size_t i = age->n; i-- && strcmp(age->periods[i].boot, r->boot) == 0;) {
		struct age_period *p = &age->periods[i];
		int64_t correction = p->age_offset + (r->real - age->now) - p->real_offset;

		if (distance(correction, 0) < AGE_STEP_NS)
			correction = 0;
		if (p->is_corrected && distance(correction, p->correction) < AGE_STEP_NS)
			continue;
		p->is_corrected = true;
		p->correction = correction;
		p->is_dirty = true;
		age->is_dirty = true;
	}
}

/* Return how far CLOCK_REALTIME stepped between the last reading and R. */
static struct age_step find_step(const struct age *age, const struct age_reading *r)
{
	struct age_step step = {.is_outage = strcmp(age->last.boot, r->boot) != 0};
	int64_t up = step.is_outage ? r->boottime : r->boottime - age->last.boottime;

	/* Over a boot only a clock that went back is known to be wrong, now or before. */
	step.by = r->real - age->last.real - up;
	if (distance(step.by, 0) < AGE_STEP_NS || (step.is_outage && step.by > 0))
		step.by = 0;
	return step;
}

/* Return whether the newest period goes on at R. */
static bool period_holds(const struct age *age, const struct age_reading *r)
{
	const struct age_period *p = age->n ? &age->periods[age->n - 1] : NULL;

	return p && is_same_boot(age, r) && strcmp(p->boot, r->boot) == 0 &&
	       distance(p->real_offset, r->real - r->mono) < AGE_STEP_NS &&
	       distance(p->age_offset, age->now - r->mono) < AGE_STEP_NS;
}

static int advance_first(struct age *age, const struct age_reading *r)
{
	int rc;

	age->now = r->real;
	age->began = r->real;
	/* Stamps of this boot from before the first reading lie on the age clock, too. */
	rc = add_period(age, r, 0);
	age->any = rc == 0;
	return rc;
}

int age_advance(struct age *age, const struct age_reading *r, struct age_step *step)
{
	const bool is_same = age->any && is_same_boot(age, r);
	const int64_t last = is_same ? age->last.mono : 0, was = age->now;
	int rc = 0;

	*step = (struct age_step){0};
	if (!age->any) {
		rc = advance_first(age, r);
	} else {
		*step = find_step(age, r);
		if (is_same)
			age->now += r->boottime - age->last.boottime;
		else
			add_outage(age, r);
		/* A step came after the last reading. A boot's first period begins with the boot. */
		if (!period_holds(age, r))
			rc = add_period(age, r, last);
	}
	if (rc != 0) {
		age->now = was;
		return rc;
	}
	age->periods[age->n - 1].ended_mono = r->mono;
	age->last = *r;
	if (r->is_synchronised) {
		note_synchronised(age, r);
		correct_periods(age, r);
	}
	return 0;
}

/* ---- finding --------------------------------------------------------------------------------- */

/* Return whether a stamp MONO lies in period P. */
static bool has_mono(const struct age_period *p, int64_t mono)
{
	return mono >= p->began_mono - SLACK_NS && mono <= p->ended_mono + SLACK_NS;
}

const struct age_period *age_period(const struct age *age, int64_t mono, int64_t real, bool *is_exact)
{
	const struct age_period *newest = NULL;
	int64_t offset;

	*is_exact = false;
	for (size_t i = age->n; i--;) {
		const struct age_period *p = &age->periods[i];
		bool is_open = i + 1 == age->n && mono > p->ended_mono;

		if (!is_open && !has_mono(p, mono))
			continue;
		*is_exact =
			!__builtin_sub_overflow(real, mono, &offset) && distance(offset, p->real_offset) <= MATCH_NS;
		if (*is_exact)
			return p;
		newest = newest || !has_mono(p, mono) ? newest : p;
	}
	return newest;
}

/* Return AT, or the nearest age from OLDEST to now. */
static int64_t between(const struct age *age, int64_t oldest, int64_t at)
{
	return at > age->now ? age->now : at < oldest ? oldest : at;
}

int64_t age_at(const struct age *age, int64_t mono, int64_t real)
{
	bool is_exact;
	const struct age_period *p = age_period(age, mono, real, &is_exact);

	if (!age->n)
		return real;
	return p ? between(age, is_exact ? INT64_MIN : age->began, mono + p->age_offset) : age->began;
}

const struct age_period *age_period_at_real(const struct age *age, int64_t real)
{
	for (size_t i = age->n; i--;)
		if (has_mono(&age->periods[i], real - age->periods[i].real_offset))
			return &age->periods[i];
	return NULL;
}

int64_t age_at_real(const struct age *age, int64_t real)
{
	const struct age_period *p = age_period_at_real(age, real);

	if (p)
		return between(age, INT64_MIN, real - p->real_offset + p->age_offset);
	return age->n ? age->began : real;
}

uint64_t age_certain_real(const struct age *age, uint64_t real)
{
	int64_t certain = (int64_t)real;
	size_t i = 0;

	while (i < age->n && !has_mono(&age->periods[i], (int64_t)real - age->periods[i].real_offset))
		i++;
	for (i++; i < age->n; i++) {
		int64_t began = age->periods[i].began_mono + age->periods[i].real_offset;

		certain = began < certain ? began : certain;
	}
	return certain > 0 ? (uint64_t)certain : 0;
}

int64_t age_mono_now(const struct age *age, int64_t mono, int64_t real)
{
	bool is_exact;

	if (!age_period(age, mono, real, &is_exact))
		return (int64_t)clock_mono() - ((int64_t)clock_real() - real);
	return age->last.mono - (age->now - age_at(age, mono, real));
}

int64_t age_correction(const struct age *age, int64_t mono, int64_t real)
{
	bool is_exact;
	const struct age_period *p = age_period(age, mono, real, &is_exact);

	return is_exact && p->is_corrected ? p->correction : 0;
}

uint64_t age_before(const struct age *age, uint64_t length)
{
	int64_t now = age->any ? age->now : (int64_t)clock_real();

	return length && length < (uint64_t)now ? (uint64_t)now - length : 0;
}
