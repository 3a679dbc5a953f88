/*
 * `mprofctl threads`: list the threads of a trace, one per line.
 *
 * A trace may have millions of threads, so the lines are not kept in memory. They are made twice:
 * first to find the widths of the columns, then to print them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/why.h>

#include "array.h"
#include "cleanup.h"
#include "input.h"
#include "json-whole.h"
#include "json.h"
#include "modeller.h"
#include "table.h"
#include "verbs.h"

#define COLUMNS 7 /* number of columns with a short text; stream and label are printed separately */
struct threads {
	struct modeller modeller;
	struct timing *timing; /* borrowed */
	const char *label;     /* a glob pattern, or NULL; borrowed */
	bool unresolved;
	/* Most threads to list, longest first; MPROF_NONE = all, in the order of the trace. */
	uint32_t most;
	uint8_t *labelled;     /* if LABEL is set, by thread: 1 = a label of the thread matches LABEL */
	uint32_t *sampled;     /* by thread: the last sample of its state, or MPROF_NONE; NULL = no thread has one */
	struct mprof_why *why; /* if SAMPLED is set, to know which threads wait */
	uint32_t *list;	       /* numbers of the selected threads */
	uint32_t n;
};

static void threads_deinit(struct threads *t)
{
	mprof_why_free(t->why);
	modeller_deinit(&t->modeller);
	free(t->labelled);
	free(t->sampled);
	free(t->list);
}

static const struct mprof_model_view *view_of(const struct threads *t)
{
	return t->modeller.view;
}

static bool takes(const struct threads *t, uint32_t i)
{
	const struct mprof_thread *thread = &view_of(t)->threads[i];

	if (thread->flags & MPROF_THREAD_ROOT)
		return false;
	if (t->unresolved && (thread->flags & MPROF_THREAD_RESOLVED))
		return false;
	if (t->label && !t->labelled[i])
		return false;
	return thread->start <= period_to(&t->timing->period) && thread->end >= period_from(&t->timing->period);
}

/*
 * A comparison for qsort_r() of two thread numbers: the longer thread first; of equal ones the
 * lower number first. CONTEXT is the array of all threads.
 */
static int compare(const void *a, const void *b, void *context)
{
	const struct mprof_thread *threads = context;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	uint64_t x = threads[i].end - threads[i].start, y = threads[k].end - threads[k].start;

	return x != y ? (x > y ? -1 : 1) : i < k ? -1 : 1;
}

/* Find the last samples of all threads. Return false without memory. */
static bool find_samples(struct threads *t)
{
	const struct mprof_model_view *v = view_of(t);

	if (!v->n_states)
		return true;
	t->sampled = malloc(v->n_threads * sizeof(*t->sampled));
	t->why = mprof_why_new(v);
	if (!t->sampled || !t->why)
		return false;
	memset(t->sampled, 0xff, v->n_threads * sizeof(*t->sampled));
	for (uint32_t i = 0; i < v->n_states; i++)
		t->sampled[v->states[i].thread] = i;
	return true;
}

/*
 * Return the last sample of thread I, if it has not ended and is in a state that its ring does not tell; else NULL. If the
 * thread waits by its ring, only a stop since the wait began counts.
 */
static const struct mprof_state *sample_of(const struct threads *t, uint32_t i)
{
	const struct mprof_model_view *v = view_of(t);
	uint32_t sample = t->sampled ? t->sampled[i] : MPROF_NONE, link;

	if (sample == MPROF_NONE || (v->threads[i].flags & MPROF_THREAD_RESOLVED) ||
	    v->states[sample].kind >= MPROF_STATE_waits)
		return NULL;
	link = mprof_why_link(t->why, mprof_why_final(t->why, i));
	if (link != MPROF_NONE &&
	    (v->states[sample].time < v->interactions[link].time || !mprof_state_is_stop(v->states[sample].kind)))
		return NULL;
	return &v->states[sample];
}

static bool choose(struct threads *t)
{
	const struct mprof_model_view *v = view_of(t);

	t->labelled = t->label ? modeller_labelled(&t->modeller, t->label) : NULL;
	t->list = calloc((size_t)v->n_threads + 1, sizeof(*t->list));
	if ((t->label && !t->labelled) || !t->list)
		return false;
	for (uint32_t i = 0; i < v->n_threads; i++)
		if (takes(t, i))
			t->list[t->n++] = i;
	if (t->most == MPROF_NONE)
		return true;
	qsort_r(t->list, t->n, sizeof(*t->list), compare, (void *)v->threads);
	t->n = t->n < t->most ? t->n : t->most;
	return true;
}

static uint32_t first_label(const struct mprof_model_view *v, const struct mprof_thread *thread)
{
	uint32_t i = thread->first_label;

	while (i != MPROF_NONE && v->labels[i].sample != MPROF_NONE)
		i = v->labels[i].next;
	return i == MPROF_NONE ? MPROF_NONE : v->labels[i].text;
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

/*
 * Return whether the end of I is known: where the clock of its guest went back, a thread may have ended before it began by
 * that clock, and the model then lets it end where it began.
 */
static bool end_is_known(const struct threads *t, uint32_t i)
{
	const struct mprof_model_view *v = view_of(t);
	const struct mprof_thread *thread = &v->threads[i];

	if (thread->end != thread->start || !(thread->flags & MPROF_THREAD_ENDED))
		return true;
	for (uint32_t k = 0; k < v->n_streams; k++)
		if (v->streams[k].guest == v->streams[thread->stream].guest && v->streams[k].back_to)
			return false;
	return true;
}

struct line {
	char cell[COLUMNS][TIMING_TEXT_MAX];
};

/*
 * Write the texts of thread I's columns to LINE. The name of its stream is not in LINE, because it
 * has no length limit.
 */
static void line_make(const struct threads *t, uint32_t i, struct line *line)
{
	const struct mprof_thread *threads = view_of(t)->threads, *thread = &threads[i];
	const struct mprof_thread *parent = &threads[thread->parent];
	const struct mprof_state *sample = sample_of(t, i);

	memset(line, 0, sizeof(*line));
	snprintf(line->cell[0], sizeof(line->cell[0]), "%" PRId64, thread->id);
	snprintf(line->cell[1], sizeof(line->cell[1]), "%s", mprof_thread_type_name(thread->type));
	timing_text(t->timing, thread->start, line->cell[2]);
	if (end_is_known(t, i))
		span_text(thread->end - thread->start, line->cell[3], sizeof(line->cell[3]));
	else
		snprintf(line->cell[3], sizeof(line->cell[3]), "unknown");
	snprintf(line->cell[4], sizeof(line->cell[4]), "%s%s%s", state_of(thread), sample ? ", " : "",
		 sample ? mprof_why_state_name((enum mprof_state_kind)sample->kind) : "");
	if (thread->becomes != MPROF_NONE)
		snprintf(line->cell[5], sizeof(line->cell[5]), "%" PRId64, threads[thread->becomes].id);
	else
		snprintf(line->cell[5], sizeof(line->cell[5]), "-");
	if (parent->flags & MPROF_THREAD_ROOT)
		snprintf(line->cell[6], sizeof(line->cell[6]), "-");
	else
		snprintf(line->cell[6], sizeof(line->cell[6]), "%" PRId64, parent->id);
}

static void line_print(const struct line *line, const int *widths)
{
	static const bool right[COLUMNS] = {true, false, true, true, false, true, true};

	for (int i = 0; i < COLUMNS; i++)
		printf("%*s  ", right[i] ? widths[i] : -widths[i], line->cell[i]);
}

static bool line_tail(const struct threads *t, uint32_t i)
{
	const struct mprof_model_view *v = view_of(t);
	uint32_t text = first_label(v, &v->threads[i]);
	const struct mprof_string *s = text == MPROF_NONE ? NULL : &v->strings[text];
	CLEANUP(freep) char *label = s ? printable(s->bytes ? v->text + s->offset : "", s->bytes) : NULL;
	const char *name = t->modeller.names ? t->modeller.names[v->threads[i].stream] : NULL;
	CLEANUP(freep) char *stream = name ? printable(name, strlen(name)) : NULL;

	if ((s && !label) || (name && !stream))
		return false;
	printf("%s", label && label[0] ? label : "-");
	if (stream)
		printf("  stream=%s", stream);
	putchar('\n');
	return true;
}

static int show(const struct threads *t)
{
	static const struct line heads = {{"ID", "TYPE", "START", "DURATION", "STATE", "TO", "PARENT"}};
	int widths[COLUMNS], n;
	struct line line;

	for (int column = 0; column < COLUMNS; column++)
		widths[column] = (int)strlen(heads.cell[column]);
	for (uint32_t i = 0; i < t->n; i++) {
		line_make(t, t->list[i], &line);
		for (int column = 0; column < COLUMNS; column++) {
			n = (int)strlen(line.cell[column]);
			widths[column] = n > widths[column] ? n : widths[column];
		}
	}
	line_print(&heads, widths);
	puts("LABEL");
	for (uint32_t i = 0; i < t->n && !ferror(stdout); i++) {
		line_make(t, t->list[i], &line);
		line_print(&line, widths);
		if (!line_tail(t, t->list[i]))
			return say_memory();
	}
	return stdout_verdict();
}

static json_t *id_json(const struct threads *t, uint32_t i)
{
	if (i == MPROF_NONE || (view_of(t)->threads[i].flags & MPROF_THREAD_ROOT))
		return json_null();
	return json_integer(view_of(t)->threads[i].id);
}

static json_t *sample_json(const struct threads *t, uint32_t i)
{
	const struct mprof_state *sample = sample_of(t, i);

	if (!sample)
		return json_null();
	return json_pack("{so so so}", "time_ns", modeller_time(sample->time), "processor_ns",
			 modeller_time(sample->processor_ns), "state", modeller_string(&t->modeller, sample->text));
}

static json_t *entry_json(const struct threads *t, uint32_t i)
{
	const struct mprof_thread *thread = &view_of(t)->threads[i];
	json_t *object =
		json_pack("{sI ss so so ss so so so so}", "thread", (json_int_t)thread->id, "type",
			  mprof_thread_type_name(thread->type), "start_ns", modeller_time(thread->start), "end_ns",
			  end_is_known(t, i) ? modeller_time(thread->end) : json_null(), "state", state_of(thread),
			  "became", id_json(t, thread->becomes), "parent", id_json(t, thread->parent), "label",
			  modeller_string(&t->modeller, first_label(view_of(t), thread)), "failure",
			  modeller_string(&t->modeller, thread->failure));

	if (!timing_json_walls(t->timing, object))
		return json_decref(object), NULL;
	json_add_member(&object, "sample", sample_json(t, i));
	json_add_member(&object, "should_resolve", json_boolean(thread->flags & MPROF_THREAD_SHOULD_RESOLVE));
	if (t->modeller.names)
		json_add_member(
			&object, "stream",
			text_json(t->modeller.names[thread->stream], strlen(t->modeller.names[thread->stream])));
	return object;
}

static void print_uncertainty(const struct timing *timing)
{
	const struct clock_offset *c = &timing->clock;

	if (c->known && c->uncertainty_ns != UINT64_MAX)
		printf(", \"wall_uncertainty_ns\": \"%" PRIu64 "\"", c->uncertainty_ns);
	else
		fputs(", \"wall_uncertainty_ns\": null", stdout);
}

/*
 * Print the threads as JSON. One object is made, printed and freed at a time, because all together
 * may not fit in memory. Return an exit code.
 */
static int show_json(const struct threads *t)
{
	int r;

	printf("{\"threads\": [");
	for (uint32_t i = 0; i < t->n && !ferror(stdout); i++) {
		json_t *object = entry_json(t, t->list[i]);

		fputs(i ? ",\n  " : "\n  ", stdout);
		r = json_print_item(object);
		json_decref(object);
		if (r)
			return r;
	}
	fputs("\n]", stdout);
	if (t->timing->kind == TIME_WALL)
		print_uncertainty(t->timing);
	puts("}");
	return stdout_verdict();
}

static int take_most(struct threads *t, const char *longest, const char *verb)
{
	char *end;
	unsigned long n;

	t->most = MPROF_NONE;
	if (!longest)
		return CTL_OK;
	errno = 0;
	n = strtoul(longest, &end, 10);
	if (longest[0] < '0' || longest[0] > '9' || *end || errno || !n || n >= MPROF_NONE)
		return say_usage(verb, "--longest %s is not a number of threads", longest);
	t->most = (uint32_t)n;
	return CTL_OK;
}

static int threads_print(struct threads *t, bool json)
{
	if (!modeller_finish(&t->modeller) || !find_samples(t) || !choose(t))
		return say_memory();
	modeller_range(&t->modeller, t->timing);
	return json ? show_json(t) : show(t);
}

int cmd_threads(const struct ctl *ctl, int argc, char **argv)
{
	CLEANUP(trace_args_deinit) struct trace_args args = {0};
	CLEANUP(threads_deinit) struct threads t = {.timing = &args.timing};
	struct options o;
	int r = trace_args_parse(&args, ctl, argc, argv, &o), printed;

	t.label = o.label;
	t.unresolved = o.unresolved;
	r = r ? r : take_most(&t, o.longest, argv[0]);
	if (r)
		return r;
	if (!modeller_init(&t.modeller, &args.timing.period, false))
		return say_memory();
	args.selection.all = true; /* the rings of one program are one trace */
	r = trace_args_read(&args, &t.modeller.consumer);
	if (!trace_was_read(r))
		return r;
	printed = threads_print(&t, ctl->json);
	return printed ? printed : r;
}
