/* Say what an area, or a whole trace, can lack. */
#include <inttypes.h>

#include <mprof/area.h>

#include "explanation-parts.h"

static void tell_lost(struct mprof_explanation *e, uint64_t packets)
{
	explain_put(
		e,
		"%" PRIu64
		"%s missing here: what happened in the gaps is unknown, and threads seem to go on there as they were.",
		packets, packets == 1 ? " packet is" : " packets are");
	explain_line(e);
}

enum mprof_status mprof_explanation_area(struct mprof_explanation *e, const struct mprof_area *a)
{
	const struct mprof_area_totals *all = mprof_area_totals(a);
	const struct mprof_coverage *c = mprof_area_coverage(a);

	explain_begin(e);
	if (all->lost_packets)
		tell_lost(e, all->lost_packets);
	if (c->hole != MPROF_HOLE_NONE) {
		explain_put(e, "A thread, a run or an end would not be here");
		explain_hole(e, c, UINT64_MAX);
		explain_put(e, ".");
		explain_line(e);
	}
	if (all->untold) {
		explain_put(
			e,
			"How long threads ran and waited is unknown where nothing in the trace tells when they run.");
		explain_line(e);
	}
	return explain_end(e);
}
