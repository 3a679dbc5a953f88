/* The answers of `mprofctl threads` and `mprofctl stats`. */
#include "truth.h"

#include <inttypes.h>
#include <string.h>

#include "answers.h"

/* Return the time of the last fact of THREAD in the trace, up to the trace's end; 0 without one. */
static uint64_t last_of(const struct trial *t, int thread)
{
	uint64_t last = 0;

	for (unsigned i = 0; i < t->world->n_facts && t->world->facts[i].time <= t->recording->until; i++)
		if (t->world->facts[i].thread == thread && recording_shows(t->recording, i))
			last = t->world->facts[i].time;
	return last;
}

/* A thread that has not ended lives as long as anything is known of it. */
static void judge_living(const struct trial *t, int thread, uint64_t said)
{
	uint64_t last = last_of(t, thread);

	if (recording_is_whole(t->recording) && !t->recording->lwt)
		figures_note(t->figures, SENTENCE_ENDS, said >= last,
			     "thread %d lives at %" PRIu64 ", not until %" PRIu64, thread, last, said);
}

static void judge_thread(const struct trial *t, const json_t *it)
{
	struct entity e = recording_entity(t->recording, answers_number(it, "thread"));
	const char *state = answers_text(it, "state");
	uint64_t end, said = answers_time(it, "end_ns");

	if (e.object != WORLD_NONE || (e.thread == WORLD_NONE && e.wait == WORLD_NONE))
		return;
	end = e.thread != WORLD_NONE ? t->world->threads[e.thread].end : recording_end(t->recording, e.wait);
	end = end > t->recording->until ? WORLD_NEVER : end;
	if (strcmp(state, "resolved") != 0 && strcmp(state, "failed") != 0) {
		figures_note(t->figures, SENTENCE_STATE, end == WORLD_NEVER || strcmp(state, "unresolved") == 0,
			     "%" PRId64 " is not \"%s\": it ended at %" PRIu64, answers_number(it, "thread"), state,
			     end);
		if (end == WORLD_NEVER && e.thread != WORLD_NONE)
			judge_living(t, e.thread, said);
		return;
	}
	figures_note(t->figures, SENTENCE_STATE, end != WORLD_NEVER, "%" PRId64 " is not \"%s\"",
		     answers_number(it, "thread"), state);
	if (end != WORLD_NEVER && !json_is_null(json_object_get(it, "end_ns")))
		figures_note(t->figures, SENTENCE_ENDS, said == recording_clock(t->recording, end),
			     "%" PRId64 " ended at %" PRIu64 ", not at %" PRIu64, answers_number(it, "thread"), end,
			     said);
}

void truth_of_threads(const struct trial *t, const json_t *answer)
{
	json_t *it;
	size_t i;

	json_array_foreach(json_object_get(answer, "threads"), i, it) judge_thread(t, it);
}

/* Return for how long THREAD, which has ended, ran: it runs while it is in no wait. */
static uint64_t running_of(const struct trial *t, int thread)
{
	const struct thread *it = &t->world->threads[thread];
	uint64_t ns = it->end - it->begin;

	for (unsigned i = 0; i < t->world->n_waits; i++)
		if (t->world->waits[i].thread == thread)
			ns -= t->world->waits[i].end - t->world->waits[i].begin;
	return ns;
}

static void judge_busiest(const struct trial *t, const json_t *it)
{
	struct entity e = recording_entity(t->recording, answers_number(it, "thread"));
	uint64_t said = (uint64_t)answers_number(it, "running_ns"), ns;

	if (e.thread == WORLD_NONE || t->world->threads[e.thread].end > t->recording->until)
		return;
	ns = running_of(t, e.thread);
	figures_note(t->figures, SENTENCE_RUNNING, said == ns, "%" PRId64 " ran %" PRIu64 " ns, not %" PRIu64,
		     answers_number(it, "thread"), ns, said);
}

static void judge_stream(const struct trial *t, const json_t *stream)
{
	json_t *it;
	size_t i;
	double share = json_number_value(json_object_get(stream, "sleeping_share"));

	if (recording_is_whole(t->recording) && !t->recording->lwt)
		json_array_foreach(json_object_get(stream, "busiest"), i, it) judge_busiest(t, it);
	if (json_is_number(json_object_get(stream, "sleeping_share")))
		figures_note(t->figures, SENTENCE_SHARE, share >= 0 && share <= 1, "it is %g", share);
}

void truth_of_stats(const struct trial *t, const json_t *answer)
{
	int64_t lost = answers_number(answer, "lost_packets");
	json_t *it;
	size_t i;

	judge_stream(t, answer);
	json_array_foreach(json_object_get(answer, "streams"), i, it) judge_stream(t, it);
	/* A ring that forgot its beginning has lost nothing that a reader could count. */
	figures_note(t->figures, SENTENCE_LOST, lost == (int64_t)t->recording->cut || lost > 1,
		     "%" PRId64 " packets, and %d is missing", lost, t->recording->cut);
}
