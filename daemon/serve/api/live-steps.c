/* Keep the latest steps of live bodies. */
#include <stdlib.h>
#include <string.h>

#include "live-steps.h"

static bool same(const struct live_cursor *a, const struct live_cursor *b)
{
	return a->sequence == b->sequence && a->offset == b->offset && a->stream == b->stream &&
	       a->deletions == b->deletions && a->sent_any == b->sent_any && a->abandoned == b->abandoned &&
	       a->zstd == b->zstd;
}

const struct live_step *live_steps_find(const struct live_steps *l, const struct live_cursor *from)
{
	for (size_t i = 0; i < LIVE_STEPS; i++)
		if (l->list[i].is_kept && same(&l->list[i].from, from))
			return &l->list[i];
	return NULL;
}

void live_steps_add(struct live_steps *l, const struct live_cursor *from, const struct live_cursor *to,
		    const void *bytes, size_t n)
{
	struct live_step *s = &l->list[l->next];

	if (n > LIVE_STEP_BYTES)
		return;
	if (!s->bytes)
		s->bytes = malloc(LIVE_STEP_BYTES);
	if (!s->bytes)
		return;
	if (n)
		memcpy(s->bytes, bytes, n);
	s->from = *from;
	s->to = *to;
	s->n = n;
	s->is_kept = true;
	l->next = (l->next + 1) % LIVE_STEPS;
}

void live_steps_forget(struct live_steps *l)
{
	for (size_t i = 0; i < LIVE_STEPS; i++)
		l->list[i].is_kept = false;
	l->next = 0;
}

void live_steps_deinit(struct live_steps *l)
{
	for (size_t i = 0; i < LIVE_STEPS; i++)
		free(l->list[i].bytes);
	*l = (struct live_steps){0};
}
