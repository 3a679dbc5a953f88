/* The options --from and --to, and a consumer that passes on the events between them. */
#ifndef CTL_TIME_FILTER_H
#define CTL_TIME_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "consumer.h"

/* One end: a time of the guest, or a time behind the trace's first event. */
struct moment {
	bool given;
	bool relative;
	uint64_t ns;
};

struct period {
	struct moment from, to; /* both included */
	bool known;		/* the first event was seen */
	uint64_t first;		/* time of the first event */
};

/* The option table's rows for --from and --to. */
#define PERIOD_OPTIONS(from, to)          \
	{"--from", NULL, &(from), NULL},  \
	{                                 \
		"--to", NULL, &(to), NULL \
	}

/*
 * Parse the values of --from and --to, NULL if not given: SECONDS[.FRACTION] as dump prints times,
 * or + and SECONDS[.FRACTION] or a number with a unit (ns us ms s m h d) behind the first event.
 * Return an exit code.
 */
int period_parse(struct period *p, const char *from, const char *to, const char *verb);

/*
 * Return true if an event at NS is inside. Call it for all events in order: the first call sets the
 * trace's first event.
 */
bool period_holds(struct period *p, uint64_t ns);

/* The two ends; valid once an event was seen. */
uint64_t period_from(const struct period *p);
uint64_t period_to(const struct period *p);

/* Pass on to another consumer the events inside of a period. */
struct time_filter {
	struct consumer consumer; /* give it to the code that reads the trace */
	struct consumer to;	  /* the next consumer */
	struct period *period;	  /* borrowed */
	/* For each stream: packets missing in front of its next event; owned. */
	uint64_t *gaps;
	unsigned int streams; /* number of GAPS */
	uint64_t events;      /* passed on so far */
};

/* Put the filter in front of TO, which is copied. */
void time_filter_init(struct time_filter *g, const struct consumer *to, struct period *period);
void time_filter_deinit(struct time_filter *g);
/* Report the gaps behind the last events. Return 0 or the consumer's error. */
int time_filter_end(struct time_filter *g);

#endif
