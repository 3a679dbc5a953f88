/*
 * Codes are 63-bit addresses, and a recording has few different ones. Stacks hold indices of codes,
 * which makes counting by code an access to an array.
 *
 * Invariants: index 0 is code 0, the initial content of a writer's caches. A code is explained
 * once, by the first location event for it: in a sound stream a later one says the same, and in
 * another stream it is not trusted.
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

/* ---- names ---- */

/*
 * Names by move-to-front tables: an index below 31 means the entry with that index, which then
 * moves to the front; 31 means that a new name follows, which replaces the last entry of a full
 * table.
 *
 * A new file in a full table inherits the functions of the file that it replaces: early writers of
 * version 1 rely on that. Later writers never refer to the inherited functions.
 */

#define NEW_NAME 31u

void mem_names_deinit(struct mem_names *names)
{
	for (uint32_t i = 0; i < names->n; i++)
		free(names->files[i]);
	*names = (struct mem_names){0};
}

/* Read a name up to its NUL, and store its string in *NAME. */
static enum mem_names_result name_read(struct mem_bytes *b, struct mem_codes *codes, uint32_t *name)
{
	const uint8_t *nul = memchr(b->at, 0, (size_t)(b->end - b->at));

	if (!nul)
		return MEM_NAMES_WRONG;
	*name = mem_codes_name(codes, (const char *)b->at, (size_t)(nul - b->at));
	b->at = nul + 1;
	return *name == MPROF_NONE ? MEM_NAMES_NOMEM : MEM_NAMES_OK;
}

static enum mem_names_result file_front(struct mem_names *names, struct mem_bytes *b, struct mem_codes *codes,
					uint32_t index)
{
	enum mem_names_result r;
	struct mem_file *file;
	uint32_t name;

	if (index < NEW_NAME) {
		if (index >= names->n)
			return MEM_NAMES_WRONG;
		file = names->files[index];
	} else {
		r = name_read(b, codes, &name);
		if (r)
			return r;
		index = names->n;
		if (index == MEM_NAMES_LEVEL)
			file = names->files[--index];
		else if (!(file = calloc(1, sizeof(*file))))
			return MEM_NAMES_NOMEM;
		else
			names->n++;
		file->name = name;
	}
	memmove(names->files + 1, names->files, index * sizeof(struct mem_file *));
	names->files[0] = file;
	return MEM_NAMES_OK;
}

static enum mem_names_result function_front(struct mem_functions *functions, struct mem_bytes *b,
					    struct mem_codes *codes, uint32_t index)
{
	enum mem_names_result r;
	uint32_t name;

	if (index < NEW_NAME) {
		if (index >= functions->n)
			return MEM_NAMES_WRONG;
		name = functions->name[index];
	} else {
		r = name_read(b, codes, &name);
		if (r)
			return r;
		index = functions->n < MEM_NAMES_LEVEL ? functions->n++ : MEM_NAMES_LEVEL - 1;
	}
	memmove(functions->name + 1, functions->name, index * sizeof(functions->name[0]));
	functions->name[0] = name;
	return MEM_NAMES_OK;
}

static enum mem_names_result location_read(struct mem_names *names, struct mem_bytes *b, struct mem_codes *codes,
					   struct mprof_mem_location *location)
{
	enum mem_names_result r;
	uint64_t word;

	if (!mem_has(b, 6))
		return MEM_NAMES_WRONG;
	word = mprof_load32(b->at) | (uint64_t)mprof_load16(b->at + 4) << 32;
	b->at += 6;
	r = file_front(names, b, codes, word >> 38 & 31);
	r = r ? r : function_front(&names->files[0]->functions, b, codes, word >> 43 & 31);
	if (r)
		return r;
	*location = (struct mprof_mem_location){
		.file = names->files[0]->name,
		.function = names->files[0]->functions.name[0],
		.line = word & 0xfffff,
		.first = word >> 20 & 0xff,
		.last = word >> 28 & 0x3ff,
	};
	return MEM_NAMES_OK;
}

enum mem_names_result mem_names_read(struct mem_names *names, struct mem_bytes *b, struct mem_codes *codes)
{
	struct mprof_mem_location list[255];
	enum mem_names_result r;
	uint64_t code;
	uint8_t n;

	if (!mem_has(b, 9))
		return MEM_NAMES_WRONG;
	code = mprof_load64(b->at);
	n = b->at[8];
	b->at += 9;
	for (uint8_t i = 0; i < n; i++) {
		r = location_read(names, b, codes, &list[i]);
		if (r)
			return r;
	}
	return mem_codes_explain(codes, code, list, n) ? MEM_NAMES_OK : MEM_NAMES_NOMEM;
}
