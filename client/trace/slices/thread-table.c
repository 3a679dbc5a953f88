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

void thread_table_init(struct thread_table *t, uint32_t most, uint64_t seed)
{
	*t = (struct thread_table){.most = most, .shared = THREAD_NONE};
	id_index_init(&t->ids, seed);
}

void thread_table_deinit(struct thread_table *t)
{
	free(t->list);
	t->list = NULL;
	id_index_deinit(&t->ids);
}

static int grow(struct thread_table *t)
{
	uint32_t room = t->room ? t->room * 2 : ROOM_FIRST;
	struct table_thread *list;

	room = room < t->most ? room : t->most;
	list = realloc(t->list, room * sizeof(*list));
	if (!list)
		return -ENOMEM;
	t->list = list;
	t->room = room;
	return 0;
}

static bool is_kept(const struct thread_table *t, uint32_t i, uint32_t keep)
{
	return i == keep || !(t->list[i].flags & THREAD_ENDED);
}

/*
 * Build the map from ids to threads again. If several threads share an id, the id maps to the
 * newest thread. Return 0 or -ENOMEM.
 */
static int reindex(struct thread_table *t)
{
	id_index_clear(&t->ids);
	for (uint32_t i = 0; i < t->n; i++) {
		if (!id_index_reserve(&t->ids, 1))
			return -ENOMEM;
		if (!(t->list[i].flags & THREAD_SHARED))
			id_index_put(&t->ids, t->list[i].id, i, false);
	}
	return 0;
}

static int forget(struct thread_table *t, uint32_t *keep)
{
	uint32_t n = 0, kept = THREAD_NONE;

	for (uint32_t i = 0; i < t->n; i++) {
		if (!is_kept(t, i, *keep))
			continue;
		if (i == *keep)
			kept = n;
		if (t->list[i].flags & THREAD_SHARED)
			t->shared = n;
		t->list[n] = t->list[i];
		t->list[n].alias = n;
		n++;
	}
	t->n = n;
	*keep = kept;
	return reindex(t);
}

/*
 * Make room for the two threads that an event may name and for the shared thread. Each attempt to
 * forget threads visits all threads. So if an attempt freed little room, wait before the next
 * attempt.
 */
int thread_table_reserve(struct thread_table *t, uint32_t *keep)
{
	int r = 0;

	if (!id_index_reserve(&t->ids, 3))
		return -ENOMEM;
	if (t->n + 3 <= t->room)
		return 0;
	if (t->room < t->most)
		return grow(t);
	if (t->refused >= t->retry_at) {
		r = forget(t, keep);
		if (t->n > t->most - t->most / 16)
			t->retry_at = t->refused + t->most / 16 + 1;
	}
	return r;
}

static uint32_t append(struct thread_table *table, const struct table_thread *t)
{
	table->list[table->n] = *t;
	table->list[table->n].alias = table->n;
	return table->n++;
}

uint32_t thread_table_add(struct thread_table *table, int64_t id, uint8_t type, uint32_t track)
{
	struct table_thread t = {.id = id, .track = track, .type = type};

	if (table->n + 1 >= table->most) {
		table->refused++;
		return THREAD_NONE;
	}
	id_index_put(&table->ids, id, table->n, type != MPROF_THREAD_UNKNOWN);
	return append(table, &t);
}

uint32_t thread_table_share(struct thread_table *table, uint32_t track)
{
	struct table_thread t = {.track = track, .type = UINT8_MAX, .flags = THREAD_SHARED};

	return table->shared = append(table, &t);
}

uint32_t thread_table_newest(const struct thread_table *t, int64_t id)
{
	return id_index_find(&t->ids, id);
}

static uint32_t final(struct thread_table *t, uint32_t i)
{
	struct table_thread *list = t->list;

	while (list[i].alias != i) {
		list[i].alias = list[list[i].alias].alias;
		i = list[i].alias;
	}
	return i;
}

uint32_t thread_table_find(struct thread_table *t, int64_t id)
{
	uint32_t i = thread_table_newest(t, id);

	return i == THREAD_NONE ? i : final(t, i);
}

bool thread_table_alias(struct thread_table *t, uint32_t from, uint32_t to)
{
	from = final(t, from);
	to = final(t, to);
	if (from == to)
		return false;
	t->list[from].alias = to;
	return true;
}

/*
 * The table of track names has TRACK_NAMES_MAX entries of 64 bytes: 16 MiB. calloc() returns
 * untouched pages, so a short trace uses little of that memory.
 */

bool track_names_init(struct track_names *t)
{
	t->list = calloc(TRACK_NAMES_MAX, sizeof(*t->list));
	return t->list;
}

void track_names_deinit(struct track_names *t)
{
	free(t->list);
	t->list = NULL;
}

static struct track_name *place(const struct track_names *t, uint32_t track)
{
	return &t->list[track & (TRACK_NAMES_MAX - 1)];
}

/* Return true if TEXT has only ASCII characters that JSON does not escape. */
static bool is_plain(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] < ' ' || text[i] == 0x7f || text[i] == '"' || text[i] == '\\')
			return false;
	return true;
}

void track_names_set(struct track_names *t, uint32_t track, const char *name, size_t len)
{
	struct track_name *at = place(t, track);

	if (at->track != track)
		*at = (struct track_name){.track = track};
	at->name_bytes = (uint8_t)utf8_cut(name, len, TRACK_NAME_BYTES);
	memcpy(at->name, name, at->name_bytes);
	at->plain = is_plain(at->name, at->name_bytes);
}

struct track_name *track_names_find(const struct track_names *t, uint32_t track)
{
	struct track_name *at = place(t, track);

	return at->track == track ? at : NULL;
}
