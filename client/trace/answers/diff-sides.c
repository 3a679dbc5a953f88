/*
 * Comparable properties of two runs: numbers of texts, and hashes of each thread and its subtree.
 *
 * A number in a text is mostly an id, which differs in every run. So each text also has a shape, in
 * which all numbers are equal.
 *
 * The kin of a thread is its type, its first label, and whether it continues in place of its
 * creator. Its exact hash adds its *behaviour*, the set of kinds of its steps without their
 * frequencies, and its children in order: threads with equal exact hashes have equal subtrees. Ids
 * and times are not part of a hash.
 */
#include <stdlib.h>
#include <string.h>

#include "diff-state.h"
#include "map.h"

/*
 * Write TEXT of BYTES bytes to SHAPE, with one # for each run of digits. Return the length of
 * SHAPE.
 */
static size_t make_shape(const char *text, size_t bytes, char *shape)
{
	size_t n = 0;

	for (size_t i = 0; i < bytes; i++) {
		if (text[i] < '0' || text[i] > '9')
			shape[n++] = text[i];
		else if (!n || shape[n - 1] != '#')
			shape[n++] = '#';
	}
	return n;
}

static bool number_shapes(struct diff_side *s, struct intern *strings)
{
	const struct mprof_model_view *v = s->view;
	char *shape = malloc((size_t)v->text_bytes + 1);
	bool fine = shape;

	s->shapes = malloc(((size_t)v->n_strings + 1) * sizeof(*s->shapes));
	fine = fine && s->shapes;
	for (uint32_t i = 0; fine && i < v->n_strings; i++) {
		const struct mprof_string *string = &v->strings[i];
		const char *text = string->bytes ? v->text + string->offset : "";

		s->shapes[i] = intern_add(strings, shape, make_shape(text, string->bytes, shape));
		fine = s->shapes[i] != MPROF_NONE;
	}
	free(shape);
	return fine;
}

static bool number_texts(struct diff_side *s, struct intern *strings)
{
	const struct mprof_model_view *v = s->view;

	s->texts = malloc(((size_t)v->n_strings + 1) * sizeof(*s->texts));
	if (!s->texts)
		return false;
	for (uint32_t i = 0; i < v->n_strings; i++) {
		const struct mprof_string *string = &v->strings[i];

		s->texts[i] = intern_add(strings, string->bytes ? v->text + string->offset : "", string->bytes);
		if (s->texts[i] == MPROF_NONE)
			return false;
	}
	return true;
}

/*
 * Return HASH with MORE mixed into it. The hash has no secret seed: a collision in 64 bits changes
 * which threads are matched, and so it must be the same whenever two runs are compared. Crafted
 * collisions give wrong counterparts but cost no time, because the hashes are sorted and not put
 * into a hash table.
 */
static uint64_t mix(uint64_t hash, uint64_t more)
{
	return map_mix(hash * 31 + more, 0x9e3779b97f4a7c15);
}

static void hash_kin(struct diff_side *s)
{
	const struct mprof_thread *t;

	for (uint32_t i = 0; i < s->view->n_threads; i++) {
		t = diff_thread(s, i);
		s->kin[i] = mix(t->type, diff_label(s, i));
		if (t->creator != MPROF_NONE)
			s->kin[i] = mix(s->kin[i], diff_thread(s, t->creator)->becomes == i);
	}
}

/*
 * Return one of 64 bits for a step of the kind KIND with a thread of the kin KIN, or with a label
 * of the shape KIN. 64 bits are enough to distinguish threads without a label.
 */
static uint64_t behaviour_bit(uint64_t kind, uint64_t kin)
{
	return 1ull << (mix(kind, kin) & 63);
}

static void hash_behaviour(struct diff_side *s)
{
	const struct mprof_model_view *v = s->view;

	for (uint32_t i = 0; i < v->n_labels; i++)
		if (v->labels[i].sample == MPROF_NONE)
			s->exact[v->labels[i].thread] |= behaviour_bit(MPROF_STEP_LABEL, s->shapes[v->labels[i].text]);
	for (uint32_t i = 0; i < v->n_interactions; i++) {
		const struct mprof_interaction *it = &v->interactions[i];

		s->exact[it->thread] |= behaviour_bit(32 + it->kind, s->kin[it->other]);
		s->exact[it->other] |= behaviour_bit(64 + it->kind, s->kin[it->thread]);
	}
}

/*
 * Compute the exact hashes. A creator has a lower index than its threads, so a pass from the last
 * thread to the first knows each subtree before its creator. Return false without memory.
 */
static bool hash_exact(struct diff_side *s)
{
	uint64_t *below = calloc((size_t)s->view->n_threads + 1, sizeof(*below));
	uint32_t creator;

	if (!below)
		return false;
	hash_behaviour(s);
	for (uint32_t i = s->view->n_threads; i-- > 0;) {
		s->exact[i] = mix(mix(s->kin[i], s->exact[i]), below[i]);
		creator = diff_thread(s, i)->creator;
		if (creator != MPROF_NONE)
			below[creator] = mix(below[creator], s->exact[i]);
	}
	free(below);
	return true;
}

static bool make_side(struct diff_side *s, struct intern *strings)
{
	size_t n = (size_t)s->view->n_threads + 1;

	s->why = mprof_why_new(s->view);
	s->kin = calloc(n, sizeof(*s->kin));
	s->exact = calloc(n, sizeof(*s->exact));
	s->match = malloc(n * sizeof(*s->match));
	if (!s->why || !s->kin || !s->exact || !s->match || !number_texts(s, strings) || !number_shapes(s, strings))
		return false;
	memset(s->match, 0xff, n * sizeof(*s->match));
	hash_kin(s);
	return hash_exact(s);
}

static void note_times(struct diff_side *s)
{
	const struct mprof_model_stream *streams = s->view->streams;
	bool some = false;

	for (uint32_t i = 0; i < s->view->n_streams; i++) {
		if (!streams[i].events)
			continue;
		s->start = some && s->start < streams[i].start ? s->start : streams[i].start;
		s->end = some && s->end > streams[i].end ? s->end : streams[i].end;
		some = true;
	}
}

bool diff_sides(struct mprof_diff *d)
{
	struct intern strings;
	bool made;

	intern_init(&strings, d->options.seed);
	made = make_side(&d->side[GOOD], &strings) && make_side(&d->side[BAD], &strings);
	d->n_texts = strings.list.n;
	intern_deinit(&strings);
	note_times(&d->side[GOOD]);
	note_times(&d->side[BAD]);
	return made;
}
