/* A sink in front of another one that lets through what is inside of a period. */
#ifndef CTL_GATE_H
#define CTL_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "period.h"
#include "sink.h"

struct gate {
	struct sink sink;      /* to be given to whatever reads the trace */
	struct sink to;	       /* what is behind it */
	struct period *period; /* borrowed */
	uint64_t *gaps;	       /* of each stream: packets missing in front of its next event; owned */
	unsigned int streams;  /* of those */
	uint64_t events;       /* that went through */
};

/* In front of TO, which is copied. */
void gate_init(struct gate *g, const struct sink *to, struct period *period);
void gate_deinit(struct gate *g);
/* The trace is over: what is missing behind the last events is told now.  0, or what the sink returned. */
int gate_end(struct gate *g);

#endif
