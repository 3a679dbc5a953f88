/*
 * How a verb shows and reads times: the options --time, --utc, --from and --to, with the offset of
 * the trace's clock.
 */
#ifndef CTL_TIMING_H
#define CTL_TIMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock-offset.h"
#include "options.h"
#include "time-filter.h"
#include "wall-time.h"

enum time_kind {
	TIME_GUEST,    /* the guest's own clock */
	TIME_WALL,     /* dom0's wall time */
	TIME_RELATIVE, /* since the trace's first event */
};

struct timing {
	enum time_kind kind;
	bool passed_on; /* the verb's output has the offset of the clock; set it before input_run() */
	bool dated;	/* show the date with each wall time */
	bool by_lines;	/* show the date with the first wall time, and with the first of each other day */
	bool begun;	/* if BY_LINES: a wall time was shown, of the day DAY */
	int day;
	uint64_t first; /* guest time of the trace's first event, for TIME_RELATIVE, ns */
	struct wall_zone zone;
	struct wall_zone utc; /* the zone of JSON */
	struct period period;
	struct clock_offset clock; /* set by input_run() if timing_needs_clock() */
};

#define TIMING_TEXT_MAX WALL_TEXT_MAX

/*
 * Parse --time, --utc, --from and --to of O into T. Without --time T has the kind NORMAL. VERB is for messages. Return
 * an exit code.
 */
int timing_parse(struct timing *t, const struct options *o, enum time_kind normal, const char *verb);

/* Return true if the offset of the trace's clock is needed before the first event. */
bool timing_needs_clock(const struct timing *t);
/*
 * T->clock is set now, or is known to be unknown. Report how sure the wall times of the trace NAME
 * are, and convert the wall times of the period. Return an exit code.
 */
int timing_settle(struct timing *t, const char *name);

/*
 * All times that will be shown are from FIRST, the time of the trace's first event, to LAST. Decide
 * whether wall times need their date.
 */
void timing_range(struct timing *t, uint64_t first, uint64_t last);
/*
 * Write the guest time NS to TEXT, which has TIMING_TEXT_MAX bytes, in the form of T->kind. A wall
 * time that is unknown is shown as the guest's own time. Return the length.
 */
size_t timing_text(struct timing *t, uint64_t ns, char *text);
/* Print the guest time NS on standard output as timing_text() writes it. */
void timing_print(struct timing *t, uint64_t ns);

/*
 * Write the wall time of NS as JSON to TEXT, which has TIMING_TEXT_MAX bytes: a string with an RFC
 * 3339 time in UTC, or `null`. Return the length.
 */
size_t timing_json_text(struct timing *t, uint64_t ns, char *text);
/* Return by how much the true wall times can be earlier, ns; UINT64_MAX: unknown. */
uint64_t timing_uncertainty(const struct timing *t);

#endif
