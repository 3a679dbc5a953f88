/* What mprof.wasm offers to the worker of memory profiles (client/viewer/worker/recording.js) beside libmprof's own calls. */
#ifndef TRACE_WASM_HEAP_H
#define TRACE_WASM_HEAP_H

#include <mprof/flame.h>

#include "pass.h"

enum wasm_filter_range {
	WASM_FILTER_ALLOCATED,
	WASM_FILTER_LIVE,
	WASM_FILTER_COLLECTED,
	WASM_FILTER_BYTES,
	WASM_FILTER_LIFETIME,
};

enum wasm_filter_name {
	WASM_FILTER_INSIDE,
	WASM_FILTER_OUTSIDE,
	WASM_FILTER_HIDDEN,
};

/* A filter, and the functions that are hidden; owns the names of both. */
struct wasm_filter;

/* NULL without memory. */
struct wasm_filter *wasm_filter_new(void);
/* Takes NULL too. */
void wasm_filter_free(struct wasm_filter *f);
/* HAS: 1 it has a least, 2 a most. */
void wasm_filter_range(struct wasm_filter *f, enum wasm_filter_range range, uint32_t has, uint64_t least,
		       uint64_t most);
void wasm_filter_heaps(struct wasm_filter *f, uint32_t heaps, bool never_collected);
/* NAME, from malloc() and terminated, is the filter's from now on.  False where there are MPROF_MEM_CLAUSES_MAX of that. */
bool wasm_filter_name(struct wasm_filter *f, enum wasm_filter_name kind, char *name, bool whole);

/* All objects; FILTER may be NULL, or is lent until the pass is freed. */
struct pass *wasm_pass(const struct kept *k, uint64_t seed, uint64_t recording, const struct wasm_filter *filter,
		       uint64_t last_us, bool grows, bool sort);
/* The line of a stream of several domains. */
struct pass *wasm_pass_line(const struct kept *k, uint64_t seed, uint64_t recording, const struct wasm_filter *filter,
			    uint64_t last_us, uint64_t from, uint64_t length, uint32_t points);
/* HIDING may be NULL. */
struct mprof_flame *wasm_flame(const struct pass *p, enum mprof_weight weight, bool sites, bool recursion,
			       const struct wasm_filter *hiding);
/* The sentence of damage I into TEXT; false past the last one that is kept. */
bool wasm_pass_damage(const struct pass *p, uint32_t i, char *text, size_t size);
#endif
