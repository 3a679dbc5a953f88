/* Tell what the system said of a thread: samples of its state (mprof/events.def). */
#include <inttypes.h>
#include <string.h>

#include <mprof/ids.h>

#include "explanation-parts.h"
#include "why-index.h"

/* Append the number of the samples of S and the times of the first and the last one. */
static void tell_samples(struct mprof_explanation *e, const struct mprof_why_state *s)
{
	if (s->samples == 1) {
		explain_put(e, ", in 1 sample at ");
	} else {
		explain_put(e, ", in %" PRIu32 " samples from ", s->samples);
		explain_time(e, s->from);
		explain_put(e, " to ");
	}
	explain_time(e, s->to);
}

/* Append the name of the place in the kernel where the thread slept in the last sample of S, if it is known. */
static void tell_channel(struct mprof_explanation *e, const struct mprof_why_state *s)
{
	if (s->channel == MPROF_NONE)
		return;
	explain_put(e, " in ");
	explain_string(e, s->channel, s->channel_offset);
}

/* Say that the thread ran: how much of the time between the samples, if there are several. */
static void tell_ran(struct mprof_explanation *e, const struct mprof_why_state *s)
{
	uint64_t span = s->to > s->from ? s->to - s->from : 0;

	if (s->samples == 1 || !span) {
		explain_put(e, " ran, or waited for a processor");
	} else {
		explain_put(e,
			    s->processor_ns > span / 2 ? " ran on a processor: " : " ran, or waited for a processor: ");
		explain_span(e, 0, s->processor_ns);
		explain_put(e, " of processor time in ");
		explain_span(e, 0, span);
	}
	tell_samples(e, s);
	if (s->channel == MPROF_NONE)
		return;
	explain_put(e, s->samples == 1 ? "," : ", in the last one");
	tell_channel(e, s);
}

void explain_state(struct mprof_explanation *e, const struct mprof_why_state *s)
{
	switch (s->kind) {
	case MPROF_STATE_runs:
		tell_ran(e, s);
		return;
	case MPROF_STATE_sleeps:
		explain_put(e, " slept in the kernel");
		tell_channel(e, s);
		explain_put(e, ", by no call that its recorder writes");
		break;
	case MPROF_STATE_futex:
		explain_put(e, " waited in the kernel's futex, by no call that its recorder writes");
		break;
	case MPROF_STATE_blocked:
		explain_put(e, " was blocked in the kernel (state D)");
		tell_channel(e, s);
		break;
	case MPROF_STATE_stopped:
		explain_put(e, " was stopped by a signal");
		break;
	case MPROF_STATE_moved:
		explain_put(e, " moved: it ran since the sample before, and waited again");
		tell_channel(e, s);
		break;
	case MPROF_STATE_traced:
		explain_put(e, " was stopped by a debugger or another tracer");
		break;
	default:
		explain_put(e, " had ended");
		break;
	}
	tell_samples(e, s);
}
