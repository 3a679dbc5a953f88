/* Live bodies: the archived chunks, then each chunk as it is committed. */
#ifndef SERVE_LIVE_H
#define SERVE_LIVE_H

#include "exchange.h"

/* Ask the collector to flush the stream of L sooner, for the next five seconds. */
void live_follow(const struct live *l);

#endif
