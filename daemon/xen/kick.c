/* Pure policy; see kick.h. */
#include "kick.h"

/* A finished packet brings a kick. Two packets without one are no mere delay. */
#define UNKICKED_MAX 1u
#define MASKED_LOOKS 8u

void kick_bound(struct kick *kick, uint64_t now)
{
	/* The bind itself makes the port pending: the first poll finds nothing, and is free. */
	*kick = (struct kick){.bound = true, .tokens = KICK_BURST, .counted = now};
}

void kick_come(struct kick *kick)
{
	kick->masked = true;
	kick->hinted = true;
}

/*
 * Give one token for each poll that plain polling would have made, and one for each few of them
 * while the port is masked and the ring is polled anyway.
 */
static void tokens_give(struct kick *kick, uint64_t now, uint64_t interval)
{
	uint64_t more;

	if (interval < NS_PER_MS)
		interval = NS_PER_MS;
	if (kick->masked && !kick->tokens)
		interval *= MASKED_LOOKS;
	more = (now - kick->counted) / interval;
	kick->counted += more * interval;
	kick->tokens = more >= KICK_BURST - kick->tokens ? KICK_BURST : kick->tokens + (unsigned)more;
}

uint64_t kick_polled(struct kick *kick, uint64_t active, bool idle, uint64_t now, uint64_t due, bool *unmask)
{
	bool hinted = kick->hinted;

	*unmask = false;
	if (!kick->bound)
		return due;
	if (!hinted && kick->active && active > kick->active + UNKICKED_MAX)
		kick->doubted = now + KICK_DOUBT_NS;
	kick->active = active;
	kick->hinted = false;
	tokens_give(kick, now, due - now);
	if (kick->masked && kick->tokens) {
		kick->tokens--;
		kick->masked = false;
		*unmask = true;
	}
	/* A masked port tells nothing. Then, and when kicks are missing, the ring is polled. */
	if (idle && !kick->masked && now >= kick->doubted && due < now + KICK_IDLE_NS)
		return now + KICK_IDLE_NS;
	return due;
}
