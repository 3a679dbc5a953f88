/* The options --from and --to, and a consumer that passes on the events between them. */
#ifndef CTL_TIME_FILTER_H
#define CTL_TIME_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "clock-offset.h"
#include "consumer.h"
#include "wall-time.h"

/*
 * One end of a period: a time of the guest (in ns), a distance in ns from the trace's first event,
 * or a wall time, which period_settle() converts to a time of the guest.
 */
struct moment {
	bool given;
	bool relative;
	bool is_wall; /* WALL is valid, and NS is not yet */
	uint64_t ns;
	struct wall_moment wall;
	const char *text; /* as on the command line; borrowed */
};

struct period {
	struct moment from, to; /* both ends are included */
	bool known;		/* the first event was seen, so FIRST is valid */
	uint64_t first;		/* time of the first event in ns */
};

/*
 * Parse the values of --from and --to; NULL if not given. FROM and TO are borrowed by P. A value is
 * SECONDS[.FRACTION], a time as `dump` prints it. After a `+` it is a distance from the first event:
 * SECONDS[.FRACTION], or a number with a unit (ns us ms s m h d). A wall time is a date and a time
 * of day in ZONE, a time of day, or `AMOUNT UNIT ago`, before NOW_NS. VERB is for messages. Return an
 * exit code.
 */
int period_parse(struct period *p, const char *from, const char *to, struct wall_zone *zone, int64_t now_ns,
		 const char *verb);

/* Return true if an end of the period is a wall time that is not converted yet. */
bool period_is_wall(const struct period *p);
/*
 * Convert the period's wall times with the offset C, which must be known. A time of day is its
 * latest occurrence not after the end of the trace NAME; the period's end is the first occurrence
 * behind its begin if that latest one is before it. Return an exit code.
 */
int period_settle(struct period *p, const struct clock_offset *c, struct wall_zone *zone, const char *name);

/*
 * Return true if an event at the time NS is inside of the period. Call this function for all events
 * in order: the first call sets FIRST.
 */
bool period_holds(struct period *p, uint64_t ns);

/* Return the begin and the end of the period in ns; valid after the first period_holds(). */
uint64_t period_from(const struct period *p);
uint64_t period_to(const struct period *p);

/* A consumer that passes on to another consumer only the events inside of a period. */
struct time_filter {
	struct consumer consumer; /* the filter; give it to the code that reads the trace */
	struct consumer to;	  /* the consumer that gets the events */
	struct period *period;	  /* borrowed */
	/* For each stream: number of packets that are missing before its next event; owned. */
	uint64_t *gaps;
	unsigned int streams; /* number of entries of GAPS */
	uint64_t events;      /* number of events passed on so far */
};

/* Put the filter F in front of the consumer TO, which is copied. */
void time_filter_init(struct time_filter *f, const struct consumer *to, struct period *period);
void time_filter_deinit(struct time_filter *f);
/*
 * Report the packets that are missing after the last event of each stream. Return 0 or the
 * consumer's error.
 */
int time_filter_end(struct time_filter *f);

#endif
