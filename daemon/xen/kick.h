/*
 * When to poll a ring whose guest kicks an event channel. Policy alone: no call to Xen.
 *
 * A kick is a hint to poll at once. Each kick costs a token. There are KICK_BURST tokens, and one
 * more comes for each poll that plain polling would have made. Without a token the port stays
 * masked, the ring is polled like any other, and tokens come an eighth as fast: a storm costs
 * hardly more than that. While a ring that kicks is idle it is polled once a second. A guest that
 * was seen to write packets without a kick is polled for a while.
 */
#ifndef XEN_KICK_H
#define XEN_KICK_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

#define KICK_BURST    8u
#define KICK_IDLE_NS  NS_PER_S	      /* between two polls of an idle ring that kicks */
#define KICK_DOUBT_NS (60 * NS_PER_S) /* time of polling after a write without a kick */

struct kick {
	bool bound;
	bool masked; /* its port was delivered and not unmasked */
	bool hinted; /* a kick came since the last poll */
	unsigned tokens;
	uint64_t counted; /* CLOCK_MONOTONIC ns up to which tokens were given */
	uint64_t active;  /* the active packet at the last poll */
	uint64_t doubted; /* end of the time of polling */
};

/* Note that the port was bound. */
void kick_bound(struct kick *kick, uint64_t now);
/* Note a kick. The port is masked now. */
void kick_come(struct kick *kick);
/*
 * Return when to poll again, after a poll that found the ring in packet ACTIVE, IDLE or not. DUE is
 * when plain polling would poll. *UNMASK: unmask the port.
 */
uint64_t kick_polled(struct kick *kick, uint64_t active, bool idle, uint64_t now, uint64_t due, bool *unmask);

#endif
