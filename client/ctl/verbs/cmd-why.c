/*
 * `mprofctl why`: explain why threads wait.
 *
 * Without a name the answer has each distinct thing that threads wait for once, the causes of a hang first
 * (<mprof/waits.h>). With --json the answers are printed as JSON. For people libmprof turns the answers into sentences
 * (<mprof/explanation.h>).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answer-output.h"
#include "array.h"
#include "cleanup.h"
#include "end-reason.h"
#include "input.h"
#include "modeller.h"
#include "table.h"
#include "verbs.h"
#include "why-answer.h"

#define ALL_MAX 10000u /* answers with --all */

/*
 * Flags of a thread. CHOSEN: the user asks about this thread. ANSWERED: there is an answer for this
 * thread, or for a thread that became an alias of this thread.
 */
enum { CHOSEN = 1, ANSWERED = 2 };

struct query {
	struct modeller modeller;
	const struct period *period; /* borrowed */
	struct mprof_why *why;
	struct mprof_waits *waits; /* NULL if the user names a thread */
	bool all;		   /* list every thread that waits, not each thing that threads wait for once */
	uint8_t *chosen;	   /* flags of each thread */
	uint32_t n;		   /* number of answers, also of those beyond MAX */
	uint32_t max;		   /* most answers that are given */
	/* The subjects of the first MAX answers. One about a single thread has only THREAD. */
	struct mprof_waits_group *asked;
	/* Number of threads that the program marked to be resolved. */
	uint32_t marked;
};

static void query_deinit(struct query *q)
{
	q->waits = mprof_waits_free(q->waits);
	q->why = mprof_why_free(q->why);
	modeller_deinit(&q->modeller);
	free(q->chosen);
	free(q->asked);
}

static bool in_period(const struct query *q, uint32_t thread)
{
	return q->modeller.view->threads[thread].created >= period_from(q->period);
}

/*
 * Choose the threads whose id is the number NAME. Return false if NAME is no number or no thread in
 * the period has that id.
 */
static bool choose_id(struct query *q, const char *name)
{
	const struct mprof_model_view *v = q->modeller.view;
	bool found = false;
	char *end;
	long long id;

	errno = 0;
	id = strtoll(name, &end, 10);
	if (end == name || *end || errno)
		return false;
	for (uint32_t i = 0; i < v->n_threads; i++)
		if (v->threads[i].id == id && !(v->threads[i].flags & MPROF_THREAD_ROOT) && in_period(q, i)) {
			q->chosen[i] = CHOSEN;
			found = true;
		}
	return found;
}

static bool choose_labelled(struct query *q, const char *glob)
{
	CLEANUP(freep) uint8_t *labelled = modeller_labelled(&q->modeller, glob);
	const struct mprof_model_view *v = q->modeller.view;

	if (!labelled)
		return false;
	for (uint32_t i = 0; i < v->n_threads; i++)
		if (labelled[i] && !(v->threads[i].flags & MPROF_THREAD_ROOT) && in_period(q, i))
			q->chosen[i] = CHOSEN;
	return true;
}

/* Count in Q->marked the threads of the period that the program marked to be resolved. */
static void count_marked(struct query *q)
{
	const struct mprof_model_view *v = q->modeller.view;

	for (uint32_t i = 0; i < v->n_expectations; i++)
		q->marked += in_period(q, v->expectations[i].thread) &&
			     !(v->threads[v->expectations[i].final].flags & MPROF_THREAD_ROOT);
}

/*
 * Choose the threads that the program marked to be resolved and that never were; if it marked none, all threads
 * that wait.
 */
static void choose_all(struct query *q)
{
	const struct mprof_model_view *v = q->modeller.view;

	for (uint32_t i = 0; i < v->n_expectations; i++) {
		const struct mprof_expectation *e = &v->expectations[i];

		if (in_period(q, e->thread) &&
		    !(v->threads[e->final].flags & (MPROF_THREAD_RESOLVED | MPROF_THREAD_ROOT)))
			q->chosen[e->thread] = CHOSEN;
	}
	for (uint32_t i = 0; i < v->n_threads && !v->n_expectations; i++)
		if (in_period(q, i) && mprof_why_final(q->why, i) == i && mprof_why_link(q->why, i) != MPROF_NONE)
			q->chosen[i] = CHOSEN;
}

/* Choose the threads with the id or the label NAME. Without a name group all threads that wait, and choose with --all. */
static bool choose(struct query *q, const char *name)
{
	q->max = q->all ? ALL_MAX : MPROF_WHY_ANSWERS_MAX;
	q->asked = malloc(q->max * sizeof(*q->asked));
	q->chosen = calloc((size_t)q->modeller.view->n_threads + 1, 1);
	if (!q->asked || !q->chosen)
		return false;
	count_marked(q);
	if (name)
		return choose_id(q, name) || choose_labelled(q, name);
	if (q->all)
		choose_all(q);
	q->waits = mprof_waits_new(q->modeller.view, q->why);
	return q->waits != NULL;
}

/* Ask about GROUP, or count it. */
static void ask(struct query *q, const struct mprof_waits_group *group)
{
	if (q->n++ < q->max)
		q->asked[q->n - 1] = *group;
}

/* Ask about the groups of threads that wait. */
static void ask_groups(struct query *q)
{
	uint32_t n, shown = mprof_waits_shown(q->waits);
	const struct mprof_waits_group *groups = mprof_waits_groups(q->waits, &n);

	for (uint32_t i = 0; i < shown && i < n; i++)
		if (in_period(q, groups[i].thread))
			ask(q, &groups[i]);
}

/*
 * Ask about the chosen threads: the resolved ones if RESOLVED is true, otherwise the unresolved ones. Threads that
 * became aliases of the same thread share one answer.
 */
static void ask_chosen(struct query *q, bool resolved)
{
	const struct mprof_model_view *v = q->modeller.view;
	uint32_t final;

	for (uint32_t i = 0; i < v->n_threads; i++) {
		final = mprof_why_final(q->why, i);
		if (!(q->chosen[i] & CHOSEN) || (q->chosen[final] & ANSWERED) ||
		    !(v->threads[final].flags & MPROF_THREAD_RESOLVED) == resolved)
			continue;
		q->chosen[final] |= ANSWERED;
		ask(q, &(struct mprof_waits_group){.thread = i});
	}
}

/* Return the answer to Q. Q owns what the answer points to. */
static struct mprof_why_report report_of(const struct query *q, const struct input *in)
{
	uint32_t n = q->n < q->max ? q->n : q->max;
	struct mprof_why_report r = {
		.view = q->modeller.view,
		.why = q->why,
		.waits = q->waits,
		.streams = q->modeller.names,
		.asked = q->asked,
		.n = n,
		.left_out = q->n - n,
		.should_resolve = q->marked,
		.cut_bytes = in->cut_bytes,
		.damages = in->damages,
	};

	for (unsigned int i = 0; i < in->streams; i++) {
		r.lost_packets += in->stream[i].totals.lost_packets;
		r.unproven_events += in->stream[i].totals.unproven;
	}
	return r;
}

/* Print R as JSON. Return an exit code. */
static int print_json(const struct mprof_why_report *r, struct timing *timing)
{
	struct mprof_json j = answer_output(timing);

	mprof_json_open(&j, NULL, '{');
	if (mprof_why_write(r, &j) != MPROF_OK)
		return say_memory();
	answer_output_uncertainty(timing, &j);
	return answer_output_end(&j);
}

static int query_print(struct query *q, struct trace_args *from)
{
	const struct operands *left = &from->left;
	const char *name = from->rest;
	struct mprof_why_report report;

	if (!modeller_finish(&q->modeller))
		return say_memory();
	q->why = mprof_why_new(q->modeller.view);
	if (!q->why || !choose(q, name))
		return say_memory();
	if (q->waits && !q->all) {
		ask_groups(q);
	} else {
		ask_chosen(q, false);
		ask_chosen(q, true);
	}
	if (name && !q->n) {
		say("there is no thread with the id or a label like \"%s\"", name);
		return CTL_NOT_FOUND;
	}
	modeller_range(&q->modeller, &from->timing);
	report = report_of(q, &from->in);
	if (from->ctl->json)
		return print_json(&report, &from->timing);
	/* The threads that ran last are told if the guest crashed or may have crashed. */
	return why_show(&report, &from->timing,
			end_reason_is_crash(from->ctl, left->at[0], &from->selection) ? &q->modeller : NULL);
}

int cmd_why(const struct ctl *ctl, int argc, char **argv)
{
	CLEANUP(trace_args_deinit) struct trace_args args = {0};
	CLEANUP(query_deinit) struct query a = {0};
	struct options o;
	int r = trace_args_parse(&args, ctl, argc, argv, &o), printed;

	if (r)
		return r;
	a.all = o.all;
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
