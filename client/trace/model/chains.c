/*
 * Ends of threads.
 *
 * A trace has no event for a thread that is never resolved. Either no thread needs it any more: it
 * then ends shortly after the last event that names it. Or its wake-up was missed, which matters to
 * the user: if the program marked the thread with `__should_resolve`, it lasts to the end of the
 * trace and counts as failed.
 *
 * While this runs, the first_* fields of the threads name the newest items. It resets them for
 * model_chains().
 */
#include "alias.h"
#include "coverage-index.h"
#include "model-state.h"

#define NEVER "should-resolve thread never resolved"
/* If a thread's end is unknown, it is drawn up to this time after its last event, ns. */
#define STUB_NS 1000u

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t last_event(const struct mprof_model *m, uint32_t i)
{
	const struct mprof_thread *t = model_thread(m, i);
	uint64_t last = later(t->start, *model_checked(m, i));

	if (t->first_child != MPROF_NONE)
		last = later(last, model_thread(m, t->first_child)->start);
	if (t->first_label != MPROF_NONE)
		last = later(last, ((struct mprof_label *)m->arrays[MODEL_LABELS].items)[t->first_label].time);
	if (t->first_interaction != MPROF_NONE)
		last = later(
			last,
			((struct mprof_interaction *)m->arrays[MODEL_INTERACTIONS].items)[t->first_interaction].time);
	if (t->first_activation != MPROF_NONE)
		last = later(last,
			     ((struct mprof_activation *)m->arrays[MODEL_ACTIVATIONS].items)[t->first_activation].end);
	return last;
}

static uint64_t stub_end(uint64_t last)
{
	return last < MPROF_TIME_MAX - STUB_NS ? last + STUB_NS : MPROF_TIME_MAX;
}

/* Return the latest end of the streams of STREAM's guest: the guest can run on in another ring than STREAM. */
static uint64_t guest_end(const struct mprof_model *m, uint32_t stream)
{
	const struct thread_index *guest = model_stream_at(m, stream)->index;
	uint64_t end = 0;

	for (uint32_t i = 0; i < m->streams.n; i++)
		if (model_stream_at(m, i)->index == guest)
			end = later(end, model_stream_at(m, i)->seen.end);
	return end;
}

static void meet_expectations(struct mprof_model *m, uint32_t never)
{
	struct mprof_expectation *list = m->arrays[MODEL_EXPECTATIONS].items;
	uint32_t stream = MPROF_NONE;
	uint64_t end = 0;
	struct mprof_thread *t;

	for (uint32_t i = 0; i < m->arrays[MODEL_EXPECTATIONS].n; i++) {
		list[i].final = alias_find(model_aliases(m), list[i].thread);
		model_thread(m, list[i].thread)->flags |= MPROF_THREAD_SHOULD_RESOLVE;
		t = model_thread(m, list[i].final);
		t->flags |= MPROF_THREAD_SHOULD_RESOLVE;
		if (t->flags & (MPROF_THREAD_RESOLVED | MPROF_THREAD_ROOT))
			continue;
		t->failure = never;
		end = t->stream == stream ? end : guest_end(m, t->stream);
		stream = t->stream;
		t->end = end;
		t->flags |= MPROF_THREAD_NEVER_RESOLVED | MPROF_THREAD_ENDED;
	}
}

bool model_ends(struct mprof_model *m)
{
	uint32_t never = intern_add(&m->strings, NEVER, sizeof(NEVER) - 1);

	if (never == MPROF_NONE || !model_counters_scale(m))
		return false;
	meet_expectations(m, never);
	for (uint32_t i = 0; i < m->arrays[MODEL_THREADS].n; i++) {
		struct mprof_thread *t = model_thread(m, i);

		if (!(t->flags & (MPROF_THREAD_ENDED | MPROF_THREAD_ROOT)))
			t->end = stub_end(last_event(m, i));
		if (t->end < t->start) { /* time went back, or an event was torn */
			m->notes.backwards++;
			t->end = t->start;
		}
		t->first_interaction = t->first_label = t->first_activation = MPROF_NONE;
		*model_checked(m, i) = UINT64_MAX;
	}
	return true;
}

bool model_unseen(struct mprof_model *m)
{
	const struct mprof_expectation *list = m->arrays[MODEL_EXPECTATIONS].items;
	struct coverage_index x;
	struct mprof_coverage c;
	bool ok = true;

	if (!m->arrays[MODEL_EXPECTATIONS].n)
		return true;
	ok = coverage_index_init(&x, &m->view);
	for (uint32_t i = 0; ok && i < m->arrays[MODEL_EXPECTATIONS].n; i++) {
		struct mprof_thread *t = model_thread(m, list[i].final);

		if (!(t->flags & MPROF_THREAD_NEVER_RESOLVED))
			continue;
		coverage_unresolved(&m->view, &x, list[i].final, t->end, &c);
		if (c.hole != MPROF_HOLE_NONE)
			t->flags |= MPROF_THREAD_END_UNSEEN;
	}
	coverage_index_deinit(&x);
	return ok;
}

/* ---- chains ---- */

/*
 * Chains of each thread's items, in the order of events.
 *
 * Building the chains while events come in would need the tail of each thread's chain. One pass
 * from the last item to the first only needs the heads.
 */

/* Number of items ahead whose threads are prefetched. */
#define AHEAD 12u

static void prefetch(const struct mprof_model *m, uint32_t thread)
{
	__builtin_prefetch(&model_thread(m, thread)->first_label, 1);
}

/*
 * Remove the interactions whose thread is MPROF_NONE: each was a try_read that a read replaced
 * (model-events.c).
 */
static void drop_replaced(struct mprof_model *m)
{
	struct mprof_interaction *list = m->arrays[MODEL_INTERACTIONS].items;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < m->arrays[MODEL_INTERACTIONS].n; i++)
		if (list[i].thread != MPROF_NONE)
			list[kept++] = list[i];
	m->arrays[MODEL_INTERACTIONS].n = kept;
}

static void chain_interactions(struct mprof_model *m)
{
	struct mprof_interaction *list = m->arrays[MODEL_INTERACTIONS].items;

	for (uint32_t i = m->arrays[MODEL_INTERACTIONS].n; i-- > 0;) {
		uint32_t *head = &model_thread(m, list[i].thread)->first_interaction;
		uint64_t *checked = model_checked(m, list[i].other);

		prefetch(m, list[i < AHEAD ? 0 : i - AHEAD].thread);
		list[i].next = *head;
		*head = i;
		if (list[i].kind == MPROF_INTERACTION_TRY_READ && list[i].time < *checked)
			*checked = list[i].time;
	}
}

static void chain_labels(struct mprof_model *m)
{
	struct mprof_label *list = m->arrays[MODEL_LABELS].items;

	for (uint32_t i = m->arrays[MODEL_LABELS].n; i-- > 0;) {
		uint32_t *head = &model_thread(m, list[i].thread)->first_label;

		prefetch(m, list[i < AHEAD ? 0 : i - AHEAD].thread);
		list[i].next = *head;
		*head = i;
	}
}

static void chain_activations(struct mprof_model *m)
{
	struct mprof_activation *list = m->arrays[MODEL_ACTIVATIONS].items;

	for (uint32_t i = m->arrays[MODEL_ACTIVATIONS].n; i-- > 0;) {
		uint32_t *head = &model_thread(m, list[i].thread)->first_activation;

		prefetch(m, list[i < AHEAD ? 0 : i - AHEAD].thread);
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
