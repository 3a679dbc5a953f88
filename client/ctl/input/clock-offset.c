/* This file says how sure the wall times of a trace are. */
#include <stdio.h>
#include <stdlib.h>

#include "cleanup.h"
#include "clock-offset.h"
#include "ctl.h"
#include "table.h"

static void report_unknown(const struct clock_offset *c, const char *name, const char *consequence)
{
	static const char *const reasons[] = {
		[CLOCK_MISSING_STAMPS] = "mprofd stamped none of its packets",
		[CLOCK_MISSING_GUEST] = "mprofd knows no such guest",
		[CLOCK_MISSING_FETCHED] = "mprofd did not know it when the trace was fetched",
		[CLOCK_MISSING_REFUSED] = "the offset of its clock cannot be used",
		[CLOCK_MISSING_METADATA] = "its metadata has no offset of the clock",
		[CLOCK_MISSING_PIPE] = "a pipe has no file with the offset of the clock beside it",
	};

	if (c->missing == CLOCK_MISSING_FILE)
		say("%s: its wall time is unknown, because there is no %s.clock.json, which fetch writes; %s", name,
		    name, consequence);
	else
		say("%s: its wall time is unknown, because %s; %s", name, reasons[c->missing], consequence);
}

void clock_offset_report(const struct clock_offset *c, const char *name, const char *consequence)
{
	const char *stepped = c->stepped ? "; its clock stepped back, and only the times after the step are right" : "";
	char span[SPAN_TEXT_MAX];

	if (!c->known)
		report_unknown(c, name, consequence);
	else if (!c->uncertainty_ns)
		say("%s: wall times are dom0's; the guest has dom0's own clock%s", name, stepped);
	else if (c->uncertainty_ns == UINT64_MAX)
		say("%s: wall times are dom0's; an event happened at its time, or earlier by an unknown time%s", name,
		    stepped);
	else
		say("%s: wall times are dom0's; an event happened at its time, or up to %s earlier%s", name,
		    span_text(c->uncertainty_ns, span, sizeof(span)), stepped);
}
