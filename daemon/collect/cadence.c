/* Decide when a ring is polled next. cadence.h has the rule. */
#include "cadence.h"

#define PROOF_BYTES 2048.0
#define PROOF_LOOKS 4u		      /* number of polls that try to prove the same bytes */
#define PERIOD	    (100 * NS_PER_MS) /* time over which the budget counts */
#define STRETCH_MAX 1024.0
#define IDLE_COST   8  /* interval, as a multiple of the last poll's cost, if the poll found no new bytes */
#define BUSY_COST   3  /* the same if it found some */
#define LAP_POLLS   16 /* polls of a ring in the time in which its guest fills it, if CADENCE_MIN is too long */
/* Polls of idle rings are moved to multiples of this time, so the process wakes up rarely. */
#define GRID (16 * NS_PER_MS)

static uint64_t longest(const struct cadence_budget *budget, uint64_t ring_bytes)
{
	double ns = budget->burst_rate ? (double)ring_bytes * 0.75 / (double)budget->burst_rate * 1e9 : 1e18;

	if (ns >= (double)CADENCE_MAX)
		return CADENCE_MAX;
	return ns <= (double)CADENCE_MIN ? CADENCE_MIN : (uint64_t)ns;
}

static void budget_spend(struct cadence_budget *budget, uint64_t now, uint64_t cost)
{
	double used;

	if (budget->stretch < 1)
		budget->stretch = 1;
	budget->spent += cost;
	if (now - budget->began < PERIOD)
		return;
	used = (double)budget->spent / (double)(now - budget->began);
	/*
	 * Change STRETCH in small steps: SPENT is the cost with the present stretch, and large
	 * steps would oscillate.
	 */
	if (used > budget->share)
		budget->stretch *= used / budget->share < 2 ? used / budget->share : 2;
	else if (used < 0.7 * budget->share)
		budget->stretch *= 0.8;
	if (budget->stretch > STRETCH_MAX)
		budget->stretch = STRETCH_MAX;
	if (budget->stretch < 1)
		budget->stretch = 1;
	budget->began = now;
	budget->spent = 0;
}

/*
 * Set rate and interval of a ring to which MORE bytes were written in the ELAPSED ns since the last
 * poll.
 */
static void busy(struct cadence *cadence, uint64_t packet_bytes, uint64_t more, uint64_t elapsed)
{
	double rate = (double)more * 1e9 / (double)(elapsed ? elapsed : 1), ns;

	/* Raise the rate at once and lower it slowly, because bursts come again. */
	cadence->rate = rate > cadence->rate ? rate : 0.7 * cadence->rate + 0.3 * rate;
	ns = cadence->rate > 0 ? (double)packet_bytes * 0.5 / cadence->rate * 1e9 : (double)CADENCE_MAX;
	cadence->interval = ns >= (double)CADENCE_MAX ? CADENCE_MAX : (uint64_t)ns;
}

/*
 * Return the least time between two polls, in ns. It is shorter than CADENCE_MIN for a ring that its
 * guest fills within LAP_POLLS of that time, because one late poll could then lose packets.
 */
static uint64_t shortest(const struct cadence *cadence, uint64_t ring_bytes)
{
	double ns = cadence->rate > 0 ? (double)ring_bytes / LAP_POLLS / cadence->rate * 1e9 : (double)CADENCE_MIN;

	if (ns >= (double)CADENCE_MIN)
		return CADENCE_MIN;
	return ns <= (double)CADENCE_FAST ? CADENCE_FAST : (uint64_t)ns;
}

/*
 * Return the time in ns after which about PROOF_BYTES more will have been written, at least MIN and
 * at most INTERVAL.
 */
static uint64_t soon(const struct cadence *cadence, uint64_t min, uint64_t interval)
{
	double ns = cadence->rate > 0 ? PROOF_BYTES / cadence->rate * 1e9 : (double)interval;

	if (ns >= (double)interval)
		return interval;
	return ns <= (double)min ? min : (uint64_t)ns;
}

uint64_t cadence_next(struct cadence *cadence, struct cadence_budget *budget, uint64_t ring_bytes,
		      uint64_t packet_bytes, uint64_t written, bool pending, uint64_t now, uint64_t cost)
{
	uint64_t max = longest(budget, ring_bytes), min, interval, due;
	bool idle = cadence->polled && written == cadence->written;
	uint64_t pause;

	if (!cadence->polled) {
		cadence->interval = CADENCE_MIN;
		cadence->grew = now;
	} else if (!idle) {
		busy(cadence, packet_bytes, written - cadence->written, now - cadence->polled);
		cadence->grew = now;
	} else {
		/*
		 * Poll after as much time as the ring has been idle. A time shorter than the
		 * present interval does not lower the interval. A fast guest that had to wait for a
		 * processor goes on at once, so its ring is polled after a quarter of that time.
		 */
		pause = now - cadence->grew;
		if (shortest(cadence, ring_bytes) < CADENCE_MIN)
			pause /= 4;
		if (cadence->interval < pause)
			cadence->interval = pause;
	}
	cadence->polled = now;
	cadence->written = written;
	min = shortest(cadence, ring_bytes);
	if (!idle && min < CADENCE_MIN && cadence->interval > min)
		cadence->interval = min;
	if (cadence->interval > max)
		cadence->interval = max;
	/*
	 * A ring whose polls are expensive (a hostile one) gets a limited part of the time, so other
	 * rings are polled too. Copying a fast guest's bytes is expensive, too: a longer interval
	 * makes the next copy larger, and at last the guest writes over bytes that were not copied.
	 */
	if (cadence->interval < (idle ? IDLE_COST : BUSY_COST) * cost)
		cadence->interval = (idle ? IDLE_COST : BUSY_COST) * cost;
	if (cadence->interval < min)
		cadence->interval = min;
	budget_spend(budget, now, idle ? cost : 0);
	interval = cadence->interval;
	if (!idle && cadence->soon == 0)
		cadence->soon = PROOF_LOOKS;
	else if (cadence->soon)
		cadence->soon--;
	if (pending && cadence->soon)
		return now + soon(cadence, min > BUSY_COST * cost ? min : BUSY_COST * cost, interval);
	if (idle && interval == max) {
		cadence->rate *= 0.5;
		interval = (uint64_t)((double)interval * budget->stretch);
		if (interval > 4 * CADENCE_MAX)
			interval = 4 * CADENCE_MAX;
	}
	due = now + interval;
	return idle && interval >= 4 * GRID ? due / GRID * GRID : due;
}
