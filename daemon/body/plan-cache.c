/* Remember plans, and the places of packets in their bodies. */
#include <stdlib.h>

#include "plan-cache.h"

void plan_cache_deinit(struct plan_cache *c)
{
	for (size_t i = 0; c->records && i < PLAN_RECORDS_MOST; i++)
		free(c->records[i].marks);
	free(c->records);
	*c = (struct plan_cache){0};
}

static bool is_named(const struct plan_record *r, const struct plan_name *p)
{
	const struct plan_name *a = &r->name;

	return a->archives == p->archives && a->run == p->run && a->stream == p->stream && a->capture == p->capture &&
	       a->first == p->first && a->last == p->last && a->number == p->number &&
	       a->ring_packets == p->ring_packets && a->first_offset == p->first_offset &&
	       a->last_offset == p->last_offset && a->empty == p->empty && a->raw == p->raw;
}

struct plan_record *plan_cache_find(struct plan_cache *c, const struct plan_name *name)
{
	for (size_t i = 0; c->records && name->archives && i < PLAN_RECORDS_MOST; i++)
		if (is_named(&c->records[i], name)) {
			c->records[i].used = ++c->calls;
			return &c->records[i];
		}
	return NULL;
}

void plan_cache_forget(struct plan_cache *c, const struct plan_name *name)
{
	struct plan_record *r = plan_cache_find(c, name);

	if (!r)
		return;
	free(r->marks);
	*r = (struct plan_record){0};
}

/*
 * Return the place for a record NAME: its own, or a free one, or that of the record that was not used for the
 * longest time.
 */
static struct plan_record *find_place(struct plan_cache *c, const struct plan_name *name)
{
	struct plan_record *oldest = plan_cache_find(c, name);

	if (oldest)
		return oldest;
	oldest = c->records;
	for (size_t i = 0; i < PLAN_RECORDS_MOST && oldest->name.archives; i++)
		if (!c->records[i].name.archives || c->records[i].used < oldest->used)
			oldest = &c->records[i];
	return oldest;
}

void plan_cache_put(struct plan_cache *c, struct plan_record *record)
{
	struct plan_record *to;

	if (!c->records)
		c->records = calloc(PLAN_RECORDS_MOST, sizeof(*c->records));
	if (!c->records) {
		free(record->marks);
		return;
	}
	to = find_place(c, &record->name);
	free(to->marks);
	*to = *record;
	to->used = ++c->calls;
}

/* Keep every second mark of M. */
static void thin(struct plan_marks *m)
{
	for (uint32_t i = 0; 2 * i < m->n; i++)
		m->list[i] = m->list[(size_t)2 * i];
	m->n = (m->n + 1) / 2;
	m->every *= 2;
}

void plan_marks_note(struct plan_marks *m, uint64_t index, uint64_t sequence, uint64_t bytes)
{
	if (index % m->every == 0 && m->n == PLAN_MARKS_MOST)
		thin(m);
	if (index % m->every == 0)
		m->list[m->n++] = (struct plan_mark){sequence, bytes};
}

struct plan_mark plan_marks_before(const struct plan_marks *m, uint64_t at)
{
	uint32_t low = 0, high = m->n;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		*(m->list[middle].bytes <= at ? &low : &high) = middle;
	}
	return m->list[low];
}
