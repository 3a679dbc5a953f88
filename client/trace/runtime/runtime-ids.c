/* A table of sets: an id has WAYS possible places. */
#include <stdlib.h>
#include <string.h>

#include <mprof/ids.h>

#include "map.h"
#include "runtime-ids.h"

#define SETS 8192u
#define WAYS 8u

bool runtime_ids_init(struct runtime_ids *ids, uint64_t seed)
{
	*ids = (struct runtime_ids){.seed = seed};
	ids->places = calloc((size_t)SETS * WAYS, sizeof(*ids->places));
	return ids->places;
}

void runtime_ids_deinit(struct runtime_ids *ids)
{
	for (uint32_t i = 0; ids->places && i < SETS * WAYS; i++)
		if (ids->places[i].used)
			runtime_ids_remove(&ids->places[i]);
	free(ids->places);
	ids->places = NULL;
}

static struct runtime_id *set_of(const struct runtime_ids *ids, int64_t id)
{
	return ids->places + map_mix((uint64_t)id, ids->seed) % SETS * WAYS;
}

struct runtime_id *runtime_ids_find(struct runtime_ids *ids, int64_t id)
{
	struct runtime_id *set = set_of(ids, id);

	for (uint32_t i = 0; i < WAYS; i++)
		if (set[i].used && set[i].id == id) {
			set[i].used = ++ids->uses;
			return &set[i];
		}
	return NULL;
}

bool runtime_ids_open(struct runtime_id *id, uint64_t since, const char *name, size_t bytes)
{
	struct runtime_span *span;

	if (id->depth++ >= RUNTIME_SPANS_MAX)
		return true;
	span = malloc(sizeof(*span) + bytes);
	if (!span)
		return false;
	*span = (struct runtime_span){.outer = id->spans, .since = since, .bytes = bytes};
	memcpy(span->name, name, bytes);
	id->spans = span;
	return true;
}

struct runtime_span *runtime_ids_close(struct runtime_id *id)
{
	struct runtime_span *span = id->spans;

	if (!id->depth || id->depth-- > RUNTIME_SPANS_MAX)
		return NULL;
	if (span)
		id->spans = span->outer;
	return span;
}

void runtime_ids_remove(struct runtime_id *id)
{
	while (id->spans) {
		struct runtime_span *span = id->spans;

		id->spans = span->outer;
		free(span);
	}
	free(id->error);
	*id = (struct runtime_id){0};
}

struct runtime_id *runtime_ids_add(struct runtime_ids *ids, int64_t id)
{
	struct runtime_id *e = runtime_ids_find(ids, id), *set = set_of(ids, id);

	if (e)
		return e;
	e = set;
	for (uint32_t i = 1; i < WAYS; i++)
		if (set[i].used < e->used)
			e = &set[i];
	runtime_ids_remove(e);
	*e = (struct runtime_id){
		.id = id,
		.used = ++ids->uses,
		.innermost = RUNTIME_NO_ID,
		.awaits = RUNTIME_NO_ID,
		.holder = RUNTIME_NO_ID,
		.outer = RUNTIME_NO_ID,
		.wait = RUNTIME_NO_ID,
		.type = MPROF_THREAD_UNKNOWN,
	};
	return e;
}
