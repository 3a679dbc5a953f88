/* See wasm-heap.h. */
#include "wasm-heap.h"

#include <stdlib.h>

#define NAMES_MAX (2 * MPROF_MEM_CLAUSES_MAX)

struct wasm_filter {
	struct mprof_mem_filter filter;
	struct mprof_mem_clause hidden[MPROF_MEM_CLAUSES_MAX];
	uint32_t n_hidden;
	char *names[NAMES_MAX]; /* owned */
	uint32_t n_names;
};

struct wasm_filter *wasm_filter_new(void)
{
	return calloc(1, sizeof(struct wasm_filter));
}

void wasm_filter_free(struct wasm_filter *f)
{
	for (uint32_t i = 0; f && i < f->n_names; i++)
		free(f->names[i]);
	free(f);
}

void wasm_filter_range(struct wasm_filter *f, enum wasm_filter_range range, uint32_t has, uint64_t least, uint64_t most)
{
	struct mprof_mem_range *const ranges[] = {
		[WASM_FILTER_ALLOCATED] = &f->filter.allocated, [WASM_FILTER_LIVE] = &f->filter.live,
		[WASM_FILTER_COLLECTED] = &f->filter.collected, [WASM_FILTER_BYTES] = &f->filter.bytes,
		[WASM_FILTER_LIFETIME] = &f->filter.lifetime,
	};

	*ranges[range] =
		(struct mprof_mem_range){.least = least, .most = most, .has_least = has & 1, .has_most = has >> 1 & 1};
}

void wasm_filter_heaps(struct wasm_filter *f, uint32_t heaps, bool never_collected)
{
	f->filter.heaps = (uint8_t)heaps;
	f->filter.never_collected = never_collected;
}

bool wasm_filter_name(struct wasm_filter *f, enum wasm_filter_name kind, char *name, bool whole)
{
	const struct mprof_mem_clause clause = {.name = name, .whole = whole, .outside = kind == WASM_FILTER_OUTSIDE};
	bool hidden = kind == WASM_FILTER_HIDDEN;

	if ((hidden ? f->n_hidden : f->filter.n_clauses) == MPROF_MEM_CLAUSES_MAX) {
		free(name);
		return false;
	}
	f->names[f->n_names++] = name;
	if (hidden)
		f->hidden[f->n_hidden++] = clause;
	else
		f->filter.clauses[f->filter.n_clauses++] = clause;
	return true;
}

struct pass *wasm_pass(const struct kept *k, uint64_t seed, uint64_t recording, const struct wasm_filter *filter,
		       uint64_t last_us, bool grows, bool sort)
{
	return pass_new(k, &(struct pass_options){
				   .seed = seed,
				   .recording = recording,
				   .filter = filter ? &filter->filter : NULL,
				   .last_us = last_us,
				   .grows = grows,
				   .sort = sort,
			   });
}

struct pass *wasm_pass_line(const struct kept *k, uint64_t seed, uint64_t recording, const struct wasm_filter *filter,
			    uint64_t last_us, uint64_t from, uint64_t length, uint32_t points)
{
	return pass_new(k, &(struct pass_options){
				   .seed = seed,
				   .recording = recording,
				   .filter = filter ? &filter->filter : NULL,
				   .last_us = last_us,
				   .sort = true,
				   .from = from,
				   .length = length,
				   .points = points,
			   });
}

struct mprof_flame *wasm_flame(const struct pass *p, enum mprof_weight weight, bool sites, bool recursion,
			       const struct wasm_filter *hiding)
{
	const struct mprof_flame_options options = {
		.weight = weight,
		.sites = sites,
		.recursion = recursion,
		.hidden = hiding ? hiding->hidden : NULL,
		.n_hidden = hiding ? hiding->n_hidden : 0,
	};

	return mprof_flame_new(pass_profile(p), pass_decoder(p), &options);
}

bool wasm_pass_damage(const struct pass *p, uint32_t i, char *text, size_t size)
{
	const struct mprof_mem_damage *damage = pass_damage(p, i);

	if (damage)
		mprof_mem_damage_text(damage, text, size);
	return damage != NULL;
}
