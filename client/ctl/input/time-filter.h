/* The options --from and --to, and a consumer that passes on the events between them. */
#ifndef CTL_TIME_FILTER_H
#define CTL_TIME_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "consumer.h"

/*
 * One end of a period: a time of the guest (in ns), or a distance in ns from the trace's first
 * event.
 */
struct moment {
	bool given;
	bool relative;
	uint64_t ns;
};

struct period {
	struct moment from, to; /* both ends are included */
	bool known;		/* the first event was seen, so FIRST is valid */
	uint64_t first;		/* time of the first event in ns */
};

/* The option table's rows for --from and --to. */
#define PERIOD_OPTIONS(from, to)          \
	{"--from", NULL, &(from), NULL},  \
	{                                 \
		"--to", NULL, &(to), NULL \
	}

/*
 * Parse the values of --from and --to; NULL if not given. A value is SECONDS[.FRACTION], a time as
 * `dump` prints it. After a `+` it is a distance from the first event: SECONDS[.FRACTION], or a
 * number with a unit (ns us ms s m h d). VERB is for messages. Return an exit code.
 */
int period_parse(struct period *p, const char *from, const char *to, const char *verb);

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

/* Put the filter G in front of the consumer TO, which is copied. */
void time_filter_init(struct time_filter *g, const struct consumer *to, struct period *period);
void time_filter_deinit(struct time_filter *g);
/*
 * Report the packets that are missing after the last event of each stream. Return 0 or the
 * consumer's error.
 */
int time_filter_end(struct time_filter *g);

#endif
