/*
 * Codes are addresses of 63 bits, and a trace has few different ones: stacks hold their indices, so that whoever adds up allocations indexes
 * arrays.
 *
 * Invariants: index 0 is code 0, with which a writer's caches begin; a code is explained once, since what comes later is the same in a sound
 * stream and not to be believed in another.
 */
#include "mem-codes.h"

#include <stdlib.h>
#include <string.h>

bool mem_codes_init(struct mem_codes *codes, uint64_t seed)
{
	*codes = (struct mem_codes){0};
	map_init(&codes->map, seed);
	intern_init(&codes->names, seed);
	return mem_codes_index(codes, 0) == 0;
}

void mem_codes_deinit(struct mem_codes *codes)
{
	grow_deinit(&codes->list);
	grow_deinit(&codes->locations);
	map_deinit(&codes->map);
	intern_deinit(&codes->names);
}

uint32_t mem_codes_index(struct mem_codes *codes, uint64_t code)
{
	uint32_t i = map_get(&codes->map, code);
	struct mprof_mem_code *new;

	if (i != MPROF_NONE)
		return i;
	if (codes->list.n >= MEM_CODES_MAX) {
		codes->unnamed++;
		return 0;
	}
	if (!map_reserve(&codes->map, 1))
		return MPROF_NONE;
	new = grow_add(&codes->list, sizeof(*new));
	if (!new)
		return MPROF_NONE;
	*new = (struct mprof_mem_code){.code = code};
	map_put(&codes->map, code, codes->list.n - 1);
	return codes->list.n - 1;
}

uint32_t mem_codes_name(struct mem_codes *codes, const char *text, size_t bytes)
{
	if (codes->names.arena.n + bytes > MEM_NAMES_MAX) {
		codes->unnamed++;
		return intern_add(&codes->names, "?", 1);
	}
	return intern_add(&codes->names, text, bytes);
}

bool mem_codes_explain(struct mem_codes *codes, uint64_t code, const struct mprof_mem_location *list, uint32_t n)
{
	uint32_t i = mem_codes_index(codes, code);
	struct mprof_mem_code *known;

	if (i == MPROF_NONE)
		return false;
	known = (struct mprof_mem_code *)codes->list.items + i;
	if (known->explained || known->code != code)
		return true;
	if (codes->locations.n + n > MEM_LOCATIONS_MAX) {
		codes->unnamed++;
		return true;
	}
	if (n && !grow_reserve(&codes->locations, sizeof(*list), n))
		return false;
	known->first_location = codes->locations.n;
	known->locations = (uint16_t)n;
	known->explained = true;
	if (n)
		memcpy((struct mprof_mem_location *)codes->locations.items + codes->locations.n, list,
		       n * sizeof(*list));
	codes->locations.n += n;
	return true;
}
