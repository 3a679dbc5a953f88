/*
 * Functions of mprof.wasm for client/viewer/worker/wasm.js, besides libmprof's own calls: load a
 * trace, and describe the layout of structures.
 *
 * The module imports no clock, no randomness (the caller passes seeds) and no
 * output but that of chrome-export.h, to a descriptor of the caller. Its memory
 * grows up to 4 GiB and is only released with the instance; the memory of a freed trace is used
 * again. wasm.exports lists the functions that JavaScript can call.
 */
#ifndef TRACE_WASM_H
#define TRACE_WASM_H

#include <mprof/area-report.h>
#include <mprof/clocks.h>
#include <mprof/diff.h>
#include <mprof/explanation.h>
#include <mprof/flame.h>
#include <mprof/threads-report.h>

#include "loader.h"
#include "scan.h"

/*
 * Run a small trace through model and scene until browsers have optimised the code. This takes some
 * milliseconds; call it once.
 */
void wasm_warm_up(void);

struct loader *wasm_open(uint64_t seed, bool simplify);
/* As loader_stream(), with the fields of SOURCE as arguments. KIND is an enum input_kind. */
uint32_t wasm_stream(struct loader *l, uint32_t guest, int64_t offset_ns, uint64_t uncertainty_ns, uint32_t kind);
/*
 * Write damage I as a sentence into TEXT of SIZE bytes. Return the damage's stream, or MPROF_NONE
 * after the last damage.
 */
uint32_t wasm_damage(const struct loader *l, uint32_t i, char *text, size_t size);
size_t wasm_printable(char *out, size_t room, const char *text, size_t bytes);
const char *wasm_thread_type(uint32_t type);
/* Return the name of an event, or NULL after the last id. */
const char *wasm_event_name(uint32_t id);
struct mprof_diff *wasm_diff(const struct mprof_model_view *good, const struct mprof_model_view *bad, uint64_t seed);

/* Return zeroed bounds, which the caller frees with free(), or NULL without memory. */
struct mprof_clocks *wasm_clocks(void);
/*
 * Add N packets to C, each as 25 numbers: guest time; first and last stamp, of each stamp first its
 * clocks, then its offset; 1 if the clock stepped, else 0; guest time of the last chunk, or
 * UINT64_MAX; the number of newest stamps; and these, and zeros for those that are missing.
 */
void wasm_clocks_packets(struct mprof_clocks *c, const uint64_t *numbers, uint32_t n);

/*
 * Return a text with a line `KIND NAME AT BYTES` (wasm-layout.c) for each structure, field and
 * number. The caller frees it. Return NULL without memory.
 */
const char *wasm_layout(void);

/* ---- answers ---- */

/*
 * Return a terminated text of JSON that the caller frees, or NULL without memory. wasm_why() answers as `mprofctl why`, with
 * sentences: about THREAD if WAITS is NULL, else about what WAITS shows. STREAMS are the names of L's streams, NULL of
 * a single one.
 */
char *wasm_why(const struct loader *l, const struct mprof_why *why, const struct mprof_waits *waits,
	       struct mprof_explanation *explanation, char *const *streams, uint32_t thread);
/* Return the threads of VIEW (<mprof/threads-report.h>), all, which the caller frees, or NULL without memory. */
struct mprof_threads *wasm_threads(const struct mprof_model_view *view, const struct mprof_why *why,
				   char *const *streams);
/* The answer of `mprofctl threads` about THREAD, an index of the model, with its sentences. */
char *wasm_thread(const struct mprof_threads *threads, struct mprof_explanation *explanation, uint32_t thread);
/* Return the area of VIEW (<mprof/area.h>) from FROM to TO and from FIRST_ROW to LAST_ROW, or NULL without memory. */
struct mprof_area *wasm_area(const struct mprof_model_view *view, uint64_t from, uint64_t to, uint32_t first_row,
			     uint32_t last_row);
/*
 * The answer about AREA of VIEW: the groups that contain the BYTES bytes at WORDS, sorted by KEY, at most MOST of them,
 * with the sentences of EXPLANATION.
 */
char *wasm_area_groups(const struct mprof_model_view *view, struct mprof_area *area,
		       struct mprof_explanation *explanation, char *const *streams, enum mprof_area_key key,
		       bool descending, const char *words, uint32_t bytes, uint32_t most);
/* The same about the threads of GROUP that waited longest. */
char *wasm_area_threads(const struct mprof_model_view *view, struct mprof_area *area, uint32_t group);
/* The answer of `mprofctl diff`: of D, the difference of the traces of GOOD and BAD, with the names of their streams, and sentences. */
char *wasm_diff_answer(const struct mprof_diff *d, const struct loader *good, char *const *good_streams,
		       struct mprof_explanation *good_explanation, const struct loader *bad, char *const *bad_streams,
		       struct mprof_explanation *bad_explanation);
/*
 * The same of `mprofctl stats`, from FROM to TO, ns on the model's time line. If that is the whole trace, the numbers of events are
 * exact; for a part only the events that the model keeps are counted.
 */
char *wasm_statistics(const struct loader *l, char *const *streams, uint64_t from, uint64_t to);

/* ---- memory profiles ---- */

/* Functions of mprof.wasm for the worker of memory profiles (client/viewer/worker/recording.js). */
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

/* A filter, and the functions that a flame graph hides. It owns the names of both. */
struct wasm_filter;

/* Return a filter, or NULL without memory. */
struct wasm_filter *wasm_filter_new(void);
/* Free F, which may be NULL. */
void wasm_filter_free(struct wasm_filter *f);
/*
 * Set a range of the filter. Bit 0 of HAS: the range has the end LEAST; bit 1: it has the end MOST.
 */
void wasm_filter_range(struct wasm_filter *f, enum wasm_filter_range range, uint32_t has, uint64_t least,
		       uint64_t most);
void wasm_filter_heaps(struct wasm_filter *f, uint32_t heaps, bool never_collected);
/*
 * Add NAME, which is terminated and was allocated by malloc(), as a clause of KIND. The filter owns
 * NAME. Return false, with NAME freed, when it has MPROF_MEM_CLAUSES_MAX of that kind already.
 */
bool wasm_filter_name(struct wasm_filter *f, enum wasm_filter_name kind, char *name, bool whole);

/* As scan_new(), with the options as arguments. FILTER may be NULL: all objects. */
struct scan *wasm_scan(const struct recording *r, uint64_t seed, uint64_t recording, const struct wasm_filter *filter,
		       uint64_t last_us, bool grows, bool sort);
/* As wasm_scan(), sorted, for the time line of a recording of several domains. */
struct scan *wasm_scan_line(const struct recording *r, uint64_t seed, uint64_t recording,
			    const struct wasm_filter *filter, uint64_t last_us, uint64_t from, uint64_t length,
			    uint32_t points);
/*
 * As mprof_flame_new(), of S's profile and decoder. HIDING has the functions to leave out, or is
 * NULL.
 */
struct mprof_flame *wasm_flame(const struct scan *s, enum mprof_weight weight, bool sites, bool recursion,
			       const struct wasm_filter *hiding);
/*
 * The answer of `mprofctl mem hotspots` about S, complete, with the indices of functions: a text as of wasm_why(). WEIGHT is what is
 * counted.
 */
char *wasm_hotspots(const struct scan *s, enum mprof_weight weight);
/*
 * The answer of `mprofctl mem identify` about ALL, complete. BASE is the scan of the bytes in their order, which may be ALL. CHOSEN: the
 * recording was chosen among several.
 */
char *wasm_profile(const struct scan *all, const struct scan *base, bool chosen);
/* The same of `mprofctl mem leaks`. */
char *wasm_leaks(const struct scan *s);
/* Write damage I as a sentence into TEXT of SIZE bytes. Return false after the last one kept. */
bool wasm_scan_damage(const struct scan *s, uint32_t i, char *text, size_t size);

#endif
