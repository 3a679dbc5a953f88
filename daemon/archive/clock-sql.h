/* The corrections of stamps in SQL, for the readers of both archives. */
#ifndef ARCHIVE_CLOCK_SQL_H
#define ARCHIVE_CLOCK_SQL_H

/*
 * The correction of a stamp, by the period of the clocks to which it belongs (age.c, age_period()). NULL: the stamp
 * is right, or nobody knows. A stamp of CLOCK_REALTIME alone belongs to a period by its time. age_sum_define() has
 * defined clock_holds(). Name columns with their tables: clock_periods has some names, too.
 */
#define PERIOD_HOLDS \
	"clock_holds(p.id, p.boot, p.began_mono, p.ended_mono, p.real_offset, p.age_offset, p.correction, p.checksum)"
#define PERIOD_OF(column, mono, real)                                                                             \
	"(SELECT " column " FROM clock_periods p WHERE " mono " >= p.began_mono - 60000000000 AND (" mono         \
	" <= p.ended_mono + 60000000000 OR p.id = (SELECT max(id) FROM clock_periods)) AND abs(" real " - (" mono \
	") - p.real_offset) <= 2000000000 AND " PERIOD_HOLDS " ORDER BY p.id DESC LIMIT 1)"
#define CORRECTION_OF(mono, real) PERIOD_OF("p.correction", mono, real)
/* The boot of such a stamp. NULL: nobody knows. */
#define BOOT_OF(mono, real) PERIOD_OF("nullif(p.boot, '')", mono, real)
/*
 * Whether the stamp of MONO and REAL is at least that of OTHER_MONO and OTHER_REAL less GRACE. In one boot CLOCK_MONOTONIC tells,
 * which nobody sets; else CLOCK_REALTIME, corrected.
 */
#define STAMP_FOLLOWS(mono, real, other_mono, other_real, grace)                                  \
	"CASE WHEN " BOOT_OF(mono, real) " = " BOOT_OF(                                           \
		other_mono, other_real) " THEN " mono " >= " other_mono " - " grace " ELSE " real \
					" + coalesce(" CORRECTION_OF(                             \
						mono, real) ", 0) >= " other_real                 \
							    " + coalesce(" CORRECTION_OF(         \
								    other_mono, other_real) ", 0) - " grace " END"
#define CORRECTION_AT(real)                                                                                    \
	"(SELECT p.correction FROM clock_periods p WHERE " real                                                \
	" BETWEEN p.began_mono + p.real_offset - 60000000000 AND p.ended_mono + p.real_offset + 120000000000 " \
	"AND " PERIOD_HOLDS " ORDER BY "                                                                       \
	"p.id DESC LIMIT 1)"

#endif
