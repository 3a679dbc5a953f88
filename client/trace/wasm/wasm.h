/*
 * What mprof.wasm offers to client/viewer/worker/wasm.js beside libmprof's own calls: a trace to load, and the places of everything in memory.
 *
 * Nothing is imported that does anything: no clock, no randomness (seeds are arguments), no output.  Memory grows up to 4 GiB and is given back
 * with the instance alone, but what a trace held is free for the next.  wasm.exports lists what JavaScript can call.
 */
#ifndef TRACE_WASM_H
#define TRACE_WASM_H

#include <mprof/clocks.h>
#include <mprof/diff.h>
#include <mprof/flame.h>

#include "loader.h"
#include "scan.h"

/* Let what reads a trace run until browsers have made good code of it: some milliseconds, once. */
void wasm_warm_up(void);

struct loader *wasm_open(uint64_t seed, bool simplify);
/* KIND is an enum input_kind. */
uint32_t wasm_stream(struct loader *l, uint32_t guest, int64_t offset_ns, uint64_t uncertainty_ns, uint32_t kind);
/* The sentence of damage I into TEXT; the stream where it is, or MPROF_NONE behind the last one. */
uint32_t wasm_damage(const struct loader *l, uint32_t i, char *text, size_t size);
size_t wasm_printable(char *out, size_t room, const char *text, size_t bytes);
const char *wasm_thread_type(uint32_t type);
/* NULL past the last. */
const char *wasm_event_name(uint32_t id);
struct mprof_diff *wasm_diff(const struct mprof_model_view *good, const struct mprof_model_view *bad, uint64_t seed);

/* To be freed; NULL without memory. */
struct mprof_clocks *wasm_clocks(void);
/* N packets, each as the numbers of a struct mprof_copied in its order, the offset of each stamp behind its clocks and STEPPED as 0 or 1. */
void wasm_clocks_packets(struct mprof_clocks *c, const uint64_t *numbers, uint32_t n);

/* A line for each place, `KIND NAME AT BYTES`; to be freed.  NULL without memory. */
const char *wasm_layout(void);

/* ---- memory profiles ---- */

/* What mprof.wasm offers to the worker of memory profiles (client/viewer/recording.js) beside libmprof's own calls. */
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
struct scan *wasm_scan(const struct recording *k, uint64_t seed, uint64_t recording, const struct wasm_filter *filter,
		       uint64_t last_us, bool grows, bool sort);
/* The line of a stream of several domains. */
struct scan *wasm_scan_line(const struct recording *k, uint64_t seed, uint64_t recording,
			    const struct wasm_filter *filter, uint64_t last_us, uint64_t from, uint64_t length,
			    uint32_t points);
/* HIDING may be NULL. */
struct mprof_flame *wasm_flame(const struct scan *p, enum mprof_weight weight, bool sites, bool recursion,
			       const struct wasm_filter *hiding);
/* The sentence of damage I into TEXT; false past the last one that is kept. */
bool wasm_scan_damage(const struct scan *p, uint32_t i, char *text, size_t size);

#endif
