/*
 * Chain what belongs to each thread, in the order of events.
 *
 * Why only now: a chain that is built while events come in needs its tail at hand for each thread.  One pass from the last item to the
 * first needs the heads alone.
 */
#include "model-state.h"

/* So many items ahead their threads are asked for, so that they are there when it is their turn. */
#define AHEAD 12u

static void look_ahead(const struct mprof_model *m, uint32_t thread)
{
	__builtin_prefetch(&model_thread(m, thread)->first_label, 1);
}

/* Take out what a read replaced. */
static void drop_replaced(struct mprof_model *m)
{
	struct mprof_interaction *list = m->arrays[MODEL_INTERACTIONS].items;
	uint32_t i, kept = 0;

	for (i = 0; i < m->arrays[MODEL_INTERACTIONS].n; i++)
		if (list[i].thread != MPROF_NONE)
			list[kept++] = list[i];
	m->arrays[MODEL_INTERACTIONS].n = kept;
}

static void chain_interactions(struct mprof_model *m)
{
	struct mprof_interaction *list = m->arrays[MODEL_INTERACTIONS].items;
	uint32_t i;

	for (i = m->arrays[MODEL_INTERACTIONS].n; i-- > 0;) {
		uint32_t *head = &model_thread(m, list[i].thread)->first_interaction;
		uint64_t *checked = model_checked(m, list[i].other);

		look_ahead(m, list[i < AHEAD ? 0 : i - AHEAD].thread);
		list[i].next = *head;
		*head = i;
		if (list[i].kind == MPROF_INTERACTION_TRY_READ && list[i].time < *checked)
			*checked = list[i].time;
	}
}

static void chain_labels(struct mprof_model *m)
{
	struct mprof_label *list = m->arrays[MODEL_LABELS].items;
	uint32_t i;

	for (i = m->arrays[MODEL_LABELS].n; i-- > 0;) {
		uint32_t *head = &model_thread(m, list[i].thread)->first_label;

		look_ahead(m, list[i < AHEAD ? 0 : i - AHEAD].thread);
		list[i].next = *head;
		*head = i;
	}
}

static void chain_activations(struct mprof_model *m)
{
	struct mprof_activation *list = m->arrays[MODEL_ACTIVATIONS].items;
	uint32_t i;

	for (i = m->arrays[MODEL_ACTIVATIONS].n; i-- > 0;) {
		uint32_t *head = &model_thread(m, list[i].thread)->first_activation;

		look_ahead(m, list[i < AHEAD ? 0 : i - AHEAD].thread);
		list[i].next = *head;
		*head = i;
	}
}

void model_chains(struct mprof_model *m)
{
	drop_replaced(m);
	chain_interactions(m);
	chain_labels(m);
	chain_activations(m);
}
