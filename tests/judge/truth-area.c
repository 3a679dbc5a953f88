/*
 * The threads of an area (<mprof/area.h>): the page's table, over the whole picture. Each group has the threads of
 * one label and type, and how long they lived, ran and waited.
 */
#include "truth.h"

#include <inttypes.h>
#include <string.h>

#include <mprof/area.h>

#include "merge.h"
#include "modeller.h"

/* Sums of the threads with one label. */
struct lives {
	unsigned threads;
	uint64_t alive;
	bool ended; /* all of them */
};

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
	}
	return l;
}

static void judge_group(const struct trial *t, const struct mprof_model_view *v, const struct mprof_area_group *g)
{
	const struct mprof_string *s = g->label == MPROF_NONE ? NULL : &v->strings[g->label];
	char label[32] = "";
	struct lives l;
	int program;

	if (!s || s->bytes >= sizeof(label) || g->type != MPROF_THREAD_Task)
		return;
	memcpy(label, v->text + s->offset, s->bytes);
	if (sscanf(label, "program%d", &program) != 1)
		return;
	l = lives_of(t, program);
	figures_note(t->figures, SENTENCE_AREA_THREADS, g->threads == l.threads, "%" PRIu32 " threads \"%s\", not %u",
		     g->threads, label, l.threads);
	if (l.ended)
		figures_note(t->figures, SENTENCE_AREA_ALIVE, g->alive.total_ns == l.alive,
			     "\"%s\" lived %" PRIu64 " ns, not %" PRIu64, label, l.alive, g->alive.total_ns);
	figures_note(t->figures, SENTENCE_AREA_SUMS, g->running.total_ns <= g->alive.total_ns,
		     "\"%s\" ran longer than it lived", label);
}

static void judge_view(const struct trial *t, const struct mprof_model_view *v)
{
	const struct mprof_area_place all = {0, UINT64_MAX, 0, UINT32_MAX};
	struct mprof_area *a = mprof_area_new(v, &all);

	for (uint32_t i = 0; a && i < mprof_area_totals(a)->groups; i++)
		judge_group(t, v, &mprof_area_groups(a)[i]);
	mprof_area_free(a);
}

bool truth_of_area(const struct trial *t, const char *path)
{
	struct period period = {0};
	struct modeller m;
	struct merge merge = {.consumer = &m.consumer};
	bool good = modeller_init(&m, &period, true) && merge_add_directory(&merge, path) == 0;

	good = good && merge_run(&merge) == 0 && modeller_finish(&m);
	if (good && recording_is_whole(t->recording) && !t->recording->lwt)
		judge_view(t, m.view);
	merge_deinit(&merge);
	modeller_deinit(&m);
	return good;
}
