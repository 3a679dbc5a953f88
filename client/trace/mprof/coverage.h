/*
 * libmprof: whether a model would have an event if it had happened.
 *
 *   mprof_coverage_ask(view, stream, MPROF_COVERAGE_SIGNAL, from, to, from, &coverage);
 *   if (coverage.hole == MPROF_HOLE_NONE)
 *           ...             // an event of this kind that the model lacks did not happen
 *
 * An answer that says "none", "never" or "nobody" needs this. A ring would have the event if its writer
 * records the kind whenever it happens, if the ring reaches back to FROM, and if no packet is missing and
 * the clock did not go back between FROM and TO. A writer declares in its packets which kinds it records
 * (MPROF_WRITES_* in mprof/ids.h). A writer that declares nothing counts as one that records the kind if
 * its ring has an event of the kind at or before the time of the question.
 */
#ifndef MPROF_COVERAGE_H
#define MPROF_COVERAGE_H

#include <mprof/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of events whose absence can be asked about. */
enum mprof_coverage_kind {
	MPROF_COVERAGE_SIGNAL,	/* signals of a condition */
	MPROF_COVERAGE_WAKE,	/* releases of a mutex or semaphore that a thread waits for */
	MPROF_COVERAGE_RELEASE, /* releases of a mutex or semaphore that no thread waits for */
	MPROF_COVERAGE_INPUT,	/* what makes a stream ready */
	MPROF_COVERAGE_READ,	/* reads of a resolved thread */
	MPROF_COVERAGE_RESOLVE, /* ends of threads and of waits */
	MPROF_COVERAGE_KINDS,
};

/* Reasons why an event can be absent although it happened. */
enum mprof_hole {
	MPROF_HOLE_NONE,    /* there is none: the event did not happen */
	MPROF_HOLE_KIND,    /* the writer of STREAM declares that it does not always record the kind */
	MPROF_HOLE_UNSAID,  /* nothing says that the writer of STREAM records the kind */
	MPROF_HOLE_BEGIN,   /* STREAM begins at TO, behind the time asked about, and its writer wrote earlier events */
	MPROF_HOLE_GAP,	    /* packets of STREAM are missing from FROM to TO */
	MPROF_HOLE_CLOCK,   /* the clock of STREAM went back: it had the times from FROM to TO twice */
	MPROF_HOLE_RING,    /* the ring of a thread of the program is not in the model (SILENT of STREAM) */
	MPROF_HOLE_DROPPED, /* a recorder of the program dropped events up to TO */
	MPROF_HOLES,
};

/* Times are ns on the model's time line. STREAM, FROM and TO are 0 without a hole. */
struct mprof_coverage {
	enum mprof_hole hole;
	uint32_t stream;
	uint64_t from;
	uint64_t to;
};

/*
 * Store in *COVERAGE whether the streams of STREAM's guest would have an event of KIND between FROM and
 * TO, ns, that is about an object whose first event is in STREAM. AT is the time of the question, ns, from
 * FROM to TO. Only streams count whose writers
 * declare as much as that of STREAM: the others do not write about its objects. VIEW is of a finished
 * model, STREAM below its N_STREAMS. The call takes time in proportion to the streams, gaps and
 * counters of VIEW; it cannot fail.
 */
MPROF_API void mprof_coverage_ask(const struct mprof_model_view *view, uint32_t stream, enum mprof_coverage_kind kind,
				  uint64_t from, uint64_t to, uint64_t at, struct mprof_coverage *coverage);

/* Return the name of HOLE, a constant: "none", "kind", "unsaid", "begin", "gap", "clock", "ring" or
 * "dropped". */
MPROF_API const char *mprof_hole_name(enum mprof_hole hole);

/*
 * Return since when the program of STREAM's guest sleeps at the end of the trace, ns: no ring of the guest
 * has a thread that runs then, and the ring that was last to stop did so at that time. Return UINT64_MAX if
 * the program does not sleep, if a ring does not tell whether its threads stopped, if the clock of a ring went back, or if a
 * sample of a thread says that it ran since.
 */
MPROF_API uint64_t mprof_coverage_asleep(const struct mprof_model_view *view, uint32_t stream);

#ifdef __cplusplus
}
#endif

#endif
