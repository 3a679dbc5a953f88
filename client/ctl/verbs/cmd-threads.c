/*
 * `mprofctl threads`: list the threads of a trace, one per line.
 *
 * The answer is libmprof's (<mprof/threads-report.h>), which prints it as JSON; this file prints it as text. A trace may have millions of
 * threads, so the lines are not kept in memory. They are made twice: first to find the widths of the columns, then to print them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/threads-report.h>
#include <mprof/why.h>

#include "answer-output.h"
#include "cleanup.h"
#include "input.h"
#include "json.h"
#include "modeller.h"
#include "table.h"
#include "verbs.h"

#define COLUMNS 7 /* number of columns with a short text; stream and label are printed separately */
struct threads {
	struct modeller modeller;
	struct timing *timing; /* borrowed */
	uint8_t *labelled;     /* by thread: 1 = a label of the thread matches --label; NULL without --label */
	struct mprof_why *why; /* NULL if the trace has no states of threads */
	struct mprof_threads *answer;
};

static void threads_deinit(struct threads *t)
{
	mprof_threads_free(t->answer);
	mprof_why_free(t->why);
	modeller_deinit(&t->modeller);
	free(t->labelled);
}

static const struct mprof_model_view *view_of(const struct threads *t)
{
	return t->modeller.view;
}

struct line {
	char cell[COLUMNS][TIMING_TEXT_MAX];
};

/* Write the id of thread I to TEXT, or - if I is MPROF_NONE. */
static void cell_id(const struct threads *t, uint32_t i, char *text)
{
	if (i == MPROF_NONE)
		strcpy(text, "-");
	else
		snprintf(text, TIMING_TEXT_MAX, "%" PRId64, view_of(t)->threads[i].id);
}

/*
 * Write the texts of thread I's columns to LINE. The name of its stream is not in LINE, because it
 * has no length limit.
 */
static void line_make(const struct threads *t, uint32_t i, struct line *line)
{
	const struct mprof_thread *thread = &view_of(t)->threads[i];
	const struct mprof_threads_entry entry = mprof_threads_ask(t->answer, i);

	memset(line, 0, sizeof(*line));
	snprintf(line->cell[0], sizeof(line->cell[0]), "%" PRId64, thread->id);
	snprintf(line->cell[1], sizeof(line->cell[1]), "%s", mprof_thread_type_name(thread->type));
	timing_text(t->timing, thread->start, line->cell[2]);
	if (entry.ends)
		span_text(thread->end - thread->start, line->cell[3], sizeof(line->cell[3]));
	else
		snprintf(line->cell[3], sizeof(line->cell[3]), "unknown");
	snprintf(line->cell[4], sizeof(line->cell[4]), "%s%s%s", entry.state, entry.sample ? ", " : "",
		 entry.sample ? mprof_why_state_name((enum mprof_state_kind)entry.sample->kind) : "");
	cell_id(t, entry.became, line->cell[5]);
	cell_id(t, entry.parent, line->cell[6]);
}

static void line_print(const struct line *line, const int *widths)
{
	static const bool right[COLUMNS] = {true, false, true, true, false, true, true};

	for (int i = 0; i < COLUMNS; i++)
		printf("%*s  ", right[i] ? widths[i] : -widths[i], line->cell[i]);
}

static void line_tail(const struct threads *t, uint32_t i)
{
	const struct mprof_model_view *v = view_of(t);
	uint32_t label = mprof_threads_ask(t->answer, i).label;

	if (label != MPROF_NONE && v->strings[label].bytes)
		print_text(v->text + v->strings[label].offset, v->strings[label].bytes);
	else
		putchar('-');
	if (t->modeller.names) {
		fputs("  stream=", stdout);
		print_safe(t->modeller.names[v->threads[i].stream]);
	}
	putchar('\n');
}

static int show(const struct threads *t)
{
	static const struct line heads = {{"ID", "TYPE", "START", "DURATION", "STATE", "TO", "PARENT"}};
	int widths[COLUMNS], n;
	struct line line;
	uint32_t listed;
	const uint32_t *list = mprof_threads_list(t->answer, &listed);

	for (int column = 0; column < COLUMNS; column++)
		widths[column] = (int)strlen(heads.cell[column]);
	for (uint32_t i = 0; i < listed; i++) {
		line_make(t, list[i], &line);
		for (int column = 0; column < COLUMNS; column++) {
			n = (int)strlen(line.cell[column]);
			widths[column] = n > widths[column] ? n : widths[column];
		}
	}
	line_print(&heads, widths);
	puts("LABEL");
	for (uint32_t i = 0; i < listed && !ferror(stdout); i++) {
		line_make(t, list[i], &line);
		line_print(&line, widths);
		line_tail(t, list[i]);
	}
	return stdout_verdict();
}

static int show_json(const struct threads *t)
{
	struct mprof_json j = answer_output(t->timing);

	j.pretty = false;
	j.rows = true;
	mprof_json_open(&j, NULL, '{');
	mprof_threads_write(t->answer, &j);
	answer_output_uncertainty(t->timing, &j);
	return answer_output_end(&j);
}

/* Store the value of --longest, LONGEST, in *MOST; 0 without it. */
static int take_most(uint32_t *most, const char *longest, const char *verb)
{
	char *end;
	unsigned long n;

	if (!longest)
		return CTL_OK;
	errno = 0;
	n = strtoul(longest, &end, 10);
	if (longest[0] < '0' || longest[0] > '9' || *end || errno || !n || n >= MPROF_NONE)
		return say_usage(verb, "--longest %s is not a number of threads", longest);
	*most = (uint32_t)n;
	return CTL_OK;
}

/* Make the answer that OPTIONS, and --label of O, ask for. Return false without memory. */
static bool answer(struct threads *t, const struct options *o, struct mprof_threads_options *options)
{
	if (!modeller_finish(&t->modeller))
		return false;
	t->labelled = o->label ? modeller_labelled(&t->modeller, o->label) : NULL;
	t->why = view_of(t)->n_states ? mprof_why_new(view_of(t)) : NULL;
	if ((o->label && !t->labelled) || (view_of(t)->n_states && !t->why))
		return false;
	options->why = t->why;
	options->streams = t->modeller.names;
	options->chosen = t->labelled;
	options->from = period_from(&t->timing->period);
	options->to = period_to(&t->timing->period);
	t->answer = mprof_threads_new(view_of(t), options);
	return t->answer != NULL;
}

int cmd_threads(const struct ctl *ctl, int argc, char **argv)
{
	CLEANUP(trace_args_deinit) struct trace_args args = {0};
	CLEANUP(threads_deinit) struct threads t = {.timing = &args.timing};
	struct mprof_threads_options options = {0};
	struct options o;
	int r = trace_args_parse(&args, ctl, argc, argv, &o), printed;

	r = r ? r : take_most(&options.longest, o.longest, argv[0]);
	if (r)
		return r;
	options.unresolved = o.unresolved;
	if (!modeller_init(&t.modeller, &args.timing.period, false))
		return say_memory();
	args.selection.all = true; /* the rings of one program are one trace */
	r = trace_args_read(&args, &t.modeller.consumer);
	if (!trace_was_read(r))
		return r;
	if (!answer(&t, &o, &options))
		return say_memory();
	modeller_range(&t.modeller, t.timing);
	printed = ctl->json ? show_json(&t) : show(&t);
	return printed ? printed : r;
}
