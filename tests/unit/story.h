/* Models made by hand: the lines of a story become events of one stream. */
#ifndef UNIT_STORY_H
#define UNIT_STORY_H

#include <mprof/why.h>

#include "check.h"
#include "line.h"

struct story {
	struct mprof_model *m;
	const struct mprof_model_view *v;
	struct mprof_why *w;
};

static inline void story_begin(struct story *s)
{
	uint32_t stream;

	s->m = mprof_model_new(&(struct mprof_model_options){.seed = 1});
	CHECK_EQ_INT(mprof_model_stream(s->m, &(struct mprof_model_source){0}, &stream), MPROF_OK);
}

static inline void story_end(struct story *s)
{
	CHECK_EQ_INT(mprof_model_finish(s->m), MPROF_OK);
	s->v = mprof_model_view(s->m);
	s->w = mprof_why_new(s->v);
	CHECK(s->w != NULL);
}

static inline void story_tell(struct story *s, const struct line *lines, size_t n)
{
	size_t i;

	story_begin(s);
	for (i = 0; i < n; i++)
		line_add(s->m, 0, &lines[i]);
	story_end(s);
}

#define TELL(s, lines) story_tell(s, lines, sizeof(lines) / sizeof((lines)[0]))

static inline void story_deinit(struct story *s)
{
	CHECK(mprof_why_free(s->w) == NULL);
	mprof_model_free(s->m);
}

/* Return the index of the newest thread with the id ID. */
static inline uint32_t thread(const struct story *s, int64_t id)
{
	uint32_t i;

	for (i = s->v->n_threads; i-- > 0;)
		if (s->v->threads[i].id == id)
			return i;
	return MPROF_NONE;
}

#endif
