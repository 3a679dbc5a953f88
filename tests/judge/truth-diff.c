/*
 * The answer of `mprofctl diff`: of a recording and itself, and of the whole recording and the one of which a part is
 * hidden. These are of the same history, so each difference is of the traces alone: an answer may not say that the program did
 * less, or more.
 */
#include "truth.h"

#include <inttypes.h>
#include <string.h>

#include "answers.h"

void truth_of_diff(const struct trial *t, const json_t *answer)
{
	figures_note(t->figures, SENTENCE_ALIKE,
		     !json_is_false(json_object_get(answer, "alike")) && !answers_number(answer, "partings"),
		     "the trace differs from itself");
	if (json_is_true(json_object_get(answer, "alike")))
		figures_note(t->figures, SENTENCE_ALIKE, !t->recording->cut,
			     "a packet is missing, and the answer has all threads and steps");
}

/* The compared runs: the recording of T, which may lack parts, is the run SIDE of the answer, the whole one OTHER. */
struct pair {
	const struct trial *t;
	const char *side, *other;
};

/* Return whether the thread of the answer LIFE has ended in the recording of T. */
static bool has_ended(const struct trial *t, const json_t *life)
{
	struct entity e = recording_entity(t->recording, answers_number(life, "thread"));
	uint64_t end = WORLD_NEVER;

	if (e.thread != WORLD_NONE)
		end = t->world->threads[e.thread].end;
	else if (e.wait != WORLD_NONE)
		end = recording_end(t->recording, e.wait);
	return end <= t->recording->until;
}

/* The run that lacks parts is said not to have resolved a thread, or to be the only one in which it did. */
static void judge_outcome(const struct pair *p, const json_t *o)
{
	const char *outcome = answers_text(o, "outcome");
	const json_t *life = json_object_get(o, p->side);
	bool waits = strncmp(outcome, p->side, strlen(p->side)) == 0 && strstr(outcome, "-waits");

	if (!waits || json_is_null(life) || !json_is_null(json_object_get(o, "coverage")))
		return;
	figures_note(p->t->figures, SENTENCE_DIFF_NEVER, !has_ended(p->t, life),
		     "%" PRId64 " is resolved in the %s run", answers_number(life, "thread"), p->side);
}

/* The run that lacks parts is said to have done nothing more. */
static void judge_parting(const struct pair *p, const json_t *parting)
{
	const json_t *side = json_object_get(parting, p->side), *other = json_object_get(parting, p->other);
	int64_t own = answers_number(json_object_get(side, "thread"), "thread"),
		its = answers_number(json_object_get(other, "thread"), "thread");
	const json_t *next = json_object_get(side, "next");

	if (json_is_null(parting) || own != its || recording_entity(p->t->recording, own).thread == WORLD_NONE)
		return;
	if (json_is_array(next) && !json_array_size(next))
		figures_note(p->t->figures, SENTENCE_DIFF_NOTHING, !json_array_size(json_object_get(other, "next")),
			     "%" PRId64 " did more in the %s run", own, p->side);
}

static void judge_lone(const struct pair *p, const json_t *it)
{
	const json_t *n = json_object_get(it, p->side);

	if (json_is_integer(n) && !json_integer_value(n))
		figures_note(p->t->figures, SENTENCE_DIFF_NONE, !answers_number(it, p->other),
			     "the %s run has %s \"%s\", too", p->side, answers_text(it, "type"),
			     answers_text(it, "label") ? answers_text(it, "label") : "");
}

static void judge_counter(const struct pair *p, const json_t *it, bool has)
{
	if (has)
		figures_note(p->t->figures, SENTENCE_DIFF_NONE, !json_is_null(json_object_get(it, p->side)),
			     "the %s run has the counter %s, too", p->side, answers_text(it, "counter"));
}

void truth_of_hidden(const struct trial *t, const json_t *answer, bool bad)
{
	const struct pair p = {t, bad ? "bad" : "good", bad ? "good" : "bad"};
	bool has = json_is_null(json_object_get(json_object_get(answer, p.side), "coverage"));
	json_t *it;
	size_t i;

	figures_note(t->figures, SENTENCE_ALIKE, !json_is_false(json_object_get(answer, "alike")),
		     "the trace differs from that of the same history");
	json_array_foreach(json_object_get(answer, "outcomes"), i, it) judge_outcome(&p, it);
	judge_parting(&p, json_object_get(answer, "first_parting"));
	json_array_foreach(json_object_get(answer, "outcomes"), i, it)
		judge_parting(&p, json_object_get(it, "parting"));
	json_array_foreach(json_object_get(answer, "lone"), i, it) judge_lone(&p, it);
	json_array_foreach(json_object_get(answer, "counters"), i, it) judge_counter(&p, it, has);
}
