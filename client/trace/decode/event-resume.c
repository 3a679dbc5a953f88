/*
 * Find the events that go on behind a broken one, by the rule of mprof_tail_resume(): their sizes lead exactly
 * to the end of the packet. The rule needs a time before the broken event. It is that of the event before, unless
 * that one does not agree with the packet's first (mprof_tail_agrees()), and may be damaged itself. The first event of a
 * trace has none before it.
 */
#include <mprof/event.h>

#include "event-resume.h"

void resume_times_open(struct resume_times *t)
{
	if (t->any)
		t->before = t->last;
	t->any = false;
}

/* Do the same as resume_find(). No event is earlier than FIRST, and the time before is NEWEST; 0 = unknown. */
static size_t find(const uint8_t *p, size_t len, uint64_t first, uint64_t newest)
{
	struct mprof_tail tail = {.not_before = first, .not_after = UINT64_MAX, .settled = true};

	return mprof_tail_resume(&tail, p, len, 0, newest);
}

size_t resume_find(const struct resume_times *t, const uint8_t *p, size_t len, uint64_t *events)
{
	struct mprof_raw_event e;
	size_t at = len;

	*events = 0;
	if (t->any)
		at = find(p, len, t->first, mprof_tail_agrees(t->last, t->first) ? t->last : t->first);
	if (at == len && (!t->any || (t->before && !mprof_tail_follows(t->first, t->before))))
		at = find(p, len, 0, t->before);
	for (size_t next = at; next < len && mprof_event_load(&e, p + next, len - next) == MPROF_EVENT_OK;
	     next += e.bytes)
		++*events;
	return at;
}
