/* See kick.h. This file decides only: it makes no calls to Xen. */
#include "kick.h"

/*
 * A guest kicks when a packet is finished. If it finishes more than this many packets between two
 * polls without a kick, its kicks are not just late.
 */
#define UNKICKED_MAX 1u
#define MASKED_LOOKS 8u

void kick_bound(struct kick *kick, uint64_t now)
{
	/*
	 * Binding makes the port pending once, so the first kick is no kick of the guest. There is
	 * a token for it.
	 */
	*kick = (struct kick){.bound = true, .tokens = KICK_BURST, .counted = now};
}

void kick_come(struct kick *kick)
{
	kick->masked = true;
	kick->hinted = true;
}

/*
 * Give tokens for the time since COUNTED: one for each poll that a ring without kicks would have
 * had at INTERVAL (ns). While the port is masked for lack of tokens, the ring is polled anyway, so
 * give only one token for each MASKED_LOOKS polls.
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
	/*
	 * A masked port brings no kicks. So while the port is masked, or the guest is in doubt,
	 * poll the ring like any other.
	 */
	if (idle && !kick->masked && now >= kick->doubted && due < now + KICK_IDLE_NS)
		return now + KICK_IDLE_NS;
	return due;
}
