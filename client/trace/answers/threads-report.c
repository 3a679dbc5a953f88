/* Make the answer of `threads`. Its keys are an interface: schema/answers/threads.json and docs/man/mprofctl.1 list them. */
#include <mprof/threads-report.h>

#include <stdlib.h>
#include <string.h>

#include "answer-json.h"
#include "thread-label.h"
#include "why-index.h"

struct mprof_threads {
	const struct mprof_model_view *view;
	struct mprof_threads_options options;
	uint32_t *sampled; /* by thread: the last sample of its state, or MPROF_NONE; NULL = no thread has one */
	uint32_t *list;
	uint32_t n;
};

/* Find the last samples of all threads. Return false without memory. */
static bool find_samples(struct mprof_threads *t)
{
	const struct mprof_model_view *v = t->view;

	if (!t->options.why || !v->n_states)
		return true;
	t->sampled = malloc(v->n_threads * sizeof(*t->sampled));
	if (!t->sampled)
		return false;
	memset(t->sampled, 0xff, v->n_threads * sizeof(*t->sampled));
	for (uint32_t i = 0; i < v->n_states; i++)
		t->sampled[v->states[i].thread] = i;
	return true;
}

static bool takes(const struct mprof_threads *t, uint32_t i)
{
	const struct mprof_threads_options *o = &t->options;
	const struct mprof_thread *thread = &t->view->threads[i];

	if (thread->flags & MPROF_THREAD_ROOT || (o->unresolved && thread->flags & MPROF_THREAD_RESOLVED) ||
	    (o->chosen && !o->chosen[i]))
		return false;
	return thread->start <= o->to && thread->end >= o->from;
}

/* A thread while the list is sorted. */
struct lasting {
	uint64_t ns;
	uint32_t thread;
};

/* A comparison for qsort(): the longer thread first; of equal ones the lower number first. */
static int compare(const void *a, const void *b)
{
	const struct lasting *x = a, *y = b;

	return x->ns != y->ns ? (x->ns > y->ns ? -1 : 1) : x->thread < y->thread ? -1 : 1;
}

/* Keep the longest threads of the list, at most MOST, the longest first. Return false without memory. */
static bool keep_longest(struct mprof_threads *t, uint32_t most)
{
	struct lasting *sorted = malloc(((size_t)t->n + 1) * sizeof(*sorted));

	if (!sorted)
		return false;
	for (uint32_t i = 0; i < t->n; i++) {
		const struct mprof_thread *thread = &t->view->threads[t->list[i]];

		sorted[i] = (struct lasting){.ns = thread->end - thread->start, .thread = t->list[i]};
	}
	qsort(sorted, t->n, sizeof(*sorted), compare);
	t->n = t->n < most ? t->n : most;
	for (uint32_t i = 0; i < t->n; i++)
		t->list[i] = sorted[i].thread;
	free(sorted);
	return true;
}

static bool choose(struct mprof_threads *t)
{
	t->list = malloc(((size_t)t->view->n_threads + 1) * sizeof(*t->list));
	if (!t->list)
		return false;
	for (uint32_t i = 0; i < t->view->n_threads; i++)
		if (takes(t, i))
			t->list[t->n++] = i;
	return !t->options.longest || keep_longest(t, t->options.longest);
}

struct mprof_threads *mprof_threads_new(const struct mprof_model_view *view,
					const struct mprof_threads_options *options)
{
	struct mprof_threads *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->view = view;
	t->options = *options;
	return find_samples(t) && choose(t) ? t : mprof_threads_free(t);
}

struct mprof_threads *mprof_threads_free(struct mprof_threads *t)
{
	if (t) {
		free(t->sampled);
		free(t->list);
	}
	free(t);
	return NULL;
}

const uint32_t *mprof_threads_list(const struct mprof_threads *t, uint32_t *n)
{
	*n = t->n;
	return t->list;
}

/*
 * Return the last sample of thread I, if it has not ended and is in a state that its ring does not tell; else NULL. If the
 * thread waits by its ring, only a stop since the wait began counts.
 */
static const struct mprof_state *sample_of(const struct mprof_threads *t, uint32_t i)
{
	const struct mprof_model_view *v = t->view;
	uint32_t sample = t->sampled ? t->sampled[i] : MPROF_NONE, link;

	if (sample == MPROF_NONE || (v->threads[i].flags & MPROF_THREAD_RESOLVED) ||
	    v->states[sample].kind == MPROF_STATE_waits || v->states[sample].kind >= MPROF_STATE_KINDS)
		return NULL;
	link = mprof_why_link(t->options.why, mprof_why_final(t->options.why, i));
	if (link != MPROF_NONE &&
	    (v->states[sample].time < v->interactions[link].time || !mprof_state_is_stop(v->states[sample].kind)))
		return NULL;
	return &v->states[sample];
}

static const char *state_of(const struct mprof_thread *thread)
{
	if (thread->becomes != MPROF_NONE)
		return "became";
	if (thread->flags & MPROF_THREAD_RESOLVED)
		return thread->failure == MPROF_NONE ? "resolved" : "failed";
	return (thread->flags & (MPROF_THREAD_NEVER_RESOLVED | MPROF_THREAD_END_UNSEEN)) == MPROF_THREAD_NEVER_RESOLVED
		       ? "never resolved"
		       : "unresolved";
}

static uint32_t named(const struct mprof_threads *t, uint32_t i)
{
	return i == MPROF_NONE || t->view->threads[i].flags & MPROF_THREAD_ROOT ? MPROF_NONE : i;
}

struct mprof_threads_entry mprof_threads_ask(const struct mprof_threads *t, uint32_t i)
{
	const struct mprof_thread *thread = &t->view->threads[i];

	return (struct mprof_threads_entry){
		.state = state_of(thread),
		.sample = sample_of(t, i),
		.label = thread_label(t->view, i),
		.became = named(t, thread->becomes),
		.parent = named(t, thread->parent),
		.ends = !(thread->flags & MPROF_THREAD_ENDED) || !why_end_is_unknown(t->view, i),
	};
}

static void put_id(const struct answer_trace *t, struct mprof_json *j, const char *key, uint32_t i)
{
	if (i == MPROF_NONE)
		mprof_json_null(j, key);
	else
		mprof_json_number(j, key, t->view->threads[i].id);
}

static void put_sample(const struct answer_trace *t, struct mprof_json *j, const struct mprof_state *sample)
{
	if (!sample) {
		mprof_json_null(j, "sample");
		return;
	}
	mprof_json_open(j, "sample", '{');
	mprof_json_time(j, "time_ns", sample->time);
	mprof_json_time(j, "processor_ns", sample->processor_ns);
	answer_put_string(t, j, "state", sample->text);
	mprof_json_close(j, '}');
}

static void put_thread(const struct mprof_threads *t, const struct answer_trace *a, struct mprof_json *j, uint32_t i)
{
	const struct mprof_thread *thread = &t->view->threads[i];
	const struct mprof_threads_entry entry = mprof_threads_ask(t, i);

	mprof_json_number(j, "thread", thread->id);
	mprof_json_word(j, "type", mprof_thread_type_name(thread->type));
	mprof_json_time(j, "start_ns", thread->start);
	if (entry.ends)
		mprof_json_time(j, "end_ns", thread->end);
	else
		mprof_json_null(j, "end_ns");
	mprof_json_word(j, "state", entry.state);
	put_id(a, j, "became", entry.became);
	put_id(a, j, "parent", entry.parent);
	answer_put_string(a, j, "label", entry.label);
	answer_put_string(a, j, "failure", thread->failure);
	put_sample(a, j, entry.sample);
	mprof_json_boolean(j, "should_resolve", thread->flags & MPROF_THREAD_SHOULD_RESOLVE);
	if (t->options.streams)
		mprof_json_word(j, "stream", t->options.streams[thread->stream]);
}

void mprof_threads_write(const struct mprof_threads *t, struct mprof_json *j)
{
	const struct answer_trace a = {.view = t->view};

	mprof_json_open(j, "threads", '[');
	for (uint32_t i = 0; i < t->n; i++) {
		mprof_json_open(j, NULL, '{');
		put_thread(t, &a, j, t->list[i]);
		mprof_json_close(j, '}');
	}
	mprof_json_close(j, ']');
}

/* ---- what only a page shows ---- */

static void put_index(struct mprof_json *j, const char *key, uint32_t i)
{
	if (i == MPROF_NONE)
		mprof_json_null(j, key);
	else
		mprof_json_number(j, key, i);
}

static void put_flags(struct mprof_json *j, uint8_t flags)
{
	static const char *const names[] = {"root",	      "preexisting",	"resolved",   "ended",
					    "should_resolve", "never_resolved", "simplified", "end_unseen"};

	mprof_json_open(j, "flags", '[');
	for (uint32_t i = 0; i < 8; i++)
		if (flags >> i & 1)
			mprof_json_word(j, NULL, names[i]);
	mprof_json_close(j, ']');
}

static void put_labels(const struct mprof_model_view *v, struct mprof_json *j, uint32_t label)
{
	char text[MPROF_JSON_SHOWN_MAX + 64];
	size_t n;

	mprof_json_open(j, "labels", '[');
	for (uint32_t i = 0; i < MPROF_THREADS_LABELS_MAX && label != MPROF_NONE; i++, label = v->labels[label].next) {
		n = mprof_label_text(v, label, text, sizeof(text));
		mprof_json_open(j, NULL, '{');
		mprof_json_time(j, "time_ns", v->labels[label].time);
		mprof_json_text(j, "text", text, n < sizeof(text) ? n : sizeof(text) - 1);
		mprof_json_close(j, '}');
	}
	mprof_json_close(j, ']');
}

/* Write how often THREAD ran, and for how long. */
static void put_ran(const struct mprof_model_view *v, struct mprof_json *j, const struct mprof_thread *thread)
{
	uint64_t ran = 0, n = 0;

	for (uint32_t i = thread->first_activation; i != MPROF_NONE; i = v->activations[i].next, n++)
		ran += v->activations[i].end - v->activations[i].start;
	mprof_json_time(j, "ran_ns", ran);
	mprof_json_number(j, "activations", (int64_t)n);
}

enum mprof_status mprof_threads_write_one(const struct mprof_threads *t, uint32_t i,
					  struct mprof_explanation *explanation, struct mprof_json *j)
{
	const struct answer_trace a = {.view = t->view, .explanation = explanation};
	const struct mprof_thread *thread = &t->view->threads[i];

	put_thread(t, &a, j, i);
	mprof_json_number(j, "index", i);
	put_index(j, "row", thread->row);
	put_index(j, "becomes", named(t, thread->becomes));
	put_index(j, "resolver", named(t, thread->resolver));
	mprof_json_time(j, "created_ns", thread->created);
	put_flags(j, thread->flags);
	put_labels(t->view, j, thread->first_label);
	put_ran(t->view, j, thread);
	return answer_put_story(&a, j, "story", mprof_explanation_thread(explanation, i));
}
