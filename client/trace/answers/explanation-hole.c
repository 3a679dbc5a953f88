/* Say why an event can be missing from a trace (<mprof/coverage.h>). */
#include "explanation-parts.h"

/* Append the name of STREAM's ring. */
static void tell_ring(struct mprof_explanation *e, uint32_t stream)
{
	explain_put(e, e->streams ? "the ring of " : e->view->n_streams == 1 ? "the trace" : "a ring");
	if (e->streams)
		explain_name(e, stream);
}

static void tell_begin(struct mprof_explanation *e, const struct mprof_coverage *c, uint64_t since)
{
	explain_put(e, ": ");
	tell_ring(e, c->stream);
	explain_put(e, " begins ");
	if (c->to > since) {
		explain_span(e, since, c->to);
		explain_put(e, " after the wait did");
	} else {
		explain_put(e, "at ");
		explain_time(e, c->to);
	}
}

static void tell_gap(struct mprof_explanation *e, const struct mprof_coverage *c)
{
	explain_put(e, ": ");
	tell_ring(e, c->stream);
	explain_put(e, " lacks packets from ");
	explain_time(e, c->from);
	if (c->to > c->from) {
		explain_put(e, " to ");
		explain_time(e, c->to);
	} else {
		explain_put(e, " on");
	}
}

static void tell_step(struct mprof_explanation *e, const struct mprof_coverage *c)
{
	explain_put(e, ": the clock of ");
	tell_ring(e, c->stream);
	explain_put(e, " went back from ");
	explain_time(e, c->to);
	explain_put(e, " to ");
	explain_time(e, c->from);
}

void explain_hole(struct mprof_explanation *e, const struct mprof_coverage *c, uint64_t since)
{
	if (c->hole == MPROF_HOLE_BEGIN) {
		tell_begin(e, c, since);
	} else if (c->hole == MPROF_HOLE_GAP) {
		tell_gap(e, c);
	} else if (c->hole == MPROF_HOLE_CLOCK) {
		tell_step(e, c);
	} else if (c->hole == MPROF_HOLE_RING) {
		explain_put(e, ": the ring of ");
		explain_who(e, e->view->streams[c->stream].silent, c->from);
		explain_put(e, " is not among the files");
	} else if (c->hole == MPROF_HOLE_DROPPED) {
		explain_put(e, " if a recorder dropped it: some events were dropped up to ");
		explain_time(e, c->to);
	} else if (c->hole == MPROF_HOLE_KIND) {
		explain_put(e, ": the recorder does not always write it");
	} else {
		explain_put(e, " unless its recorder writes it: ");
		tell_ring(e, c->stream);
		explain_put(e, since == UINT64_MAX ? " has none" : " has none before the wait");
	}
}

enum mprof_status mprof_explanation_hole(struct mprof_explanation *e, const struct mprof_coverage *coverage)
{
	explain_begin(e);
	explain_hole(e, coverage, UINT64_MAX);
	return explain_end(e);
}
