/* Gaps and dropped events of a model, sorted, for many questions of mprof_coverage_ask(). */
#ifndef TRACE_COVERAGE_INDEX_H
#define TRACE_COVERAGE_INDEX_H

#include <mprof/coverage.h>

/* A gap, and how far the gaps of its stream up to this one reach. */
struct coverage_gap {
	uint64_t from;	/* ns */
	uint64_t reach; /* latest end of the gaps of STREAM up to this one, ns; UINT64_MAX behind an open one */
	uint32_t stream;
	uint32_t gap; /* index of the view's gaps */
};

/* A sample of a counter that says that a recorder dropped events. */
struct coverage_drop {
	uint64_t time;	/* ns */
	uint64_t since; /* the sample before, ns; 0 if there is none: the events were dropped between the two */
	uint32_t guest;
	uint32_t stream;
	uint32_t widest; /* index in DROPS of the one of GUEST from this one on whose SINCE is the earliest */
	uint32_t reserved;
};

struct coverage_index {
	struct coverage_gap *gaps; /* by stream, then by FROM */
	uint32_t *first_gap;	   /* for each stream the position of its first gap in GAPS; one more item is the end */
	struct coverage_drop *drops; /* by guest, then by time */
	uint32_t n_drops;
};

/*
 * Index VIEW, which must outlive X. Return false without memory. Call coverage_index_deinit() in any case.
 * It takes n log n time for n gaps and samples.
 */
bool coverage_index_init(struct coverage_index *x, const struct mprof_model_view *view);
void coverage_index_deinit(struct coverage_index *x);

/* Return a gap of STREAM that has times from FROM to TO, an index of the view's gaps, or MPROF_NONE. */
uint32_t coverage_index_gap(const struct coverage_index *x, uint32_t stream, uint64_t from, uint64_t to);
/*
 * Return a drop of GUEST at or after FROM whose sample before is older than TO, the first one of all if that is such a one; or NULL.
 */
const struct coverage_drop *coverage_index_drop(const struct coverage_index *x, uint32_t guest, uint64_t from,
						uint64_t to);

/* Return whether the counter NAME, a string of V, counts events that are not in the trace. */
bool coverage_is_of_losses(const struct mprof_model_view *v, uint32_t name);
/* Return whether sample I of V says that events were dropped since the sample before. */
bool coverage_is_drop(const struct mprof_model_view *v, uint32_t i);
/* Return the time of the sample before sample I, ns, or 0 if there is none. */
uint64_t coverage_drop_since(const struct mprof_model_view *v, uint32_t i);
/* Return whether STREAM is not the program's own, but has the times of the guest's vCPUs (schema/vcpu.md). */
bool coverage_is_of_vcpus(const struct mprof_model_view *v, uint32_t stream);
/* Return whether the writer of STREAM, a program's, may have written events before the first one of STREAM. */
bool coverage_lacks_beginning(const struct mprof_model_view *v, uint32_t stream);
/* Return whether no event follows the gap G, so that nobody knows how long it lasts. */
static inline bool coverage_is_open(const struct mprof_gap *g)
{
	return g->to <= g->from;
}

/* As mprof_coverage_ask(). X is the index of VIEW: the call takes time in proportion to the streams of VIEW. */
void coverage_ask(const struct mprof_model_view *view, const struct coverage_index *x, uint32_t stream,
		  enum mprof_coverage_kind kind, uint64_t from, uint64_t to, uint64_t at,
		  struct mprof_coverage *coverage);
/*
 * Store in *COVERAGE a hole of the streams of STREAM's guest between FROM and TO, ns, that is no matter of the kind of
 * event and not the beginning of a ring: a gap, a step of the clock, dropped events, or a ring that is not there.
 */
void coverage_losses(const struct mprof_model_view *view, const struct coverage_index *x, uint32_t stream,
		     uint64_t from, uint64_t to, struct mprof_coverage *coverage);
/*
 * Store in *COVERAGE a hole of STREAM between FROM and TO, ns, whatever the kind of event is: the ring begins later, or as
 * coverage_losses().
 */
void coverage_stream(const struct mprof_model_view *view, const struct coverage_index *x, uint32_t stream,
		     uint64_t from, uint64_t to, struct mprof_coverage *coverage);
/*
 * Store in *COVERAGE the hole in which a resolution of THREAD may be, from its creation to END, ns, the end of the
 * trace. X is the index of VIEW. That the ring begins later, or that its writer need not write resolutions, is no hole
 * here: the program expects this one. Neither is a clock that went back, if the program has one ring, which lacks no packet: its
 * events are in their order.
 */
void coverage_unresolved(const struct mprof_model_view *view, const struct coverage_index *x, uint32_t thread,
			 uint64_t end, struct mprof_coverage *coverage);

#endif
