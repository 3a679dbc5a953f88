/*
 * Decide when to poll a ring whose guest kicks an event channel. This module makes no calls to Xen.
 *
 * A kick is an event of the guest's event channel, and a hint to poll the ring at once. Each kick
 * costs a token. There are at most KICK_BURST tokens, and one is added for each poll that a ring
 * without event channel would have had. Without a token the port stays masked, the ring is polled
 * as if it had no event channel, and tokens are added an eighth as fast. So any number of kicks
 * costs hardly more than such polls. An idle ring with an event channel is polled once a second. If
 * a guest finishes packets without a kick, its ring is polled like any other for KICK_DOUBT_NS.
 */
#ifndef XEN_KICK_H
#define XEN_KICK_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

#define KICK_BURST    8u
#define KICK_IDLE_NS  NS_PER_S	      /* time between two polls of an idle ring that kicks */
#define KICK_DOUBT_NS (60 * NS_PER_S) /* time for which a guest that wrote packets without a kick is in doubt */

struct kick {
	bool bound;	  /* the event channel is bound */
	bool masked;	  /* the port is masked: a kick came, and the port was not unmasked since */
	bool hinted;	  /* a kick came since the last poll */
	unsigned tokens;  /* number of kicks that may still come without a pause */
	uint64_t counted; /* time up to which tokens were given, CLOCK_MONOTONIC ns */
	uint64_t active;  /* sequence number of the packet being written at the last poll */
	uint64_t doubted; /* end of the time of doubt, CLOCK_MONOTONIC ns */
};

/* Note that the port was bound. */
void kick_bound(struct kick *kick, uint64_t now);
/* Note a kick. The port is masked from now on. */
void kick_come(struct kick *kick);
/*
 * To be called after each poll. ACTIVE is the packet that the guest writes, IDLE says whether
 * nothing came. DUE is when the ring would be polled next without an event channel. Return when to
 * poll it next, CLOCK_MONOTONIC ns. If *UNMASK, the caller must unmask the port.
 */
uint64_t kick_polled(struct kick *kick, uint64_t active, bool idle, uint64_t now, uint64_t due, bool *unmask);

#endif
