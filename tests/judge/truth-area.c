/*
 * The threads of an area (<mprof/area-report.h>): the page's table, over the whole picture. Each group has the threads of
 * one label and type, and how long they lived, ran and waited. Where a part of the trace is hidden, the answer has a
 * hole (its member `coverage`), or its numbers are true.
 */
#include "truth.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/area-report.h>

#include "answers.h"
#include "merge.h"
#include "modeller.h"

/* Sums of the threads with one label. */
struct lives {
	unsigned threads;
	uint64_t alive;
	bool ended; /* all of them */
	bool ran;   /* one of them for some time */
};

/*
 * Return when THREAD did something last, of what the recorder writes, before the end of the trace: how long it runs behind that, no trace
 * can tell.
 */
static uint64_t last_of(const struct trial *t, int thread)
{
	uint64_t last = 0;

	for (unsigned i = 0; i < t->world->n_facts && t->world->facts[i].time <= t->recording->until; i++)
		if (t->world->facts[i].thread == thread && t->recording->facts[i].ring != WORLD_NONE)
			last = t->world->facts[i].time;
	return last;
}

/* Return whether THREAD ran for some time up to the last that it did: it runs while it is in no wait. */
static bool has_run(const struct trial *t, int thread)
{
	const struct thread *it = &t->world->threads[thread];
	uint64_t end = last_of(t, thread), waited = 0;

	for (unsigned i = 0; i < t->world->n_waits; i++) {
		const struct wait *w = &t->world->waits[i];

		if (w->thread == thread && w->begin < end)
			waited += (w->end < end ? w->end : end) - w->begin;
	}
	return end > it->begin && end - it->begin > waited;
}

static struct lives lives_of(const struct trial *t, int program)
{
	struct lives l = {.ended = true};

	for (unsigned i = 0; i < t->world->n_threads; i++) {
		const struct thread *it = &t->world->threads[i];

		if (it->process != t->recording->process || it->program != program || it->begin > t->recording->until)
			continue;
		/* The recorder does not know since when the first thread of a process lives. */
		l.ended = l.ended && it->creator != WORLD_NONE && t->world->threads[it->creator].process == it->process;
		l.threads++;
		l.ended = l.ended && it->end <= t->recording->until;
		l.alive += it->end - it->created;
		l.ran = l.ran || has_run(t, (int)i);
	}
	return l;
}

/* Return whether TIME, a member of an answer, is said to be 0. */
static bool is_zero(const json_t *json, const char *time)
{
	const char *text = answers_text(json, time);

	return text && strcmp(text, "0") == 0;
}

/* Judge GROUP of an answer that HAS all, by the answer's own words. */
static void judge_group(const struct trial *t, const json_t *group, bool has)
{
	const char *label = answers_text(group, "label");
	unsigned threads = (unsigned)answers_number(group, "threads");
	uint64_t alive = answers_time(group, "alive_ns");
	struct lives l;
	int program;

	if (!label || strcmp(answers_text(group, "type"), "Task") != 0 || sscanf(label, "program%d", &program) != 1)
		return;
	l = lives_of(t, program);
	figures_note(t->figures, SENTENCE_AREA_THREADS, has ? threads == l.threads : threads <= l.threads,
		     "%u threads \"%s\", not %s%u", l.threads, label, has ? "" : "at least ", threads);
	if (l.ended && has && !t->recording->hiding->step)
		figures_note(t->figures, SENTENCE_AREA_ALIVE, alive == l.alive,
			     "\"%s\" lived %" PRIu64 " ns, not %" PRIu64, label, l.alive, alive);
	if (has && !t->recording->hiding->step)
		figures_note(t->figures, SENTENCE_AREA_SUMS, answers_time(group, "running_ns") <= alive,
			     "\"%s\" ran longer than it lived", label);
	if (is_zero(group, "running_ns"))
		figures_note(t->figures, SENTENCE_AREA_NONE, !l.ran, "\"%s\" ran", label);
}

/* Judge the totals of an answer that HAS all. */
static void judge_totals(const struct trial *t, const json_t *totals, bool has)
{
	bool lost = t->recording->cut;

	if (json_is_integer(json_object_get(totals, "lost_packets")))
		figures_note(t->figures, SENTENCE_AREA_NONE, !lost || answers_number(totals, "lost_packets"),
			     "a packet is missing, and none is said to be");
	if (has)
		figures_note(t->figures, SENTENCE_AREA_NONE, !lost, "a packet is missing, and no hole is named");
}

static void put(void *context, const char *text, size_t n)
{
	fwrite(text, 1, n, context);
}

/* Return the answer about all of V, which the caller decrefs; NULL without memory. */
static json_t *ask(const struct mprof_model_view *v)
{
	const struct mprof_area_place all = {0, UINT64_MAX, 0, UINT32_MAX};
	struct mprof_area_report r = {.view = v, .area = mprof_area_new(v, &all), .text = "", .most = UINT32_MAX};
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	struct mprof_json j = {.put = put, .context = out};
	json_t *answer = NULL;

	if (out && r.area) {
		mprof_json_open(&j, NULL, '{');
		mprof_area_write(&r, &j);
		mprof_json_close(&j, '}');
	}
	if (out && fclose(out) == 0)
		answer = json_loadb(text, n, 0, NULL);
	free(text);
	mprof_area_free(r.area);
	return answer;
}

static bool judge_view(const struct trial *t, const struct mprof_model_view *v)
{
	json_t *answer = ask(v), *group;
	bool has = json_is_null(json_object_get(answer, "coverage"));
	size_t i;

	json_array_foreach(json_object_get(answer, "groups"), i, group) judge_group(t, group, has);
	judge_totals(t, json_object_get(answer, "totals"), has);
	json_decref(answer);
	return answer;
}

bool truth_of_area(const struct trial *t, const char *path)
{
	struct period period = {0};
	struct modeller m;
	struct merge merge = {.consumer = &m.consumer};
	bool good = modeller_init(&m, &period, true) && merge_add_directory(&merge, path) == 0;

	good = good && merge_run(&merge) == 0 && modeller_finish(&m);
	if (good && !t->recording->lwt)
		good = judge_view(t, m.view);
	merge_deinit(&merge);
	modeller_deinit(&m);
	return good;
}
