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

#include "loader.h"

/* Let what reads a trace run until browsers have made good code of it (warm-up.c): some milliseconds, once. */
void wasm_warm_up(void);

struct loader *wasm_open(uint64_t seed, bool simplify);
/* KIND is an enum intake_kind. */
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

#endif
