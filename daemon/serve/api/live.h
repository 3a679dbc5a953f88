/* Live bodies: what is archived, then each new chunk as it is committed. */
#ifndef SERVE_LIVE_H
#define SERVE_LIVE_H

#include "exchange.h"

/* Whose stream it is: for the collector, which flushes a stream sooner that is read live. */
void live_stream(const struct live *l, int64_t *run, uint32_t *stream);

/* The exchange goes before its response: the body must not reach for it any more. */
void live_orphan(struct live *l);

#endif
