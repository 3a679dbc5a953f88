/* --from and --to: a piece of a trace's time. */
#ifndef CTL_TIME_FILTER_H
#define CTL_TIME_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "consumer.h"

/* One end: a time of the guest, or so much behind the trace's first event. */
struct moment {
	bool given;
	bool relative;
	uint64_t ns;
};

struct period {
	struct moment from, to; /* both included */
	bool known;		/* has the first event been seen? */
	uint64_t first;		/* its time */
};

/* The rows of a verb's option table for the two ends. */
#define PERIOD_OPTIONS(from, to)          \
	{"--from", NULL, &(from), NULL},  \
	{                                 \
		"--to", NULL, &(to), NULL \
	}

/*
 * Take the values of --from and --to apart, NULL where not given: SECONDS[.FRACTION] as dump prints a time, or +SECONDS[.FRACTION] or +N
 * with a unit (ns us ms s m h d) behind the first event.  Returns an exit code, having said why.
 */
int period_parse(struct period *p, const char *from, const char *to, const char *verb);

/* Is an event of that time inside?  To be asked of all events in their order: the first is the trace's first. */
bool period_holds(struct period *p, uint64_t ns);

/* The ends, known once an event was seen. */
uint64_t period_from(const struct period *p);
uint64_t period_to(const struct period *p);

/* A sink in front of another one that lets through what is inside of a period. */

struct time_filter {
	struct consumer consumer; /* to be given to whatever reads the trace */
	struct consumer to;	  /* what is behind it */
	struct period *period;	  /* borrowed */
	uint64_t *gaps;		  /* of each stream: packets missing in front of its next event; owned */
	unsigned int streams;	  /* of those */
	uint64_t events;	  /* that went through */
};

/* In front of TO, which is copied. */
void time_filter_init(struct time_filter *g, const struct consumer *to, struct period *period);
void time_filter_deinit(struct time_filter *g);
/* The trace is over: what is missing behind the last events is told now.  0, or what the sink returned. */
int time_filter_end(struct time_filter *g);

#endif
