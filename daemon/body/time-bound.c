/*
 * Compute the latest time that an event of a tail can have.
 *
 * The offset between the guest's clock and dom0's clock is unknown. The time of a copy only says
 * that the copied events are not newer than that time. If a ring was full when mprofd found it, the
 * copies are hours newer than the events. A bound from the least difference between copy and
 * timestamp would then be hours too early, and cut the last true events of the guest.
 *
 * So the bound uses the opposite direction. Suppose the last proven event was written after a known
 * moment. Both clocks run at the same speed. So no event of the capture is later than the last
 * proven event by more than the time between that moment and the capture. When was an event surely
 * written after an earlier copy? If at least three polls lie between that copy and the copy of the
 * event: one poll confirms a position, and the next proves it. Copies that are two seconds apart
 * belong to different polls, because no poll takes so long.
 *
 * The bound is deliberately loose. Its purpose is to detect half-written timestamps, which are
 * wrong by years.
 *
 * If there are too few polls, or no proven event, only the host's clocks at the capture are known (mprof_tail_latest()).
 */
#include <string.h>

#include <mprof/event.h>
#include <mprof/ring.h>

#include "clock.h"
#include "time-bound.h"

#define POLL_APART_NS (2 * NS_PER_S)
#define POLLS	      4u /* polls to go back; one more than needed */
/* For clocks of different speed, and for copies that end after the capture began. */
#define SLACK_NS (10 * NS_PER_S)

/* A search back in time, from the newest copy. */
struct search {
	struct archive_end at; /* the copy that the search has reached */
	unsigned polls;	       /* number of polls between that copy and the newest */
};

static int64_t min_i64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/*
 * Move the search back to END if an earlier poll copied it. Both clocks must say so, because a
 * reboot of dom0 resets one of them.
 */
static void search_step(struct search *s, const struct archive_end *end)
{
	int64_t mono = (int64_t)(s->at.mono - end->mono), real = (int64_t)(s->at.real - end->real);

	if (s->polls == POLLS || min_i64(mono, real) < (int64_t)POLL_APART_NS)
		return;
	s->at = *end;
	s->polls++;
}

/*
 * Search in the packet of the event, and go back by a quarter of the rest each time: the packet may
 * have taken hours to fill. Return what the reader returns.
 */
static int search_packet(struct search *s, struct reader *r, const struct time_bound_event *e)
{
	struct archive_end end;
	int rc = 0;

	for (uint32_t part = e->end - MPROF_PACKET_HEADER_BYTES; part && rc == 0 && s->polls < POLLS;
	     part -= (part + 3) / 4) {
		rc = reader_end_below(r, e->stream, e->sequence, MPROF_PACKET_HEADER_BYTES + part, &end);
		if (rc == 0)
			search_step(s, &end);
	}
	return rc == ARCHIVE_E_ABSENT ? 0 : rc;
}

/*
 * Search in the packets before it, with growing steps, because there may be thousands per second.
 * Return what the reader returns.
 */
static int search_before(struct search *s, struct reader *r, const struct time_bound_event *e)
{
	struct reader_packet p;
	struct archive_end end;
	size_t n;
	int rc;

	for (uint64_t back = 1; back <= e->sequence && s->polls < POLLS; back += back / 4 + 1) {
		n = 1;
		rc = reader_packets(r, (struct reader_source){.stream = e->stream}, 0, e->sequence - back, true, &p,
				    &n);
		if (rc != 0 || n == 0)
			return rc;
		rc = reader_end_below(r, e->stream, p.sequence, UINT32_MAX, &end);
		if (rc != 0 && rc != ARCHIVE_E_ABSENT)
			return rc;
		if (rc == 0)
			search_step(s, &end);
		back = e->sequence - p.sequence > back ? e->sequence - p.sequence : back;
	}
	return 0;
}

static int take_time(void *context, const struct reader_capture *c)
{
	struct archive_end *at = context;

	at->mono = c->capture.mono;
	at->real = c->capture.real;
	return 0;
}

/*
 * Search back from NEWEST, the last proven event. *FOUND: it was written after the copy at S->at. Return what the reader
 * returns.
 */
static int search_run(struct search *s, struct reader *r, const struct time_bound_event *newest, bool *found)
{
	int rc = reader_end_below(r, newest->stream, newest->sequence, newest->end, &s->at);

	*found = false;
	if (rc == 0)
		rc = search_packet(s, r, newest);
	if (rc == 0)
		rc = search_before(s, r, newest);
	*found = rc == 0 && s->polls == POLLS;
	return rc == ARCHIVE_E_ABSENT ? 0 : rc;
}

int time_bound_not_after(struct reader *r, const struct time_bound_event *newest, int64_t capture, uint64_t *not_after)
{
	struct archive_end taken;
	struct search s = {0};
	bool found = false;
	int64_t mono, real;
	uint64_t latest;
	int rc = reader_capture(r, capture, take_time, &taken);

	*not_after = UINT64_MAX;
	if (rc != 0)
		return rc == ARCHIVE_E_ABSENT ? 0 : rc;
	*not_after = mprof_tail_latest(newest->timestamp, taken.mono, taken.real);
	if (newest->end)
		rc = search_run(&s, r, newest, &found);
	if (rc != 0 || !found)
		return rc;
	mono = (int64_t)(taken.mono - s.at.mono);
	real = (int64_t)(taken.real - s.at.real);
	/*
	 * Use the clock that says more: dom0 may have slept or rebooted, or its wall clock was
	 * set.
	 */
	if (!__builtin_add_overflow(newest->timestamp, (uint64_t)-min_i64(-mono, -real), &latest) &&
	    !__builtin_add_overflow(latest, SLACK_NS, &latest))
		*not_after = latest;
	return 0;
}
