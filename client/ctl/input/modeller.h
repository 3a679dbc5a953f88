/* A consumer that builds the model of a trace, with all its streams. */
#ifndef CTL_MODELLER_H
#define CTL_MODELLER_H

#include <jansson.h>
#include <stdbool.h>

#include <mprof/model.h>

#include "consumer.h"
#include "time-filter.h"

struct modeller {
	struct period *period; /* borrowed; the modeller shows it the first event */
	/* Leave out events later than PERIOD: the model is that of the trace at that time. */
	bool cut;
	struct consumer consumer; /* give it to the code that reads the trace */
	struct mprof_model *model;
	char **names;	      /* stream names, owned; NULL for a single stream */
	unsigned int streams; /* in the model */
	/* For each stream: packets missing in front of its next event; owned. */
	uint64_t *lost;
	/*
	 * For each stream: where its unproven tail begins, or UINT64_MAX; owned, NULL if no tail is
	 * known.
	 */
	uint64_t *tails;
	const struct mprof_model_view *view;
};

/* Return false without memory. The caller deinits M in any case. */
bool modeller_init(struct modeller *m, struct period *period, bool cut);
void modeller_deinit(struct modeller *m);
/* The consumer's tail() for a caller that draws unproven tails. */
int modeller_tail(void *context, unsigned int stream, uint64_t from_ns);
/* Finish the model behind the last event and set VIEW. Return false without memory. */
bool modeller_finish(struct modeller *m);

/* Return string I of the view as JSON, null for MPROF_NONE. The caller decrefs it. */
json_t *modeller_string(const struct modeller *m, uint32_t i);
/*
 * Return a byte for each thread of the view: 1 if a label of the thread matches the pattern GLOB.
 * The caller frees it. Return NULL without memory.
 */
uint8_t *modeller_labelled(const struct modeller *m, const char *glob);
/* Return a time as a decimal string, as all JSON of mprofctl has it. The caller decrefs it. */
json_t *modeller_time(uint64_t ns);

#endif
