/* A sink that builds the model of a trace, its streams side by side. */
#ifndef CTL_MODELLER_H
#define CTL_MODELLER_H

#include <jansson.h>
#include <stdbool.h>

#include <mprof/model.h>

#include "consumer.h"
#include "time-filter.h"

struct modeller {
	struct period *period; /* borrowed; is told what the first event is */
	bool cut;	       /* leave out what is later than PERIOD: the model is that of the trace as it was then */
	struct consumer consumer; /* to be given to whatever reads the trace */
	struct mprof_model *model;
	char **names;	      /* of the streams, owned; NULL = there is one */
	unsigned int streams; /* in the model */
	uint64_t *lost;	      /* of each: packets missing in front of its next event; owned */
	uint64_t *tails; /* of each: from when on it is not proven, UINT64_MAX for never; owned, NULL = none is known */
	const struct mprof_model_view *view;
};

/* False without memory; deinit it in any case. */
bool modeller_init(struct modeller *m, struct period *period, bool cut);
void modeller_deinit(struct modeller *m);
/* For the sink of M where somebody draws what was not proven. */
int modeller_tail(void *data, unsigned int stream, uint64_t from_ns);
/* The whole trace was read: VIEW stands.  False without memory. */
bool modeller_finish(struct modeller *m);

/* String I of the view as JSON, null for MPROF_NONE; to be decref'd. */
json_t *modeller_string(const struct modeller *m, uint32_t i);
/* A byte for each thread of the view: does it bear a label like the pattern GLOB?  To be freed; NULL without memory. */
uint8_t *modeller_labelled(const struct modeller *m, const char *glob);
/* A time as the decimal string that JSON has everywhere; to be decref'd. */
json_t *modeller_time(uint64_t ns);

#endif
