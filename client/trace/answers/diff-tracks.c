/*
 * Steps of each thread in order: its labels, the threads that it created, and its interactions.
 *
 * Labels, creations and interactions are each in the order of events, and are merged by time.
 * If some have the same time, creations come first, then labels.
 */
#include <stdlib.h>
#include <string.h>

#include "diff-state.h"

/* A walk over the labels, creations and interactions of one run. */
struct walk {
	struct diff_side *s;
	uint32_t thread, label, interaction; /* next thread, label and interaction */
	uint32_t *latest;		     /* for each thread its newest label so far, or MPROF_NONE */
	bool counting;			     /* only count the steps of each thread, in first_track */
};

/*
 * Add a step to THREAD, or count it. TEXT is the step's text, or MPROF_NONE. OTHER is the other
 * thread of the step, or MPROF_NONE for a step that only has a text.
 */
static void add(struct walk *w, uint32_t thread, enum mprof_diff_step_kind kind, uint32_t item, uint32_t other,
		uint32_t text)
{
	struct diff_track *track;

	if (w->counting) {
		w->s->first_track[thread]++;
		return;
	}
	track = &w->s->tracks[w->s->first_track[thread]++];
	*track = (struct diff_track){.item = item, .kind = (uint8_t)kind, .text = text, .type = MPROF_THREAD_UNKNOWN};
	if (other == MPROF_NONE)
		return;
	track->type = diff_thread(w->s, other)->type;
	track->unseen = diff_thread(w->s, other)->flags & MPROF_THREAD_PREEXISTING;
}

static uint32_t latest_text(const struct walk *w, uint32_t thread)
{
	uint32_t label = w->latest[thread];

	return label == MPROF_NONE ? MPROF_NONE : w->s->shapes[w->s->view->labels[label].text];
}

static void add_interaction(struct walk *w, uint32_t i)
{
	static const uint8_t kinds[][2] = {
		[MPROF_INTERACTION_RESOLVE] = {MPROF_STEP_RESOLVES, MPROF_STEP_RESOLVED},
		[MPROF_INTERACTION_READ] = {MPROF_STEP_READS, MPROF_STEP_READ},
		[MPROF_INTERACTION_SIGNAL] = {MPROF_STEP_SIGNALS, MPROF_STEP_SIGNALLED},
	};
	const struct mprof_interaction *it = &w->s->view->interactions[i];
	unsigned int by, to;

	if (it->kind == MPROF_INTERACTION_TRY_READ)
		return;
	by = kinds[it->kind][0];
	to = kinds[it->kind][1];
	if (it->kind == MPROF_INTERACTION_RESOLVE && diff_thread(w->s, it->other)->failure != MPROF_NONE) {
		by = MPROF_STEP_FAILS;
		to = MPROF_STEP_FAILED;
	}
	add(w, it->thread, by, i, it->other, latest_text(w, it->other));
	if (it->thread != it->other)
		add(w, it->other, to, i, it->thread, latest_text(w, it->thread));
}

/*
 * Return the list that has the next item: 0 threads, 1 labels, 2 interactions; or 3 when no items
 * are left.
 */
static int next_list(const struct walk *w)
{
	const struct mprof_model_view *v = w->s->view;
	uint64_t times[3] = {
		w->thread < v->n_threads ? v->threads[w->thread].created : UINT64_MAX,
		w->label < v->n_labels ? v->labels[w->label].time : UINT64_MAX,
		w->interaction < v->n_interactions ? v->interactions[w->interaction].time : UINT64_MAX,
	};
	int best = 0;

	for (int i = 1; i < 3; i++)
		best = times[i] < times[best] ? i : best;
	return times[best] == UINT64_MAX ? 3 : best;
}

static void walk_label(struct walk *w)
{
	uint32_t i = w->label++;
	const struct mprof_label *label = &w->s->view->labels[i];

	if (label->sample != MPROF_NONE)
		return;
	w->latest[label->thread] = i;
	add(w, label->thread, MPROF_STEP_LABEL, i, MPROF_NONE, w->s->shapes[label->text]);
}

/* Add the creation of the next thread, unless it existed before the trace. */
static void walk_thread(struct walk *w)
{
	uint32_t i = w->thread++;
	const struct mprof_thread *t = diff_thread(w->s, i);

	if (t->creator != MPROF_NONE && !(t->flags & MPROF_THREAD_PREEXISTING))
		add(w, t->creator, MPROF_STEP_CREATES, i, i, MPROF_NONE);
}

static void walk_all(struct walk *w)
{
	int list;

	memset(w->latest, 0xff, w->s->view->n_threads * sizeof(*w->latest));
	w->thread = w->label = w->interaction = 0;
	while ((list = next_list(w)) != 3) {
		if (list == 0)
			walk_thread(w);
		else if (list == 1)
			walk_label(w);
		else
			add_interaction(w, w->interaction++);
	}
	/*
	 * This is the last step of a thread that became another: later steps belong to the other.
	 */
	for (uint32_t i = 0; i < w->s->view->n_threads; i++)
		if (diff_thread(w->s, i)->becomes != MPROF_NONE)
			add(w, i, MPROF_STEP_BECOMES, i, MPROF_NONE, MPROF_NONE);
}

/*
 * Count the steps of each thread, turn the counts into the positions of each thread's first step,
 * and store the steps. While steps are stored, each position advances; at the end it is the next
 * thread's first step, so all positions are moved back by one thread. Return false without memory.
 */
static bool walk_twice(struct walk *w)
{
	uint32_t *first = w->s->first_track, n = w->s->view->n_threads, count;
	uint64_t sum = 0;

	w->counting = true;
	walk_all(w);
	for (uint32_t i = 0; i <= n; i++) {
		count = first[i];
		first[i] = (uint32_t)sum;
		sum += count;
	}
	if (sum >= UINT32_MAX)
		return false;
	w->s->tracks = malloc(((size_t)sum + 1) * sizeof(*w->s->tracks));
	if (!w->s->tracks)
		return false;
	w->counting = false;
	walk_all(w);
	for (uint32_t i = n; i > 0; i--)
		first[i] = first[i - 1];
	first[0] = 0;
	return true;
}

static bool write_tracks(struct diff_side *s)
{
	struct walk w = {.s = s};
	bool fine;

	w.latest = malloc(((size_t)s->view->n_threads + 1) * sizeof(*w.latest));
	s->first_track = calloc((size_t)s->view->n_threads + 1, sizeof(*s->first_track));
	fine = w.latest && s->first_track && walk_twice(&w);
	free(w.latest);
	return fine;
}

bool diff_tracks(struct mprof_diff *d)
{
	return write_tracks(&d->side[GOOD]) && write_tracks(&d->side[BAD]);
}
