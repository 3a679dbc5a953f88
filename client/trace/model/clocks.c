/*
 * Bounds from stamps.
 *
 * When the collector sees a new position in a ring, it confirms the position at the next poll and
 * proves it at the poll after that. So bytes that it copied at one poll were not in the ring four
 * polls earlier. A stamp belongs to a copy, not to a poll. Two stamps certainly belong to different
 * polls in two cases: they are two seconds (APART_NS) apart, because no poll takes that long; or
 * they belong to the ends of two chunks of one packet, because one poll finds one proven position in
 * a packet, and copies up to there as one chunk. (A poll that watches a fast writer may find several,
 * but then each is the result of another look at the writer, which is what counts here.)
 */
#include <string.h>

#include <mprof/clocks.h>

/* Store HOST_NS - GUEST_NS in *RESULT. Return false when the difference does not fit 64 bits. */
static bool difference(uint64_t guest_ns, uint64_t host_ns, int64_t *result)
{
	return !__builtin_sub_overflow(host_ns, guest_ns, result);
}

void mprof_clock_before(struct mprof_clock *clock, uint64_t guest_ns, uint64_t host_ns)
{
	int64_t most;

	if (!difference(guest_ns, host_ns, &most) || (clock->bounded_above && clock->most <= most))
		return;
	clock->most = most;
	clock->bounded_above = true;
}

void mprof_clock_after(struct mprof_clock *clock, uint64_t guest_ns, uint64_t host_ns)
{
	int64_t least;

	if (!difference(guest_ns, host_ns, &least) || (clock->bounded_below && clock->least >= least))
		return;
	clock->least = least;
	clock->bounded_below = true;
}

void mprof_clock_apply(const struct mprof_clock *clock, struct mprof_model_source *source)
{
	source->offset_ns = clock->bounded_above ? clock->most : 0;
	source->uncertainty_ns = UINT64_MAX;
	if (clock->bounded_above && clock->bounded_below)
		source->uncertainty_ns =
			clock->most < clock->least ? 0 : (uint64_t)clock->most - (uint64_t)clock->least;
}

/* ---- stamps ---- */

#define APART_NS 2000000000u

/*
 * Largest change of the distance between dom0's two clocks without a reboot, ns: NTP changes it by
 * less.
 */
#define SAME_BOOT_NS 2000000000

/*
 * Record a poll that is certainly later than all polls recorded before, with the stamp of one of
 * its copies.
 */
static void add_poll(struct mprof_clocks *c, const struct mprof_stamp *stamp)
{
	if (c->n_polls == MPROF_CLOCKS_POLLS)
		memmove(c->polls, c->polls + 1, --c->n_polls * sizeof(*c->polls));
	c->polls[c->n_polls++] = *stamp;
}

static bool later(uint64_t at, uint64_t before)
{
	return at >= before && at - before >= APART_NS;
}

/*
 * Add a stamp. It begins another poll if ANOTHER_POLL is set, or if both clocks say that it is
 * later: after a reboot of dom0 the monotonic clock alone says nothing.
 */
static void note_stamp(struct mprof_clocks *c, const struct mprof_stamp *stamp, bool another_poll)
{
	const struct mprof_stamp *newest = c->n_polls ? &c->polls[c->n_polls - 1] : NULL;

	if (!newest || another_poll || (later(stamp->mono, newest->mono) && later(stamp->real, newest->real)))
		add_poll(c, stamp);
	if (stamp->mono >= c->latest.mono || !c->stamps)
		c->latest = *stamp;
	c->stamps++;
}

void mprof_clocks_stream(struct mprof_clocks *c)
{
	c->n_polls = 0;
}

/*
 * Use the event at GUEST, which was copied at FIRST, for the upper bounds; and for the lower bounds
 * if BEFORE, the stamp of a poll at which the event was not yet there, is not NULL.
 */
static void bound(struct mprof_clocks *c, uint64_t guest, const struct mprof_stamp *first,
		  const struct mprof_stamp *before)
{
	mprof_clock_before(&c->mono, guest, first->mono);
	mprof_clock_before(&c->real, guest, first->real);
	if (!before)
		return;
	mprof_clock_after(&c->mono, guest, before->mono);
	mprof_clock_after(&c->real, guest, before->real);
}

/* Return the stamp of a poll that was certainly four polls before the newest recorded one, or NULL. */
static const struct mprof_stamp *four_before(const struct mprof_clocks *c)
{
	return c->n_polls == MPROF_CLOCKS_POLLS ? &c->polls[0] : NULL;
}

/* Add the stamps of PACKET behind its first one. */
static void note_later(struct mprof_clocks *c, const struct mprof_copied_packet *packet)
{
	uint32_t n = packet->n_newest < MPROF_CLOCKS_POLLS ? packet->n_newest : MPROF_CLOCKS_POLLS;
	uint64_t offset = packet->first.offset;

	for (uint32_t i = 0; i <= n; i++) {
		const struct mprof_stamp *stamp = i < n ? &packet->newest[i] : &packet->last;

		note_stamp(c, stamp, stamp->offset > offset);
		if (stamp->offset > offset)
			offset = stamp->offset;
	}
}

void mprof_clocks_packet(struct mprof_clocks *c, const struct mprof_copied_packet *packet)
{
	if (packet->stepped)
		*c = (struct mprof_clocks){.latest = c->latest, .stamps = c->stamps, .stepped = true};
	/*
	 * The oldest of the recorded polls was certainly four polls before this copy only if this
	 * copy's poll, or an earlier one, is the newest recorded poll.
	 */
	note_stamp(c, &packet->first, false);
	bound(c, packet->guest_ns, &packet->first, four_before(c));
	note_later(c, packet);
	/* If LAST is not the newest recorded poll, that one is earlier. */
	if (packet->has_last_chunk)
		bound(c, packet->last_chunk_ns, &packet->last, four_before(c));
}

bool mprof_clocks_offset(const struct mprof_clocks *c, bool realtime, int64_t *offset, uint64_t *uncertainty)
{
	const struct mprof_clock *clock = realtime ? &c->real : &c->mono;
	struct mprof_model_source source;

	mprof_clock_apply(clock, &source);
	/*
	 * The bounds contradict each other, because the clocks run at different speeds: the offset
	 * moved by this much.
	 */
	if (clock->bounded_above && clock->bounded_below && clock->most < clock->least)
		source.uncertainty_ns = (uint64_t)clock->least - (uint64_t)clock->most;
	*offset = source.offset_ns;
	*uncertainty = source.uncertainty_ns;
	return clock->bounded_above;
}

/* Return the real-time clock minus the monotonic clock, ns, at the latest stamp. */
static int64_t between(const struct mprof_clocks *c)
{
	return (int64_t)(c->latest.real - c->latest.mono);
}

/*
 * If an event was copied within the longest interval between polls, ns, the clocks agree even
 * without a lower bound: that is no coincidence.
 */
#define SOON_NS 250000000

bool mprof_clocks_host(struct mprof_clocks *c)
{
	const struct mprof_clock *mono = &c->mono;
	int64_t soon = mono->bounded_below ? APART_NS : SOON_NS;
	int64_t real = between(c);

	if (c->stepped || !mono->bounded_above || mono->most < 0 || mono->most > soon ||
	    (mono->bounded_below && mono->least > 0))
		return false;
	c->mono = (struct mprof_clock){.bounded_above = true, .bounded_below = true};
	c->real = (struct mprof_clock){.most = real, .least = real, .bounded_above = true, .bounded_below = true};
	return true;
}

bool mprof_clocks_rebooted(const struct mprof_clocks *a, const struct mprof_clocks *b)
{
	int64_t apart;

	if (!a->stamps || !b->stamps)
		return false;
	return __builtin_sub_overflow(between(a), between(b), &apart) || apart > SAME_BOOT_NS || apart < -SAME_BOOT_NS;
}
