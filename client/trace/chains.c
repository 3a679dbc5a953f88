/*
 * Chain what belongs to each thread, in the order of events.
 *
 * Why only now: a chain that is built while events come in needs its tail at hand for each thread.  One pass from the last item to the
 * first needs the heads alone.
 */
#include "model-state.h"

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

		list[i].next = *head;
		*head = i;
	}
}

void model_chains(struct mprof_model *m)
{
	uint32_t i;

	drop_replaced(m);
	for (i = 0; i < m->arrays[MODEL_THREADS].n; i++) {
		struct mprof_thread *t = model_thread(m, i);

		t->first_interaction = t->first_label = t->first_activation = MPROF_NONE;
		*model_checked(m, i) = UINT64_MAX;
	}
	chain_interactions(m);
	chain_labels(m);
	chain_activations(m);
}
