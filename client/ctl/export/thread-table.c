/*
 * This file implements the tables of thread-table.h. A thread that became another thread has ended.
 * So each thread that has not ended is its own alias, and forget() need not follow aliases.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/event.h>

#include "thread-table.h"
#include "utf8.h"

#define ROOM_FIRST 1024u

void thread_table_init(struct thread_table *c, uint32_t most, uint64_t seed)
{
	*c = (struct thread_table){.most = most, .shared = THREAD_NONE};
	id_index_init(&c->ids, seed);
}

void thread_table_deinit(struct thread_table *c)
{
	free(c->list);
	c->list = NULL;
	id_index_deinit(&c->ids);
}

static int grow(struct thread_table *c)
{
	uint32_t room = c->room ? c->room * 2 : ROOM_FIRST;
	struct table_thread *list;

	room = room < c->most ? room : c->most;
	list = realloc(c->list, room * sizeof(*list));
	if (!list)
		return -ENOMEM;
	c->list = list;
	c->room = room;
	return 0;
}

static bool is_kept(const struct thread_table *c, uint32_t i, uint32_t keep)
{
	return i == keep || !(c->list[i].flags & THREAD_ENDED);
}

/*
 * Build the map from ids to threads again. If several threads share an id, the id maps to the
 * newest thread. Return 0 or -ENOMEM.
 */
static int reindex(struct thread_table *c)
{
	id_index_clear(&c->ids);
	for (uint32_t i = 0; i < c->n; i++) {
		if (!id_index_reserve(&c->ids, 1))
			return -ENOMEM;
		if (!(c->list[i].flags & THREAD_SHARED))
			id_index_put(&c->ids, c->list[i].id, i, false);
	}
	return 0;
}

static int forget(struct thread_table *c, uint32_t *keep)
{
	uint32_t n = 0, kept = THREAD_NONE;

	for (uint32_t i = 0; i < c->n; i++) {
		if (!is_kept(c, i, *keep))
			continue;
		if (i == *keep)
			kept = n;
		if (c->list[i].flags & THREAD_SHARED)
			c->shared = n;
		c->list[n] = c->list[i];
		c->list[n].alias = n;
		n++;
	}
	c->n = n;
	*keep = kept;
	return reindex(c);
}

/*
 * Make room for the two threads that an event may name and for the shared thread. Each attempt to
 * forget threads visits all threads. So if an attempt freed little room, wait before the next
 * attempt.
 */
int thread_table_reserve(struct thread_table *c, uint32_t *keep)
{
	int r = 0;

	if (!id_index_reserve(&c->ids, 3))
		return -ENOMEM;
	if (c->n + 3 <= c->room)
		return 0;
	if (c->room < c->most)
		return grow(c);
	if (c->refused >= c->retry_at) {
		r = forget(c, keep);
		if (c->n > c->most - c->most / 16)
			c->retry_at = c->refused + c->most / 16 + 1;
	}
	return r;
}

static uint32_t append(struct thread_table *c, const struct table_thread *t)
{
	c->list[c->n] = *t;
	c->list[c->n].alias = c->n;
	return c->n++;
}

uint32_t thread_table_add(struct thread_table *c, int64_t id, uint8_t type, uint32_t track)
{
	struct table_thread t = {.id = id, .track = track, .type = type};

	if (c->n + 1 >= c->most) {
		c->refused++;
		return THREAD_NONE;
	}
	id_index_put(&c->ids, id, c->n, type != MPROF_THREAD_UNKNOWN);
	return append(c, &t);
}

uint32_t thread_table_share(struct thread_table *c, uint32_t track)
{
	struct table_thread t = {.track = track, .type = UINT8_MAX, .flags = THREAD_SHARED};

	return c->shared = append(c, &t);
}

uint32_t thread_table_newest(const struct thread_table *c, int64_t id)
{
	return id_index_find(&c->ids, id);
}

static uint32_t final(struct thread_table *c, uint32_t i)
{
	struct table_thread *list = c->list;

	while (list[i].alias != i) {
		list[i].alias = list[list[i].alias].alias;
		i = list[i].alias;
	}
	return i;
}

uint32_t thread_table_find(struct thread_table *c, int64_t id)
{
	uint32_t i = thread_table_newest(c, id);

	return i == THREAD_NONE ? i : final(c, i);
}

bool thread_table_alias(struct thread_table *c, uint32_t from, uint32_t to)
{
	from = final(c, from);
	to = final(c, to);
	if (from == to)
		return false;
	c->list[from].alias = to;
	return true;
}

/*
 * The table of track names has TRACK_NAMES_MAX entries of 64 bytes: 16 MiB. calloc() returns
 * untouched pages, so a short trace uses little of that memory.
 */

bool track_names_init(struct track_names *p)
{
	p->list = calloc(TRACK_NAMES_MAX, sizeof(*p->list));
	return p->list;
}

void track_names_deinit(struct track_names *p)
{
	free(p->list);
	p->list = NULL;
}

static struct track_name *place(const struct track_names *p, uint32_t track)
{
	return &p->list[track & (TRACK_NAMES_MAX - 1)];
}

/* Return true if TEXT has only ASCII characters that JSON does not escape. */
static bool is_plain(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] < ' ' || text[i] == 0x7f || text[i] == '"' || text[i] == '\\')
			return false;
	return true;
}

void track_names_set(struct track_names *p, uint32_t track, const char *name, size_t len)
{
	struct track_name *at = place(p, track);

	if (at->track != track)
		*at = (struct track_name){.track = track};
	at->name_bytes = (uint8_t)utf8_cut(name, len, TRACK_NAME_BYTES);
	memcpy(at->name, name, at->name_bytes);
	at->plain = is_plain(at->name, at->name_bytes);
}

struct track_name *track_names_find(const struct track_names *p, uint32_t track)
{
	struct track_name *at = place(p, track);

	return at->track == track ? at : NULL;
}
