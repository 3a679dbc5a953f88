/* A table of sets: an id has WAYS possible places. */
#include <stdlib.h>
#include <string.h>

#include <mprof/ids.h>

#include "map.h"
#include "runtime-ids.h"

#define SETS 8192u
#define WAYS 8u

bool runtime_ids_init(struct runtime_ids *t, uint64_t seed)
{
	*t = (struct runtime_ids){.seed = seed};
	t->places = calloc((size_t)SETS * WAYS, sizeof(*t->places));
	return t->places;
}

void runtime_ids_deinit(struct runtime_ids *t)
{
	for (uint32_t i = 0; t->places && i < SETS * WAYS; i++)
		if (t->places[i].used)
			runtime_ids_remove(&t->places[i]);
	free(t->places);
	t->places = NULL;
}

static struct runtime_id *set_of(const struct runtime_ids *t, int64_t id)
{
	return t->places + map_mix((uint64_t)id, t->seed) % SETS * WAYS;
}

struct runtime_id *runtime_ids_find(struct runtime_ids *t, int64_t id)
{
	struct runtime_id *set = set_of(t, id);

	for (uint32_t i = 0; i < WAYS; i++)
		if (set[i].used && set[i].id == id) {
			set[i].used = ++t->uses;
			return &set[i];
		}
	return NULL;
}

bool runtime_ids_open(struct runtime_id *e, uint64_t since, const char *name, size_t bytes)
{
	struct runtime_span *span;

	if (e->depth++ >= RUNTIME_SPANS_MAX)
		return true;
	span = malloc(sizeof(*span) + bytes);
	if (!span)
		return false;
	*span = (struct runtime_span){.outer = e->spans, .since = since, .bytes = bytes};
	memcpy(span->name, name, bytes);
	e->spans = span;
	return true;
}

struct runtime_span *runtime_ids_close(struct runtime_id *e)
{
	struct runtime_span *span = e->spans;

	if (!e->depth || e->depth-- > RUNTIME_SPANS_MAX)
		return NULL;
	if (span)
		e->spans = span->outer;
	return span;
}

void runtime_ids_remove(struct runtime_id *e)
{
	while (e->spans) {
		struct runtime_span *span = e->spans;

		e->spans = span->outer;
		free(span);
	}
	free(e->error);
	*e = (struct runtime_id){0};
}

struct runtime_id *runtime_ids_add(struct runtime_ids *t, int64_t id)
{
	struct runtime_id *e = runtime_ids_find(t, id), *set = set_of(t, id);

	if (e)
		return e;
	e = set;
	for (uint32_t i = 1; i < WAYS; i++)
		if (set[i].used < e->used)
			e = &set[i];
	runtime_ids_remove(e);
	*e = (struct runtime_id){
		.id = id,
		.used = ++t->uses,
		.innermost = RUNTIME_NO_ID,
		.outer = RUNTIME_NO_ID,
		.wait = RUNTIME_NO_ID,
		.type = MPROF_THREAD_UNKNOWN,
	};
	return e;
}
