/* The answers of `mprofctl threads` and `mprofctl stats`. */
#include "truth.h"

#include <inttypes.h>
#include <string.h>

#include "answers.h"

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
		return;
	}
	figures_note(t->figures, SENTENCE_STATE, end != WORLD_NEVER, "%" PRId64 " is not \"%s\"",
		     answers_number(it, "thread"), state);
	if (end != WORLD_NEVER)
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

static void judge_stream(const struct trial *t, const json_t *stream)
{
	double share = json_number_value(json_object_get(stream, "sleeping_share"));

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
