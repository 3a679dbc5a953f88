/*
 * `mprofctl why`: explain why threads wait.
 *
 * With --json the answers are printed as JSON. For people libmprof turns the answers into sentences
 * (<mprof/explanation.h>).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "end-reason.h"
#include "input.h"
#include "modeller.h"
#include "table.h"
#include "verbs.h"
#include "why-answer.h"

#define ANSWERS_MAX 100u

CLEANUP_DEFINE(struct mprof_explanation, mprof_explanation_free)

/*
 * Flags of a thread. CHOSEN: the user asks about this thread. ANSWERED: there is an answer for this
 * thread, or for a thread that became an alias of this thread.
 */
enum { CHOSEN = 1, ANSWERED = 2 };

struct query {
	struct modeller modeller;
	const struct period *period; /* borrowed */
	struct mprof_why *why;
	uint8_t *chosen; /* flags of each thread */
	uint32_t n;	 /* number of answers, also of those beyond ANSWERS_MAX */
	/* Threads of the first ANSWERS_MAX answers, in the order of the answers. */
	uint32_t answered[ANSWERS_MAX];
	/* Number of threads that the program marked to be resolved. */
	uint32_t marked;
	json_t *answers;
};

static void query_deinit(struct query *a)
{
	a->why = mprof_why_free(a->why);
	modeller_deinit(&a->modeller);
	free(a->chosen);
	json_decref(a->answers);
}

static bool in_period(const struct query *a, uint32_t thread)
{
	return a->modeller.view->threads[thread].created >= period_from(a->period);
}

/*
 * Choose the threads whose id is the number NAME. Return false if NAME is no number or no thread in
 * the period has that id.
 */
static bool choose_id(struct query *a, const char *name)
{
	const struct mprof_model_view *v = a->modeller.view;
	bool found = false;
	char *end;
	long long id;

	errno = 0;
	id = strtoll(name, &end, 10);
	if (end == name || *end || errno)
		return false;
	for (uint32_t i = 0; i < v->n_threads; i++)
		if (v->threads[i].id == id && !(v->threads[i].flags & MPROF_THREAD_ROOT) && in_period(a, i)) {
			a->chosen[i] = CHOSEN;
			found = true;
		}
	return found;
}

static bool choose_labelled(struct query *a, const char *glob)
{
	CLEANUP(freep) uint8_t *labelled = modeller_labelled(&a->modeller, glob);
	const struct mprof_model_view *v = a->modeller.view;

	if (!labelled)
		return false;
	for (uint32_t i = 0; i < v->n_threads; i++)
		if (labelled[i] && !(v->threads[i].flags & MPROF_THREAD_ROOT) && in_period(a, i))
			a->chosen[i] = CHOSEN;
	return true;
}

/*
 * Choose the threads that the program marked to be resolved and that never were. Count all marked
 * threads in A->marked.
 */
static void choose_expected(struct query *a)
{
	const struct mprof_model_view *v = a->modeller.view;

	for (uint32_t i = 0; i < v->n_expectations; i++) {
		const struct mprof_expectation *e = &v->expectations[i];

		if (!in_period(a, e->thread) || (v->threads[e->final].flags & MPROF_THREAD_ROOT))
			continue;
		a->marked++;
		if (!(v->threads[e->final].flags & MPROF_THREAD_RESOLVED))
			a->chosen[e->thread] = CHOSEN;
	}
}

static bool choose(struct query *a, const char *name)
{
	a->chosen = calloc((size_t)a->modeller.view->n_threads + 1, 1);
	if (!a->chosen)
		return false;
	choose_expected(a);
	if (!name)
		return true;
	memset(a->chosen, 0, a->modeller.view->n_threads);
	return choose_id(a, name) || choose_labelled(a, name);
}

/*
 * Append the answers for the chosen threads to A->answers: for the resolved threads if RESOLVED is
 * true, otherwise for the unresolved ones. Threads that became aliases of the same thread share one
 * answer. Return false without memory.
 */
static bool answer(struct query *a, bool resolved)
{
	const struct mprof_model_view *v = a->modeller.view;
	uint32_t final;

	for (uint32_t i = 0; i < v->n_threads; i++) {
		final = mprof_why_final(a->why, i);
		if (!(a->chosen[i] & CHOSEN) || (a->chosen[final] & ANSWERED) ||
		    !(v->threads[final].flags & MPROF_THREAD_RESOLVED) == resolved)
			continue;
		a->chosen[final] |= ANSWERED;
		if (a->n < ANSWERS_MAX)
			a->answered[a->n] = i;
		if (a->n++ < ANSWERS_MAX && json_array_append_new(a->answers, why_json(&a->modeller, a->why, i)) < 0)
			return false;
	}
	return true;
}

static json_t *query_json(struct query *a, const struct input *in)
{
	uint64_t lost = 0;
	json_t *object;

	a->answers = json_array();
	if (!a->answers || !answer(a, false) || !answer(a, true))
		return NULL;
	for (unsigned int i = 0; i < in->streams; i++)
		lost += in->stream[i].totals.lost_packets;
	object = json_pack("{sO sI sI sI sI so}", "answers", a->answers, "left_out",
			   (json_int_t)(a->n > ANSWERS_MAX ? a->n - ANSWERS_MAX : 0), "should_resolve",
			   (json_int_t)a->marked, "lost_packets", (json_int_t)lost, "cut_bytes",
			   (json_int_t)in->cut_bytes, "last", why_last_json(&a->modeller, a->why));
	return object;
}

/*
 * Print the answers in JSON as sentences. If LAST is true, also print which thread ran last,
 * because the guest crashed or may have crashed. Return an exit code.
 */
static int show(const struct query *a, const json_t *json, struct timing *timing, bool last)
{
	CLEANUP(mprof_explanation_freep)
	struct mprof_explanation *explanation = mprof_explanation_new(a->modeller.view, a->why, a->modeller.names);

	if (!explanation)
		return say_memory();
	return why_show(json, explanation, timing, a->answered, a->n < ANSWERS_MAX ? a->n : ANSWERS_MAX,
			!last			? 0
			: a->modeller.one_guest ? 1
						: a->modeller.view->n_streams);
}

static int query_print(struct query *a, struct trace_args *from)
{
	const struct operands *left = &from->left;
	const char *name = from->rest;
	json_t *json;
	int r;

	if (!modeller_finish(&a->modeller))
		return say_memory();
	a->why = mprof_why_new(a->modeller.view);
	if (!a->why || !choose(a, name))
		return say_memory();
	json = query_json(a, &from->in);
	if (!json)
		return say_memory();
	if (name && !a->n) {
		json_decref(json);
		say("there is no thread with the id or a label like \"%s\"", name);
		return CTL_NOT_FOUND;
	}
	modeller_range(&a->modeller, &from->timing);
	timing_json_walls(&from->timing, json);
	timing_json_uncertainty(&from->timing, json);
	r = from->ctl->json
		    ? json_print(json)
		    : show(a, json, &from->timing, end_reason_is_crash(from->ctl, left->at[0], &from->selection));
	json_decref(json);
	return r;
}

int cmd_why(const struct ctl *ctl, int argc, char **argv)
{
	CLEANUP(trace_args_deinit) struct trace_args args = {0};
	CLEANUP(query_deinit) struct query a = {0};
	int r = trace_args_parse(&args, ctl, argc, argv, NULL, 0, true), printed;

	if (r)
		return r;
	a.period = &args.timing.period;
	if (!modeller_init(&a.modeller, &args.timing.period, true))
		return say_memory();
	args.selection.all = true; /* the rings of one program are one trace */
	r = trace_args_read(&args, &a.modeller.consumer);
	if (!trace_was_read(r))
		return r;
	printed = query_print(&a, &args);
	return printed ? printed : r;
}
