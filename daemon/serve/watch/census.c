/* Two sorted lists, merged as the second one grows. */
#include <errno.h>
#include <stdlib.h>

#include "census.h"

void census_deinit(struct census *c)
{
	free(c->last);
	free(c->next);
	*c = (struct census){0};
}

void census_begin(struct census *c)
{
	c->at_last = 0;
	c->n_next = 0;
}

static int census_grow(struct census *c)
{
	size_t room = c->room_next ? 2 * c->room_next : 64;
	struct census_entry *next = realloc(c->next, room * sizeof(*next));

	if (!next)
		return -ENOMEM;
	c->next = next;
	c->room_next = room;
	return 0;
}

int census_count(struct census *c, int64_t id, uint64_t print, uint64_t *before, census_gone *gone, void *context)
{
	const struct census_entry *last;

	if (c->n_next == c->room_next && census_grow(c) < 0)
		return -ENOMEM;
	c->next[c->n_next++] = (struct census_entry){id, print};
	for (; c->at_last < c->n_last && c->last[c->at_last].id < id; c->at_last++)
		gone(context, &c->last[c->at_last]);
	last = c->at_last < c->n_last ? &c->last[c->at_last] : NULL;
	if (!last || last->id != id)
		return CENSUS_NEW;
	*before = last->print;
	c->at_last++;
	return *before == print ? CENSUS_SAME : CENSUS_CHANGED;
}

void census_end(struct census *c, census_gone *gone, void *context)
{
	for (; c->at_last < c->n_last; c->at_last++)
		gone(context, &c->last[c->at_last]);
	free(c->last);
	c->last = c->next;
	c->n_last = c->n_next;
	c->next = NULL;
	c->n_next = c->room_next = 0;
	c->at_last = 0;
}
