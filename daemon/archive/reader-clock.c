/* Correct stamps, by the periods in which no clock stepped (age.h). They are read once for each version of the archive. */
#include "clock.h"
#include "reader-state.h"

#define SLACK ((int64_t)(60 * NS_PER_S)) /* a reading of the clocks may be that far from the step that it shows */
#define EXACT ((int64_t)(2 * NS_PER_S))	 /* two clocks are read one after the other */

static int read_periods(struct reader *r)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int rc = reader_statement(r, S_PERIODS, NO_VALUES, &s);

	r->n_periods = 0;
	while (rc == 0 && (rc = statement_step(&r->statements, s)) == STATEMENT_ROW) {
		if (r->n_periods < AGE_PERIODS_MAX)
			r->periods[r->n_periods++] = (struct reader_period){
				.began_mono = sqlite3_column_int64(s, 0),
				.ended_mono = sqlite3_column_int64(s, 1),
				.real_offset = sqlite3_column_int64(s, 2),
				.correction = sqlite3_column_int64(s, 3),
				.is_newest = sqlite3_column_int(s, 4) != 0,
			};
		rc = 0;
	}
	return rc;
}

/* Return A + B, or the nearest number that there is. */
static int64_t sum(int64_t a, int64_t b)
{
	int64_t c;

	return !__builtin_add_overflow(a, b, &c) ? c : b < 0 ? INT64_MIN : INT64_MAX;
}

/* Return whether a stamp belongs to P. */
static bool has(const struct reader_period *p, int64_t mono, int64_t real)
{
	int64_t off;

	if (mono == 0)
		return real >= sum(sum(p->began_mono, p->real_offset), -SLACK) &&
		       real <= sum(sum(p->ended_mono, p->real_offset), 2 * SLACK);
	off = sum(sum(real, -mono), p->real_offset == INT64_MIN ? INT64_MAX : -p->real_offset);
	return mono >= sum(p->began_mono, -SLACK) && (p->is_newest || mono <= sum(p->ended_mono, SLACK)) &&
	       off <= EXACT && off >= -EXACT;
}

int64_t reader_correction(struct reader *r, uint64_t mono, uint64_t real)
{
	struct reader_version now;

	if (real == 0 || real > INT64_MAX || mono > INT64_MAX || reader_version(r, &now) != 0)
		return 0;
	if (r->periods_of.archives != now.archives || r->periods_of.commits != now.commits) {
		r->periods_of = now;
		if (read_periods(r) != 0) {
			r->n_periods = 0;
			r->periods_of.archives = 0;
		}
	}
	for (size_t i = 0; i < r->n_periods; i++)
		if (has(&r->periods[i], (int64_t)mono, (int64_t)real))
			return r->periods[i].correction;
	return 0;
}
