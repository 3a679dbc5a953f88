/*
 * What to do about a guest's kicks: policy alone, of one ring's event channel.
 *
 * A kick is a hint to look at once.  Each costs a token; there are KICK_BURST of them, and one more comes for each look that polling the ring
 * would have cost.  Without a token the port stays masked and the ring is polled as any other, and tokens come an eighth as fast: a storm
 * costs hardly more than that.
 * While a ring that kicks is idle it is looked at once a second, but a guest that was seen to write packets without a kick is polled
 * for a while.
 */
#ifndef XEN_KICK_H
#define XEN_KICK_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

#define KICK_BURST    8u
#define KICK_IDLE_NS  NS_PER_S	      /* between two looks at an idle ring that kicks */
#define KICK_DOUBT_NS (60 * NS_PER_S) /* polled for so long after it wrote without a kick */

struct kick {
	bool bound;
	bool masked; /* its port was delivered and not let go again */
	bool hinted; /* a kick came since the last look */
	unsigned tokens;
	uint64_t counted; /* CLOCK_MONOTONIC ns up to when tokens were given */
	uint64_t active;  /* the packet that was being filled at the last look */
	uint64_t doubted; /* until when it is polled */
};

/* The port was bound. */
void kick_bound(struct kick *kick, uint64_t now);
/* A kick came; the port is masked now. */
void kick_come(struct kick *kick);
/*
 * After a look that found the ring in packet ACTIVE, IDLE or not, when polling would look again at DUE: when to look again.  *UNMASK: let
 * the port come again.
 */
uint64_t kick_polled(struct kick *kick, uint64_t active, bool idle, uint64_t now, uint64_t due, bool *unmask);

#endif
