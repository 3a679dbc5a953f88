/*
 * The filter of threads: which threads a picture shows.
 *
 * A thread that the filter leaves out is in no index, so it has no line, no arrow and no label. The
 * rows of the model stay.
 */
#include <stdlib.h>
#include <string.h>

#include "scene-state.h"

#define TYPE_LAST 31u /* bit of all types from this one on */

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/*
 * Return true if the N bytes of TEXT contain PATTERN of M bytes, in which * stands for any bytes.
 * ASCII letters match in either case.
 */
static bool contains(const char *text, size_t n, const char *pattern, size_t m)
{
	/* After a mismatch go on behind the last star, with one more byte for it. */
	size_t at = 0, i = 0, star = 0, from = 0;

	while (i < m) {
		if (pattern[i] == '*') {
			star = ++i;
			from = at;
		} else if (at < n && lower(text[at]) == lower(pattern[i])) {
			at++;
			i++;
		} else if (from < n) {
			at = ++from;
			i = star;
		} else {
			return false;
		}
	}
	return true;
}

static void set_bit(uint8_t *bits, uint32_t thread)
{
	bits[thread / 8] |= (uint8_t)(1u << thread % 8);
}

static bool has_bit(const uint8_t *bits, uint32_t thread)
{
	return bits[thread / 8] >> thread % 8 & 1;
}

/* Return a bit for each thread with a label, or a failure, that contains TEXT; NULL without memory. */
static uint8_t *find_labels(const struct mprof_model_view *v, const char *text, size_t bytes)
{
	uint8_t *bits = calloc((size_t)v->n_threads / 8 + 1, 1), *strings = calloc((size_t)v->n_strings / 8 + 1, 1);

	for (uint32_t i = 0; bits && strings && i < v->n_strings; i++)
		if (v->strings[i].bytes && contains(v->text + v->strings[i].offset, v->strings[i].bytes, text, bytes))
			set_bit(strings, i);
	for (uint32_t i = 0; bits && strings && i < v->n_labels; i++)
		if (has_bit(strings, v->labels[i].text))
			set_bit(bits, v->labels[i].thread);
	for (uint32_t i = 0; bits && strings && i < v->n_threads; i++)
		if (v->threads[i].failure != MPROF_NONE && has_bit(strings, v->threads[i].failure))
			set_bit(bits, i);
	if (!strings) {
		free(bits);
		bits = NULL;
	}
	free(strings);
	return bits;
}

/* Return the thread that depends on another one by the interaction ITEM. */
static uint32_t dependent(const void *context, uint32_t item)
{
	const struct mprof_interaction *it = &((const struct mprof_model_view *)context)->interactions[item];

	switch (it->kind) {
	case MPROF_INTERACTION_READ:
	case MPROF_INTERACTION_TRY_READ:
		return it->thread;
	case MPROF_INTERACTION_SIGNAL:
		return it->flags & MPROF_INTERACTION_BEGINS_WAIT ? it->thread : it->other;
	case MPROF_INTERACTION_RESOLVE:
		return it->other;
	default:
		return UINT32_MAX;
	}
}

struct closure {
	uint8_t *bits;
	uint32_t *stack;
	uint32_t n;
};

static void reach(struct closure *c, uint32_t thread)
{
	if (thread == MPROF_NONE || has_bit(c->bits, thread))
		return;
	set_bit(c->bits, thread);
	c->stack[c->n++] = thread;
}

/*
 * Return a bit for THREAD and each thread on which it depends: those that it read, that resolved or
 * signalled it, and that it became, and those on which these depend. Return NULL without memory.
 */
static uint8_t *find_dependencies(const struct mprof_model_view *v, uint32_t thread)
{
	struct scene_groups by = {0};
	struct closure c = {.bits = calloc((size_t)v->n_threads / 8 + 1, 1),
			    .stack = malloc(((size_t)v->n_threads + 1) * sizeof(*c.stack))};
	bool ok = c.bits && c.stack &&
		  scene_group(&by, &(struct scene_source){v, v->n_interactions, v->n_threads, dependent, NULL});

	if (ok)
		reach(&c, thread);
	while (ok && c.n) {
		uint32_t at = c.stack[--c.n];

		reach(&c, v->threads[at].becomes);
		for (uint32_t i = by.starts[at]; i < by.starts[at + 1]; i++) {
			const struct mprof_interaction *it = &v->interactions[by.items[i]];

			reach(&c, it->thread == at ? it->other : it->thread);
		}
	}
	scene_groups_deinit(&by);
	free(c.stack);
	if (!ok) {
		free(c.bits);
		c.bits = NULL;
	}
	return c.bits;
}

/* Return a bit for each thread that does not pass FILTER; NULL without memory. */
static uint8_t *find_hidden(const struct mprof_model_view *v, const struct mprof_thread_filter *filter)
{
	uint8_t *hidden = calloc((size_t)v->n_threads / 8 + 1, 1), *labels = NULL, *needed = NULL;
	bool ok = hidden;

	if (ok && filter->bytes)
		ok = (labels = find_labels(v, filter->label, filter->bytes));
	if (ok && filter->depends < v->n_threads)
		ok = (needed = find_dependencies(v, filter->depends));
	for (uint32_t i = 0; ok && i < v->n_threads; i++) {
		const struct mprof_thread *t = &v->threads[i];
		uint32_t type = t->type < TYPE_LAST ? t->type : TYPE_LAST;

		if ((filter->types && !(filter->types >> type & 1)) || (labels && !has_bit(labels, i)) ||
		    (needed && !has_bit(needed, i)) ||
		    (filter->unresolved && (t->becomes != MPROF_NONE || t->flags & MPROF_THREAD_RESOLVED)))
			set_bit(hidden, i);
	}
	free(labels);
	free(needed);
	if (!ok) {
		free(hidden);
		hidden = NULL;
	}
	return hidden;
}

enum mprof_status mprof_scene_filter(struct mprof_scene *s, const struct mprof_thread_filter *filter)
{
	bool any = filter &&
		   (filter->types || filter->bytes || filter->unresolved || filter->depends < s->view->n_threads);
	uint8_t *hidden, *was = s->hidden;

	if (filter && filter->bytes > MPROF_FILTER_LABEL_MAX)
		return MPROF_CORRUPT;
	hidden = any ? find_hidden(s->view, filter) : NULL;
	if (any && !hidden)
		return MPROF_NOMEM;
	if (!any && !was)
		return MPROF_OK;
	s->hidden = hidden;
	if (!threads_renew(s)) {
		s->hidden = was;
		free(hidden);
		return MPROF_NOMEM;
	}
	free(was);
	return MPROF_OK;
}
