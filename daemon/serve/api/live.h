/* Live bodies: they send the chunks in the archive, and then each chunk when it is committed. */
#ifndef SERVE_LIVE_H
#define SERVE_LIVE_H

#include "exchange.h"

/* Ask the collector to commit the chunks of L's stream sooner, for the next five seconds. */
void live_follow(const struct live *l);

#endif
